"""Other worlds than the stated one, weighed by the readings: powers, number, spread, walls, level.

Heat that has spread leaves some seven numbers of the readings that depend on it. So possible
worlds can be drawn before any reading and be weighed by what each would have shown:

    y = A(T c, walls) P v + level + slope + noise,   v a shape of total 1

    log L = -(c'c - p**2 / |a|**2) / 2 + log(2 pi / |a|**2) / 2 - log P - log log(high / low)

where a is what a unit of the shape shows, c the readings, p = a'c and P = p / |a|**2, which is
integrated over: it is log-uniform. Level and slope are Gaussian and are noise to all shapes alike.

The mean likelihood of the others over that of the stated world is an e-value: where all is as
stated it is B or more in at most one of B readings.

Limits: where heat just spreads. Where few worlds of a bank fit, weights are flattened until fifty
count, so that the error is said too large.

Source: Markov's inequality for the bound; Laplace's method for the power.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from ..estimators.record import Floats, Near, Room, Seen
from ..estimators.verdict import decompose, find_heat_directions
from ..sequence import normals, uniforms

Whole = NDArray[np.int64]
Singles = NDArray[np.float32]

# Families of worlds and how likely each of them is among them, beforehand: any powers in the
# stated room, in an unknown one, and with level and slope beside; few sources as warm as stated in
# an unknown room or beside a source outside of the stated one, likewise.
WEIGHTS = {"powers": 0.3, "room": 0.2, "level": 0.2, "equal": 0.15, "equal level": 0.15}
# What each kind of worlds is called without a level and a slope, and with them.
_LABELS = {"powers": ("powers",), "room": ("room", "level"), "equal": ("equal", "equal level")}
_SHAPES = {"powers": 30_000, "room": 60_000}
_TRIPLES, _BESIDE = 60_000, 40_000
_SLOTS = 20
# Cells stand for their neighbours where a line, or a plane, has more than so many.
_PLACES, _PLACES_IN_PLANE = 100, 1024
# Places beyond either end, and beyond each side of a plane: so far out, so many along it.
_OUTSIDE, _OUTSIDE_IN_PLANE = 9, (3, 5)
# More worlds of two sources than this are not weighed one by one.
_PAIRS = 200_000
_STREAM = 7_400_000
_BLOCK = 1 << 14
# Factors of the spread, and how likely each is: as stated, or log-normal about it.
_SPREADS = np.array([0.70, 0.77, 0.85, 0.92, 1.0, 1.08, 1.17, 1.26, 1.35])
_AS_STATED, _WIDTH = 0.4, 0.17
# Walls as stated, one at any one side, and the other kind at all of them.
_STATED_WALLS, _ONE_WALL, _OTHER_WALLS = 0.6, 0.2, 0.2
_OUTSIDE_CHANCE = 0.15
# Of few sources as warm as stated: spread, walls or heat from outside may be off, each as likely.
_EQUAL_OUTSIDE = 1 / 3
_LOW, _HIGH = 0.1, 20.0  # all heat, in sources at their warmest
_LEVEL = 0.12  # deviation of level and slope, of the most that the warmest source shows
_NEVER = 1e6
_ENOUGH = 50.0  # worlds that count, at the least
_AT_HAND = 4 * int(_ENOUGH)  # worlds among which these are sought, at the least
# What counts this much less than another, as a logarithm, has no say; what fits this much worse
# is not drawn, but where there are no others.
_FAR, _FARTHEST = 40.0, 200.0


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Worlds that were drawn before any reading.

    Args:
        heat: (worlds, rooms * places), sparse: what stands where, in which room. After the cells
            come places outside of the room.
        numbers: (worlds,), how many sources stand in the room.
        walls: how many kinds of walls there are, of each spread.
        prior: (worlds,), logarithm of how likely each is beforehand.
        scaled: whether all heat of a world is 1 and its power is not known.
    """

    heat: Any
    numbers: Whole
    walls: int
    prior: Floats
    scaled: bool


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Possible worlds, and how much each of them counts.

    Args:
        weights: (worlds,), unnormalised logarithms.
        power: (worlds,), by what a world's heat is multiplied.
        fit: (some,), which worlds can be drawn.
        sums: (some,), running sums of how likely each of these is drawn.
        log_evidence: log of the likelihood's mean over the family, as a sampler's.
    """

    worlds: Worlds
    weights: Floats
    power: Floats
    fit: Whole
    sums: Floats
    log_evidence: float

    def draw(self, count: int, cells: int) -> "Some":
        """Return so many worlds, each as often as it counts."""
        evenly = (np.arange(count) + 0.5) / count * self.sums[-1]
        taken = self.fit[np.searchsorted(self.sums, evenly)]
        heat, walls = self.worlds.heat, self.worlds.walls
        width = heat.shape[1] // (len(_SPREADS) * walls)
        first, beyond = heat.indptr[taken, None], heat.indptr[taken + 1, None]
        entry = first + np.arange((beyond - first).max())
        there, entry = entry < beyond, np.minimum(entry, beyond - 1)
        room, place = np.divmod(heat.indices[entry], width)
        inside = there & (place < cells)
        spread, wall = np.divmod(room[:, 0], walls)
        return Some(
            np.where(inside, place, -1),
            np.where(inside, heat.data[entry], 0.0) * self.power[taken, None],
            _SPREADS[spread],
            wall > 0,
            (place >= cells).any(axis=1),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """Worlds that are equally likely.

    Args:
        places: (worlds, slots), among the cells; -1 where there is no source.
        heats: (worlds, slots).
        spreads: (worlds,), in stated ones.
        walls, outside: (worlds,), whether walls are others, and whether heat comes from outside.
    """

    places: Whole
    heats: Floats
    spreads: Floats
    walls: NDArray[np.bool_]
    outside: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What sensors would show in each of many worlds, in kelvin.

    Args:
        columns: (r, worlds), in the directions of heat.
        square: (worlds,), the squared length of the columns.
        prior: (worlds,), logarithm of how likely each is before the readings.
    """

    worlds: Worlds
    columns: Singles
    square: Floats
    prior: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Blurred:
    """The law of readings of many worlds, where all sensors may be off together.

    A level and slopes are noise of covariance D D' in the directions of heat. The inverse of
    1 + D D' is 1 - V V', with V = D (1 + D'D)**(-1/2).

    Args:
        label: of the family.
        drift: V, (r, 1 + axes), or (r, 0) where sensors are not off.
        square: (worlds,), a'(1 - V V')a, where a are the columns, in deviations of the noise.
        prior: (worlds,), logarithm of how likely each is before the readings, and of all in the
            law that is the same for any: its determinant and, where powers are known, the square.
    """

    label: str
    drift: Floats
    square: Floats
    prior: Floats


