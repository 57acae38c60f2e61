"""Tries one mistake after the other in a copy of heatveil, each in a process of its own.

For each line on standard input (the file with the mistake, what to run, and names) a child is
forked. `audit` lets the copy audit itself in layers of these names, and `tests` runs tests. What
comes of it goes to files in the copy, and the child's exit status comes back on standard output.

    python trial.py warm|cold FOLDER < requests

`cold`: what all need of other people's packages is imported once, and each child imports heatveil
from the copy. `warm`: heatveil is imported once as well, as it is without a mistake, and the child
exchanges the code of a function. That is as if it had imported the changed file where nothing
changed but bodies of functions, and none of them ran while heatveil was imported, which is noted.
Elsewhere the child tries nothing and ends with status COLD.
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import hypothesis

OTHERS = (
    "_hypothesis_pytestplugin",
    "_pytest.doctest",
    "alembic.operations",
    "anyio.pytest_plugin",
    "cryptography.x509",
    "cvxpy",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "msgspec",
    "numpy",
    "paho.mqtt.client",
    "prometheus_client",
    "psycopg",
    "pytest",
    "pytest_timeout",
    "schemathesis.pytest.plugin",  # pytest loads these, which takes longer than most tests
    "schemathesis.pytest.xdist",
    "schemathesis.reporting.html.writer",
    "schemathesis.reporting.recorders",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "starlette.applications",
    "structlog.testing",
    "typer.testing",
    "uvicorn",
    "xdist.looponfail",
)
AUDIT_S, TEST_S = 300, 120  # of computing: all layers of an audit, and one test
OURS = ("edge", "physics", "recovery", "gateway")
COLD = 97  # the status of a child that tried nothing, for the changed file must be imported
PARTS = (  # of some code, that make it do what it does, beside its constants
    *("co_name", "co_qualname", "co_code", "co_names", "co_varnames", "co_freevars"),
    *("co_cellvars", "co_flags", "co_exceptiontable"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
Place = tuple[str, str, int]  # what some code is known by: its file, its name, its line


class Notes:
    """A plug-in of pytest that notes what became of each test, and by which exception."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}

    def pytest_sessionstart(self) -> None:
        """Let hypothesis look for no smaller example of what it found: one is a rejection."""
        settings, phase = hypothesis.settings, hypothesis.Phase
        settings.register_profile(
            "at once", settings.default, phases=[phase.explicit, phase.reuse, phase.generate]
        )
        settings.load_profile("at once")

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        if getattr(report, "when", "collect") == "call":
            words = {"raised": call.excinfo.typename, "said": str(call.excinfo.value)[:300]}
            self.found.setdefault(node.nodeid, {}).update(words)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            row = self.found.setdefault(report.nodeid, {})
            row.update(outcome=report.outcome, when=report.when)


