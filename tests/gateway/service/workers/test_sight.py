"""A worker that does not see the broker leaves the parts to those who do."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.service.workers.leases import unique_name
from gateway.service.workers.worker import Sight, Worker
from gateway.settings.deployment import Deployment, Mqtt
from gateway.store.store import Store
from tests.proxies import Proxy
from tests.waiting import eventually

PARTITIONS, LEASE_S = 4, 1.5


@pytest.fixture
def wire(mosquitto: Mqtt) -> Iterator[Proxy]:
    """Return a way to the broker, which can be cut and mended."""
    with Proxy(mosquitto.port) as one:
        yield one


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
    mosquitto: Mqtt, store: Store, home: Any, wire: Proxy
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
        wire.refuses = True
        wire.reset()
        cut_s = time.monotonic()
        assert eventually(lambda: len(bob.parts) == PARTITIONS)
        assert ada.parts == []
        assert time.monotonic() - cut_s > 0.8 * LEASE_S
        assert not away
        wire.refuses = False
        assert eventually(lambda: len(ada.parts) == len(bob.parts) == PARTITIONS / 2)
    # One outage is counted once, however many links it has cut.
    assert len(away) == 1
    assert LEASE_S < away[0] < time.monotonic() - cut_s


def test_a_short_outage_moves_no_part(
    mosquitto: Mqtt, store: Store, home: Any, wire: Proxy
) -> None:
    """The sessions come back by themselves, and each part stays where it is."""
    with Worker(deployment(store, wire.port), home.devices, unique_name("ada"), store) as ada:
        assert eventually(lambda: len(ada.parts) == PARTITIONS)
        leases = set(ada._hands.held)
        wire.reset()
        assert eventually(lambda: not ada._sight.blind_for(0))
        assert set(ada._hands.held) == leases
