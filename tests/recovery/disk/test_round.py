"""Whole numbers of a disk Round: what they promise, and that both halves read them alike."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import ROUND_BYTES
from edge.mechanisms.disk import Table
from recovery.disk import promise
from recovery.disk.channel import channel_of
from recovery.disk.footprint import compute_shares
from recovery.disk.query import Query
from recovery.disk.round import (
    domain_of,
    explain_query_refusal,
    explain_refusal,
    find_longest_radius,
    make_round,
    octant_of,
    total_of,
    weights_of,
)
from recovery.noise import epsilon_of_report

PROMISE = Guarantee((7, 2), None, (49, 8), "cells", "local", "one report", "presence")
SCHEMES = ("dam", "dam-ns", "area", "huem", "wave", "krr")

queries = st.builds(
    lambda shape, num, den, readings, scheme, radius: Query(
        Grid(shape, 0), (num, den), readings, scheme, None if scheme == "krr" else radius
    ),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(1, 60),
    st.integers(6, 12),
    st.integers(1, 4),
    st.sampled_from(SCHEMES),
    st.one_of(st.none(), st.integers(0, 12), st.floats(0, 12)),
)


def planned(**more: object) -> Round:
    given = {"grid": Grid((15, 15), 0), "epsilon": (7, 2)} | more
    return make_round(Query(**given), 1, PROMISE)  # type: ignore[arg-type]


@pytest.mark.long
@given(queries)
@settings(max_examples=150, deadline=None)
def test_a_planned_round_keeps_its_promise_and_every_device_takes_it(query: Query) -> None:
    """Grids that are no squares, radii that are no whole numbers: whole weights from far to near,
    near at most exp(epsilon) far by fifty digits, and the device's own check agrees."""
    made = make_round(query, 1, PROMISE)
    reach, far, near, num, den = made.params[:5]

    assert all(type(number) is int for number in made.params)
    assert Fraction(num, den) == epsilon_of_report(query)
    with localcontext(prec=50):
        most = (Decimal(num) / Decimal(den)).exp() * far
    assert most - 3 < near <= most
    assert all(far <= weight <= near for _, _, weight in octant_of(made))
    table = Table(made)  # raises what is wrong
    beyond = weights_of(made)[weights_of(made) > 0] - far
    assert table.cells == int(domain_of(made).sum())
    assert total_of(made) == far * table.cells + int(beyond.sum())
    assert reach == max(x for x, _, _ in octant_of(made))


@given(queries)
@settings(max_examples=60, deadline=None)
def test_the_channel_is_the_law_of_the_whole_numbers(query: Query) -> None:
    """From every cell the chances add to one, and differ by no more than exp(epsilon)."""
    made = make_round(query, 1, PROMISE)
    channel, total = channel_of(made), total_of(made)
    columns, rows = query.grid.shape
    weights, domain = weights_of(made), domain_of(made)
    corner = np.zeros((rows, columns))
    corner[rows - 1, 0] = 1
    law = channel.forward(corner)
    high, wide = weights.shape
    stated = np.where(domain, made.params[1], 0)
    place = stated[rows - 1 : rows - 1 + high, :wide]
    place[weights != 0] = weights[weights != 0]

    assert law.sum() == pytest.approx(1)
    assert law * total == pytest.approx(stated, rel=1e-9, abs=total * 1e-12)
    assert stated.sum() == total


@pytest.mark.long
def test_two_reports_and_one_are_rounded_to_the_safe_side() -> None:
    """At many epsilons: what is rounded up by one or two is so at some of them."""
    for num in range(1, 60):
        for readings in (1, 2):
            _, far, near, *_ = planned(epsilon=(num, 5), readings=readings).params
            with localcontext(prec=50):
                assert near <= (Decimal(num) / (5 * readings)).exp() * far


def test_a_footprint_is_within_what_a_device_takes() -> None:
    """Weights from far to near, and as many outer cells as a device counts: for every radius."""
    for radius in (*range(11), 0.3, 2.5):
        for scheme in SCHEMES[:5]:
            made = planned(scheme=scheme, radius=radius)

            assert max(weight for _, _, weight in octant_of(made)) == made.params[2]
            assert int(domain_of(made).sum()) == Table(made).cells


