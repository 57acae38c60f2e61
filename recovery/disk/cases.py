"""What the audit needs to know of places: grids small enough to look at every cell and answer.

Written from the promise and not from the plan: the weights that an answer must have are worked
out from the Round's own numbers here, and held against what a device really draws.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from edge.core.records import Grid, Reading, Round
from edge.mechanisms.disk import Table, draw, veil

from . import asked as disk_audit_asked
from .query import Query, Scheme
from .round import domain_of, weights_of

NAME = "disk"
KIND = "finite"
asked = disk_audit_asked

SIDES, QUICK_SIDES, RADII = range(1, 9), (1, 2, 3, 5, 8), range(11)
EPSILONS = ((1, 10), (1, 1), (7, 5), (7, 2), (8, 1))
LINES = ((8, 1), (1, 7), (2, 1))
OBLONG = ((8, 3), (2, 7), (5, 2))
PARTS = (0.3, 0.5, 0.7, 1.5, 2.25, 3.6, 5.5, 7.9, 9.5)  # radii that are no whole numbers
RADIAL: tuple[Scheme, ...] = ("dam", "dam-ns", "area", "huem", "wave")  # krr has no radius

Law = dict[tuple[int, int], int]


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield "square, two reports", Query(Grid((3, 3), 500), (3, 1), readings=2)
    yield "line", Query(Grid((6, 1), 500), (7, 5))
    yield "one column", Query(Grid((1, 4), 0), (1, 1), scheme="area", radius=1.5)
    yield "one cell", Query(Grid((1, 1), 1000), (1, 1))
    yield "only the true cell is likelier", Query(Grid((3, 2), 0), (8, 1), scheme="krr")
    yield "rings", Query(Grid((2, 3), 0), (7, 2), scheme="huem", radius=2)
    yield "wave with a hole", Query(Grid((4, 3), 0), (7, 2), scheme="wave", radius=1)
    # At this radius the printed areas are negative.
    yield "corners only", Query(Grid((2, 2), 0), (7, 2), radius=3)


def list_sweeps(full: bool) -> Iterator[tuple[str, Sequence[Query]]]:
    """Yield families of queries, named, whose every cell and answer is looked at.

    Of every scheme, at five epsilons: squares of 1, 2, 3, 5 and 8 cells a side, in full of 4, 6
    and 7 too, at all radii from 0 to 10, and lines and oblongs at every third; in full also at
    the others, and at radii between.
    """
    squares = [(side, side) for side in (SIDES if full else QUICK_SIDES)]
    shapes = (*LINES, *OBLONG)
    some = RADII if full else RADII[::3]
    sides = f"squares of {', '.join(str(side) for side, _ in squares)} a side"
    for epsilon in EPSILONS:
        krr = [Query(Grid(shape, 0), epsilon, scheme="krr") for shape in (*squares, *shapes)]
        yield _name("krr", epsilon, f"{sides}, lines, oblongs"), krr
        for scheme in RADIAL:
            for words, over, radii in (
                (sides, squares, RADII),
                ("lines, oblongs", shapes, some),
                ("all of these", (*squares, *shapes), PARTS if full else ()),
            ):
                if radii:
                    named = _name(scheme, epsilon, f"{words}, {_tell(radii)}")
                    yield named, _make_family(scheme, epsilon, over, radii)


def _name(scheme: str, epsilon: tuple[int, int], shapes: str) -> str:
    return f"{scheme} on {shapes}, epsilon {float(Fraction(*epsilon)):g}"


def _tell(radii: Sequence[float]) -> str:
    whole = radii == RADII
    return f"radii {radii[0]} to {radii[-1]}" if whole else f"radii {', '.join(map(str, radii))}"


def _make_family(
    scheme: Scheme,
    epsilon: tuple[int, int],
    shapes: Sequence[tuple[int, int]],
    radii: Sequence[float],
) -> list[Query]:
    return [
        Query(Grid(shape, 0), epsilon, scheme=scheme, radius=radius)
        for shape in shapes
        for radius in radii
    ]


def list_readings(round: Round) -> list[Reading]:
    """Return every cell of the grid, and some outside it, which count as the nearest."""
    columns, rows = round.grid.shape
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    beyond = [(-1, 0), (columns, rows), (-(1 << 40), 1 << 40)]
    return [Reading(0, cell) for cell in (*cells, *beyond)]


def price_answer(round: Round) -> Fraction:
    """Return the epsilon that a device takes one answer to this Round to cost."""
    return Fraction(*round.params[3:5])


def list_bad_rounds(round: Round) -> Iterator[tuple[str, Round]]:
    """Yield Rounds that ask for more than this one, each with what is wrong in it."""
    reach, far, near, num, den, *octant = round.params
    more = round.guarantee._replace(epsilon=(3 * num, den), rho=None)
    cheap = round.guarantee._replace(rho=(num * num, 3 * den * den))
    for words, promise, params in (
        ("a larger epsilon", more, (reach, far, near, 2 * num, den, *octant)),
        ("a promise of less rho", cheap, round.params),
        ("a weight too large", round.guarantee, (reach, far, near + 3, num, den, *octant)),
        ("no weight far away", round.guarantee, (reach, 0, near, num, den, *octant)),
        ("less than no weight", round.guarantee, (reach, -far, near, num, den, *octant)),
        ("an epsilon below nought", round.guarantee, (reach, far, near, -num, -den, *octant)),
        ("a footprint cut short", round.guarantee, (reach, far, near, num, den)),
        ("a row of none", round.guarantee, (reach, far, near, num, den, *octant, 0, 0)),
    ):
        yield words, round._replace(params=params, guarantee=promise)
    yield "another mechanism", round._replace(mechanism="another")


def make_draw(round: Round) -> Callable[[Any], Any]:
    """Return the device's own draw for this Round, which knows no reading."""
    table = Table(round)
    return lambda rng: draw(table, rng)


def make_payload(round: Round, reading: Reading, drawn: Any) -> tuple[int, ...]:
    """Return the device's own answer to a reading, once this was drawn."""
    return tuple(veil(round, reading, drawn))


def find_weights(round: Round) -> Callable[[Reading], Law]:
    """Return what gives the weight of every answer to a reading, by the Round's own numbers."""
    far, weights, domain = round.params[1], weights_of(round), domain_of(round)
    columns, rows = round.grid.shape
    width = domain.shape[1]
    even = {(0, int(place)): far for place in domain.ravel().nonzero()[0]}
    down, across = (weights != 0).nonzero()
    footprint = [
        (int(y) * width + int(x), int(weights[y, x])) for y, x in zip(down, across, strict=True)
    ]

    def law(reading: Reading) -> Law:
        x, y = reading.values
        corner = min(max(y, 0), rows - 1) * width + min(max(x, 0), columns - 1)
        return {**even, **{(0, corner + place): weight for place, weight in footprint}}

    return law
