"""Places are audited cell by cell and answer by answer; each mistake must be found.

The mistakes are made in the device's half or in the plan, as somebody would make them.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import recovery.disk.cases
from edge import disk
from edge.records import Round
from gateway.audit.arithmetic import finite
from gateway.audit.arithmetic.finite import Worst
from gateway.audit.claim import Claim, Effort
from gateway.mechanisms import Verbs
from recovery.disk import plan

QUERIES = dict(recovery.disk.cases.rooms())


def places(**changed: Any) -> Verbs:
    """Return the mechanism with some of its verbs, or of what the audit knows, changed."""
    known = {name: getattr(recovery.disk.cases, name) for name in dir(recovery.disk.cases)}
    known["sweeps"] = lambda full: ()
    verbs: dict[str, Any] = {"plan": plan, "report": disk.report, "release": disk.release}
    for name, value in changed.items():
        (verbs if name in verbs else known)[name] = value
    none: Callable[..., None] = lambda query, releases: None  # noqa: E731
    subject: Any = SimpleNamespace(**known)
    return Verbs("disk", *verbs.values(), none, subject)


def failed(mechanism: Verbs, words: str = "") -> list[Claim]:
    found = finite.claims(mechanism, Effort())
    return [claim for claim in found if not claim.holds and words in claim.sentence]


def weights(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    """Return a plan whose params were changed, and a device that takes them as they are."""

    def planned(query: Any, releases: Any) -> Round | None:
        made = plan(query, releases)
        return made and made._replace(params=change(made.params))

    return planned


def test_places_as_they_are_keep_their_promise_everywhere() -> None:
    """Every room, and a family that is enumerated through the draw and the veil."""
    family = [next(iter(recovery.disk.cases.sweeps(False)))]
    family = [(family[0][0], family[0][1][:30])]

    assert failed(places(sweeps=lambda full: family)) == []


@pytest.mark.long
def test_every_scheme_side_radius_and_epsilon_is_in_the_quick_sweep() -> None:
    """All sides to 8, all radii to 10, five epsilons, six schemes; krr knows no radius."""
    swept = {
        (query.grid.shape, query.radius, query.epsilon, query.scheme)
        for _, queries in recovery.disk.cases.sweeps(False)
        for query in queries
    }
    wanted = {
        ((side, side), radius, epsilon, scheme)
        for side in range(1, 9)
        for epsilon in ((1, 10), (1, 1), (7, 5), (7, 2), (8, 1))
        for scheme in ("dam", "dam-ns", "area", "huem", "wave", "krr")
        for radius in (range(11) if scheme != "krr" else (None,))
    }

    assert wanted <= swept
    assert swept < {
        (query.grid.shape, query.radius, query.epsilon, query.scheme)
        for _, queries in recovery.disk.cases.sweeps(True)
        for query in queries
    }


def test_the_true_cell_counted_is_found() -> None:
    """Line 7 of the paper's Algorithm 1: the raw histogram is published."""

    def truly(round: Any, reading: Any, rng: Any) -> list[int]:
        disk.report(round, reading, rng)
        (columns, rows), (width, _, across, down) = (
            round.grid.shape,
            disk.outer(round.grid, round.params[0]),
        )
        x, y = (
            min(max(v, 0), n - 1) for v, n in zip(reading.values, (columns, rows), strict=True)
        )
        return [reading.sensor, (y + down) * width + x + across]

    worst = failed(places(report=truly), "by more than exp(epsilon)")

    assert worst
    assert max(claim.measured for claim in worst) == math.inf


def test_a_cell_outside_the_grid_that_is_dropped_is_found() -> None:
    """Dropping tells that somebody was outside; clamping does not."""

    def dropping(round: Any, reading: Any, rng: Any) -> list[int]:
        payload: list[int] = disk.report(round, reading, rng)
        columns, rows = round.grid.shape
        inside = 0 <= reading.values[0] < columns and 0 <= reading.values[1] < rows
        width, _, across, down = disk.outer(round.grid, round.params[0])
        return payload if inside else [reading.sensor, down * width + across]

    assert failed(places(report=dropping), "by more than exp(epsilon)")


