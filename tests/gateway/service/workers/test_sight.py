"""A worker that does not see the broker leaves the parts to those who do."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.service.workers.leases import unique_name
from gateway.service.workers.worker import Sight, Worker
from gateway.settings.deployment import Deployment, Mqtt
from gateway.store.store import Store
from tests.waiting import eventually

PARTITIONS, LEASE_S = 4, 1.5


class Wire:
    """The way to the broker, which can be cut and mended."""

    def __init__(self, to_port: int) -> None:
        self._to_port, self._ends, self._cut = to_port, list[socket.socket](), False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cut = True
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._cut = False

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to_port))
                self._ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=ends, daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while said := source.recv(65536):
            target.sendall(said)
    for end in (source, target):
        with suppress(OSError):
            end.close()


@pytest.fixture
def wire(mosquitto: Mqtt) -> Iterator[Wire]:
    """Return a way to the broker."""
    one = Wire(mosquitto.port)
    yield one
    one.close()


def deployment(store: Store, port: int) -> Deployment:
    """Return a deployment with the broker behind this port."""
    return Deployment(
        site={"name": "testsite"},
        room={"cells": 24},
        heat={"spread_m2": 0.05},
        sensors={"count": 4},
        privacy={"epsilon": "1/1", "delta": "1/100000"},
        mqtt={"port": port, "insecure": True},
        store={"postgresql": store.place.words},  # type: ignore[union-attr]
        workers={"partitions": PARTITIONS, "lease_s": LEASE_S},
    )


@pytest.mark.long
@pytest.mark.parametrize("looks", [True, False])
def test_who_never_saw_the_broker_takes_no_part(
    mosquitto: Mqtt, store: Store, home: Any, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """Its half of the devices would else wait for ever, with every lease in order."""
    if not looks:
        monkeypatch.setattr(Sight, "blind_for", lambda sight, seconds: False)
    said: dict[str, tuple[bool, str]] = {}

    def say(part: str, ok: bool, why: str) -> None:
        said[part] = ok, why

    with ExitStack() as stack:
        join = stack.enter_context
        nowhere, here = deployment(store, find_free_port()), deployment(store, mosquitto.port)
        ada = join(Worker(nowhere, home.devices, unique_name("ada"), store, say=say))
        if not looks:
            assert eventually(lambda: len(ada.parts) == PARTITIONS)
        bob = join(Worker(here, home.devices, unique_name("bob"), store))
        if looks:
            assert eventually(lambda: len(bob.parts) == PARTITIONS)
            assert ada.parts == []
            assert eventually(lambda: not said["broker"][0])
            assert said["parts"] == (False, "it takes no part before the broker has it")
            assert said["store"] == (True, "")
        else:
            assert eventually(lambda: len(bob.parts) == PARTITIONS / 2)
            time.sleep(2 * LEASE_S)
            assert len(ada.parts) == PARTITIONS / 2  # and nothing of them comes


@pytest.mark.long
def test_who_loses_the_broker_gives_its_parts_away_and_gets_them_back(
    mosquitto: Mqtt, store: Store, home: Any, wire: Wire
) -> None:
    """Not before a lease is over, since a broker may be started anew; then to those who see it."""
    away: list[float] = []
    with ExitStack() as stack:
        join = stack.enter_context
        cut_off, here = deployment(store, wire.port), deployment(store, mosquitto.port)
        ada = join(Worker(cut_off, home.devices, unique_name("ada"), store, away=away.append))
        bob = join(Worker(here, home.devices, unique_name("bob"), store))
        assert eventually(lambda: len(ada.parts) == len(bob.parts) == PARTITIONS / 2)
        assert eventually(lambda: all(part._listens for part in ada._hands._parts.values()))
        wire.cut()
        cut_s = time.monotonic()
        assert eventually(lambda: len(bob.parts) == PARTITIONS)
        assert ada.parts == []
        assert time.monotonic() - cut_s > 0.8 * LEASE_S
        assert not away
        wire.mend()
        assert eventually(lambda: len(ada.parts) == len(bob.parts) == PARTITIONS / 2)
    # One outage is counted once, however many links it has cut.
    assert len(away) == 1
    assert LEASE_S < away[0] < time.monotonic() - cut_s


def test_a_short_outage_moves_no_part(
    mosquitto: Mqtt, store: Store, home: Any, wire: Wire
) -> None:
    """The sessions come back by themselves, and each part stays where it is."""
    with Worker(deployment(store, wire.port), home.devices, unique_name("ada"), store) as ada:
        assert eventually(lambda: len(ada.parts) == PARTITIONS)
        leases = set(ada._hands.held)
        wire.cut()
        wire.mend()
        assert eventually(lambda: not ada._sight.blind_for(0))
        assert set(ada._hands.held) == leases
