"""The device half of ranks: the curve, what one user moves, and the noise that hides it."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import ranks

PROMISE = Guarantee((1, 1), None, (1, 2), "places", "central", "one release", "presence")


def a_round(
    group: int = 2,
    order: int = 2,
    axes: int = 2,
    points: int = 1,
    epsilon: tuple[int, int] = (1, 1),
) -> Round:
    """Return a Round on the whole curve's own cells."""
    side = 1 << order
    grid = Grid((side, side if axes > 1 else 1), 0)
    return Round(1, "ranks", grid, (group, *epsilon, order, axes, points), PROMISE)


@pytest.mark.parametrize(("axes", "order"), [(1, 5), (2, 1), (2, 4), (3, 1), (3, 3)])
def test_the_curve_goes_through_every_cell_from_neighbour_to_neighbour(
    axes: int, order: int
) -> None:
    """What is next to each other in the order is next to each other in the room."""
    cells = itertools.product(range(1 << order), repeat=axes)
    at = {ranks.place_of(cell, order): cell for cell in cells}
    steps = [math.dist(at[i], at[i + 1]) for i in range(len(at) - 1)]

    assert sorted(at) == list(range(1 << order * axes))
    assert set(steps) == {1.0}


def test_a_cell_counts_at_its_middle_and_beyond_the_grid_as_the_nearest() -> None:
    """The curve fills a grid of any sides; a point outside is clamped, never dropped."""
    round = a_round(order=4)._replace(grid=Grid((3, 1), 500))
    told = {x: ranks.report(round, Reading(5, (x, 0)), None)[1] for x in (-9, 0, 1, 2, 99)}

    # A third of sixteen cells: the middles are at 2.67, 8 and 13.33; the row's is at 8.
    assert told[1] == ranks.place_of((8, 8), 4)
    assert told[0] == told[-9] == ranks.place_of((2, 8), 4)
    assert told[2] == told[99] == ranks.place_of((13, 8), 4)


def test_three_axes_are_told_up_to_the_finest_curve() -> None:
    """The third is divided as the second is; places have 31 bits at the most."""
    told = ranks.report(a_round(order=3, axes=3), Reading(5, (1, 2, 3)), None)

    assert told == [5, ranks.place_of((1, 2, 3), 3)]
    assert ranks.objection(a_round(order=31, axes=1)) == ""
    assert ranks.place_of((8, 9), 3) == ranks.place_of((7, 7), 3)


def test_every_user_tells_as_many_points() -> None:
    """Who has more leaves some out, who has fewer repeats: no length and no weight tells."""
    round = a_round(order=3, axes=1, points=4)
    cells = [(x, 0) for x in range(8)]
    many, one, three = (
        ranks.report(round, Reading(0, sum(part, ())), None)
        for part in (cells, cells[5:6], cells[:3])
    )

    assert many == [0, 0, 2, 4, 6]
    assert one == [0, 5, 5, 5, 5]
    assert three == [0, 0, 0, 1, 2]
    assert ranks.count_numbers(round) == 5


@pytest.mark.parametrize("bad", [(0.5, 1), (3,), (), (True, 0), ("1", 2)])
def test_what_is_no_cell_is_refused(bad: tuple[object, ...]) -> None:
    """A float would be noise of another law; half a cell is no place."""
    with pytest.raises(ValueError, match="whole numbers"):
        ranks.report(a_round(), Reading(0, bad), None)


def crowds(users: int, places: Sequence[int]) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(places, users))


def most_moved(round: Round, users: int, sums: object = ranks.sum_groups) -> float:
    """Return by how much all sums change at the most, over every crowd and every neighbour."""
    places = range(1 << round.params[3] * round.params[4])
    worst = 0.0
    for crowd in crowds(users, places):
        before = sums(round, crowd)  # type: ignore[operator]
        for one, other in itertools.product(range(users), places):
            after = sums(round, (*crowd[:one], other, *crowd[one + 1 :]))  # type: ignore[operator]
            worst = max(worst, sum(abs(a - b) for a, b in zip(before, after, strict=True)))
    return worst


def averages(round: Round, places: Sequence[int]) -> list[float]:
    """Return the printed way: averages, times the size of a full group."""
    group, ordered = round.params[0], sorted(places)
    parts = [ordered[i : i + group] for i in range(0, len(ordered), group)]
    return [group * sum(part) / len(part) for part in parts]


@pytest.mark.parametrize("group", [1, 2, 3, 4, 9])
def test_one_user_moves_all_sums_by_the_curve_at_the_most(group: int) -> None:
    """Theorem 1 and corollary 1 over every crowd of four on a curve of eight places."""
    round = a_round(group=group, order=3, axes=1)

    assert most_moved(round, 4) == ranks.sensitivity(round) == 7


def test_averages_of_a_short_last_group_would_be_moved_by_more() -> None:
    """The trap of the printed step A2, which the sums do not have."""
    assert most_moved(a_round(group=3, order=2, axes=1), 4, averages) > 3


