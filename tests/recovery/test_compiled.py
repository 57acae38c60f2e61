"""Kernels: one source for both ways of running it, and nothing that a compiler would miss."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from recovery import kernels
from tests import processes

# What is loaded ahead is what a map wants, or its first one would be late.

SCRIPT = """
import sys
from edge.core.records import Grid, Release
from recovery import thermal; from recovery import kernels as ahead
query = thermal.Query(Grid((20, 1), 0), (10,), 0.05, (1, 1), (1, 1000), 0.1)
release = Release(thermal.plan(query, []), [0] * 10, 10)
if sys.argv[1] == "ahead":
    ahead.load()
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

    twin = kernels.compile_module(kernel)

    assert twin.total(values) == kernel.total(values) == 30
    assert len(twin.total.signatures) == 1
    assert not hasattr(kernel.total, "signatures")
    assert kernels.tier(kernel, worth=False) is twin  # loaded already, so it costs nothing


@pytest.mark.long
def test_a_compilation_is_told_of_and_the_loading_of_what_was_kept_is_not(tmp_path: Path) -> None:
    """Who times the work stops the clock for the one; `total` has `square` compiled meanwhile."""
    pytest.importorskip("numba")
    (tmp_path / "squares_for_a_test.py").write_text(SOURCE)
    line = (
        "import sys, numpy; sys.path.insert(0, sys.argv[1]); import squares_for_a_test as plain; "
        "from recovery import kernels; kernels.on_compiling(print); "
        "kernels.compile_module(plain).total(numpy.arange(5.0))"
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
        "assert kernels.tier(plain, worth=False) is plain; assert 'numba' not in sys.modules"
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
