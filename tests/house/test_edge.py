"""What edge does without: floats, other people's randomness, and any way to pack a Reading.

Each rule is a function over source text, so that a planted fault can show that it bites.
"""

import ast
from pathlib import Path

import pytest

from edge import thermal, wire
from edge.records import Grid, Guarantee, Reading, Round

EDGE = Path(__file__).resolve().parents[2] / "edge"
MODULES = sorted(EDGE.rglob("*.py"))

# Modules that think in floats, or bring random bits from another door than edge.entropy.
INEXACT = {"cmath", "decimal", "fractions", "math", "numpy", "random", "secrets", "statistics"}

# Where a Reading may be spoken of: its definition, the device, and the mechanisms it is for.
PRIVATE = {"records.py", "node.py", "thermal.py"}


def inexact(source: str) -> list[str]:
    """Return what in this source could bring in a float, as "line 3: why"."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=float() | complex()):
                found.append((node.lineno, "a float written out"))
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                found.append((node.lineno, "true division"))
            case ast.BinOp(op=ast.Pow(), right=ast.UnaryOp(op=ast.USub())):
                found.append((node.lineno, "a negative power"))
            case ast.Name(id="float" | "complex"):
                found.append((node.lineno, "float by name"))
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.partition(".")[0] in INEXACT:
                        found.append((node.lineno, f"import of {alias.name}"))
            case ast.ImportFrom(module=str(module), level=0):
                if module.partition(".")[0] in INEXACT:
                    found.append((node.lineno, f"import from {module}"))
    return [f"line {line}: {why}" for line, why in sorted(found)]


def speaks_of(source: str, name: str) -> bool:
    """Say whether a name is used in this source, beyond its comments and docstrings."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=used) | ast.Attribute(attr=used) | ast.alias(name=used):
                if used == name:
                    return True
    return False


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_edge_holds_no_float(path: Path) -> None:
    """Floats differ between boards; noise that differs can neither be proved nor removed."""
    assert inexact(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = 0.5",
        "x = a / b",
        "x /= 2",
        "x = 2 ** -k",
        "x = float(a)",
        "import math",
        "from random import getrandbits",
        "import numpy.random as r",
        "x = 1e3",
        "f = map(float, a)",
    ],
)
def test_a_planted_float_is_found(line: str) -> None:
    """The rule above must bite on every way a float comes in."""
    assert inexact(f"a = b = k = 1\n{line}\n")[0].startswith("line 2")


def test_whole_numbers_pass() -> None:
    """What the noise is written in must not be mistaken for a float."""
    assert inexact('"""At 0.5 / 2."""\nx = (a // b) % 3 + 2**k << 1  # 0.5') == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_only_the_device_speaks_of_a_reading(path: Path) -> None:
    """A Reading is private; what packs messages must not even know the word."""
    assert path.name in PRIVATE or not speaks_of(path.read_text(), "Reading")


@pytest.mark.parametrize("line", ["from .records import Reading", "records.Reading(1, v)"])
def test_a_planted_reading_is_found(line: str) -> None:
    """The rule above must see an import as well as a use; prose does not count."""
    assert speaks_of(line, "Reading")
    assert not speaks_of('"""A Reading."""  # Reading', "Reading")


def test_nothing_packs_a_reading() -> None:
    """Handed a Reading in place of a Report or a Round, the wire must refuse, not send it."""
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    plan = Round(1, thermal.NAME, Grid((10, 1), 0), (4, 8, 0, 4096, 10000, 1, 0), promise)
    reading, key = Reading(2, (1234,)), bytes(32)

    with pytest.raises((AttributeError, ValueError)):
        wire.pack_report(plan, reading, key, "heatveil/1/lab/n001/data")
    with pytest.raises((AttributeError, ValueError)):
        wire.pack_round(reading, key, "heatveil/1/lab/round/thermal")
