"""kill -9 and clean restarts, of the gateway, the broker and the devices."""

import random
import time
from collections.abc import Callable

import pytest
from harness import sized, takes_long
from harness.clusters import Cluster
from harness.stage import Stage

from tests.waiting import eventually

Staged = Callable[..., Stage]
SENSORS = sized(200, 400)
KILLS = sized(2, 20)
STORES = sized(["sqlite"], ["sqlite", "postgresql"])


def exact(site: Stage, rounds: int) -> None:
    """Every round was charged once, at one price, and nothing beside it."""
    asked, spent, beside = site.charges()
    assert (asked, beside) == (rounds, 0)
    assert spent == rounds * site.price


@takes_long
@pytest.mark.parametrize("store", STORES)
def test_gateway_kill_9_in_mid_round(stage: Staged, store: str) -> None:
    """Devices that trust the broker alone lose nothing: no message is let go before its commit."""
    site, world = stage(sensors=SENSORS, readings=KILLS, store=store), random.Random(1)
    gateway, _ = site.gateway("slow_store"), site.hurried(frees="puback", resend_s=0, pace_s=0.5)
    for kill in range(KILLS):
        assert eventually(lambda kill=kill: site.stored() > (kill + 0.2) * SENSORS)
        time.sleep(world.uniform(0, 0.3))
        gateway.kill()
        gateway.start()
    assert eventually(lambda: site.released() == KILLS)
    found = site.settled()

    assert found.whole, found
    assert found.counted == found.readings == KILLS * SENSORS
    exact(site, KILLS)


def with_all_in_its_hands(site: Stage, *switches: str) -> int:
    """Kill a gateway that was given everything, and has committed nothing; return what is lost."""
    gate = site.folder / "gate"
    gate.touch()
    gateway = site.gateway("gated", *switches)
    site.hurried(frees="puback", resend_s=0)
    assert eventually(lambda: site.freed() == SENSORS)
    time.sleep(0.3)  # the broker has told everybody by now
    assert site.stored() == 0
    gateway.kill()
    gate.unlink()
    gateway.start()
    eventually(lambda: site.asked(), 30)
    return site.settled(5 if switches else 40).lost


@pytest.mark.long
def test_gateway_kill_9_with_all_in_its_hands(stage: Staged) -> None:
    """What it has not committed, the broker gives it again."""
    assert with_all_in_its_hands(stage(sensors=SENSORS, readings=2)) == 0


@pytest.mark.long
def test_gateway_kill_9_in_mid_round_control(stage: Staged) -> None:
    """Acknowledged before its commit, a reading is gone with the gateway."""
    lost = with_all_in_its_hands(stage(sensors=SENSORS, readings=2), "early_ack")

    assert lost > 0.9 * SENSORS


def database_killed(stage: Staged, program: str, *switches: str) -> Stage:
    """kill -9 of PostgreSQL in mid-batch, which would take its time to write to the disk."""
    site = stage(sensors=SENSORS, readings=1, gather_s=120)
    lazy = "synchronous_commit=off", "wal_writer_delay=10s"
    cluster = site.keep_in(Cluster(program, *lazy))
    gateway = site.gateway(*switches)
    site.hurried(frees="puback", resend_s=0, pace_s=1.0)
    parts = (0.3,) if switches else sized((0.3,), (0.1, 0.3, 0.5, 0.7, 0.9))
    for part in parts:
        assert eventually(lambda part=part: site.stored() > part * SENSORS)
        cluster.kill()
        cluster.start()
    assert eventually(lambda: len(site.said()) >= SENSORS)
    assert gateway.alive
    return site


@pytest.mark.long
def test_database_killed(stage: Staged, need: Callable[[str], str]) -> None:
    """The gateway asks again until it is back, and has told nobody what was not on its disk."""
    site = database_killed(stage, need("postgres"))
    found = site.settled(60)

    assert found.whole, found
    assert found.counted == SENSORS
    assert eventually(lambda: site.released() == 1)
    assert site.charges()[::2] == (1, 0)


@takes_long
def test_database_killed_control(stage: Staged, need: Callable[[str], str]) -> None:
    """Told as committed before it is on the disk, a reading is gone with the database."""
    assert database_killed(stage, need("postgres"), "undurable").settled(10).lost > 0


