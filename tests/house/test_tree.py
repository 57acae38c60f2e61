"""The checkout itself: its rooms, and what must not lie about in them."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("edge", "physics", "recovery", "gateway")

# Home folders of somebody's machine, and where packages are fetched from: both are the
# business of the machine, not of the project.
ELSEWHERE = re.compile(
    r"(?<![\w.~-])/(?:home|root|work|Users)/\w"
    r"|deb\.debian\.org|registry\.npmjs|files\.pythonhosted|pypi\.org/simple"
)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """Return the files that git keeps, and so the ones a reader gets."""
    ran = processes.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        pytest.skip("this is no git checkout, so what belongs to it cannot be listed")
    return [name for name in ran.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_rooms_are_those_of_the_plan(tracked: list[str]) -> None:
    """A seventh folder at the top is a decision, not an accident."""
    folders = {name.partition("/")[0] for name in tracked if "/" in name}

    assert {name for name in folders if not name.startswith(".")} == {
        *PACKAGES,
        "heatveil",
        "notebooks",
        "tests",
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_the_flat_names_are_ours(package: str) -> None:
    """`import edge` is a common name: another installation of it must not be what is tested."""
    spec = importlib.util.find_spec(package)

    assert spec is not None
    assert Path(str(spec.origin)).resolve().is_relative_to(ROOT)


def test_nothing_names_somebodys_machine(tracked: list[str]) -> None:
    """A path or a mirror that works for one person is a fault for all others."""
    found = [
        f"{name}:{number}"
        for name in tracked
        for number, line in enumerate(
            (ROOT / name).read_text(errors="replace").splitlines(), start=1
        )
        if ELSEWHERE.search(line)
    ]

    assert found == []
    assert ELSEWHERE.search('open("/' + 'home/ada/map.npz")')
    assert ELSEWHERE.search("deb http://" + "deb.debian" + ".org/debian")


# Modules of the `test` extra: a user who installs heatveil has none of them.
FOR_TESTS = {"cbor2", "dp_accounting", "hypothesis", "importlinter", "jupytext", "mypy"}
FOR_TESTS |= {"axe_playwright_python", "ipykernel", "ot", "playwright", "pytest"}


def test_the_command_needs_nothing_of_the_tests() -> None:
    """What only the tests import must not be needed by somebody who installs the command."""
    script = (
        "import sys\n"
        "from gateway.cli import main\n"
        "sys.argv = ['heatveil', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print('exit status', end.code or 0)\n"
        "print('modules', *{name.partition('.')[0] for name in sys.modules})\n"
    )
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True)
    *help_text, status, loaded = ran.stdout.splitlines()

    assert status == "exit status 0", ran.stderr
    assert any("demo" in line for line in help_text)
    assert not FOR_TESTS & set(loaded.split())
