"""What a part hears: exactly its devices, whoever comes, goes, or loses sight of the broker."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from edge.core import wire
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.workers.leases import Lease, make_unique_name
from gateway.service.workers.part import (
    Part,
    Surroundings,
    end_old_sessions,
    find_part,
    make_session_name,
)
from gateway.service.workers.worker import Worker, compute_share
from gateway.settings.deployment import Deployment, Mqtt
from gateway.store.store import Store
from tests.processes import find_free_port
from tests.proxies import Proxy
from tests.waiting import eventually, find_kept

# What a part's session hears: exactly its devices, whoever comes and goes.

PARTITIONS = 3


FOUR, LEASE_S = 4, 1.5


def behind_port(
    store: Store, port: int, partitions: int = FOUR, lease_s: float = LEASE_S
) -> Deployment:
    """Return a deployment with the broker behind this port."""
    return Deployment(
        site={"name": "testsite"},
        room={"cells": 24},
        heat={"spread_m2": 0.05},
        sensors={"count": 4},
        privacy={"epsilon": "1/1", "delta": "1/100000"},
        mqtt={"port": port, "insecure": True},
        store={"postgresql": store.place.words},  # type: ignore[union-attr]
        workers={"partitions": partitions, "lease_s": lease_s},
    )


@pytest.fixture
def deployment(mosquitto: Mqtt, store: Store) -> Deployment:
    """Return a deployment of three parts."""
    return behind_port(store, mosquitto.port, PARTITIONS, 2)


@contextmanager
def speaking(mosquitto: Mqtt) -> Iterator[Callable[[str], None]]:
    """Return what says something, that is no frame, on a topic."""
    with Pump("voice") as pump:
        link = Link(mosquitto, "voice", pump, lasting=False).wait_connected()
        yield lambda topic: link.publish(topic, b"nonsense")
        assert link.wait_until_sent(5)
        link.close()


def heard(store: Store) -> list[str]:
    """Return the devices from whose topics something came, each time that it did."""
    return sorted(letter.topic.split("/")[3] for letter in store.list_refused(1000))


@pytest.mark.long
def test_a_device_that_is_added_is_heard_after_a_reload_and_one_that_is_removed_is_not(
    deployment: Deployment, mosquitto: Mqtt, store: Store, home: Any
) -> None:
    """The session at the broker has exactly the topics of today's devices, over a restart too."""
    names = sorted(home.devices.by_name)
    few = home.devices._replace(by_name={name: home.devices.by_name[name] for name in names[:2]})
    rest = home.devices._replace(by_name={name: home.devices.by_name[name] for name in names[2:]})
    with (
        speaking(mosquitto) as say,
        Worker(deployment, few, make_unique_name("ada"), store) as worker,
    ):
        assert eventually(lambda: _subscribed(worker) and len(worker.parts) == PARTITIONS)
        worker.replace_devices(rest)
        assert eventually(lambda: _knows(worker, rest) and _subscribed(worker))
        for name in names:
            say(wire.topic(home.devices.site, name, "data"))
        assert eventually(lambda: len(heard(store)) >= 2)
    assert heard(store) == names[2:]
    # What comes while nobody works waits for the topics of today, and for no others.
    with speaking(mosquitto) as say:
        for name in names:
            say(wire.topic(home.devices.site, name, "data"))
    with Worker(deployment, home.devices, make_unique_name("bob"), store) as worker:
        assert eventually(lambda: len(heard(store)) >= 4)
        assert eventually(lambda: _subscribed(worker))
    assert heard(store) == sorted(2 * names[2:])


@pytest.mark.parametrize("sure_s", [-1.0, 60.0])
def test_who_may_have_lost_a_part_does_not_connect_for_it(
    deployment: Deployment, store: Store, home: Any, sure_s: float
) -> None:
    """A part's session has one name: a worker that wakes up would throw its heir off."""
    with Pump("old") as pump:
        around = Surroundings(
            deployment, home.devices, store, pump, lambda *_: None, lambda _: None
        )
        part = Part(Lease(0, "ada", 1), time.monotonic() + sure_s, around)
        connected = eventually(lambda: part._listens, 60 if sure_s > 0 else 0.5)
        part.close()

    assert connected == (sure_s > 0)


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2])
def test_sessions_of_parts_that_are_no_more_are_ended_at_the_broker(
    deployment: Deployment, mosquitto: Mqtt, store: Store, home: Any, partitions: int
) -> None:
    """Else the broker would go on filling queues that nobody comes for."""
    with Worker(deployment, home.devices, make_unique_name("ada"), store) as worker:
        assert eventually(lambda: len(worker.parts) == PARTITIONS and _subscribed(worker))
        fewer = deployment.workers.model_copy(update={"partitions": partitions})
        changed = deployment.model_copy(update={"workers": fewer})
        assert end_old_sessions(changed, store) == []  # somebody is at work there
    with speaking(mosquitto) as say:
        for name in home.devices.by_name:
            say(wire.topic(home.devices.site, name, "data"))
    gone = [part for part in range(PARTITIONS) if partitions == 1 or part >= partitions]
    assert end_old_sessions(changed, store) == gone
    assert end_old_sessions(changed, store) == []
    kept = {name for name in home.devices.by_name if find_part(name, PARTITIONS) not in gone}
    sessions = [make_session_name(deployment.site.name, part) for part in range(PARTITIONS)]
    came = [one for session in sessions for one in find_kept(mosquitto, session=session)]
    assert {one.topic.split("/")[3] for one in came} == kept