def weigh_families(seen: Seen, near: Near) -> dict[str, Family]:
    """Return every family but the stated one, weighed by the readings.

    Args:
        near: that of `seen`.
    """
    sigma, room, found = seen.sigma, seen.make_room(), {}
    readings = find_heat_directions(room, sigma).T @ seen.readings / sigma
    silent = 0.5 * float(np.square(seen.readings / sigma).sum() - readings @ readings)
    for shown, laws in _blur(room, sigma):
        left = np.stack([readings - law.drift @ (law.drift.T @ readings) for law in laws])
        alongs, worlds = _multiply(left / sigma, shown.columns), shown.worlds
        for law, along, read in zip(laws, alongs, left @ readings, strict=True):
            if worlds.scaled:
                weights, power = integrate_power(law.square, along, read)
                power *= seen.prior.warmest
            else:
                weights, power = along, np.broadcast_to(seen.prior.warmest, along.shape)
                weights -= 0.5 * read
            # In place, for there are very many.
            weights += law.prior
            weights -= silent
            found[law.label] = Family(worlds, weights, power, *_find_likely(weights))
    return found


def _find_likely(weights: Floats) -> tuple[Whole, Floats, float]:
    """Return which worlds can be drawn, running sums of how likely, and what all weigh together.

    Where too few count, weights are flattened until enough do.
    """
    top, cool, far, evidence = float(weights.max()), 1.0, _FARTHEST, 0.0
    while np.count_nonzero(weights > top - far) < _AT_HAND:
        far *= 2
    while True:
        fit = np.flatnonzero(weights > top - min(_FAR / cool, far))
        if far > _FARTHEST:  # then the best few are flattened
            fit = fit[np.argsort(-weights[fit], kind="stable")[:_AT_HAND]]
        likely = np.exp(cool * (weights[fit] - top))
        if cool == 1:
            evidence = top + math.log(float(likely.sum()))
        if likely.sum() ** 2 >= _ENOUGH * np.square(likely).sum() or cool <= 1e-3:
            return fit, np.cumsum(likely), evidence
        cool *= 0.8


