"""Audits one copy of heatveil after the other, each in a process of its own.

What all copies need of other people's packages is imported once; then, for each line on standard
input, a folder and the names of layers, a child is forked that imports heatveil from that folder
and lets it audit itself. Its report and its complaints go to files there; its exit status comes
back on standard output.

    python warm.py < requests
"""

import importlib
import json
import os
import resource
import sys
import traceback

OTHERS = (
    "cryptography.x509",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "numpy",
    "paho.mqtt.client",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sqlalchemy.dialects.sqlite",
    "structlog.testing",
    "starlette.applications",
    "typer.core",
    "uvicorn",
)
PATIENCE_S = 300  # of computing
OURS = {"edge", "physics", "recovery", "gateway"}


def audit(folder: str, layers: list[str]) -> None:
    """Let the copy in this folder audit itself, and end with its exit status."""
    os.chdir(folder)
    for number, name in ((1, "report.json"), (2, "complaints.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.path.insert(0, folder)
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE_S, PATIENCE_S))  # a mistake may never end
    status = 99
    try:
        edge = importlib.import_module("edge")
        if not str(edge.__file__).startswith(folder + os.sep):
            raise RuntimeError(f"edge came from {edge.__file__} and not from {folder}")
        words = [word for layer in layers for word in ("--layer", layer)]
        command = importlib.import_module("gateway.cli").main
        command(["audit", "--quick", "--first", "--json", *words])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Answer one request after the other."""
    for name in OTHERS:
        importlib.import_module(name)
    for line in sys.stdin:
        folder, *layers = json.loads(line)
        if OURS & sys.modules.keys():
            raise SystemExit("heatveil is here before its copy is known: nothing would be tried")
        child = os.fork()
        if child == 0:
            audit(folder, layers)
        _, ended = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