def test_a_footprint_cut_off_at_the_border_is_found() -> None:
    """Answers outside the grid that are folded in are likelier from the border's cells."""

    def folded(round: Any, reading: Any, rng: Any) -> list[int]:
        sensor, place = disk.report(round, reading, rng)
        width, height, across, down = disk.outer(round.grid, round.params[0])
        x = min(max(place % width, across), width - 1 - across)
        y = min(max(place // width, down), height - 1 - down)
        return [sensor, y * width + x]

    assert failed(places(report=folded), "the very weight that maps are drawn with")


def test_a_border_that_leans_to_one_side_is_found() -> None:
    """One mirror image is drawn twice, and another never."""

    def leaning(round: Any, reading: Any, drawn: Any) -> tuple[int, ...]:
        kind, x, y = drawn
        return tuple(disk.veil(round, reading, (kind, abs(x) if kind else x, y)))

    family = [("family", [QUERIES["line"]])]
    assert failed(places(veiled=leaning, sweeps=lambda full: family), "the very weight")


def test_an_answer_that_costs_less_than_it_tells_is_found() -> None:
    """Two reports of all of epsilon each, under a promise for both together."""

    def spent(round: Any) -> Any:
        return 2 * recovery.disk.cases.spent(round)

    assert failed(places(spent=spent), "no more than epsilon, all together")
    assert failed(places(spent=spent), "priced at no less")


def test_a_table_of_another_epsilon_is_found() -> None:
    """A device that answers with the weights of a Round it had before."""
    other = plan(QUERIES["only the true cell is likelier"], ())
    assert other is not None
    given = plan(QUERIES["line"], ())
    assert given is not None
    larger = given._replace(
        params=(*given.params[:2], 2 * given.params[2], *given.params[3:5], *given.params[5:])
    )

    def stale(round: Any, reading: Any, rng: Any) -> list[int]:
        if round != given:
            return disk.report(round, reading, rng)  # type: ignore[no-any-return]
        table = disk.Table(round)
        table.near, table.of = larger.params[2], (round.grid, larger.params)
        table.inner += sum(
            (1 if not x else 2) * (larger.params[2] - given.params[2])
            for x in range(given.params[5])
        )
        table.total = table.far * table.cells + table.inner
        table.upto = [table.inner]
        return disk.veil(round, reading, disk.draw(table, rng))  # type: ignore[no-any-return]

    assert failed(places(report=stale), "by more than exp(epsilon)")


def test_a_device_refuses_what_a_plan_rounds_up() -> None:
    """One more than the greatest weight that epsilon allows, or a weight below far."""
    made = plan(QUERIES["rings"], ())
    assert made is not None
    reach, far, near, *rest = made.params

    for params in (
        (reach, far, near + 3, *rest),
        (reach, far, far - 1, *rest),
        (*made.params[:-1], far - 1),
        (*made.params[:-1], near + 1),
    ):
        with pytest.raises(ValueError, match="epsilon|weight"):
            disk.Table(made._replace(params=params))


def test_the_worst_ratio_is_over_all_pairs_and_all_answers() -> None:
    """Not over neighbours alone, and an answer that one reading never gives is infinitely far."""
    laws = [{"a": 4, "b": 6}, {"a": 5, "b": 5}, {"a": 8, "b": 2}]
    worst = Worst()
    for law in laws:
        worst.add(law)
    assert worst.ratio() == (3, "b")
    assert all(
        max(one[key] / other[key], other[key] / one[key]) < 3
        for one, other in pairwise(laws)
        for key in ("a", "b")
    )

    worst.add({"a": 10})
    assert worst.ratio() == (math.inf, "b")
