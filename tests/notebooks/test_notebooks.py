"""Every notebook runs from top to bottom, and its two files tell the same story."""

import runpy
from pathlib import Path

import jupytext
import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    """Its assertions are the claims that it makes to its reader."""
    mpl.use("Agg")

    runpy.run_path(str(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_page_to_read_is_the_page_that_runs(path: Path) -> None:
    """`jupytext --to ipynb --execute` makes the one with pictures from the one that is tested."""
    script, page = jupytext.read(path), jupytext.read(path.with_suffix(".ipynb"))

    assert [cell.source for cell in script.cells] == [cell.source for cell in page.cells]
    assert any("image/png" in str(cell.get("outputs", "")) for cell in page.cells)


def test_there_are_notebooks() -> None:
    """An empty list of files would pass the tests above."""
    assert NOTEBOOKS