def test_a_table_of_another_epsilon_is_refused() -> None:
    """A device that asks often keeps its table, and must not use it for another Round."""
    from edge.core.entropy import Tape
    from edge.core.records import Reading
    from edge.mechanisms.disk import report

    table = Table(planned(epsilon=(8, 1), radius=3))
    with pytest.raises(ValueError, match="another round"):
        report(planned(epsilon=(1, 1), radius=3), Reading(0, (2, 2)), Tape(b"x"), table)


def test_two_reports_have_half_of_epsilon_each() -> None:
    """Or together they would tell as much as two promises."""
    _, far, near, num, den = planned(epsilon=(7, 2), readings=2).params[:5]

    assert (num, den) == (7, 4)
    assert near < 5.7546027 * far  # exp(7/4)


def test_shares_become_weights_rounded_down() -> None:
    """A share of one is near, one of nought is far and still of the footprint."""
    made = planned(scheme="dam")
    rows = compute_shares("dam", 3, 3.5, (15, 15))
    far, near = made.params[1:3]

    for x, y, weight in octant_of(made):
        exact = far + Fraction(rows[y][x - y]) * (near - far)
        assert weight == exact.numerator // exact.denominator
    assert weights_of(made)[0, 3 + 3 - 3] == near  # straight up by the radius
    assert weights_of(made)[1, 0] == far  # (3, 2): only its corner is in the disk
    assert weights_of(made)[0, 0] == 0  # (3, 3) is outside


def test_a_footprint_is_the_same_in_all_eight_octants() -> None:
    """People to the left are no likelier than people to the right."""
    found = weights_of(planned(scheme="huem", radius=6))

    assert (found == found[::-1]).all()
    assert (found == found[:, ::-1]).all()
    assert (found == found.T).all()


def test_weights_are_as_fine_as_a_message_allows() -> None:
    """Disks of any radius fit at their finest; many rings at a coarser power, or not at all."""
    disk = planned(grid=Grid((60, 60), 0), radius=30)
    rings = planned(grid=Grid((60, 60), 0), scheme="huem", radius=16)
    many = planned(grid=Grid((60, 60), 0), scheme="huem", radius=50)

    assert (disk.params[1], explain_refusal(disk)) == (1 << 32, "")
    assert 1 << 16 <= rings.params[1] < 1 << 32
    assert explain_refusal(rings) == ""
    assert many.params[1] == 1 << 32  # played in memory, as fine as any
    assert f"at most {ROUND_BYTES}" in explain_refusal(many)


@pytest.mark.parametrize("octant", [(4,), (4, 1), (2, 2, 1 << 32), (-1, 1, 1 << 32), (1, -1)])
def test_a_footprint_that_is_cut_short_is_refused(octant: tuple[int, ...]) -> None:
    """A channel of half the footprint would draw a wrong map without a word."""
    made = planned()

    with pytest.raises(ValueError, match="Plan the round again"):
        weights_of(made._replace(params=(*made.params[:5], *octant)))


def large(radius: float, epsilon: tuple[int, int], scheme: str) -> Query:
    return Query(Grid((24, 24), 500), epsilon, scheme=scheme, radius=radius)  # type: ignore


@pytest.mark.parametrize(
    ("scheme", "radius", "epsilon"), [("huem", 60, (7, 2)), ("huem", 40, (8, 1))]
)
def test_a_refusal_says_which_radius_fits_and_it_is_the_greatest(
    scheme: str, radius: int, epsilon: tuple[int, int]
) -> None:
    """That one can be sent, and one more cannot: tried, not reckoned."""
    asked = large(radius, epsilon, scheme)
    most = find_longest_radius(asked)
    said = explain_query_refusal(asked, make_round(asked, 1, promise(asked)))

    assert f"Of scheme {scheme}, a radius of {most} cells or less does fit" in said
    for there, good in ((most, True), (most + 1, False)):
        one = large(there, epsilon, scheme)
        assert (explain_refusal(make_round(one, 1, promise(one))) == "") is good
