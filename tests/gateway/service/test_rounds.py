"""A round's doors: who may answer it, when, how often and for which sensor."""

from typing import Any

import pytest

from edge.core.records import Grid, Guarantee, Report, Round
from gateway.service.rounds import Accepted, OpenRound, Place, Refused

NAME = b"\x01\x02\x03\x04"
PROMISE = Guarantee((1, 1), (1, 1000), (1, 50), "one source moves", "local", "a day", "presence")
PLAN = Round(7, "thermal", Grid((10, 1), 0), (2, 8, 0, 4096, 10_000, 1, 0), PROMISE)


def opened() -> OpenRound:
    return OpenRound(PLAN, NAME, 100.0, {"north": Place(0, 1), "south": Place(1, 1)})


def report(sender: str = "north", **changes: Any) -> Report:
    return Report(NAME, sender, 1, 1, [0, 1234])._replace(**changes)


def test_a_report_in_time_from_an_enrolled_device_counts() -> None:
    """The plain case, or every refusal below would prove nothing."""
    round = opened()
    outcome = round.take(report(), 99.9)

    assert outcome == Accepted("north")
    assert set(round.reports) == {"north"}
    assert not round.complete


def test_a_round_is_complete_when_every_device_has_answered() -> None:
    """So that a round need not wait for its deadline."""
    round = opened()
    round.take(report(), 1.0)
    round.take(report("south", payload=[1, 77]), 2.0)

    assert round.complete


@pytest.mark.parametrize(
    ("changes", "now_s", "word", "kind"),
    [
        ({"round": b"\xff\xff\xff\xff"}, 1.0, "ffffffff", "other-round"),
        ({}, 100.0, "closed", "late"),
        ({"sender": "stranger"}, 1.0, "not enrolled", "place"),
        ({"payload": [1, 1234]}, 1.0, "from sensor 0", "place"),
        ({"payload": [0, 1234, 5678]}, 1.0, "for 1 from sensor 0", "place"),
        ({"payload": []}, 1.0, "from sensor 0", "place"),
    ],
)
def test_what_does_not_belong_into_the_round_is_refused_with_a_reason(
    changes: dict[str, Any], now_s: float, word: str, kind: str
) -> None:
    """A reading in the wrong place would put warmth where there is none."""
    round = opened()
    outcome = round.take(report(**changes), now_s)

    assert isinstance(outcome, Refused)
    assert word in outcome.why
    assert outcome.kind == kind
    assert round.reports == {}
    assert round.late == (kind == "late")


def test_a_second_answer_is_refused_late_or_not() -> None:
    """One answer of a device counts; what the other costs is judged elsewhere."""
    round = opened()
    round.take(report(), 1.0)
    for now_s, kind in ((2.0, "second"), (200.0, "late")):
        outcome = round.take(report(seq=2), now_s)

        assert isinstance(outcome, Refused)
        assert outcome.kind == kind
        assert round.reports["north"].seq == 1
