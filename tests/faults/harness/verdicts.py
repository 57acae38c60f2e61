"""What a stranger hears, and what is wrong with a site after everything that was done to it."""

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import cbor2

from edge.core import wire

from .radio import Radio
from .stage import SITE, Stage
from .truth import Numbers, ask, sound

# A stranger who hears everything on a broker, over all its deaths, and what it then can tell.


class Stranger(threading.Thread):
    """Connects again and again; a context manager."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port, self._over = port, False
        self.connections = 0
        self.frames: dict[Numbers, set[bytes]] = defaultdict(set)  # digests under some numbers
        self.answers: dict[tuple[str, bytes], set[bytes]] = defaultdict(set)
        self.rounds: dict[int, set[bytes]] = defaultdict(set)
        self.maps: dict[int, set[bytes]] = defaultdict(set)

    def __enter__(self) -> "Stranger":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self.join(5)

    def run(self) -> None:
        while not self._over:
            with suppress(OSError, StopIteration, IndexError, ValueError, TypeError):
                self._listen()
            time.sleep(0.02)

    def _listen(self) -> None:
        with Radio(self._port, f"stranger-{self.connections}") as radio:
            radio.subscribe(f"heatveil/1/{SITE}/#")
            self.connections += 1
            while radio.open and not self._over:
                for topic, payload in radio.next():
                    self._note(topic, payload)

    def _note(self, topic: str, payload: bytes) -> None:
        words = topic.split("/")
        if not payload:
            return
        if words[3] == "map":
            told = json.loads(payload)
            if told["status"] != "unresolved":  # no result: a later start may find one
                self.maps[told["number"]].add(payload)
        elif words[3] == "round":
            self.rounds[_body(payload)[NUMBER]].add(payload)
        elif words[-1] == "data":
            body, digest = _body(payload), hashlib.sha256(payload).digest()
            self.frames[words[3], body[2], body[1]].add(digest)
            self.answers[words[3], body[ROUND]].add(digest)


def _body(message: bytes) -> dict[int, Any]:
    body = cbor2.loads(message[: -wire.MAC_BYTES])
    assert isinstance(body, dict)
    return body


# What is wrong with a site after everything that was done to it, in sentences; none if nothing.

FEW = 5
ROUND, NUMBER, READINGS, SENSOR = 3, 1, 4, 5  # of a report, and of a round: edge/wire.cddl
LITTLE_16 = 77  # RFC 8746; 78 has 32 bits


def some(found: Any) -> str:
    """Return the first few of many, and how many there are."""
    found = list(found)
    return f"{len(found)}: {', '.join(map(str, found[:FEW]))}{' ...' * (len(found) > FEW)}"


def wrongs(site: Stage, stranger: Stranger) -> Iterator[str]:
    """Give a sentence for each promise that was broken."""
    found = site.truth()
    if not found.whole:
        yield f"readings: {found}"
    rounds, spent, beside = site.charges()
    if beside or spent != rounds * site.price:
        yield f"{rounds} rounds cost {spent}, and {rounds * site.price} was due; {beside} more"
    if isinstance(site.database, str) or sound(site.database):
        yield from _of_rounds(site)
        yield from _of_the_wire(site, stranger)
    else:
        yield "SQLite does not find its file whole"
    if left := ask(site.database, "SELECT id, topic FROM outbox"):
        yield f"letters that never went: {some(left)}"
    for table in ("alarms", "quarantine"):
        if rows := ask(site.database, f"SELECT device, why FROM {table}"):
            yield f"honest devices in {table}: {some(rows)}"
    odd = "SELECT kind, topic, why FROM refused WHERE kind NOT IN ('late', 'other-round')"
    if rows := ask(site.database, odd):
        yield f"honest messages refused: {some(rows)}"


def _of_rounds(site: Stage) -> Iterator[str]:
    """One result a round, made of every answer that counts and of no other."""
    told: dict[bytes, dict[int, int]] = defaultdict(dict)
    for frame, name in ask(site.database, "SELECT frame, round FROM reports"):
        told[bytes(name)].update(readings(bytes(frame)))
    answers = Counter(bytes(row[0]) for row in ask(site.database, "SELECT round FROM reports"))
    closed = ask(site.database, 'SELECT round, "values", reports FROM releases')
    for name, written, reports in closed:
        values = {n: value for n, value in enumerate(json.loads(written)) if value is not None}
        if reports != answers[bytes(name)] or values != told[bytes(name)]:
            yield f"round {bytes(name).hex()} has {answers[bytes(name)]} answers, {reports} count"
    silent = {bytes(row[0]) for row in closed if not row[2]}
    drawn = {bytes(row[0]) for row in ask(site.database, "SELECT round FROM maps")}
    if drawn & silent:
        yield f"maps of rounds that nobody answered: {some(drawn & silent)}"
    paid = Counter(bytes(row[0]) for row in ask(site.database, "SELECT round FROM charges"))
    if twice := [name.hex() for name, times in paid.items() if times > 1]:
        yield f"rounds that were charged twice: {some(twice)}"


def _of_the_wire(site: Stage, stranger: Stranger) -> Iterator[str]:
    """What went out is what was written, by the devices and by the gateway, and went out alone."""
    wrote = site.said()
    strange = [k for k, seen in list(stranger.frames.items()) if seen != {wrote.get(k)}]
    if strange:
        yield f"frames that are not as their device wrote them: {some(strange)}"
    for what, seen in (("answers", stranger.answers), ("maps", stranger.maps)):
        if two := [key for key, different in list(seen.items()) if len(different) > 1]:
            yield f"{what} with two noises: {some(two)}"
    asked = {n: {bytes(m)} for n, m in ask(site.database, "SELECT number, message FROM rounds")}
    if other := [n for n, seen in list(stranger.rounds.items()) if seen != asked.get(n)]:
        yield f"rounds that are not as they are stored: {some(other)}"
    drawn = dict(
        ask(site.database, "SELECT number, body FROM maps JOIN rounds ON round = rounds.name")
    )
    kept = {number: {body.encode()} for number, body in drawn.items()}
    if other := [n for n, seen in list(stranger.maps.items()) if seen != kept.get(n)]:
        yield f"maps that are not as they are stored: {some(other)}"


def readings(frame: bytes) -> dict[int, int]:
    """Return what a frame says of each sensor."""
    body = cbor2.loads(frame[: -wire.MAC_BYTES])
    said, wide = body[READINGS], 2 if body[READINGS].tag == LITTLE_16 else 4
    parts = [said.value[at : at + wide] for at in range(0, len(said.value), wide)]
    return {
        body[SENSOR] + n: int.from_bytes(part, "little", signed=True)
        for n, part in enumerate(parts)
    }
