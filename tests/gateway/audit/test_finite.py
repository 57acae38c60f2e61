"""Finite mechanisms are enumerated whole: a promise of a ratio is checked in whole numbers.

None stands in the table yet, so the mechanisms here are planted: they are what such a mechanism
must look like to be audited by being there.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from edge.records import Grid, Guarantee, Release, Round
from gateway.audit import finite, tree
from gateway.audit.claim import Effort
from gateway.mechanisms import Mechanism

PLACES = 5
FAR, NEAR = 10, 27  # weights; 2.7 is less than e


def answering(report: Any, epsilon: tuple[int, int] = (1, 1)) -> Mechanism:
    """Return a mechanism in which a device says one of five places, with a promise of epsilon."""

    def plan(query: Any, releases: Any) -> Round:
        promise = Guarantee(
            epsilon, None, None, "any two places", "local", "one answer", "presence"
        )
        return Round(1, "answering", Grid((PLACES, 1), 0), (NEAR, FAR), promise)

    def release(round: Any, payloads: Any, rng: Any) -> Release:
        return Release(round, [payloads.count([place]) for place in range(PLACES)], len(payloads))

    subject: Any = SimpleNamespace(
        NAME="answering",
        KIND="finite",
        rooms=lambda: [("row of places", None)],
        inputs=lambda round: range(PLACES),
    )
    return Mechanism("answering", plan, report, release, lambda query, releases: None, subject)


def near_more_often(round: Any, place: int, rng: Any) -> list[int]:
    near, far = round.params
    u = rng.below(near + (PLACES - 1) * far)
    if u < near:
        return [place]
    other = (u - near) // far
    return [other + (other >= place)]


def failed(mechanism: Mechanism) -> list[str]:
    return [claim.sentence for claim in finite.claims(mechanism, Effort()) if not claim.holds]


def test_a_mechanism_with_whole_number_weights_keeps_its_promise() -> None:
    """27 to 10 is less than e, so epsilon is less than 1; and one more is more."""
    assert failed(answering(near_more_often)) == []
    assert failed(
        answering(lambda r, x, rng: near_more_often(r._replace(params=(28, 10)), x, rng))
    )


def the_truth(round: Any, place: int, rng: Any) -> list[int]:
    near_more_often(round, place, rng)
    return [place]


def no_way_to_the_last(round: Any, place: int, rng: Any) -> list[int]:
    answer = near_more_often(round, place, rng)
    return [0] if answer == [PLACES - 1] and place == 0 else answer


def weighed_twice(round: Any, place: int, rng: Any) -> list[int]:
    answer = near_more_often(round, place, rng)
    return answer if answer == [place] else near_more_often(round, place, rng)


@pytest.mark.parametrize("report", [the_truth, no_way_to_the_last, weighed_twice])
def test_an_answer_that_gives_too_much_away_is_found(report: Any) -> None:
    """The literal text of a paper counted the true cell; another dropped inputs at a border."""
    assert any("no answer is likelier" in sentence for sentence in failed(answering(report)))


def test_an_epsilon_that_is_promised_too_small_is_found() -> None:
    """The same weights under a smaller promise: ln 2.7 lies between 993 and 994 thousandths."""
    assert failed(answering(near_more_often, (994, 1000))) == []
    assert failed(answering(near_more_often, (993, 1000)))


def test_what_cannot_be_followed_is_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that may go on for ever has not been seen to its end."""

    def endless(round: Any, place: int, rng: Any) -> list[int]:
        while rng.below(1000):
            pass
        return near_more_often(round, place, rng)

    monkeypatch.setattr(tree, "MOST", 5000)
    with pytest.raises(RuntimeError, match="has more than 5000 branches"):
        failed(answering(endless))
