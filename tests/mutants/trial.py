"""Tries one copy of heatveil after the other, each in a process of its own.

What all copies need of other people's packages is imported once; then, for each line on standard
input, a folder, what to run, and names, a child is forked that imports heatveil from that folder.
`audit` lets the copy audit itself in layers of these names, and `tests` runs tests. What comes of
it goes to files there, and the child's exit status comes back on standard output.

    python trial.py < requests
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

OTHERS = (
    "_hypothesis_pytestplugin",
    "_pytest.doctest",
    "alembic.operations",
    "anyio.pytest_plugin",
    "cryptography.x509",
    "cvxpy",
    "hypothesis",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "msgspec",
    "numpy",
    "paho.mqtt.client",
    "prometheus_client",
    "psycopg",
    "pytest",
    "pytest_timeout",
    "schemathesis.pytest.plugin",  # pytest loads it by itself, which takes longer than most tests
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
OURS = {"edge", "physics", "recovery", "gateway", "tests"}


class Notes:
    """A plug-in of pytest that notes what became of each test, and by which exception."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}

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


def trial(folder: str, what: str, names: list[str]) -> None:
    """Audit or test the copy in this folder, and end with the status of that."""
    os.setsid()  # what a test leaves running is ended with it
    os.chdir(folder)
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open("report.json", os.O_WRONLY | os.O_CREAT) if what == "audit" else said, 1)
    os.dup2(said, 2)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = folder  # of those that are started
    most_s = AUDIT_S if what == "audit" else TEST_S * len(names)  # a mistake may never end
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    status = 99
    try:
        edge = importlib.import_module("edge")
        if not str(edge.__file__).startswith(folder + os.sep):
            raise RuntimeError(f"edge came from {edge.__file__} and not from {folder}")
        status = audit(names) if what == "audit" else test(names)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Answer one request after the other."""
    for name in OTHERS:
        importlib.import_module(name)
    gc.freeze()  # or each child collects, and so copies, all of that
    for line in sys.stdin:
        folder, what, *names = json.loads(line)
        if OURS & sys.modules.keys():
            raise SystemExit("heatveil is here before its copy is known: nothing would be tried")
        child = os.fork()
        if child == 0:
            trial(folder, what, names)
        _, ended = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
