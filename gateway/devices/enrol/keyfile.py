"""A file of keys: written whole or not at all, flushed, readable by its owner alone.

JSON: what it holds ("mac keys", "device keys" or "owner's keys"), the site, and a table of
names and values for each device; bytes are written in hexadecimal.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ...faults import OperatorFault

KEY_BYTES = 32
FORMAT = 2  # the first one held root keys and a boot counter together
Row = Mapping[str, Any]
T = TypeVar("T")


def write_key_file(
    path: Path, holds: str, site: str, devices: Iterable[Row], **more: bytes
) -> None:
    """Replace the file at once and flushed: a power cut leaves the old one or the new one.

    Raises:
        OperatorFault: it cannot be written.
    """
    body = {"holds": holds, "format": FORMAT, "site": site, **_pack_row(more)}
    body["devices"] = [_pack_row(row) for row in devices]
    beside, left = path.with_name(path.name + ".new"), "what was in it before is unchanged"
    try:
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(body, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        left = "it has been replaced, but a power cut may bring back the old one"
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as fault:
        with suppress(OSError):
            beside.unlink(missing_ok=True)  # there may be keys in it
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); {left}. Make the folder writable or "
            "free disk space, and run this again"
        ) from fault


def read_key_file(
    path: Path, holds: str, site: str, made: Callable[[Row, Row], T], mend: str = ""
) -> tuple[Row, list[T]]:
    """Return the file's own values, and what `made` makes of them and of each device's row.

    Args:
        mend: why it matters that it can be read, and what to do, where enrolling is no way out.

    Raises:
        OperatorFault: it cannot be read, or holds other keys, or another site's.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        found, format = (body["holds"], body["site"]), body.get("format", 1)
        same = found == (holds, site) and format == FORMAT
        devices = [made(body, row) for row in body["devices"]] if same else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        why = getattr(fault, "strerror", None) or f"a {type(fault).__name__}: {fault}"
        first = (
            "If no fleet is enrolled yet, run"
            if isinstance(fault, FileNotFoundError)
            else "Move the files of this enrolment away and make new ones with"
        )
        raise OperatorFault(
            f"the key file {path.absolute()} cannot be read ({why}); it must be as "
            "heatveil wrote it, for "
            + (
                mend
                or f"without keys no device can report. {first} `heatveil enrol --config FILE`"
            )
        ) from fault
    if format != FORMAT:
        raise OperatorFault(
            f"the key file {path} is of format {format} and this heatveil reads format {FORMAT}: "
            "with a file of the older format anybody could repeat the noise of every boot. Move "
            "it away and enrol the fleet again, which makes new keys"
        )
    if not same:
        raise OperatorFault(
            f"the key file {path} holds the {found[0]} of site {found[1]}, but the {holds} of "
            f"site {site} must be in it. Name the file that holds this"
        )
    return body, devices


def parse_key(row: Row, name: str, size: int = KEY_BYTES) -> bytes:
    """Return the key of that name in a row; ValueError if it has another length."""
    found = bytes.fromhex(row[name])
    if len(found) != size:
        raise ValueError(f"{name} has {len(found)} bytes instead of {size}")
    return found


def _pack_row(row: Row) -> dict[str, Any]:
    return {name: item.hex() if isinstance(item, bytes) else item for name, item in row.items()}
