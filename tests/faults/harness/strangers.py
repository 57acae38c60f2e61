"""A stranger who hears everything on a broker, over all its deaths, and what it then can tell.

It is no part of heatveil and asks nobody: what it has heard was published, whatever a store says.
Only what it is there for, of course: it may miss what goes out while it connects.
"""

import hashlib
import json
import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import Any

import cbor2

from edge.core import wire

from .radio import Radio
from .stage import SITE
from .truth import Numbers

ROUND, NUMBER = 3, 1  # of a report and of a round: see edge/wire.cddl


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
