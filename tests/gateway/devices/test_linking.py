"""Modules that are made into one do what they did, or they are not made into one."""

import ast
import sys
from pathlib import Path

import pytest

from gateway.devices import linking
from tests import processes

LINKED = {"edge/linked.py": ("edge/core/low.py", "edge/core/high.py")}
LOW = """
from collections import namedtuple
SIZE = 2 + 2
MORE = (SIZE, -1)
Pair = namedtuple("Pair", ("a", "b"))
class Fault(ValueError):
    size = 7
    def said(self, size=SIZE):
        return size, self.size, [SIZE for SIZE in range(2)], type(self).__name__
def size(value): return value * SIZE
def _twice(value): return value + value
if SIZE > 3:
    def how(): return "so"
else:
    from .other import how as how
"""
HIGH = """
from . import low, other
from .low import Fault as Wrong, how
SIZE = 5
def _twice(low): return low.real, SIZE
def told(size, find=lambda size: size + 1):
    def inner(): return size, low.size(3), other.apart(low.SIZE)
    try:
        raise Wrong("no")
    except Wrong as SIZE:
        kept = SIZE.said()
    for _twice in (1,):
        pass
    return inner(), kept, find(size), low.Pair(1, b=low._twice(2)), how(), low.MORE, _twice
def more():
    from . import late
    return late.SIZE, _twice(1), sorted([how for how in (2, 1)]), {SIZE: 1}
"""
LATE = """
from . import low
from .low import MORE as MORE, SIZE as SIZE
TOLD = low.size(SIZE), MORE
"""
FILES = {
    "edge/__init__.py": "",
    "edge/core/__init__.py": "",
    "edge/core/low.py": LOW,
    "edge/core/high.py": HIGH,
    "edge/core/other.py": "from ..core.low import size\ndef apart(n): return size(n)\n",
    "edge/core/late.py": LATE,
}
ASKS = """
from edge.core import high, late, low
print(high.told(9), high.more(), late.TOLD, late.MORE, low.SIZE, high.SIZE, low.Fault().said())
"""


def said(folder: Path, files: dict[str, str]) -> str:
    """Return what the modules say, in a Python of their own."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[0] = '.'\n{ASKS}"]
    ran = processes.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def linked(files: dict[str, str]) -> dict[str, str]:
    """Return the modules after two of them were made into one."""
    trees = {path: ast.parse(text) for path, text in files.items()}
    linking.link_modules(trees)
    return {path: ast.unparse(tree) for path, tree in trees.items()}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "LINKED", LINKED)


def test_what_is_linked_says_what_its_modules_said(tmp_path: Path) -> None:
    """Names of one module are not those of another, nor those of a function that has its own."""
    made = linked(FILES)

    assert "edge/linked.py" in made
    assert "namedtuple" not in made["edge/core/low.py"], "its statements are elsewhere"
    assert said(tmp_path / "b", made) == said(tmp_path / "a", FILES) != ""


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("edge/core/high.py", "from . import low\ndef f(): return low\n", "as a value"),
        ("edge/core/high.py", "def f():\n    from . import low\n", "in a function"),
        ("edge/core/high.py", "from .other import namedtuple\n", "two things as namedtuple"),
    ],
)
def test_what_would_mean_something_else_is_refused(path: str, text: str, why: str) -> None:
    """It would be found on boards alone, and late."""
    with pytest.raises(ValueError, match=why):
        linked({**FILES, path: text})
