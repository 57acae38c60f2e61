"""A file of keys: written whole or not at all, flushed, readable by its owner alone.

JSON: what it holds ("mac keys" or "root keys"), the site and its key, the boot counter, and
a row [name, sensor, sensors, mode, key] for each device.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .faults import OperatorFault
from .rounds import Place

KEY_BYTES = 32
Row = tuple[str, Place, str, bytes]  # name, place, mode, key


def write(
    path: Path,
    holds: str,
    site: str,
    site_key: bytes,
    devices: Iterable[Row],
    epoch: int = 0,
) -> None:
    """Replace the file at once and flushed: a power cut leaves the old one or the new one."""
    body = {
        "holds": holds,
        "site": site,
        "site_key": site_key.hex(),
        "epoch": epoch,
        "devices": [[name, *place, mode, key.hex()] for name, place, mode, key in devices],
    }
    beside = path.with_name(path.name + ".new")
    try:
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(body, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as fault:
        with suppress(OSError):
            beside.unlink(missing_ok=True)  # there may be keys in it
        raise OperatorFault(
            f"the key file {path} cannot be written ({fault.strerror}); a device must not speak "
            "before its boot counter is on the disk. Give it a folder that can be written to"
        ) from fault


def read(path: Path, holds: str, site: str) -> tuple[bytes, list[Row], int]:
    """Return (site key, devices, epoch) of a file that `write` wrote."""
    try:
        body = json.loads(path.read_text("utf-8"))
        rows = [
            (str(name), Place(int(sensor), int(sensors)), str(mode), _key(key))
            for name, sensor, sensors, mode, key in body["devices"]
        ]
        found = (body["holds"], body["site"])
        site_key, epoch = _key(body["site_key"]), int(body["epoch"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        why = getattr(fault, "strerror", None) or repr(fault)
        raise OperatorFault(
            f"the key file {path} cannot be read ({why}); it must be one that heatveil wrote, for "
            "nobody may report without a key. Enrol the fleet again"
        ) from fault
    if found != (holds, site):
        raise OperatorFault(
            f"the key file {path} holds the {found[0]} of site {found[1]}, and the {holds} of "
            f"site {site} are needed here, lest keys end up where they must not be. Name the "
            "other file"
        )
    return site_key, rows, epoch


def _key(text: str) -> bytes:
    key = bytes.fromhex(text)
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key of {len(key)} bytes")
    return key
