"""What it costs to ask: seconds of processor of short commands, beside a gateway that runs.

Run it: `python tests/bench/bench_start.py`. A site of ten devices is made and rounds answered, as
in `bench_service.py`; then each command runs five times, of which the least is told, for whatever
else the machine does adds to it. Modules are compiled before, as an installation does. Beside it
stands what the import of SQLAlchemy alone takes, for whoever looks into a store.
"""

import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench_service import ENVIRONMENT, HEATVEIL, Process, free_ports, load, site

COMMANDS = ("config --sample", "health", "ledger", "show", "check gateway.toml")
COMPILED = {
    name: value for name, value in ENVIRONMENT.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def cost(words: list[str]) -> float:
    """Return seconds of processor, user and system, of one process."""
    away = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(words[0], words, COMPILED, file_actions=away)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"it did not end well: {words}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a line each."""
    port, page, health = free_ports(3)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heatveil-start-")))
        site(folder, 10, port, page, health)
        conf = str(folder / "broker" / "mosquitto.conf")
        stack.callback(Process(["mosquitto", "-c", conf], folder, "broker.log").stop)
        time.sleep(1)
        devices = load(
            folder, {"port": port, "rate": 100, "seconds": 1, "tick_ms": 100}, receipts=True
        )
        stack.callback(devices.stop)
        serve = [*HEATVEIL, "serve", "--config", "gateway.toml"]
        stack.callback(Process(serve, folder, "gateway.log").stop)
        json.loads(devices.line("{"))
        os.chdir(folder)
        COMPILED["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        for code in ("pass", "import sqlalchemy"):
            seconds = min(cost([HEATVEIL[0], "-c", code]) for _ in range(5))
            print(f"{code:20s} {seconds:5.2f} s", flush=True)
        for command in COMMANDS:
            file = ["--config", "gateway.toml"] * (command in ("health", "ledger", "show"))
            seconds = min(cost([*HEATVEIL, *command.split(), *file]) for _ in range(5))
            print(f"{command:20s} {seconds:5.2f} s", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