def test_parts_are_split_for_ever_and_evenly() -> None:
    """Fixed for as long as there are sessions at brokers: these figures must not change."""
    found = [find_part(f"node-{n:04}", 16) for n in range(10_000)]
    assert found[:8] == [8, 2, 6, 15, 3, 15, 4, 6]
    counts = [found.count(part) for part in range(16)]
    assert min(counts) > 550, counts
    assert max(counts) < 700, counts


@pytest.mark.parametrize("workers", range(1, 9))
@pytest.mark.parametrize("partitions", [1, 5, 16, 256])
def test_shares_are_all_parts_and_even(workers: int, partitions: int) -> None:
    """No part without a worker, no worker with two more than another."""
    living = [f"worker-{n}" for n in range(workers)]
    shares = [compute_share(name, living, partitions) for name in living]
    assert sum(shares) == partitions
    assert max(shares) - min(shares) <= 1
    fewer = [compute_share(name, living[:-1], partitions) for name in living[:-1]]
    assert all(more >= less for more, less in zip(fewer, shares, strict=False))
    assert compute_share("nobody", living, partitions) == 0


def _subscribed(worker: Worker) -> bool:
    return all(part._listens for part in worker._held_parts._parts.values())


def _knows(worker: Worker, devices: Any) -> bool:
    known = {name for part in worker._held_parts._parts.values() for name in part.devices.by_name}
    return len(worker.parts) == PARTITIONS and known == set(devices.by_name)


# A worker that does not see the broker leaves the parts to those who do.


@pytest.fixture
def proxied(mosquitto: Mqtt) -> Iterator[Proxy]:
    """Return a way to the broker, which can be cut and mended."""
    with Proxy(mosquitto.port) as one:
        yield one


@pytest.mark.long
def test_who_never_saw_the_broker_takes_no_part(mosquitto: Mqtt, store: Store, home: Any) -> None:
    """Its half of the devices would else wait for ever, with every lease in order."""
    said: dict[str, tuple[bool, str]] = {}

    def say(part: str, ok: bool, why: str) -> None:
        said[part] = ok, why

    with ExitStack() as stack:
        join = stack.enter_context
        nowhere, here = behind_port(store, find_free_port()), behind_port(store, mosquitto.port)
        ada = join(Worker(nowhere, home.devices, make_unique_name("ada"), store, say=say))
        bob = join(Worker(here, home.devices, make_unique_name("bob"), store))
        assert eventually(lambda: len(bob.parts) == FOUR)
        assert ada.parts == []
        assert eventually(lambda: not said["broker"][0])
        assert said["parts"] == (False, "it takes no part before the broker has it")
        assert said["store"] == (True, "")


@pytest.mark.long
def test_who_loses_the_broker_gives_its_parts_away_and_gets_them_back(
    mosquitto: Mqtt, store: Store, home: Any, proxied: Proxy
) -> None:
    """Not before a lease is over, since a broker may be started anew; then to those who see it."""
    away: list[float] = []
    with ExitStack() as stack:
        join = stack.enter_context
        cut_off, here = behind_port(store, proxied.port), behind_port(store, mosquitto.port)
        ada = join(Worker(cut_off, home.devices, make_unique_name("ada"), store, away=away.append))
        bob = join(Worker(here, home.devices, make_unique_name("bob"), store))
        assert eventually(lambda: len(ada.parts) == len(bob.parts) == FOUR / 2)
        assert eventually(lambda: all(part._listens for part in ada._held_parts._parts.values()))
        proxied.refuses = True
        proxied.reset()
        cut_s = time.monotonic()
        assert eventually(lambda: len(bob.parts) == FOUR)
        assert ada.parts == []
        assert time.monotonic() - cut_s > 0.8 * LEASE_S
        assert not away
        proxied.refuses = False
        assert eventually(lambda: len(ada.parts) == len(bob.parts) == FOUR / 2)
    # One outage is counted once, however many links it has cut.
    assert len(away) == 1
    assert LEASE_S < away[0] < time.monotonic() - cut_s


def test_a_short_outage_moves_no_part(
    mosquitto: Mqtt, store: Store, home: Any, proxied: Proxy
) -> None:
    """The sessions come back by themselves, and each part stays where it is."""
    with Worker(
        behind_port(store, proxied.port), home.devices, make_unique_name("ada"), store
    ) as ada:
        assert eventually(lambda: len(ada.parts) == FOUR)
        leases = set(ada._held_parts.held)
        proxied.reset()
        assert eventually(lambda: not ada._sight.is_blind_for(0))
        assert set(ada._held_parts.held) == leases
