"""Which MicroPython runs the devices of `heatveil fleet --vm`, and what each of them is told."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import edge

from ..faults import OperatorFault
from ..mqtt import access
from ..operating import Mqtt
from .handover import FLASH_BYTES, spill_of, to_spill
from .machine import Asked

ROOT = Path(edge.__file__).resolve().parents[1]
HEAP_KB = {32: 96, 64: 176}  # by the bits of a word: the objects of the latter are twice as large
_WORDS = "import sys; print(sys.implementation.name, 64 if sys.maxsize >> 32 else 32)"


class Asking(NamedTuple):
    """What the devices of one fleet are told alike; follower is (num, den, answers) or None."""

    broker: Mqtt
    folder: Path
    passwords: dict[str, str]
    follower: tuple[int, int, int] | None


def command(program: str) -> list[str]:
    """Return the command that runs one device in the heap of a small board.

    Raises:
        OperatorFault: there is no such MicroPython, or it does not run.
    """
    places = os.pathsep.join([os.environ.get("PATH", ""), str(ROOT / ".tools")])
    path = shutil.which(program, path=places)
    if path is None:
        raise OperatorFault(
            f"--vm {program} but no program of that name is on PATH; it must be a MicroPython "
            "1.22 or later, for each device runs in one. Install it (apt install micropython), "
            "make tools in a checkout, or give its path"
        )
    ran = subprocess.run([path, "-c", _WORDS], capture_output=True, text=True, check=False)
    name, _, bits = ran.stdout.strip().partition(" ")
    if ran.returncode or name != "micropython":
        raise OperatorFault(
            f"--vm {path} is no MicroPython ({ran.stdout.strip() or ran.stderr.strip()[-80:]}); "
            "each device is to run in one, with the memory of a board. Give one, or leave --vm out"
        )
    inside = str(Path(__file__).with_name("inside.py"))
    return [path, "-X", f"heapsize={HEAP_KB[int(bits)]}k", inside]


def search_path() -> str:
    """Return where an interpreter finds edge, and what is built into it."""
    return f"{ROOT}:.frozen"


def asked(fleet: Any, asking: Asking) -> dict[str, Asked]:
    """Return what each device is told, by its name; frames that were left are theirs by then.

    Raises:
        OperatorFault: TLS is wanted and no authority is named.
    """
    broker = asking.broker
    authority = _authority(broker)
    found = {}
    for name in fleet.names:
        who, _, step, _, tables = fleet.member(name)
        to_spill(asking.folder, name, who.key_id)
        own = access.as_device(broker, name, asking.passwords[name])
        told = {
            "who": [word.hex() if isinstance(word, bytes) else word for word in who],
            "folder": str(asking.folder),
            "frames": spill_of(asking.folder, name, who.key_id),
            "room": FLASH_BYTES,
            "host": broker.host,
            "port": broker.port,
            "ca": authority,
            "client_id": access.client_id(own, f"heatveil-{who.site}-{name}"),
            "user": own.username,
            "password": access.password(own),
            "step": step,
            "tables": tables,
            "follower": asking.follower,
        }
        found[name] = Asked(json.dumps(told).encode(), _reader(fleet, name))
    return found


def _reader(fleet: Any, name: str) -> Callable[[int], Any]:
    return lambda exponent: fleet.read(name, SimpleNamespace(exponent=exponent))


def _authority(broker: Mqtt) -> str:
    if broker.insecure:
        return ""
    if broker.ca_file is None:
        raise OperatorFault(
            "--vm with TLS but [mqtt] names no ca_file; an interpreter knows no authorities of "
            "this machine, and a broker must be verified. Name the file"
        )
    try:
        return broker.ca_file.read_text("utf-8")
    except (OSError, ValueError) as fault:
        raise OperatorFault(
            f"ca_file {broker.ca_file} under [mqtt] cannot be read ({fault}); without it no "
            "broker is trusted. Mend the path or the file"
        ) from fault
