"""What displaced paths change: known answers, every place of a lattice, and what proves less."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from physics.certificate import bound_changes, from_bytes, search_certificate, to_bytes
from physics.displaced import Floor, Past, build_floor, build_lags
from physics.places import Floats


def plain(columns: int, rows: int, pitch_m: float = 1.0, through_m: float | None = None) -> Floor:
    """Return a floor without walls, on which a body warms what its node is named for."""
    x, y = np.meshgrid(np.arange(columns) * pitch_m, np.arange(rows) * pitch_m)
    number = np.arange(columns * rows).reshape(rows, columns)
    corners = np.stack(
        [number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]], axis=-1
    ).reshape(-1, 4)
    return build_floor(
        np.stack([x.ravel(), y.ravel()], axis=1),
        corners,
        np.full((len(corners), 2), pitch_m),
        sparse.csr_array(np.eye(columns * rows)),
        through_m,
    )


def crossed() -> Past:
    """Return two lags: in one a step changes the first sensor alone, in the other the second."""
    right = np.array([0.0, 1.0, 0.0, 1.0])[:, None]
    return build_lags([(plain(2, 2), [right * [1.0, 0.0], right * [0.0, 1.0]])], [1.0])


def bilinear(field: Floats, columns: int, x: Floats, y: Floats) -> Floats:
    """Return a field, (rows * columns, sensors), at places in units of the lattice."""
    column, row = x.astype(int), y.astype(int)
    right, down = (x - column)[:, None], (y - row)[:, None]
    at = row * columns + column
    near = (1 - right) * field[at] + right * field[at + 1]
    far = (1 - right) * field[at + columns] + right * field[at + columns + 1]
    return np.asarray((1 - down) * near + down * far)


def test_lags_that_change_unlike_sensors_are_not_at_their_worst_together() -> None:
    """S_1 = {(1, 0)}, S_2 = {(0, 1)}, either sign: two by the triangle, and really sqrt 2."""
    many = crossed()

    assert many.most.joint[0] == pytest.approx(2)
    assert bound_changes(many, search_certificate(many))[0] == pytest.approx(
        math.sqrt(2), rel=1e-3
    )
    assert bound_changes(many, search_certificate(many))[0] >= math.sqrt(2)
    assert many.most.each[0] == pytest.approx([1, 1])


@pytest.mark.parametrize("turn", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_a_lag_is_as_steep_as_its_steepest_corner(turn: tuple[int, int]) -> None:
    """Against all corners one by one, and against near pairs anywhere, which come close to it."""
    world = np.random.default_rng(1)
    field = world.normal(size=(4, 5, 3))[:: turn[0], :: turn[1]].reshape(20, 3)
    near = 1e-3
    here = build_lags([(plain(5, 4), [field])], [near]).most
    grid = field.reshape(4, 5, 3)
    wide, deep = np.diff(grid, axis=1), np.diff(grid, axis=0)
    corners = [
        np.stack([wide[row + down, column], deep[row, column + right]], axis=1)
        for row in range(3)
        for column in range(4)
        for down in (0, 1)
        for right in (0, 1)
    ]
    slope = max(np.linalg.norm(corner, 2) for corner in corners)
    narrow = plain(5, 4)._replace(pitch_m=np.full((12, 2), (0.5, 0.25)))
    steeper = np.max([np.linalg.norm(corner * (2, 4), 2) for corner in corners])
    x, y = world.uniform(1e-2, 0.99, (2, 100_000)) * [[4], [3]]
    angle = world.uniform(0, 2 * math.pi, len(x))
    there = x + near * np.cos(angle), y + near * np.sin(angle)
    change = bilinear(field, 5, x, y) - bilinear(field, 5, *there)

    assert here.joint[0] == pytest.approx(near * slope, rel=1e-8)
    assert build_lags([(narrow, [field])], [near]).most.joint[0] == pytest.approx(near * steeper)
    assert 0.95 * here.joint[0] < np.linalg.norm(change, axis=1).max() <= here.joint[0]
    assert (np.abs(change).max(axis=0) <= here.each[0]).all()
    assert (np.abs(change).max(axis=0) > 0.9 * here.each[0]).all()


def smooth(lags: int) -> list[Floats]:
    """Return lags of warmth that spreads on a floor of six by five, as three sensors feel it."""
    places = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    sensors = np.array([[0.7, 1.2], [2.9, 3.1], [4.4, 0.6]])
    apart = np.square(places[:, None] - sensors).sum(axis=2)
    return [np.exp(-apart / (1 + 0.3 * lag)) / (1 + 0.3 * lag) for lag in range(lags)]


def test_lags_between_others_are_told_by_them_and_never_by_too_little() -> None:
    """Against each lag by itself: no less, and hardly more, of far fewer."""
    fields, far = smooth(150), [1.0, 2.0, 9.0]
    many = build_lags([(plain(6, 5), fields)], far)
    lags = [build_lags([(plain(6, 5), [field])], far).most for field in fields]
    joint, each = sum(lag.joint for lag in lags), sum(lag.each for lag in lags)

    assert len(many.knots) < 75
    assert (joint <= many.most.joint).all()
    assert (many.most.joint[:2] <= 1.02 * joint[:2]).all()
    assert (each <= many.most.each).all()
    assert sum(lag.presence for lag in lags) <= many.most.presence
    assert 9.0 * joint[0] > many.most.joint[2]  # no further than anywhere in the room


def longest_found(fields: list[Floats], columns: int, rows: int, far: float) -> float:
    """Return how far two paths made to be seen can change the readings, by random search."""
    world, best = np.random.default_rng(5), 0.0
    x, y = world.uniform(0, 0.999, (2, 4000)) * [[columns - 1], [rows - 1]]
    angle = world.uniform(0, 2 * math.pi, len(x))
    there = np.stack([x + far * np.cos(angle), y + far * np.sin(angle)])
    inside = ((there >= 0) & (there < np.array([[columns - 1], [rows - 1]]))).all(axis=0)
    change = [
        bilinear(it, columns, x[inside], y[inside]) - bilinear(it, columns, *there[:, inside])
        for it in fields
    ]
    for unit in (*np.eye(3), *world.normal(size=(6, 3))):
        towards = unit
        for _ in range(8):
            towards = sum(it[(it @ towards).argmax()] for it in change)
        best = max(best, float(np.linalg.norm(towards)))
    return best


def test_a_certificate_proves_less_than_the_triangle_and_more_than_any_path() -> None:
    fields = smooth(40)
    many = build_lags([(plain(6, 5), fields)], [0.5])
    (least,) = bound_changes(many, search_certificate(many))

    assert longest_found(fields, 6, 5, 0.5) <= least < 0.97 * many.most.joint[0]


def test_a_certificate_is_held_to_every_lag_and_place() -> None:
    """Of another room it proves what it can there, and never what this room changes."""
    fields = smooth(40)
    calm = build_lags([(plain(6, 5), fields)], [0.5])
    known = search_certificate(calm)
    fields[23] = fields[23].copy()
    fields[23][14, 1] += 1.0  # a steep place that the certificate was not made for
    steep = build_lags([(plain(6, 5), fields)], [0.5])

    assert bound_changes(steep, known)[0] >= bound_changes(calm, known)[0] + 0.4
    assert bound_changes(steep, known)[0] >= longest_found(fields, 6, 5, 0.5)


def test_what_lags_are_off_by_is_proved_too() -> None:
    many = crossed()
    known, off = search_certificate(many), many.rest._replace(joint=np.array([0.25]))

    assert bound_changes(many._replace(rest=off), known) == pytest.approx(
        bound_changes(many, known) + 0.25
    )


def test_a_certificate_is_the_same_from_its_bytes() -> None:
    many = crossed()
    known = search_certificate(many)

    raw = to_bytes([known, known])
    assert [bound_changes(many, one)[0] for one in from_bytes(raw)] == [
        bound_changes(many, known)[0]
    ] * 2
    for spoilt in (b"", b"nothing", raw[:-9], raw[:40], raw + b"x"):
        with pytest.raises(ValueError, match="none"):
            from_bytes(spoilt)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda it: replace(it, ellipsoids=-it.ellipsoids),
        lambda it: replace(it, ellipsoids=it.ellipsoids * np.diag([1.0, 0.0])),
        lambda it: replace(it, ellipsoids=it.ellipsoids * np.nan),
        lambda it: replace(it, ellipsoids=it.ellipsoids[:, :1, :1]),
        lambda it: replace(it, ellipsoids=it.ellipsoids + np.array([[0, 0.1], [0, 0]])),
        lambda it: replace(it, shares=-it.shares),
        lambda it: replace(it, shares=0 * it.shares),
        lambda it: replace(it, until=np.zeros(0)),
        lambda it: type(it)(np.zeros(0), np.zeros(0), np.zeros((0, 2, 2))),
    ],
)
def test_what_is_not_positive_proves_nothing(spoil: object) -> None:
    many = crossed()
    with pytest.raises(ValueError, match="positive"):
        bound_changes(many, spoil(search_certificate(many)))  # type: ignore[operator]


def test_a_way_through_a_wall_adds_what_its_faces_differ_by() -> None:
    """Two floors beside each other, level 0 and level 7, and 0.1 m of wall between them.

    On each a step of a metre changes 1, and the wall's faces differ by 7 and more.
    """
    x = np.array([0.0, 1.0, 1.1, 2.1])
    nodes = np.stack(np.meshgrid(x, [0.0, 1.0]), axis=-1).reshape(-1, 2)
    corners = np.array([[0, 1, 4, 5], [2, 3, 6, 7]])
    felt = np.where(nodes[:, :1] > 1.05, 7.0, 0.0) + nodes[:, :1]
    table, pitch = sparse.csr_array(np.eye(8)), np.ones((2, 2))

    def most(through_m: float | None, *far_m: float) -> Floats:
        here = build_floor(nodes, corners, pitch, table, through_m, (2.1, 1.0))
        return build_lags([(here, [felt])], far_m).most.joint

    assert most(None, 0.2) == pytest.approx([0.2])
    # What is left of the way is no steeper than a metre a metre, and none goes out of the room.
    assert most(0.2, 0.05, 0.2) == pytest.approx([0.05, 7.1 + 0.1])
    assert most(0.2, 0.2, 0.3)[1] == pytest.approx(9.1)  # nothing is told so far: anywhere
    many = build_lags([(build_floor(nodes, corners, pitch, table, 0.2), [felt])], [0.2])
    known = search_certificate(many)
    with pytest.raises(ValueError, match="through walls"):
        bound_changes(many, known)


@pytest.mark.parametrize(("reach_m", "aside"), [(0.3, 3), (0.2, 2)])
@pytest.mark.parametrize(
    ("turn", "order"),
    [
        (lambda it: it, [0, 1, 2, 3]),
        (lambda it: (2, 0) - it * (1, -1), [1, 0, 3, 2]),
        (lambda it: (0, 2) - it * (-1, 1), [2, 3, 0, 1]),
        (lambda it: it[:, ::-1], [0, 2, 1, 3]),
    ],
    ids=["upright", "from its right", "from its end", "lying"],
)
def test_every_edge_of_a_wall_is_opposite_every_other_within_reach(
    turn: Callable[[Floats], Floats], order: list[int], reach_m: float, aside: int
) -> None:
    """Straight across and aslant, up as well as down: a pair left out is a way that shows more.

    Whichever side of the wall is numbered first, and where it is as thick as people are hidden.
    """
    sides = [(x, 0.5 + 0.1 * row) for x in (0.5, 0.6, 0.8, 0.9) for row in range(4)]
    cells = [4 * side + row for side in (0, 2) for row in range(3)]
    corners = np.array([[at, at + 4, at + 1, at + 5] for at in cells])[:, order]
    table = sparse.csr_array(np.eye(len(sides)))
    pitch = np.ones((6, 2))
    found = build_floor(turn(np.array(sides)), corners, pitch, table, reach_m, (2.0, 2.0)).across
    pairs = set(zip(found.one.tolist(), found.other.tolist(), strict=True))

    assert pairs == {
        (left, right)
        for left in range(4, 8)
        for right in range(8, 12)
        if abs(right - left - 4) <= aside
    }


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="no lag"):
        build_lags([], [1.0])
    for felt in (np.zeros((3, 2)), np.full((4, 2), np.nan), np.zeros(4)):
        with pytest.raises(ValueError, match="a field has shape"):
            build_lags([(plain(2, 2), [felt])], [1.0])