@takes_long
@pytest.mark.parametrize("store", STORES)
def test_gateway_broker_and_edge_kill_9(stage: Staged, store: str) -> None:
    """What is in a broker's memory and what is on its way is sent again until the receipt."""
    kills, sensors = sized(2, 12), 40
    given = {"sensors": sensors, "readings": 3 * kills, "every_s": 0.5, "store": store}
    site, world = stage(**given), random.Random(2)
    gateway, edges = site.gateway("slow_store"), site.edges()
    for kill in range(kills):
        assert eventually(lambda kill=kill: len(site.said()) > (kill + 0.3) * sensors)
        time.sleep(world.uniform(0, 0.3))
        for one in (gateway, site.broker, edges):
            one.kill()
        for one in (site.broker, gateway, edges):
            one.start()
    assert eventually(lambda: len(site.said()) > (kills + 1) * sensors)
    edges.stop()
    edges.start()  # what waits for a tick now is no loss
    found = site.settled(60)

    assert found.whole, found
    assert found.refused <= 2 * sensors * kills  # late ones have a row and a reason
    assert site.charges()[2] == 0


def queued_and_killed(site: Stage, frees: str) -> int:
    """Let a broker hold the answers of a round for a gateway that is away; kill it; lost then."""
    gateway, edges = site.gateway(), site.edges(frees=frees, start=False)
    assert site.asked()
    gateway.freeze()
    edges.start()
    assert eventually(lambda: len(site.said()) >= 20)
    time.sleep(0.5)  # a tick, and the broker's acknowledgement
    for one in (site.broker, gateway, edges):
        one.kill()
    for one in (site.broker, gateway, edges):
        one.start()
    return site.settled(40 if frees == "receipt" else 15).lost


@pytest.mark.long
def test_gateway_broker_and_edge_kill_9_while_the_broker_holds_all(stage: Staged) -> None:
    """A broker's acknowledgement promises memory and not a disk."""
    assert queued_and_killed(stage(readings=2), "receipt") == 0


@takes_long
def test_gateway_broker_and_edge_kill_9_control(stage: Staged) -> None:
    """Freed when the broker acknowledges, a reading is gone with the broker."""
    assert queued_and_killed(stage(readings=2), "puback") == 20


def forgotten(site: Stage, *switches: str) -> bool:
    """Kill the broker alone in mid-round; return whether devices that come then hear the round."""
    site.gateway(*switches)
    assert site.asked()
    site.broker.kill()
    site.broker.start()
    site.edges()
    return eventually(lambda: site.stored() == 20, 10)


@takes_long
def test_broker_kill_9_and_the_round_is_still_asked(stage: Staged) -> None:
    """What the broker retained is gone with it; whoever comes later hears of the round again."""
    assert forgotten(stage(gather_s=60))


@takes_long
def test_broker_kill_9_and_the_round_is_still_asked_control(stage: Staged) -> None:
    """Told once, a broker that was killed asks nobody any more."""
    assert not forgotten(stage(gather_s=60), "told_once")


def restarted(site: Stage, times: int) -> int:
    """Restart gateway and broker cleanly, each time with answers under way; what is lost then."""
    gateway = site.gateway()
    site.hurried(frees="puback", resend_s=0, pace_s=1.0)
    for number in range(times):
        assert eventually(lambda number=number: site.stored() > (number + 0.1) * SENSORS)
        gateway.stop()
        assert eventually(lambda number=number: len(site.said()) >= (number + 1) * SENSORS)
        time.sleep(0.3)
        site.broker.restart()
        gateway.start()
    return site.settled(sized(5, 10)).lost


@takes_long
def test_both_restarted_cleanly(stage: Staged) -> None:
    """A broker with persistence keeps what waits for us, and our session."""
    times = sized(2, 5)
    site = stage(sensors=SENSORS, readings=times)

    assert restarted(site, times) == 0
    assert eventually(lambda: site.released() == times)
    exact(site, times)


@takes_long
def test_both_restarted_cleanly_control(stage: Staged) -> None:
    """Without persistence a clean restart forgets what was acknowledged."""
    site = stage(sensors=SENSORS, readings=1, persistent=False)

    assert restarted(site, 1) > 0