def test_all_points_of_a_user_are_hidden_together() -> None:
    """Points moved one after the other: the noise is made for all of them."""
    round = a_round(group=3, order=2, axes=1, points=2)
    users, places = 3, range(4)
    worst = 0
    pairs = crowds(2, places)
    for crowd in itertools.product(pairs, repeat=users):
        before = ranks.sum_groups(round, sum(crowd, ()))
        for other in pairs:
            after = ranks.sum_groups(round, sum((other, *crowd[1:]), ()))
            worst = max(worst, sum(abs(a - b) for a, b in zip(before, after, strict=True)))

    assert worst == ranks.sensitivity(round) == 6


def test_the_noise_has_the_law_of_the_epsilon() -> None:
    """30 000 draws at scale 7: frequencies fit exp(-|z| / 7), and not a scale 1/10 away."""
    round = a_round(group=1, order=3, axes=1)
    count = 30_000
    drawn = Counter(ranks.add_noise(round, [0] * count, Tape(b"ranks")))

    def misfit(scale: float) -> float:
        q = math.exp(-1 / scale)
        found = 0.0
        for z in range(-20, 21):
            meant = count * (1 - q) / (1 + q) * q ** abs(z)
            found += (drawn[z] - meant) ** 2 / meant
        return found

    assert misfit(7.0) < 90  # chi square of 41: above it once in a hundred thousand tapes
    assert misfit(6.3) > 120
    assert misfit(7.7) > 120


def test_epsilon_divides_the_scale() -> None:
    """Twice the epsilon halves the noise; the mean of |z| is about the scale."""

    def size(epsilon: tuple[int, int]) -> float:
        drawn = ranks.add_noise(a_round(order=5, epsilon=epsilon), [0] * 3000, Tape(b"scale"))
        return sum(map(abs, drawn)) / 3000

    assert size((1, 1)) == pytest.approx(1023, rel=0.07)
    assert size((7, 2)) == pytest.approx(1023 * 2 / 7, rel=0.07)


def test_a_release_is_sums_and_noise_of_those_who_answered() -> None:
    """With the noise near nothing it is the sums; who had no place counts as one anywhere."""
    round = a_round(group=2, order=3, axes=1, epsilon=(1000, 1))
    found = ranks.release(round, [[4, 6], [2, 1], [9, 7], [1, 3]], Tape(b"none"))
    blank = ranks.release(round._replace(params=(1, *round.params[1:])), [[]] * 800, Tape(b"b"))

    assert found.values == [1 + 3, 6 + 7]
    assert found.reports == 4
    assert all(80 < count < 120 for count in Counter(blank.values).values())
    assert sorted(set(blank.values)) == list(range(8))
    assert ranks.release(round, [], Tape(b"")).values == []


def test_as_much_is_drawn_where_nobody_had_a_place() -> None:
    """Else the time of a release tells how many devices had none."""
    round = a_round(group=3, order=9, points=4)

    def places_drawn(payloads: Sequence[Sequence[int]]) -> int:
        asked, tape = list[int](), Tape(b"time")

        def below(n: int) -> int:
            asked.append(n)
            return int(tape.below(n))

        ranks.release(round, payloads, SimpleNamespace(below=below))
        return asked.count(1 << 18)

    everybody = [[at, 1, 2, 3, 4] for at in range(6)]
    for payloads in (everybody, [[], *everybody[1:]], [[]] * 6):
        assert places_drawn(payloads) == 6 * 4


@pytest.mark.parametrize(
    ("payloads", "match"),
    [
        ([[1, 3], [1, 4]], "one answer counts"),
        ([[1, 8]], "places of its Round's curve"),
        ([[1, -1]], "places of its Round's curve"),
        ([[1, 3, 3]], "places of its Round's curve"),
        ([[1]], "places of its Round's curve"),
    ],
)
def test_what_would_move_the_sums_by_more_is_refused(
    payloads: list[list[int]], match: str
) -> None:
    """A user who speaks twice or farther than the curve is not hidden by the noise."""
    with pytest.raises(ValueError, match=match):
        ranks.release(a_round(order=3, axes=1), payloads, Tape(b""))


@pytest.mark.parametrize(
    "params",
    [
        (),
        (2, 1, 1, 2, 2),
        (0, 1, 1, 2, 2, 1),
        (2, 0, 1, 2, 2, 1),
        (2, 1, -1, 2, 2, 1),
        (2, 1, 1, 2, 4, 1),
        (2, 1, 1, 16, 2, 1),
        (2, 1, 1, 1, 2, 1),  # coarser than the grid
    ],
)
def test_params_that_are_none_are_objected_to(params: tuple[int, ...]) -> None:
    """A device says why from public numbers alone, and a gateway releases nothing."""
    round = a_round()._replace(params=params)

    assert ranks.objection(round)
    with pytest.raises(ValueError, match="Plan it again"):
        ranks.report(round, Reading(0, (0, 0)), None)
    assert not ranks.objection(a_round())
    assert ranks.epsilon(a_round(epsilon=(7, 2))) == (7, 2)
