"""Frames to exact readings, boot by boot: what is not beyond doubt is left out, with a reason.

In order: is the device enrolled, did it sign these bytes, do the columns beside them say the
same, did the site ask that round, is there a key for that boot, and are all the numbers that
come out ones that the sensor can have given. A wrong key gives others, as blurred again as
before; one of them condemns its whole boot, for the rest may be in range by luck.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Protocol

from edge import entropy, thermal, wire
from edge.host import post

from ..enrol.enrol import Devices
from .readings import CLAMPED, CUT, LeftOut, Row
from .source import Stored

STRANGER = "the device is not enrolled in the devices file"
OLDER = "it came under another key than the device is enrolled with now"
FORGED = "its device did not sign these bytes"
MOVED = "the columns beside the frame are not what the device signed"
UNASKED = "the round that it answers is not there, is none, or the site did not sign it"
MISPLACED = "it answers for other sensors than its device has"
SEALED = "its device is sealed: nobody can take the noise off"
CLOSED = "no key was given for this boot"
SPOILT = "the key of this boot does not fit: it gives readings that no sensor has"

_PARAMS = thermal.PARAMS, thermal.PARAMS + 1  # one more asks for noise from tables


class Keys(Protocol):
    """Who has the keys of boots."""

    def epoch_key(self, name: str, epoch: int) -> bytes | None:
        """Return the key of a device's boot, None when it is not among them."""


class Opening:
    """One pass over the frames; afterwards `left` says what was left out."""

    def __init__(self, devices: Devices, rounds: Mapping[bytes, Any], keys: Keys) -> None:
        self._devices, self._rounds, self._keys = devices, rounds, keys
        self._left: Counter[tuple[str, int, str]] = Counter()
        self.frames = self.readings = 0  # opened so far
        self._drawn_from: tuple[Any, Any] = None, None  # of which params, for how many sensors

    @property
    def left(self) -> list[LeftOut]:
        """What was left out so far."""
        return [LeftOut(*place, frames) for place, frames in self._left.items()]

    def rows(self, reports: Iterable[Stored]) -> Iterator[Row]:
        """Yield the readings of reports that come ordered by device and boot."""
        for (name, epoch), boot in groupby(reports, key=lambda stored: stored[:2]):
            opened: list[list[Row]] = []
            for stored in boot:
                found = self._opened(stored)
                if isinstance(found, str):
                    self._left[name, epoch, found] += 1
                else:
                    opened.append(found)
            if (name, epoch, SPOILT) in self._left:
                self._left[name, epoch, SPOILT] += len(opened)
                continue
            self.frames += len(opened)
            for rows in opened:
                self.readings += len(rows)
                yield from rows

    def _opened(self, stored: Stored) -> list[Row] | str:
        """Return the readings behind a report, or why it is not opened."""
        device = self._devices.by_name.get(stored.device)
        if device is None:
            return STRANGER
        topic = wire.topic(self._devices.site, device.name, "data")
        try:
            report = post.unpack_report(stored.frame, device.mac_key, topic, device.name)
        except Exception:  # whatever bytes do to a decoder, the next frame is waiting
            return FORGED if stored.key_id == device.key_id else OLDER
        if (report.epoch, report.seq, report.round) != stored[1:4]:
            return MOVED
        plan = self._rounds.get(report.round)
        if plan is None or plan.mechanism != thermal.NAME or len(plan.params) not in _PARAMS:
            return UNASKED
        if [report.payload[0], len(report.payload) - 1] != list(device.place):
            return MISPLACED
        if device.mode == "sealed":
            return SEALED
        key = self._keys.epoch_key(device.name, report.epoch)
        if key is None:
            return CLOSED
        try:
            return _readings(plan, report, key, self._tables(plan, device.place.sensors))
        except (ValueError, OverflowError):  # signed by the site, and no round for all that
            return UNASKED

    def _tables(self, plan: Any, sensors: int) -> Any:
        """Return what devices of so many sensors draw this round's noise from, made once."""
        like = plan.params, sensors
        if like != self._drawn_from[0]:
            self._drawn_from = like, thermal.source(plan, sensors)
        return self._drawn_from[1]


def _readings(plan: Any, report: Any, key: bytes, tables: Any) -> list[Row] | str:
    params, most = thermal.params_of(plan), (1 << (thermal.bits(plan) - 1)) - 1
    first, *blurred = report.payload
    rng = entropy.opened(key, report.sender, report.epoch, report.seq, first)
    rows = []
    opened = thermal.unveil(plan, report.payload, rng, tables)
    for sensor, grains in enumerate(opened.values, first):
        where = (report.sender, report.epoch, report.seq, plan.number, sensor)
        if abs(blurred[sensor - first]) >= most:
            rows.append(Row(*where, None, params.exponent, None, CUT))
            continue
        if not params.low <= grains <= params.high:
            return SPOILT
        note = CLAMPED if grains in (params.low, params.high) else ""
        kelvin = math.ldexp(grains, -params.exponent)
        rows.append(Row(*where, grains, params.exponent, kelvin, note))
    return rows
