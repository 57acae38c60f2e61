"""Runs tests of one copy of heatveil after the other, each in a process of its own.

What all copies need of other people's packages is imported once; then, for each line on standard
input, a folder and the names of tests, a child is forked that imports heatveil from that folder.
What became of each test goes to a file there; the child's exit status comes back on standard
output.

    python trial.py < requests
"""

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
    "scipy.stats",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "starlette.applications",
    "structlog.testing",
    "typer.testing",
    "uvicorn",
    "xdist.looponfail",
)
PATIENCE_S = 120  # for a test, on a machine that is busy
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


def trial(folder: str, tests: list[str]) -> None:
    """Run these tests of the copy in this folder, and end with pytest's status."""
    os.setsid()  # what a test leaves running is ended with it
    os.chdir(folder)
    for number, name in ((1, "said.txt"), (2, "said.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = folder  # of those that a test starts
    most_s = PATIENCE_S * len(tests)  # a mistake may wait, or compute, for ever
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    signal.alarm(most_s)
    notes, status = Notes(), 99
    try:
        gateway = importlib.import_module("gateway")
        if not str(gateway.__file__).startswith(folder + os.sep):
            raise RuntimeError(f"gateway came from {gateway.__file__} and not from {folder}")
        pytest = importlib.import_module("pytest")
        words = ["-p", "no:cacheprovider", "--rootdir", folder, "--basetemp", f"{folder}/temp"]
        words += [
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            "--tb=short",
            "--show-capture=no",
        ]
        status = int(pytest.main([*words, *tests], plugins=[notes]))
    except BaseException:
        traceback.print_exc()
    Path("notes.json").write_text(json.dumps(notes.found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Answer one request after the other."""
    for name in OTHERS:
        importlib.import_module(name)
    for line in sys.stdin:
        folder, *tests = json.loads(line)
        if OURS & sys.modules.keys():
            raise SystemExit("heatveil is here before its copy is known: nothing would be tried")
        child = os.fork()
        if child == 0:
            trial(folder, tests)
        _, ended = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