@lru_cache(maxsize=2)
def _blur(room: Room, sigma: float) -> list[tuple[Shown, list[Blurred]]]:
    """Return what is shown in each kind of worlds, and its families in noise of a deviation."""
    seen, near, made = room.seen, room.seen.near, []
    assert near is not None  # noqa: S101  `weigh_families` has looked
    basis = find_heat_directions(room, sigma)
    loudest = float(np.abs(seen.operator).max()) * seen.prior.warmest
    odd = basis.T @ _show_level_and_slopes(near) * (_LEVEL * loudest / sigma)
    for name, shown in _show(room, basis.shape[1]).items():
        laws = []
        for label, known in zip(_LABELS[name], (odd[:, :0], odd), strict=False):
            root = np.linalg.inv(np.linalg.cholesky(np.eye(known.shape[1]) + known.T @ known))
            drift = known @ root.T
            square = shown.square / sigma**2
            square -= np.square(_multiply(drift.T / sigma, shown.columns)).sum(axis=0)
            # The log of the determinant's root, but for its sign.
            prior = shown.prior + float(np.log(np.diag(root)).sum())
            if not shown.worlds.scaled:
                prior -= 0.5 * square
            laws.append(Blurred(label, drift, square, prior))
        made.append((shown, laws))
    return made


def _show_level_and_slopes(near: Near) -> Floats:
    """Return what a level and slopes of one kelvin add to the readings, (sensors, 1 + axes)."""
    slopes = (near.sensors_m / near.length_m - 0.5) * 2
    return near.weights[:, None] * np.column_stack([np.ones(len(slopes)), slopes])


@lru_cache(maxsize=2)
def _show(room: Room, r: int) -> dict[str, Shown]:
    """Return the worlds of each kind, and what sensors would show in each in r directions."""
    seen, near = room.seen, room.seen.near
    assert near is not None  # noqa: S101  `weigh_families` has looked
    basis = decompose(room)[0][:, :r]
    table = (
        _make_table(near, basis, seen.places[choose_places(seen)]) * seen.prior.warmest
    ).astype("f4")
    made = {}
    for name, worlds in make_bank(*_make_lattice(seen)).items():
        columns = np.ascontiguousarray((worlds.heat @ table).T)
        prior = worlds.prior
        if not worlds.scaled:
            prior = prior + _weigh_numbers(seen, worlds)
        made[name] = Shown(worlds, columns, _compute_squared_lengths(columns), prior)
    return made


def _multiply(rows: Floats, columns: Singles) -> Floats:
    """Return the products of some rows with all columns, (rows, worlds), in double precision.

    A block of columns at a time, for a processor has no more at hand.
    """
    made = np.empty((len(rows), columns.shape[1]))
    for first in range(0, columns.shape[1], _BLOCK):
        some = slice(first, first + _BLOCK)
        made[:, some] = rows @ columns[:, some].astype(np.float64)
    return made


