"""`pip install .` leaves no folder of the program behind."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ("heatveil", "edge", "physics", "recovery", "gateway")


def test_every_folder_with_code_is_installed() -> None:
    """A checkout finds a package that has no __init__, or that pyproject.toml leaves out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    included = settings["packages"]["find"]["include"]
    folders = {path.parent for name in PROGRAM for path in (ROOT / name).rglob("*.py")}

    assert [one for one in folders if not (one / "__init__.py").is_file()] == []
    assert all(any(fnmatch(name, one) for one in included) for name in PROGRAM)
    assert [name for name in PROGRAM if not (ROOT / name / "py.typed").is_file()] == []
