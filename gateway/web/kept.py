"""What was told lately: the last few events of each kind, numbered, as they go over the wire.

Who comes back after a while says which was the last it heard, and gets the rest; where some of
that has been overwritten, it is told so and gets all there is instead.
"""

import secrets
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

Event = dict[str, Any]
KEPT = 8  # of each kind


class Told(NamedTuple):
    """An event with its number and its bytes."""

    number: int
    event: Event
    frame: bytes


class Kept:
    """The last events of each kind since this start; not thread safe."""

    def __init__(self, size: int = KEPT) -> None:
        self._size = size
        self._start = secrets.token_hex(4)  # numbers of another start mean nothing here
        self.number = 0
        self._kinds: dict[str, deque[Told]] = {}
        self._lost: dict[str, int] = {}  # of each kind the newest that was overwritten

    def add(self, event: Event) -> Told:
        """Number an event and keep it."""
        self.number += 1
        kind = event["kind"]
        told = Told(self.number, event, self._framed(kind, event))
        held = self._kinds.setdefault(kind, deque(maxlen=self._size))
        if len(held) == self._size:
            self._lost[kind] = held[0].number
        held.append(told)
        return told

    def latest(self) -> list[Told]:
        """Return the last of each kind, oldest first."""
        return sorted((held[-1] for held in self._kinds.values()), key=lambda one: one.number)

    def after(self, id: str) -> Sequence[Told]:
        """Return what was told after the event of this id, or a `reset` with all there is."""
        start, _, number = id.partition(":")
        whole = number.isdecimal() and number.isascii() and len(number) < 16
        if start != self._start or not whole:
            return [self._reset("this gateway has not told what you heard last: it began anew")]
        since = int(number)
        if any(lost > since for lost in self._lost.values()) or since > self.number:
            return [self._reset("some of what was told since then is gone")]
        missed = [one for held in self._kinds.values() for one in held if one.number > since]
        return sorted(missed, key=lambda one: one.number)

    def _reset(self, why: str) -> Told:
        events = {one.event["kind"]: one.event for one in self.latest()}
        event = {"kind": "reset", "why": why, "events": events}
        return Told(self.number, event, self._framed("reset", event))

    def _framed(self, kind: str, event: Event) -> bytes:
        data = msgspec.json.encode(event)
        return b"id: %s:%d\nevent: %s\ndata: %s\n\n" % (
            self._start.encode(),
            self.number,
            kind.encode(),
            data,
        )