def _compute_squared_lengths(columns: Singles) -> Floats:
    """Return the squared length of each column, (worlds,), in double precision.

    Differences of these are worth far less than they are.
    """
    return np.asarray(np.einsum("ij,ij->j", columns, columns, dtype=np.float64))


def _weigh_numbers(seen: Seen, worlds: Worlds) -> Floats:
    """Return how much likelier each is where the prior rules out some of one to three sources."""
    known = np.arange(4)
    held = (known > 0) & (known >= seen.prior.fewest) & (known <= seen.prior.most)
    held = held if held.any() else known > 0
    likelier = np.where(held, math.log(3 / np.count_nonzero(held)), -_NEVER)
    return np.asarray(likelier[worlds.numbers])


def choose_places(seen: Seen) -> Whole:
    """Return the cells that stand for all open ones, rising."""
    cells = np.arange(len(seen.places)) if seen.open is None else np.flatnonzero(seen.open)
    few = min(len(cells), _PLACES if seen.places.shape[1] == 1 else _PLACES_IN_PLANE)
    return cells[((np.arange(few) + 0.5) * len(cells) / few).astype(np.int64)]


def _make_lattice(seen: Seen) -> tuple[tuple[int, ...], bytes]:
    """Return the shape of a lattice, and which of the places is nearest to each of its nodes."""
    cells = choose_places(seen)
    if seen.places.shape[1] == 1:
        return (len(cells),), np.arange(len(cells)).tobytes()
    rows, columns = seen.shape
    nodes = np.indices(seen.shape).reshape(2, -1).T / (rows, columns)
    nearest = scipy.spatial.KDTree(nodes[cells]).query(nodes)[1]
    return (rows, columns), nearest.astype(np.int64).tobytes()


def integrate_power(square: Floats, along: Floats, read: float) -> tuple[Floats, Floats]:
    """Return log L of each shape, its power integrated over, and the likeliest power.

    Args:
        square, along: (shapes,), a'a and a'c.
        read: c'c.

    >>> logs, power = integrate_power(np.array([25.0]), np.array([52.0]), 108.25)
    >>> logs.round(4), power
    (array([-3.1353]), array([2.08]))
    """
    square = np.maximum(square, 1e-12)
    power = along / square
    good = (power > _LOW) & (power < _HIGH)
    logs = -0.5 * (read - along * power) + 0.5 * np.log(2 * np.pi / square)
    logs -= np.log(np.where(good, power, 1.0)) + math.log(math.log(_HIGH / _LOW))
    return np.where(good, logs, -_NEVER), np.clip(power, _LOW, _HIGH)


def _make_table(near: Near, basis: Floats, places: Floats) -> Floats:
    """Return what one unit of heat shows, (spreads * walls * places, r)."""
    lengths, other = np.asarray(near.length_m), "insulated" if near.walls == "none" else "none"
    outside = _list_places_outside(len(lengths)) * lengths
    mirrored = []
    for axis, length in enumerate(lengths):
        for wall in (0.0, length):
            image = places.copy()
            image[:, axis] = 2 * wall - image[:, axis]
            mirrored.append(image)
    made = []
    for spread in _SPREADS:
        free = near.make_free_operator(places, spread)
        far = near.make_free_operator(outside, spread)
        walled = [free + near.make_free_operator(image, spread) for image in mirrored]
        every = near.make_operator(np.clip(places, 0, lengths), spread, "insulated")
        stated, changed = (every, free) if other == "none" else (free, every)
        for felt in (stated, *walled, changed):
            made.append(np.hstack([felt, far]).T @ basis)
    return np.concatenate(made)


