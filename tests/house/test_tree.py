"""The checkout itself: its rooms, what must not lie about in them, and the processes of tests."""

import ast
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.waiting import eventually

# The checkout itself: its rooms, and what must not lie about in them.

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


# What a test starts ends with it, also when the test, or all of pytest, ends badly.

TESTS = Path(__file__).resolve().parents[1]
STARTS = {
    *("subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call"),
    *("subprocess.check_output", "subprocess.getoutput", "os.system", "os.popen"),
    *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "pty.spawn"),
}

# Says its number and that of a process that it starts, and goes on for ever.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
# Starts the one above as a test does, and goes on for ever.
SUITE = f"""
import subprocess, sys, time
from tests import processes
child = processes.Child([sys.executable, "-c", {PARENT!r}], stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline(), flush=True)
time.sleep(600)
"""
# What conftest makes of an ignored SIGINT, and what a child inherits.
ASKS = """
import signal, sys
from tests import conftest, processes
ask = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
ran = processes.run([sys.executable, "-c", ask], capture_output=True, text=True)
print(own, ran.stdout, end="")
"""


def started(source: str) -> list[int]:
    """Return the lines on which a file starts a process by itself."""
    if not re.search(r"subprocess|system\(|popen|pty\.", source):
        return []
    tree = ast.parse(source)
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    said = ((call.lineno, ast.unparse(call.func)) for call in calls)
    return [line for line, name in said if names.get(name, name) in STARTS]


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_tests_start_processes_at_one_place_alone() -> None:
    """Whoever starts one by hand leaves it behind some day, and the suite waits for it."""
    own = TESTS / "processes.py"
    files = [file for file in TESTS.rglob("*.py") if file.parent.name != "bench" and file != own]
    found = [f"{file.relative_to(TESTS)}:{line}" for file in files for line in started(
        file.read_text("utf-8"))]  # fmt: skip

    assert len(files) > 100
    assert found == []
    assert started(own.read_text("utf-8")) != []
    assert started("from subprocess import run as go\ngo(['x'])") == [2]


@pytest.mark.parametrize("bad", [True, False])
def test_a_block_leaves_nobody(bad: bool) -> None:
    """An inner call that times out must not make the block wait for a fleet that runs for ever."""
    pids = []

    def block() -> None:
        with processes.Child(
            [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True
        ) as child:
            pids.extend([child.pid, int(child.stdout.readline())])
            if bad:
                processes.run([sys.executable, "-c", PARENT], timeout=0.1, stdout=-3)
            child.terminate()

    if bad:
        with pytest.raises(subprocess.TimeoutExpired):
            block()
    else:
        block()

    assert eventually(lambda: not any(map(alive, pids)))


def test_a_test_that_forgets_its_child_leaves_none() -> None:
    """The same block is around every test; what was there before it stays."""
    with processes.Child([sys.executable, "-c", PARENT], stdout=-3) as old:
        with processes.ended():
            new = processes.Child([sys.executable, "-c", PARENT], stdout=-3)
        there = alive(old.pid)
        old.terminate()

    assert there
    assert new.returncode == -signal.SIGKILL


def test_nobody_outlives_a_suite_that_is_killed() -> None:
    """kill -9 of pytest, as when memory runs out: neither its children live on nor theirs."""
    words = [sys.executable, "-c", SUITE]
    with processes.Child(words, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent) as suite:
        pids = [int(pid) for pid in suite.stdout.readline().split()]
        ran = [alive(pid) for pid in pids]
        os.kill(suite.pid, signal.SIGKILL)
        gone = eventually(lambda: not any(map(alive, pids)))

    assert ran == [True, True]
    assert gone


def test_a_suite_in_the_background_of_a_script_hears_interrupts() -> None:
    """There a shell has SIGINT ignored, and so it would be in every process that a test starts."""
    words = ["sh", "-c", f"trap '' INT; exec {sys.executable} -c \"$0\"", ASKS]
    ran = processes.run(words, cwd=TESTS.parent, capture_output=True, text=True)

    assert ran.stdout == "True True\n", ran.stderr
