"""Who is beside whom in a secure sum, and how many that takes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid
from gateway.devices.enrol.roster import degree_of, draw_rosters, gap, graph, second
from recovery.noise.sums import shard_of
from recovery.quadtree.query import Query
from tests.sums import drawn

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    ("n", "missing", "expected"),
    [
        (16, 0, (15, 15, 15)),
        (64, 30, (63, 44, 39)),
        (256, 10, (40, 22, 206)),
        (1000, 0, (26, 26, 900)),
        (1000, 10, (52, 28, 800)),
        (1000, 30, (100, 38, 600)),
        (10000, 20, (88, 39, 7000)),
    ],
)
def test_degrees_are_those_of_an_independent_calculation(
    n: int, missing: int, expected: tuple[int, int, int]
) -> None:
    """Made with the prototype, for a tenth that collude: degree, shares and divisor."""
    found = degree_of(n, TENTH, Fraction(missing, 100))

    assert (found.k, found.t, found.divisor) == expected
    assert found.threshold == n - n * missing // 100


def test_what_a_query_plans_is_what_every_roster_holds_to() -> None:
    """A Round of another threshold, or of a larger divisor, is refused by a shard's devices."""
    asked = Query(Grid((8, 8), 0), (1, 1), "zero-out", dropout=(1, 7), colluders=(1, 9), shard=30)
    for users in range(31, 80):
        made = shard_of(replace(asked, users=users))
        sizes = {users // made.shards, -(-users // made.shards)}
        held = [degree_of(size, Fraction(1, 9), Fraction(1, 7)) for size in sizes]

        assert made.threshold == min(one.threshold for one in held)
        assert made.divisor <= min(one.divisor for one in held)
        assert 7 * made.threshold >= 6 * min(sizes)


def test_what_cannot_be_kept_is_not_promised() -> None:
    """Too few stay."""
    with pytest.raises(ValueError, match="no secure sum"):
        degree_of(20, Fraction(1, 2), Fraction(1, 2))


def test_a_graph_is_regular_of_pairs_and_in_one_piece() -> None:
    """Each device has its k neighbours, which have it; and it is another one each time."""
    near = graph(80, 20, Tape(b"one"))
    matrix = np.zeros((80, 80))
    for i, some in enumerate(near):
        matrix[i, list(some)] = 1
    values = np.sort(np.abs(np.linalg.eigvalsh(matrix)))

    assert all(len(set(some) - {i}) == 20 for i, some in enumerate(near))
    assert (matrix == matrix.T).all()
    assert values[-1] == pytest.approx(20)
    assert second([set(some) for some in near]) == pytest.approx(values[-2])
    assert values[-2] <= gap(80, 20)
    assert near != graph(80, 20, Tape(b"other"))


def test_no_device_is_in_two_shards_under_two_names() -> None:
    """It would be seen twice for one price."""
    roots = {"a": bytes(32), "b": bytes(32), "c": bytes([1]) * 32}
    with pytest.raises(ValueError, match="3 names have 2 keys"):
        draw_rosters("lab", roots, 1, 1, 16, Tape(b"twice"))


def test_a_graph_in_two_pieces_would_be_drawn_again() -> None:
    """Its second eigenvalue is its first one, again."""
    half = [set(range(21)) - {i} for i in range(21)]
    both = half + [{21 + j for j in some} for some in half]

    assert second(both) == pytest.approx(20)
    assert gap(42, 20) < 20


def test_shards_have_no_device_in_common() -> None:
    """Or one device's numbers would be in two sums, for the price of one."""
    shards = [one.shard for one in drawn(20, 10, 3)]
    names = [name for shard in shards for name in shard.members]

    assert sorted(names) == sorted(set(names))
    assert len(names) == 20
    assert {len(shard.members) for shard in shards} == {6, 7}
    assert len({shard.digest for shard in shards}) == 3