def _list_places_outside(axes: int) -> Floats:
    """Return places outside of a room, (places, axes), in its lengths."""
    if axes == 1:
        outer = np.linspace(0.05, 0.45, _OUTSIDE)
        return np.concatenate([-outer, 1 + outer])[:, None]
    many, along = _OUTSIDE_IN_PLANE
    outer, beside = np.meshgrid(np.linspace(0.05, 0.45, many), (np.arange(along) + 0.5) / along)
    sides = [(-outer, beside), (1 + outer, beside), (beside, -outer), (beside, 1 + outer)]
    return np.concatenate([np.column_stack([x.ravel(), y.ravel()]) for x, y in sides])


@lru_cache(maxsize=4)
def make_bank(shape: tuple[int, ...], nearest: bytes) -> dict[str, Worlds]:
    """Return the worlds of each kind.

    Args:
        shape: of a lattice over the room, (nodes,) or (rows, columns).
        nearest: for each of its nodes which place is nearest, whole numbers of eight bytes.
    """
    places = np.frombuffer(nearest, dtype=np.int64)
    made = {
        name: _open_worlds(shape, places, count, name == "room") for name, count in _SHAPES.items()
    }
    return made | {"equal": _make_equal_worlds(int(places.max()) + 1, len(shape))}


def _weigh_walls(axes: int) -> Floats:
    """Return how likely each kind of walls is: as stated, one at any one side, the other kind."""
    sides = 2 * axes
    return np.array([_STATED_WALLS, *[_ONE_WALL / sides] * sides, _OTHER_WALLS])


def _weigh_rooms(axes: int) -> Floats:
    """Return how likely each room is, (spreads * walls,)."""
    chances = np.where(_SPREADS == 1.0, 0.0, np.exp(-0.5 * np.square(np.log(_SPREADS) / _WIDTH)))
    chances *= (1 - _AS_STATED) / chances.sum()
    chances[_SPREADS == 1.0] = _AS_STATED
    return np.outer(chances, _weigh_walls(axes)).ravel()


def _draw_rooms(count: int, stream: int, axes: int) -> Whole:
    upto = np.cumsum(_weigh_rooms(axes)) * (1 + 1e-12)
    return np.searchsorted(upto, uniforms(count, stream)).astype(np.int64)


def _open_worlds(shape: tuple[int, ...], nearest: Whole, count: int, unknown: bool) -> Worlds:
    """Return shapes of up to twenty sources of any powers."""
    stream, axes, places = _STREAM + 100 * unknown, len(shape), int(nearest.max()) + 1
    even = uniforms(count * 6, stream).reshape(6, count)
    # Fewer are likelier, by the root of their number: by the number itself a few more maps are
    # worse than a guess, and with all alike bands hold less often (`bench_verdict`).
    upto = np.cumsum(np.arange(1, _SLOTS + 1) ** -0.5)
    numbers = 1 + np.searchsorted(upto, even[0] * upto[-1])
    world = np.repeat(np.arange(count), numbers)
    size = len(world)
    # Three of ten are clusters about one to three centres, of one width.
    one = (uniforms(size, stream + 2) * (1 + np.floor(3 * even[2]))[world]).astype(np.int64)
    node = np.zeros(size, dtype=np.int64)
    for axis, nodes in enumerate(shape):
        walk = stream + 10 * axis
        centres = uniforms(count * 3, walk + 1).reshape(count, 3)
        away = (0.005 * 40 ** even[3])[world] * normals(size, walk + 3)
        near = np.abs(centres[world, one] + away) % 1
        spots = np.where((even[1] < 0.3)[world], near, uniforms(size, walk + 4))
        node = node * nodes + (spots * nodes).astype(np.int64)
    where = nearest[node]
    # Powers of Gamma laws of shape 1 and 2, or all equal.
    first, second = -np.log(uniforms(2 * size, stream + 5)).reshape(2, -1)
    kind = even[4][world]
    powers = np.where(kind < 0.4, first, np.where(kind < 0.7, first + second, 1.0))
    shares = powers / np.bincount(world, powers)[world]
    as_stated = np.full(count, int(np.argmax(_weigh_rooms(axes))))
    rooms = _draw_rooms(count, stream + 6, axes) if unknown else as_stated
    if unknown:
        some = np.flatnonzero(even[5] < _OUTSIDE_CHANCE)
        more = uniforms(2 * len(some), stream + 7).reshape(2, -1)
        world = np.concatenate([world, some])
        outer = (more[0] * len(_list_places_outside(axes))).astype(np.int64)
        where = np.concatenate([where, places + outer])
        shares = np.concatenate([shares, (0.2 + more[1]) / numbers[some]])
    prior = np.full(count, 1 / count)
    return _pack_worlds(world, rooms[world], where, shares, prior, (places, axes), True)


