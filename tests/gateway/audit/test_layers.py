"""What the runner makes of layers: a layer that breaks off has failed, and nothing goes unseen."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from edge.core.entropy import Tape
from gateway.audit.claim import ALPHA, FALSE_ALARM, WHOLE, Claim, Effort, at_most, claim_fact
from gateway.audit.layers import LAYERS, VERBS, Layer, audit, run_layer
from gateway.mechanisms import MECHANISMS

THERMAL = MECHANISMS[0]


def failed(claims: list[Claim]) -> list[str]:
    return [claim.sentence for claim in claims if not claim.holds]


def layer(run: Any, each: bool = True, kinds: tuple[str, ...] = ("noise", "finite")) -> Layer:
    return Layer("planted", "", run, each, kinds)


def nothing(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    yield from ()


def breaks(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    yield claim_fact("one promise", True, samples=1)
    raise RuntimeError("the second could not be looked at")


def test_a_layer_that_breaks_off_has_shown_nothing() -> None:
    """A mutant that raises is as dead as one that gives a wrong number."""
    first, second = run_layer(layer(breaks), THERMAL, Effort()).claims

    assert first.holds
    assert not second.holds
    assert "the second could not be looked at" in second.detail


def test_a_layer_that_says_nothing_has_shown_nothing() -> None:
    """An empty list of rooms would make every audit pass."""
    (claim,) = run_layer(layer(nothing), THERMAL, Effort()).claims

    assert not claim.holds


def test_a_claim_says_of_what_it_is_from_which_seed_and_how_long_it_took() -> None:
    """A report is evidence only if somebody else can run it again."""
    done = run_layer(
        layer(lambda m, e: [claim_fact("a promise", True, samples=1)]), THERMAL, Effort(seed=77)
    )

    assert (done.claims[0].mechanism, done.claims[0].layer) == ("thermal", "planted")
    assert done.claims[0].seed == 77
    assert done.claims[0].seconds >= 0


def test_a_mechanism_without_a_subject_fails() -> None:
    """The next mechanism is audited by being there, or it is not there."""
    bare = replace(THERMAL, name="bare", subject=None)
    found = audit(
        [bare], [layer(lambda m, e: [claim_fact("a promise", True, samples=1)])], Effort()
    )

    assert any("brings recovery/bare/cases" in sentence for sentence in failed(found))


def test_a_layer_looks_at_the_kinds_that_it_is_for() -> None:
    """What adds noise cannot be enumerated, and what is finite has no noise."""
    only = layer(lambda m, e: [claim_fact("a promise", True, samples=1)], kinds=("finite",))
    found = audit([THERMAL], [only], Effort())

    assert [claim.layer for claim in found if claim.layer != WHOLE] == []


def test_a_verb_that_no_layer_called_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """All four are on the way from a reading to a map."""

    def plans(mechanism: Any, effort: Effort) -> Iterator[Claim]:
        mechanism.plan(next(iter(mechanism.subject.rooms()))[1], ())
        yield claim_fact("a promise", True, samples=1)

    few = [layer(plans)]
    monkeypatch.setattr("gateway.audit.layers.LAYERS", few)
    found = [claim for claim in audit([THERMAL], few, Effort()) if "every verb" in claim.sentence]

    assert [claim.holds for claim in found] == [False]
    assert found[0].detail == "never called: report, release, recover"
    assert set(VERBS) <= {one.name for one in fields(THERMAL)}


def test_false_alarms_are_added_up_and_bounded() -> None:
    """By the union bound; one claim too many that rests on chance, and the suite says so."""

    def many(count: int) -> Layer:
        claim = Claim("by chance", 1.0, 0.5, True, samples=1, alpha=ALPHA)
        return layer(lambda m, e: [claim] * count, each=False)

    most = int(FALSE_ALARM / ALPHA)
    assert failed(audit([], [many(most)], Effort())) == []
    assert failed(audit([], [many(most + 1)], Effort()))


@pytest.mark.long
def test_layers_in_processes_give_what_they_give_alone() -> None:
    """Two processes are for speed: order, seeds and numbers must not depend on them."""
    chosen = [one for one in LAYERS if one.name in ("promise", "price")]
    both = audit(MECHANISMS, chosen, Effort(seed=3))
    alone = [
        claim
        for one in chosen
        for claim in run_layer(one, THERMAL if one.each else None, Effort(seed=3)).claims
    ]

    assert [(c.sentence, c.measured, c.seed) for c in both][: len(alone)] == [
        (c.sentence, c.measured, c.seed) for c in alone
    ]
    assert failed(both) == []


def test_the_first_failure_may_end_a_layer() -> None:
    """Who only asks whether a mutant is caught need not wait for all the ways it is."""
    both = layer(
        lambda m, e: [
            claim_fact("first", False, samples=1),
            claim_fact("second", False, samples=1),
        ]
    )

    assert len(run_layer(both, THERMAL, Effort(first=True)).claims) == 1
    assert len(run_layer(both, THERMAL, Effort()).claims) == 2


def test_a_claim_is_judged_by_its_bound() -> None:
    """And what is not finite can still be written into JSON."""
    assert at_most("a", 1.0, 1.0, samples=1).holds
    assert not at_most("a", 1.0, math.nextafter(1, 2), samples=1).holds
    assert not at_most("a", 1.0, math.nan, samples=1).holds
    assert at_most("a", 1.0, math.inf, samples=1).row()["measured"] == "inf"
    assert Claim("a", 1.0, 0.5, True, bound=0.7).proven == 0.7


@pytest.mark.parametrize(("fits", "samples"), [(True, 1), (True, 0), (False, 0), (False, 1)])
def test_nothing_holds_that_nobody_looked_at(fits: bool, samples: int) -> None:
    """Sixteen claims said that they hold, and had looked at nothing."""
    claim = claim_fact("a claim", fits, samples=samples)

    assert claim.holds == claim.row()["holds"] == (fits and samples > 0)


def test_every_claim_draws_from_a_tape_of_its_own() -> None:
    """By the seed and by its labels, and from nothing else."""
    one, same, other, later = (
        Effort(seed=seed).tape(*labels).bits(64)
        for seed, labels in ((1, ("a", 2)), (1, ("a", 2)), (1, ("a", 3)), (2, ("a", 2)))
    )

    assert one == same
    assert len({one, other, later}) == 3
    assert isinstance(Effort().tape(), type(Tape(b"")))
