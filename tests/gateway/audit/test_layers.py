"""What the runner makes of layers: a layer that breaks off has failed, and nothing goes unseen."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from gateway.audit.claim import ALPHA, FALSE_ALARM, WHOLE, Claim, Effort, at_most, claim_fact
from gateway.audit.layers import LAYERS, VERBS, Layer, audit, run_layer
from gateway.mechanisms import MECHANISMS

THERMAL = MECHANISMS[0]


def failed(claims: list[Claim]) -> list[str]:
    return [claim.sentence for claim in claims if not claim.holds]


def layer(run: Any, each: bool = True, kinds: tuple[str, ...] = ("noise", "finite")) -> Layer:
    return Layer("planted", "", run, each, kinds)


def breaks(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    yield claim_fact("one promise", True, samples=1)
    raise RuntimeError("the second could not be looked at")


def test_a_layer_that_breaks_off_has_shown_nothing() -> None:
    """A mutant that raises is as dead as one that gives a wrong number."""
    first, second = run_layer(layer(breaks), THERMAL, Effort()).claims

    assert first.holds
    assert not second.holds
    assert "the second could not be looked at" in second.detail


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
