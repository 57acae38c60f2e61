"""Many weights in one short message: what is promised stays, and what is lost is what is said."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from edge.disk import Table
from edge.records import Grid, Round
from edge.wire import ROUND_BYTES, round_topic, unpack_round
from recovery.disk import plan, promise
from recovery.disk.footprint import shares
from recovery.disk.query import Query
from recovery.disk.round import (
    WORST,
    apart,
    disk_round,
    domain_of,
    longest,
    octant_of,
    refusal,
    refused,
    steps_of,
    total_of,
    weighed_with,
    weights_of,
)

CASES = [(16, (7, 2)), (20, (7, 2)), (25, (7, 2)), (30, (7, 2)), (31, (7, 2)), (30, (7, 10))]
LARGE = [*CASES, (25, (8, 1)), (20, (1, 1))]


def query(radius: float, epsilon: tuple[int, int], scheme: str = "huem", side: int = 24) -> Query:
    return Query(Grid((side, side), 500), epsilon, scheme=scheme, radius=radius)  # type: ignore


def law(round: Round) -> dict[tuple[int, int], Fraction]:
    """Return the chance of each answer from the corner (0, 0), cell by cell, in fractions."""
    total, weights, domain = total_of(round), weights_of(round), domain_of(round)
    even = Fraction(round.params[1], total)
    found = {
        (x, y): even for y, row in enumerate(domain) for x, inside in enumerate(row) if inside
    }
    for y, row in enumerate(weights):
        for x, weight in enumerate(row):
            if weight:
                found[x, y] = Fraction(int(weight), total)
    return found


@pytest.mark.parametrize(("radius", "epsilon"), LARGE)
def test_it_fits_and_every_device_proves_what_it_promises(
    radius: int, epsilon: tuple[int, int]
) -> None:
    """Through the very message; whole weights from far to near, near by fifty digits."""
    from edge.host.post import pack_round

    asked = query(radius, epsilon)
    made = plan(asked, ())
    assert made is not None
    message = pack_round(made._replace(number=(1 << 48) - 1), bytes(32), round_topic("s", "disk"))
    read = unpack_round(message, bytes(32), round_topic("s", "disk"))
    _, far, near, num, den = made.params[:5]

    assert len(message) <= ROUND_BYTES
    assert read.params == made.params
    assert Table(read).total == total_of(made)  # raises where the promise is not kept
    with localcontext(prec=50):
        assert near <= (Decimal(num) / Decimal(den)).exp() * far < near + 1
    assert all(far <= weight <= near for _, _, weight in octant_of(made))
    assert far < 1 << 16


@pytest.mark.long
@pytest.mark.parametrize(("radius", "epsilon"), [(20, (7, 2)), (30, (7, 2)), (25, (8, 1))])
def test_what_is_lost_is_the_distance_of_the_two_laws(
    radius: int, epsilon: tuple[int, int]
) -> None:
    """Cell by cell in fractions here, by the footprint alone there; and so little that it pays."""
    asked = query(radius, epsilon, side=6)
    made, meant = (
        disk_round(asked, 1, promise(asked)),
        weighed_with(asked, promise(asked)),
    )
    first, second = law(made), law(meant)
    assert sum(first.values()) == sum(second.values()) == 1
    exact = sum(abs(first[cell] - second[cell]) for cell in first) / 2
    found = steps_of(made, asked)

    assert found is not None
    assert first.keys() == second.keys()
    assert found.apart == pytest.approx(float(exact), rel=1e-6)
    assert 0 < found.apart < WORST
    assert found.steps == made.params[2] - made.params[1]


def test_weights_are_the_nearest_steps_to_the_shares() -> None:
    """Half a step off at the most, and never beyond near: no share is lost by rounding down."""
    made = disk_round(query(30, (7, 2)), 1, promise(query(30, (7, 2))))
    rows = shares("huem", 30, 3.5, (24, 24))
    far, near = made.params[1:3]

    for x, y, weight in octant_of(made):
        exact = far + Fraction(rows[y][x - y]) * (near - far)
        assert abs(weight - exact) <= Fraction(1, 2)


def test_a_coarser_one_is_never_better() -> None:
    """Of all that fit; the control is one step, which is another mechanism."""
    asked = query(30, (7, 2))
    made, meant = disk_round(asked, 1, promise(asked)), weighed_with(asked, promise(asked))
    coarser = [weighed_with(asked, promise(asked), far) for far in range(1, made.params[1])]

    assert all(apart(one, meant) >= apart(made, meant) for one in coarser)
    assert apart(coarser[0], meant) > WORST
    assert apart(meant, meant) == 0


@pytest.mark.parametrize("radius", [2, 8, 10])
def test_what_always_fitted_is_what_it_was(radius: int) -> None:
    """Devices in the field hear the same Round, bit for bit: rounded down, at a power of two."""
    asked = query(radius, (7, 2))
    made = disk_round(asked, 1, promise(asked))
    rows = shares("huem", radius, 3.5, (24, 24))
    far, near = made.params[1:3]

    assert far.bit_count() == 1
    assert far >= 1 << 16
    assert steps_of(made, asked) is None
    for x, y, weight in octant_of(made):
        exact = far + Fraction(rows[y][x - y]) * (near - far)
        assert weight == exact.numerator // exact.denominator


@pytest.mark.parametrize(
    ("scheme", "radius", "epsilon"), [("huem", 60, (7, 2)), ("huem", 40, (8, 1))]
)
def test_a_refusal_says_which_radius_fits_and_it_is_the_greatest(
    scheme: str, radius: int, epsilon: tuple[int, int]
) -> None:
    """That one can be sent, and one more cannot: tried, not reckoned."""
    asked = query(radius, epsilon, scheme)
    most = longest(asked)
    said = refused(asked, disk_round(asked, 1, promise(asked)))

    assert f"Of scheme {scheme}, a radius of {most} cells or less does fit" in said
    for there, good in ((most, True), (most + 1, False)):
        one = query(there, epsilon, scheme)
        assert (refusal(disk_round(one, 1, promise(one))) == "") is good


def test_a_disk_that_fits_is_not_refused() -> None:
    """The control."""
    asked = query(30, (7, 2), "dam")

    assert refused(asked, disk_round(asked, 1, promise(asked))) == ""


@pytest.mark.parametrize("scheme", ["dam", "area", "huem", "dam-ns"])
def test_a_radius_that_is_hardly_one_is_the_true_cell_alone(scheme: str) -> None:
    """Its square is nought in floats, and still somebody may ask for it."""
    made = disk_round(query(1e-200, (7, 2), scheme), 1, promise(query(1e-200, (7, 2), scheme)))

    assert [(x, y, weight) for x, y, weight in octant_of(made)] == [(0, 0, made.params[2])]
