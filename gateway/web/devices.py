"""What is known of the devices, as the API answers it: never what one of them felt."""

from typing import Any

from msgspec import UNSET

from . import answers, asks
from .looked_up import reader_of
from .parts import Parts


def devices(parts: Parts, asked: asks.Named) -> answers.Devices:
    """Return a page of devices, by name."""
    reader = reader_of(parts)
    rows = sorted(reader.devices(), key=lambda row: (row.name, row.key_id_hex))
    if asked.after is not UNSET:
        rows = [row for row in rows if row.name > asked.after]
    shown = rows[: asked.limit]
    return answers.Devices(
        [_device(reader, row) for row in shown],
        shown[-1].name if len(rows) > asked.limit else None,
    )


def quarantine(parts: Parts, asked: asks.Nothing) -> answers.Quarantine:
    """Return the devices that are shut out."""
    told = parts.feed.latest().get("quarantine", {}).get("devices", [])
    since = {one["device"]: one.get("since_s") for one in told}
    rows = [row for row in reader_of(parts).devices() if row.quarantine is not None]
    return answers.Quarantine(
        [answers.Quarantined(row.name, row.quarantine, since.get(row.name)) for row in rows]
    )


def _device(reader: Any, row: Any) -> answers.Device:
    return answers.Device(
        name=row.name,
        key_id=row.key_id_hex,
        boot=row.epoch,
        seq=row.seq,
        reports=row.reports,
        last_s=row.last_s,
        late=None,
        refused=None,
        gaps=None,
        alarm=row.alarm,
        quarantine=row.quarantine,
    )