def _pack_worlds(
    world: Whole,
    room: Whole,
    where: Whole,
    heat: Floats,
    prior: Floats,
    size: tuple[int, int],
    scaled: bool,
) -> Worlds:
    places, axes = size
    width, walls = places + len(_list_places_outside(axes)), len(_weigh_walls(axes))
    entries = heat.astype(np.float32), (world, room * width + where)
    shape = len(prior), len(_SPREADS) * walls * width
    numbers = np.bincount(world[where < places], minlength=len(prior))
    made = scipy.sparse.csr_array(entries, shape=shape)
    return Worlds(made, numbers, walls, np.log(prior), scaled)


def _make_equal_worlds(places: int, axes: int) -> Worlds:
    """Return one to three sources at their warmest, and how likely each world is beforehand.

    In any room; or in the stated one, with one more source outside of it, of any warmth.
    """
    likely = _weigh_rooms(axes)
    rooms, singles = len(likely), np.arange(len(likely) * places)
    where, room = [singles % places], [singles // places]
    chance: list[Floats] = [np.repeat(likely / places, places)]
    numbers, pairs = [1], places * (places - 1) // 2
    if rooms * pairs <= _PAIRS:
        two = np.column_stack(np.triu_indices(places, 1))
        where.append(np.tile(two, (rooms, 1)).ravel())
        room.append(np.repeat(np.arange(rooms), 2 * pairs))
        chance.append(np.repeat(likely / max(pairs, 1), pairs))
        numbers.append(2)
    stated = int(np.argmax(likely))
    sampled = [(number, _TRIPLES, _STREAM + 197 + number) for number in (2, 3)[len(numbers) - 1 :]]
    beside = [(number, _BESIDE, _STREAM + 230 + number) for number in (1, 2, 3)]
    for number, count, stream in sampled + beside:
        # Different cells: any of fewer, spread by one and by two.
        even = uniforms(number * count, stream).reshape(-1, number)
        spots = np.sort((even * max(places - number + 1, 1)).astype(np.int64), axis=1)
        where.append((spots + np.arange(number)).ravel() % places)
        known = (number, count, stream) in beside
        others = np.full(count, stated) if known else _draw_rooms(count, stream + 7, axes)
        room.append(np.repeat(others, number))
        chance.append(np.full(count, 1 / count))
        numbers.append(number)
    counts = np.repeat(numbers, [len(one) for one in chance])
    world, prior = np.repeat(np.arange(len(counts)), counts), np.concatenate(chance) / 3
    more = uniforms(6 * _BESIDE, _STREAM + 241).reshape(2, -1)
    outside = np.arange(len(counts) - 3 * _BESIDE, len(counts))
    prior[: outside[0]] *= 1 - _EQUAL_OUTSIDE
    prior[outside[0] :] *= _EQUAL_OUTSIDE
    return _pack_worlds(
        np.concatenate([world, outside]),
        np.concatenate([*room, np.full(len(outside), stated)]),
        np.concatenate(
            [*where, places + (more[0] * len(_list_places_outside(axes))).astype(np.int64)]
        ),
        np.concatenate([np.ones(len(world)), 0.2 + more[1]]),
        prior,
        (places, axes),
        False,
    )
