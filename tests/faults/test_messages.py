"""What messages do: come twice, out of order, too late, broken, and too large."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from harness import sized, takes_long
from harness.brokers import LIMITS, OPEN, Broker
from harness.radio import Listener, Radio
from harness.stage import Stage, told
from harness.truth import Forge, ask

from tests.waiting import eventually

Staged = Callable[..., Stage]
GENEROUS = "[guard]\nmessages_per_s = 100000\nburst = 1000000\nforged = 1000000\n"


def kinds(site: Stage) -> dict[str, int]:
    """Return why messages were refused, and how many."""
    return dict(ask(site.database, "SELECT kind, count(*) FROM refused GROUP BY kind"))


def asked(stage: Staged, *switches: str, **given: Any) -> tuple[Stage, Forge]:
    """Start a gateway that has asked its first round."""
    site = stage(**given)
    site.more = GENEROUS
    site.write(site.broker.port)
    site.gateway(*switches)
    assert site.asked()
    return site, Forge(site.folder, site.database)


def repeated(site: Stage, forge: Forge) -> None:
    """Send every frame three times, in another order; the first one at the end."""
    plan, world = forge.plan(), random.Random(4)
    frames = [(forge.topic(one), forge.frame(one, plan, 1, 1)) for one in forge.names]
    twice = 2 * frames[1:]
    world.shuffle(twice)
    with Radio(site.broker.port, "echo") as radio:
        for topic, frame in twice:
            assert radio.publish(topic, frame)
        assert eventually(lambda: site.stored() == len(frames) - 1)
        for topic, frame in [*frames[1:], frames[0], frames[0], frames[1]]:
            assert radio.publish(topic, frame)
    eventually(lambda: site.released() == 1 or site.alarms(), 10)
    time.sleep(0.5)


@pytest.mark.long
def test_duplicate_out_of_order_replayed(stage: Staged) -> None:
    """Each counts once, whatever a network makes of it; older numbers are an alarm and no more."""
    site, forge = asked(stage, sensors=60)
    repeated(site, forge)

    assert site.stored() == 60
    assert (kinds(site), site.alarms(), site.charges()[2]) == ({}, 0, 0)
    with Radio(site.broker.port, "past") as radio:
        plan, one = forge.plan(1), forge.names[5]
        for epoch, seq in ((4, 2), (4, 1), (3, 9)):
            radio.publish(forge.topic(one), forge.frame(one, plan, epoch, seq, seq))
    assert eventually(lambda: site.alarms() == 1)
    assert site.stored() == 60
    assert kinds(site)["replayed"] == 2


@pytest.mark.long
def test_duplicate_control(stage: Staged) -> None:
    """A gateway that does not know what it has heard takes an echo for a device gone back."""
    site, forge = asked(stage, "forgetful", sensors=60)
    repeated(site, forge)

    assert site.alarms() > 0 or kinds(site)


def answered_late(site: Stage, forge: Forge) -> None:
    """Let all but one device answer, and that one when the round is closed."""
    plan = forge.plan()
    with Radio(site.broker.port, "late") as radio:
        for one in forge.names[1:]:
            radio.publish(forge.topic(one), forge.frame(one, plan, 1, 1))
        assert eventually(lambda: site.released() == 1)
        last = forge.names[0]
        radio.publish(forge.topic(last), forge.frame(last, plan, 1, 1))
    assert eventually(lambda: site.heard() == 1 or site.stored() == 20)


@pytest.mark.long
def test_late_reading(stage: Staged) -> None:
    """It is refused with a reason, counted as late, and stands in no release."""
    site, forge = asked(stage, gather_s=2, every_s=30)
    answered_late(site, forge)
    ((reports,),) = ask(site.database, "SELECT reports FROM releases")

    assert kinds(site) == {"late": 1}
    assert site.stored() == reports == 19
    assert eventually(lambda: 'heatveil_refused_total{kind="late"} 1.0' in told(site, "/metrics"))


@takes_long
def test_late_reading_control(stage: Staged) -> None:
    """Without a deadline it counts in the store and stands in no release: silently lost."""
    site, forge = asked(stage, "endless", gather_s=2, every_s=30)
    answered_late(site, forge)
    ((reports,),) = ask(site.database, "SELECT reports FROM releases")

    assert site.stored() > reports


def rubbish(forge: Forge, name: str, world: random.Random) -> bytes:
    """Return something that no device ever sends."""
    nested: Any = []
    for _ in range(200):
        nested = [nested]
    bodies: list[dict[int, Any]] = [
        {0: 1, 1: 5, 2: 1, 3: b"abcd", 4: [10**22], 5: 0},
        {0: 1, 1: -3, 2: 1, 3: b"abcd", 4: [1], 5: 0},
        {0: 1, 1: "one", 2: 1, 3: b"abcd", 4: [1], 5: 0},
        {0: 9, 1: 5, 2: 1, 3: b"abcd", 4: [1], 5: 0},
        {},
    ]
    kinds: list[Callable[[], bytes]] = [
        lambda: world.randbytes(world.randrange(200)),
        lambda: b"\xff\xfe" * 30,
        lambda: b'{"value": NaN, "big": 1e999}',
        lambda: b"\x81" * 5000,
        lambda: b"\xfb\x7f\xf8" + bytes(6),
        lambda: world.randbytes(200_000),
        lambda: b"",
        lambda: forge.signed(name, world.choice(bodies)),
    ]
    return world.choice(kinds)()


def poured(site: Stage, forge: Forge, good: int, bad: int) -> None:
    """Send good frames, and bad ones of other devices among them."""
    plan, world = forge.plan(), random.Random(5)
    answering, broken = forge.names[:good], forge.names[good:]
    messages = [(forge.topic(one), forge.frame(one, plan, 1, 1)) for one in answering]
    for _ in range(bad):
        name = world.choice(broken)
        messages.append((forge.topic(name), rubbish(forge, name, world)))
    world.shuffle(messages)
    with Radio(site.broker.port, "rubbish") as radio:
        for topic, payload in messages:
            assert radio.publish(topic, payload)


GOOD, BAD = sized((300, 100), (4000, 1000))


@pytest.mark.long
def test_malformed_25_percent(stage: Staged) -> None:
    """The good ones are stored, of the bad ones the reason is kept."""
    site, forge = asked(stage, sensors=GOOD + 20)
    poured(site, forge, GOOD, BAD)
    assert eventually(lambda: sum(kinds(site).values()) == BAD)
    print(kinds(site))

    assert site.stored() == GOOD
    assert ask(site.database, "SELECT count(*) FROM refused WHERE why = ''") == [(0,)]
    ((largest,),) = ask(site.database, "SELECT max(length(frame)) FROM refused")
    assert largest <= 512


@takes_long
def test_malformed_control(stage: Staged) -> None:
    """Where one message's fault is everybody's, the good ones behind it are lost too."""
    site, forge = asked(stage, "fragile", sensors=GOOD + 20)
    poured(site, forge, GOOD, BAD)
    eventually(lambda: site.stored() == GOOD, 3)

    assert site.stored() < GOOD


@takes_long
@pytest.mark.parametrize("limited", [True, False], ids=["", "control"])
def test_oversized(stage: Staged, limited: bool) -> None:
    """The broker hangs up on it; without a limit it carries it to whoever takes so much."""
    site = stage()
    site.broker.stop()
    lines = [line for line in LIMITS.splitlines() if limited or "max_packet_size" not in line]
    program = site.broker.command[0]
    with Broker(program, site.folder / "other", more=OPEN + "\n".join(lines) + "\n") as broker:
        broker.start()
        site.write(broker.port)
        site.gateway()
        assert site.asked()
        forge = Forge(site.folder, site.database)
        topic, plan = forge.topic(forge.names[0]), forge.plan()
        with Listener(broker.port, topic) as listener, Radio(broker.port, "fat") as radio:
            taken = radio.publish(topic, bytes(5_000_000))
            carried = eventually(lambda: listener.messages, 2)
        with Radio(broker.port, "thin") as radio:
            for one in forge.names:
                assert radio.publish(forge.topic(one), forge.frame(one, plan, 1, 1))
        assert eventually(lambda: site.released() == 1)

    assert taken is carried is not limited
    assert site.stored() == 20
