"""A leap that no device makes is refused, and takes nothing from the device it claims to be."""

from fractions import Fraction
from typing import Any

import pytest

from edge.core import wire
from edge.core.records import Report
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import BOOTS, MESSAGES, NEVER, Verdict, judge
from gateway.service.intake.outcomes import Known
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store.store import Store

SITE = "testsite"
NOTHING = Known({}, {}, frozenset())
LAST = (3, 7)
HIGHEST = (1 << 48) - 1  # the wire takes no larger one: see `edge.core.wire`


def said(home: Any, epoch: int, seq: int, value: int = 5) -> Arrival:
    """Return what whoever has node-0's key can say."""
    device, topic = home.devices.by_name["node-0"], wire.topic(SITE, "node-0", "data")
    report = Report(wire.name_of(home.round()), "node-0", epoch, seq, [device.place.sensor, value])
    frame = bytes(wire.pack_report(report, device.mac_key, topic, 16))
    found = authenticate(Message(topic, frame, (1, 1)), home.devices)
    assert isinstance(found, Arrival)
    return found


def judged(home: Any, arrivals: list[Arrival], last: tuple[int, int] = LAST) -> Verdict:
    places = {name: device.place for name, device in home.devices.by_name.items()}
    plan = home.round()
    newest = {arrivals[0].who: last} if last != NEVER else {}
    round = OpenRound(plan, wire.name_of(plan), 100.0, places)
    return judge(arrivals, round, newest, NOTHING, 1.0)


@pytest.mark.parametrize(
    ("epoch", "seq"),
    [
        (HIGHEST, 1),
        (HIGHEST, HIGHEST),
        (3, HIGHEST),
        (4, HIGHEST),
        (3 + BOOTS + 1, 1),
        (3, 7 + MESSAGES + 1),
        (4, MESSAGES + 1),
    ],
)
def test_a_leap_is_refused_and_what_the_device_says_next_counts(
    home: Any, epoch: int, seq: int
) -> None:
    """One message from a stolen key must not silence the device itself for ever."""
    leap, honest = said(home, epoch, seq), said(home, 3, 8, 6)

    verdict = judged(home, [leap, leap, honest])

    assert [letter.kind for letter in verdict.letters] == ["future"]
    assert f"message {epoch}.{seq} after 3.7" in verdict.letters[0].why
    assert [alarm.device for alarm in verdict.alarms] == ["node-0"]
    assert [kept.frame for kept in verdict.kept] == [honest.message.payload]
    assert verdict.newest == {leap.who: (3, 8)}
    assert verdict.missing == 0  # or whoever shows gaps would show 2**48 of them
    assert verdict.heard == []
    assert [receipt.taken for receipt in verdict.receipts] == [False, True]


def test_a_leap_is_charged_for_it_told_something(home: Any) -> None:
    """The round's price covers one answer of the device, and that is the honest one's."""
    leap, honest = said(home, HIGHEST, 1), said(home, 3, 8, 6)

    verdict = judged(home, [leap, honest])

    rho = Fraction(*home.round().guarantee.rho)
    assert [(again.charge.rho, again.charge.device) for again in verdict.extra] == [
        (rho, "node-0")
    ]


@pytest.mark.parametrize("last", [LAST, NEVER])
def test_the_farthest_that_a_device_can_come_counts(home: Any, last: tuple[int, int]) -> None:
    """The control; and a gateway with a new store may meet an old device."""
    far = said(home, last[0] + BOOTS, MESSAGES)

    verdict = judged(home, [far], last)

    assert len(verdict.kept) == 1
    assert (verdict.letters, verdict.alarms) == ([], [])


def test_the_store_counts_on_from_the_earlier_numbers(home: Any, tmp_path: Any) -> None:
    """Also over a restart: what is not remembered cannot come back."""
    store = Store(tmp_path / "store.sqlite", SITE)
    verdict = judged(home, [said(home, 3, 8), said(home, HIGHEST, 1, 9)])
    store.keep(verdict.kept, verdict.letters, verdict.extra, verdict.heard, verdict.alarms)

    assert set(store.newest().values()) == {(3, 8)}
    assert store.refused(1)[0].kind == "future"
    store.close()
