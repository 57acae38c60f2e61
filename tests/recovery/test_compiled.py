"""What all estimators stand on: compiled kernels, the fixed sequence, fields that are checked."""

import ast
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from recovery import kernels, sequence
from recovery.fields import check, describe
from recovery.sequence import uniforms
from tests import processes

# Kernels: one source for both ways of running it, and nothing that a compiler would miss.

# What is loaded ahead is what a map wants, or its first one would be late.

SCRIPT = """
import sys
from edge.core.records import Grid, Release
from recovery import thermal; from recovery import kernels as ahead
query = thermal.Query(Grid((20, 1), 0), (10,), 0.05, (1, 1), (1, 1000), 0.1)
release = Release(thermal.plan(query, []), [0] * 10, 10)
if sys.argv[1] == "ahead":
    ahead.load_scipy()
before = {name for name in sys.modules if name.startswith("scipy.")}
print(type(thermal.recover(query, [release])).__name__)
print(len({name for name in sys.modules if name.startswith("scipy.")} - before) > 20)
"""


@pytest.mark.long
def test_a_map_loads_hardly_anything_more() -> None:
    """With a control: without it, the first map loads a good part of scipy."""
    for words, more in ((["ahead"], "False"), (["late"], "True")):
        ran = processes.run(
            [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False
        )
        assert ran.stdout.split()[1:] == [more], ran.stdout + ran.stderr


KERNELS = sorted(Path(kernels.__path__[0]).glob("[!_]*.py"))
SOURCE = """import numpy as np


def square(x):
    return x * x


def total(values):
    found = 0.0
    for value in values:
        found += square(value)
    return found
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A kernel of one's own, importable as others are."""
    (tmp_path / "squares_for_a_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import squares_for_a_test  # type: ignore[import-not-found]

    return squares_for_a_test


def test_the_twin_is_compiled_and_the_original_is_not(kernel: ModuleType) -> None:
    """Also where one function calls another, and the answers are equal."""
    pytest.importorskip("numba")
    values = np.arange(5.0)

    twin = kernels.make_compiled_twin(kernel)

    assert twin.total(values) == kernel.total(values) == 30
    assert len(twin.total.signatures) == 1
    assert not hasattr(kernel.total, "signatures")
    # It is loaded already, so it costs nothing.
    assert kernels.compile_if_worth(kernel, worth=False) is twin


@pytest.mark.long
def test_a_compilation_is_told_of_and_the_loading_of_what_was_kept_is_not(tmp_path: Path) -> None:
    """Who times the work stops the clock for the one; `total` has `square` compiled meanwhile."""
    pytest.importorskip("numba")
    (tmp_path / "squares_for_a_test.py").write_text(SOURCE)
    line = (
        "import sys, numpy; sys.path.insert(0, sys.argv[1]); import squares_for_a_test as plain; "
        "from recovery import kernels; kernels.listen_for_compiling(print); "
        "kernels.make_compiled_twin(plain).total(numpy.arange(5.0))"
    )

    said = [
        processes.run(
            [sys.executable, "-c", line, str(tmp_path)], capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]

    assert said == ["True\nFalse\n", ""]


def test_small_work_does_not_load_a_compiler() -> None:
    """A command that draws one map must not wait for one."""
    line = (
        "import sys; from recovery import kernels; import recovery.sequence as plain; "
        "assert kernels.compile_if_worth(plain, worth=False) is plain; "
        "assert 'numba' not in sys.modules"
    )

    assert processes.run([sys.executable, "-c", line]).returncode == 0


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel_stands_by_itself(path: Path) -> None:
    """What numba keeps is renewed when the file changes, not when another one does."""
    tree = ast.parse(path.read_text("utf-8"))

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {"math", "numpy"}
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("numpy.typing", "typing")
        if isinstance(node, ast.FunctionDef):
            assert not node.decorator_list


# The fixed sequence is the published one, and spread as evenly as chance would.


def test_the_words_are_those_of_splitmix64() -> None:
    """The first three for the seed 0, as the authors' and Java's own generator give them."""
    state = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)

    words = [int(word) for word in sequence._mix(state)]

    assert words == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("stream", [0, 1, 2**63, -5])
def test_numbers_are_even_and_do_not_follow_each_other(stream: int) -> None:
    """Pairs of neighbours fill the unit square evenly."""
    pairs = uniforms(200_000, stream).reshape(-1, 2)
    counts, *_ = np.histogram2d(*pairs.T, bins=16, range=[[0, 1], [0, 1]])

    assert stats.chisquare(counts.ravel()).pvalue > 1e-4
    assert 0 < pairs.min() < pairs.max() < 1


def test_streams_are_the_same_again_and_not_each_other() -> None:
    """The same readings must give the same map, and two walkers must not walk in step."""
    assert (uniforms(1000, 7) == uniforms(1000, 7)).all()
    assert (uniforms(500, 7) == uniforms(1000, 7)[:500]).all()
    assert abs(np.corrcoef(uniforms(100_000, 7), uniforms(100_000, 8))[0, 1]) < 0.015


# What a field of a query says of itself is what its values are held against.


@dataclass
class Query:
    """A number with each kind of bounds."""

    both: int = field(default=2, metadata=describe("Two bounds.", low=1, high=3))
    least: int = field(default=2, metadata=describe("A lower one.", low=1))
    most: int | None = field(default=None, metadata=describe("An upper one.", high=3))
    free: int = field(default=2, metadata=describe("None."))
    part: float = field(default=0.5, metadata=describe("A share.", low=0, high=1))


def test_a_number_is_held_against_each_bound_that_is_given() -> None:
    """One bound alone counts as much as two."""
    for good in ({}, {"both": 3}, {"least": 10**9}, {"most": -5}, {"free": -5}, {"part": 1}):
        check(Query(**good))
    for bad in ({"both": 4}, {"least": 0}, {"least": 1.5}, {"most": 4}, {"most": True}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} is .* a whole number from"):
            check(Query(**bad))
    for part in (-0.1, 1.5, math.nan, True):
        with pytest.raises(ValueError, match="part is .* a number from 0 to 1"):
            check(Query(part=part))