def audit(layers: list[str]) -> int:
    """Let the copy audit itself, with its report on standard output."""
    signal.alarm(4 * AUDIT_S)  # a mistake may wait for ever, beside others that compute
    words = [word for layer in layers for word in ("--layer", layer)]
    try:
        importlib.import_module("gateway.cli").main(
            ["audit", "--quick", "--first", "--json", *words]
        )
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def test(names: list[str]) -> int:
    """Run these tests of the copy, and write down what became of each."""
    signal.alarm(TEST_S * len(names))  # a mistake may wait for ever
    notes, pytest = Notes(), importlib.import_module("pytest")
    words = ["-p", "no:cacheprovider", "--rootdir", ".", "--basetemp", "temp"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words += ["--tb=short", "--show-capture=no"]
    try:
        return int(pytest.main([*words, *names], plugins=[notes]))
    finally:
        Path("notes.json").write_text(json.dumps(notes.found))


def content(code: CodeType, deep: bool = True) -> list[Any]:
    """Return all that some code does, wherever it stands; without what is in it if not deep."""
    return [getattr(code, part) for part in PARTS] + [
        (content(one) if deep else None) if isinstance(one, CodeType) else repr(one)
        for one in code.co_consts
    ]


def within(code: CodeType) -> list[CodeType]:
    """Return the code that is defined directly within some code."""
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def changes(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of the outermost functions that changed, or of what holds them."""
    if content(old) == content(new):
        return
    if old.co_flags & CO_OPTIMIZED or content(old, False) != content(new, False):
        yield old, new
        return
    for one, other in zip(within(old), within(new), strict=True):
        yield from changes(one, other)


class Warm:
    """Heatveil as it is in a copy without a mistake: its sources, its functions, and what ran."""

    def __init__(self, folder: Path) -> None:
        self._texts: dict[str, str] = {}
        self._ran: set[Place] = set()
        sys.setprofile(self._note)
        for package in OURS:
            for path in sorted((folder / package).rglob("*.py")):
                self._texts[str(path)] = path.read_text("utf-8")
                with suppress(ImportError):  # what only boards have
                    if path.stem != "__main__":
                        importlib.import_module(module_of(path.relative_to(folder)))
        sys.setprofile(None)
        self._functions = functions()

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._ran.add(place(frame.f_code))

    def exchange(self, path: Path) -> bool:
        """Say whether all is now as if the file had been imported as it has become."""
        if module_of(path.relative_to(Path.cwd())) not in sys.modules:
            return True
        texts = {each: Path(each).read_text("utf-8") for each in self._texts}
        if [each for each in texts if texts[each] != self._texts[each]] != [str(path)]:
            raise RuntimeError(f"{path} is planted, and another file is not as it was imported")
        old, new = (
            compile(text[str(path)], path, "exec", dont_inherit=True)
            for text in (self._texts, texts)
        )
        for before, after in changes(old, new):
            found = self._functions[place(before)]
            if any(place(one) in self._ran for one in everything(before)) or len(found) != 1:
                return False
            try:
                found[0].__code__ = after
            except ValueError:  # it is a closure with other free names
                return False
        return True


def functions() -> dict[Place, list[FunctionType]]:
    """Return all functions that there are, by their code."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found[place(one.__code__)].append(one)
    return found


def place(code: CodeType) -> Place:
    """Return what some code is known by."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def everything(code: CodeType) -> Iterator[CodeType]:
    """Yield some code, and all that is within it."""
    yield code
    for one in within(code):
        yield from everything(one)


def module_of(path: Path) -> str:
    """Return the name of the module that a file of the copy is."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def trial(folder: Path, warm: Warm | None, file: str, what: str, names: list[str]) -> None:
    """Audit or test the copy in this folder, and end with the status of that."""
    os.setsid()  # what a test leaves running is ended with it
    os.chdir(folder)
    if warm and file and not warm.exchange(folder / file):
        os._exit(COLD)
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open("report.json", os.O_WRONLY | os.O_CREAT) if what == "audit" else said, 1)
    os.dup2(said, 2)
    most_s = AUDIT_S if what == "audit" else TEST_S * len(names)  # a mistake may never end
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    status = 99
    try:
        edge = importlib.import_module("edge")
        if not str(edge.__file__).startswith(f"{folder}{os.sep}"):
            raise RuntimeError(f"edge came from {edge.__file__} and not from {folder}")
        status = audit(names) if what == "audit" else test(names)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(heat: str, folder: Path) -> None:
    """Answer one request after the other."""
    for name in OTHERS:
        with suppress(ImportError):  # for speed alone: what is not here, nobody needs
            importlib.import_module(name)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # of those that are started
    warm = Warm(folder) if heat == "warm" else None
    gc.freeze()  # or each child collects, and so copies, all of that
    print("ready", flush=True)
    for line in sys.stdin:
        file, what, *names = json.loads(line)
        if not warm and {*OURS, "tests"} & sys.modules.keys():
            raise SystemExit("heatveil is here before its copy is known: nothing would be tried")
        child = os.fork()
        if child == 0:
            trial(folder, warm, file, what, names)
        _, ended = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
