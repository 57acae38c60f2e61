"""How large groups are, and whether the error model says what the mechanism does."""

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid
from edge.mechanisms.ranks import params_of
from physics.crowds.ranks import release_many
from recovery.ranks import Query, plan
from recovery.ranks.groups import (
    TABLE,
    expected_error,
    group_of,
    paper_group,
    rule_group,
)
from recovery.ranks.order import order_behind


def off(count: int, epsilon: tuple[int, int], group: int, runs: int = 6) -> float:
    """Return the mean error of the printed way on places that lie evenly on a line."""
    query = Query(Grid((64, 1), 0), epsilon, users=count, group=group, estimator="steps")
    round = plan(query, ())
    places = np.linspace(0, 1, count)
    whole = np.minimum((places * 65536).astype(np.int64), 65535)
    ranks = (np.arange(count) + 0.5) / count
    found = [
        np.abs(
            order_behind(release_many(round, whole, Tape(bytes([run]))), lines=False).quantile(
                ranks
            )
            - places
        ).mean()
        for run in range(runs)
    ]
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("count", "epsilon", "group"),
    [(10_000, (1, 1), 174), (10_000, (1, 1), 40), (10_000, (1, 2), 700), (40_000, (2, 1), 246)],
)
def test_the_error_model_says_what_the_mechanism_does(
    count: int, epsilon: tuple[int, int], group: int
) -> None:
    """The mean of six runs of the exact mechanism; each varies by some ten percent."""
    model = expected_error(count, epsilon[0] / epsilon[1], group)

    assert off(count, epsilon, group) == pytest.approx(model, rel=0.12)


def test_the_rule_errs_less_than_the_papers_table() -> None:
    """By a fifth at 10 000 points and epsilon 1, which the study found too."""
    ours, theirs = rule_group(10_000, 1.0), paper_group(10_000, 1.0)

    assert (ours, theirs) == (174, 62)
    assert expected_error(10_000, 1.0, ours) < 0.8 * expected_error(10_000, 1.0, theirs)
    assert off(10_000, (1, 1), ours) < 0.88 * off(10_000, (1, 1), theirs)


def test_groups_stay_within_bounds_and_grow_as_they_must() -> None:
    """At least one place, at most half of all; several points of a user are less epsilon."""
    assert rule_group(1, 1.0) == 1
    assert rule_group(10, 0.001) == 5
    assert paper_group(100, 100.0) >= 1
    assert paper_group(1_000_000, 1.0) > TABLE[-1][1]
    several = Query(Grid((4, 4), 0), (1, 1), users=1000, points=9)
    assert group_of(several) == rule_group(9000, 1 / 9)
    chosen = Query(Grid((4, 4), 0), (1, 1), users=1000, groups="paper")
    assert params_of(plan(chosen, ())).group == paper_group(1000, 1.0)
