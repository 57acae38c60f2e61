"""`pip install .` leaves no folder of the program behind."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ("edge", "physics", "recovery", "gateway")


def test_every_folder_with_code_is_installed() -> None:
    """A checkout finds a package that pyproject.toml forgot; an installed copy does not."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for name in PROGRAM for path in (ROOT / name).rglob("*.py")}

    assert set(settings["packages"]) == {
        ".".join(folder.relative_to(ROOT).parts) for folder in folders
    }
