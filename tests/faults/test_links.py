"""What a network does: it stands still, breaks, swallows, and is not there at the start."""

import random
import time
from collections.abc import Callable

import pytest
from harness import sized, takes_long
from harness.stage import Stage, get

from tests.proxies import Proxy
from tests.waiting import eventually

Staged = Callable[..., Stage]
SENSORS = sized(200, 400)


def connections(site: Stage) -> int:
    """Return how often the gateway has connected, as its broker tells."""
    return site.broker.said().count(" as heatveil-stage ")


def frozen(site: Stage, which: str, frozen_s: float, *switches: str) -> tuple[int, int]:
    """Freeze the gateway or its broker while answers come; return lost, and connections."""
    gateway = site.gateway(*switches)
    site.hurried(frees="puback", resend_s=0, pace_s=1.0)
    assert eventually(lambda: site.stored() > 0.1 * SENSORS)
    one = gateway if which == "gateway" else site.broker
    one.freeze()
    time.sleep(frozen_s)
    one.thaw()
    assert eventually(lambda: len(site.said()) >= SENSORS)
    return site.settled().lost, connections(site)


@takes_long
def test_broker_frozen_8_s(stage: Staged) -> None:
    """A broker that stood still is waited for, and not run away from."""
    assert frozen(stage(sensors=SENSORS, readings=1, gather_s=60), "broker", sized(3, 8)) == (0, 1)


@takes_long
def test_gateway_frozen_8_s(stage: Staged) -> None:
    """A machine that stood still has its link when it wakes."""
    assert frozen(stage(sensors=SENSORS, readings=1, gather_s=60), "gateway", sized(3, 8)) == (
        0,
        1,
    )


@takes_long
@pytest.mark.parametrize("which", ["gateway", "broker"])
def test_frozen_8_s_control(stage: Staged, which: str) -> None:
    """With a keepalive of two seconds one gives the other up, and nothing is lost even then."""
    site = stage(sensors=SENSORS, readings=1, gather_s=60)
    lost, _ = frozen(site, which, 12, "short_keepalive")  # mosquitto looks every 5 s

    assert lost == 0
    assert eventually(lambda: connections(site) > 1)


def torn(site: Stage, proxy: Proxy, times: int, **options: object) -> int:
    """Reset all links of gateway and devices, again and again; return the readings lost."""
    world = random.Random(3)
    site.write(proxy.port)
    site.gateway("slow_store")
    site.hurried(proxy.port, pace_s=0.3 * times, **options)
    assert eventually(lambda: site.stored() > 0)
    for _ in range(times):
        proxy.reset()
        time.sleep(world.uniform(0.1, 0.5))
    assert eventually(lambda: len(site.said()) >= SENSORS)
    return site.settled(sized(15, 30)).lost


@pytest.mark.long
def test_link_reset_6_times(stage: Staged) -> None:
    """What was under way when the link broke comes again, and counts once."""
    site = stage(sensors=SENSORS, readings=1, gather_s=60)
    with Proxy(site.broker.port) as proxy:
        lost = torn(site, proxy, 6)
    found = site.truth()

    assert lost == 0
    assert found.whole, found
    assert site.charges()[::2] == (1, 0)


@takes_long
def test_black_hole_6_s(stage: Staged) -> None:
    """A link that takes everything and carries nothing costs time and no reading."""
    site = stage(sensors=SENSORS, readings=1, gather_s=60)
    with Proxy(site.broker.port) as proxy:
        site.write(proxy.port)
        site.gateway()
        site.hurried(proxy.port, pace_s=1.0)
        assert eventually(lambda: site.stored() > 0)
        proxy.swallows = True
        time.sleep(sized(3, 6))
        proxy.swallows = False
        proxy.reset()  # as the network's own end of a dead connection
        assert eventually(lambda: len(site.said()) >= SENSORS)
        found = site.settled()

    assert found.whole, found
    assert found.counted == SENSORS


@takes_long
def test_black_hole_6_s_control(stage: Staged) -> None:
    """Said once and not again, what went into the hole is gone."""
    site = stage(sensors=SENSORS, readings=1, gather_s=8)
    with Proxy(site.broker.port) as proxy:
        site.gateway()
        site.hurried(proxy.port, pace_s=1.0, frees="sending", resend_s=0)
        assert eventually(lambda: site.stored() > 0)
        proxy.swallows = True
        assert eventually(lambda: len(site.said()) >= SENSORS)
        time.sleep(0.3)
        proxy.swallows = False
        proxy.reset()

        assert site.settled(4).lost > 0


def acked_late(site: Stage, *switches: str) -> int:
    """Let acknowledgements of a broker that was killed meet the messages of its successor."""
    gate, waits = site.folder / "gate", site.folder / "waits"
    gate.touch()
    gateway = site.gateway("gated", "slow_commit", *switches)
    assert site.asked()
    gateway.freeze()  # so that what comes meanwhile is one batch
    first = site.hurried(frees="puback", resend_s=0, names=[0, 100], log="first")
    assert eventually(lambda: site.freed() >= 100)
    time.sleep(0.6)
    gateway.thaw()
    assert eventually(waits.exists)
    site.broker.kill()
    first.kill()  # or it would send its own again
    site.broker.start()
    site.hurried(frees="puback", resend_s=0, names=[100, 200], log="second", asks_itself=True)
    assert eventually(lambda: site.freed() >= 200)
    time.sleep(0.5)
    gate.unlink()
    assert eventually(lambda: site.stored() >= 100)  # and now the old acknowledgements go out
    gate.touch()  # before the slow disk is done with the next batch
    time.sleep(0.5)
    gateway.kill()
    gate.unlink()
    gateway.start()
    return site.settled(8).lost


@takes_long
def test_link_reset_acknowledgements_of_an_older_connection(stage: Staged) -> None:
    """Packet ids come back: an acknowledgement is good for its own connection alone."""
    assert acked_late(stage(sensors=200)) == 0


@takes_long
def test_link_reset_control(stage: Staged) -> None:
    """Sent over another connection, an acknowledgement lets go of what nobody has stored."""
    assert acked_late(stage(sensors=200), "untagged") > 0


@pytest.mark.long
def test_broker_down_at_start(stage: Staged) -> None:
    """The page is up at once and says which part is missing; the link joins when it can."""
    site = stage(readings=1)
    site.broker.stop()
    site.gateway()
    assert eventually(lambda: get(site, "/livez") == 200)
    assert eventually(lambda: get(site, "/readyz") == 503)
    began_s = time.monotonic()
    site.broker.start()
    site.edges()
    assert eventually(lambda: site.stored() > 0)
    print(f"broker back to first reading: {time.monotonic() - began_s:.1f} s")
    assert eventually(lambda: site.released() == 1)
    assert eventually(lambda: get(site, "/readyz") == 200)


@takes_long
def test_broker_down_at_start_control(stage: Staged) -> None:
    """A gateway that waits for its broker shows no page, and ends."""
    site = stage(readings=1)
    site.broker.stop()
    gateway = site.gateway("waits_for_broker")

    assert eventually(lambda: not gateway.alive)
    assert get(site, "/livez") is None
