"""Frames that a test makes itself, with the keys of an enrolled device or with others."""

import json
from pathlib import Path
from typing import Any

import cbor2

from edge.core import wire
from edge.core.records import Report
from edge.mechanisms import thermal
from gateway.devices.enrol import enrol

from . import truth


class Forge:
    """What may be said under a name: genuine, forged, and nothing of the kind."""

    def __init__(self, folder: Path, database: Path) -> None:
        site = json.loads((folder / "devices.json").read_text())["site"]
        self.known = enrol.load_devices(folder / "devices.json", site)
        self.site, self.names = site, list(self.known.by_name)
        self._database = database

    def plan(self, number: int | None = None) -> Any:
        """Return a round as it was asked; None for the last."""
        rows = truth.ask(self._database, "SELECT number, message FROM rounds ORDER BY number")
        message = dict(rows)[rows[-1][0] if number is None else number]
        return wire.unpack_round(
            message, self.known.site_key, wire.round_topic(self.site, "thermal")
        )

    def topic(self, name: str, leaf: str = "data") -> str:
        """Return a topic of a device."""
        return str(wire.topic(self.site, name, leaf))

    def frame(
        self,
        name: str,
        plan: Any,
        epoch: int,
        seq: int,
        value: int = 7,
        *,
        key: bytes | None = None,
        on: str | None = None,
    ) -> bytes:
        """Return a frame of a device; or by another's key, or for another topic."""
        one = self.known.by_name[name]
        report = Report(wire.name_of(plan), name, epoch, seq, [one.place.sensor, value])
        key = one.mac_key if key is None else key
        return bytes(wire.pack_report(report, key, on or self.topic(name), thermal.bits(plan)))

    def signed(self, name: str, body: dict[int, Any]) -> bytes:
        """Return anything at all, signed as the device signs."""
        packed = cbor2.dumps(body)
        return bytes(wire.sign(packed, self.known.by_name[name].mac_key, self.topic(name)))
