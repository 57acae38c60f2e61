"""Sources of unknown number and power, in a room that may not be as stated: weighed by a bank.

Heat that has spread leaves some seven numbers of the readings that depend on it. So possible
worlds can be drawn once for a room, and be weighed by what each would have shown; families of
them are weighed by their evidence, beside that of the stated one.

    y = A(T c, walls) P v + level + slope + noise,   v a shape of total 1

    log L = -(c'c - p**2 / |a|**2) / 2 + log(2 pi / |a|**2) / 2 - log P - log log(high / low)

where a is what a unit of the shape shows, c the readings, p = a'c and P = p / |a|**2, which is
integrated over: it is log-uniform.

The mean evidence of the others over that of the stated world is an e-value: where all is as
stated it is B or more in at most one of B readings.

Limits: along a line, with an operator that is known for other rooms, too. Where few worlds of a
bank fit, weights are flattened until fifty count, so that the error is said too large.

Source: Markov's inequality for the bound; Laplace's method for the power.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..estimators.record import Floats, Near, Seen
from ..sequence import normals, uniforms

Whole = NDArray[np.int64]

# Families, in order: the stated world; unknown powers; those in an unknown room; those with level
# and slope, too; few sources as warm as stated in an unknown room, without and with those.
STATED = 0.5
WEIGHTS = {"powers": 0.15, "room": 0.10, "level": 0.10, "equal": 0.075, "equal level": 0.075}
_WORLDS = {"powers": 30_000, "room": 60_000}
_OF = {
    "powers": "powers",
    "room": "room",
    "level": "room",
    "equal": "equal",
    "equal level": "equal",
}
_SLOTS = 20
_TRIPLES = 60_000
# Cells stand for their neighbours where a line has more than so many.
_PLACES = 100
_STREAM = 7_400_000
# Factors of the spread, and how likely each is.
_SPREADS = np.array([0.70, 0.77, 0.85, 0.92, 1.0, 1.08, 1.17, 1.26, 1.35])
_AS_STATED, _WIDTH = 0.4, 0.17
# No walls or those stated, one at either end, and the other kind at both.
_WALLS = np.array([0.6, 0.1, 0.1, 0.2])
_OUTSIDE_CHANCE = 0.15
_LOW, _HIGH = 0.1, 20.0  # all heat, in sources at their warmest
_LEVEL = 0.12  # deviation of level and slope, in what the warmest source shows at the most
_ENOUGH = 50.0  # worlds that count, at the least


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Possible worlds, and how much each of them counts.

    Args:
        worlds: where sources are, how warm beside each other, and what they show.
        heat: (worlds,), all the heat of each.
        weights: (worlds,), unnormalised logarithms.
        log_evidence: log of the likelihood's mean over the family, as a sampler's.
    """

    worlds: "Worlds"
    heat: Floats
    weights: Floats
    log_evidence: float

    def drawn(self, count: int) -> tuple[Whole, Floats]:
        """Return places and heats of so many worlds, each as often as it counts."""
        top = self.weights - self.weights.max()
        cool, weights = 1.0, np.exp(top)
        while weights.sum() ** 2 / np.square(weights).sum() < _ENOUGH and cool > 1e-3:
            cool *= 0.8
            weights = np.exp(cool * top)
        sums = np.cumsum(weights)
        taken = np.searchsorted(sums, (np.arange(count) + 0.5) / count * sums[-1])
        places, shares = self.worlds.places[taken], self.worlds.shares[taken]
        return places.astype(np.int64), shares * self.heat[taken, None]


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Worlds that were drawn before any reading.

    Args:
        places: (worlds, slots), of sources; beyond the last place where there is none.
        shares: (worlds, slots), of the heat.
        shown: (worlds, r), of all the heat as one source at its warmest, or of the heat itself,
            in deviations of the noise.
        prior: (worlds,), how likely each is beforehand; adds to 1.
    """

    places: NDArray[np.int16]
    shares: NDArray[np.float32]
    shown: NDArray[np.float32]
    prior: Floats


def families(seen: Seen, near: Near, basis: Floats, cells: Whole) -> dict[str, Family]:
    """Return every family but the stated one, weighed by the readings.

    Args:
        seen: readings that have passed the veil.
        near: what sensors feel in other rooms.
        basis: (sensors, r), the directions in which heat shows.
        cells: those that places stand for, rising.
    """
    sigma, warmest = seen.sigma, seen.prior.warmest
    table = _table(near, basis, seen.places[cells, 0], warmest / sigma)
    worlds = _worlds(table.shape, table.tobytes(), len(cells))
    readings = basis.T @ seen.readings / sigma
    silent = 0.5 * (float(np.square(seen.readings / sigma).sum()) - float(readings @ readings))
    slopes = near.weights * (near.sensors_m[:, 0] / near.length_m[0] - 0.5) * 2
    loudest = float(np.abs(seen.operator).max()) * warmest
    odd = basis.T @ np.column_stack([near.weights, slopes]) * (_LEVEL * loudest / sigma)
    white = np.linalg.inv(np.linalg.cholesky(np.eye(len(readings)) + odd @ odd.T))
    shrunk = float(np.log(np.diag(white)).sum())
    found = {}
    for name in WEIGHTS:
        some = worlds[_OF[name]]
        level = "level" in name
        shown = some.shown @ white.T.astype(np.float32) if level else some.shown
        target = white @ readings if level else readings
        if _OF[name] == "equal":
            logs = -0.5 * np.square(shown - target.astype(np.float32)).sum(axis=1)
            heat = warmest * np.count_nonzero(some.shares, axis=1)
        else:
            logs, power = _by_shape(shown, target)
            heat = warmest * power
        weights = logs + np.log(some.prior) + (shrunk if level else 0.0) - silent
        top = float(weights.max())
        evidence = top + math.log(float(np.exp(weights - top).sum()))
        found[name] = Family(some, heat, weights, evidence)
    return found


@lru_cache(maxsize=2)  # some twenty megabytes each
def _worlds(shape: tuple[int, ...], entries: bytes, places: int) -> dict[str, Worlds]:
    table = np.frombuffer(entries).reshape(shape)
    made = {
        name: _open_worlds(table, places, count, name == "room") for name, count in _WORLDS.items()
    }
    return made | {"equal": _equal_worlds(table, places)}


def places_of(seen: Seen) -> Whole:
    """Return the cells that stand for all open ones, rising."""
    cells = np.arange(len(seen.places)) if seen.open is None else np.flatnonzero(seen.open)
    few = min(len(cells), _PLACES)
    return cells[((np.arange(few) + 0.5) * len(cells) / few).astype(np.int64)]


def _by_shape(shown: NDArray[np.float32], readings: Floats) -> tuple[Floats, Floats]:
    """Return log L of each shape, its power integrated over, and the likeliest power.

    >>> logs, power = _by_shape(np.array([[3, 4]], dtype=np.float32), np.array([6, 8.5]))
    >>> logs.round(4), power
    (array([-3.1353]), array([2.08]))
    """
    square = np.maximum(np.square(shown).sum(axis=1, dtype=np.float64), 1e-12)
    along = (shown @ readings.astype(np.float32)).astype(np.float64)
    power = along / square
    good = (power > _LOW) & (power < _HIGH)
    logs = -0.5 * (readings @ readings - along * power) + 0.5 * np.log(2 * np.pi / square)
    logs -= np.log(np.where(good, power, 1.0)) + math.log(math.log(_HIGH / _LOW))
    return np.where(good, logs, -1e6), np.clip(power, _LOW, _HIGH)


def _table(near: Near, basis: Floats, places: Floats, scale: float) -> Floats:
    """Return what heat shows, (spreads, walls, places + 1 + outside, r); the last of places is 0."""
    length = near.length_m[0]
    outer = np.linspace(0.05, 0.45, 9) * length
    outside = np.concatenate([-outer, length + outer])
    made = np.zeros((len(_SPREADS), len(_WALLS), len(places) + 1 + len(outside), basis.shape[1]))
    for at, spread in enumerate(_SPREADS):
        free = near.beyond(places[:, None], spread)
        left = near.beyond(-places[:, None], spread)
        right = near.beyond(2 * length - places[:, None], spread)
        both = near.feel(np.clip(places, 0, length)[:, None], spread, "insulated")
        stated, other = (free, both) if near.walls == "none" else (both, free)
        for wall, felt in enumerate((stated, free + left, free + right, other)):
            made[at, wall, : len(places)] = felt.T @ basis * scale
            made[at, wall, len(places) + 1 :] = (
                near.beyond(outside[:, None], spread).T @ basis * scale
            )
    return made


def _physics(count: int, stream: int) -> tuple[Whole, Whole]:
    """Return a spread and walls for each of so many worlds."""
    chances = np.exp(-0.5 * np.square(np.log(_SPREADS) / _WIDTH))
    chances[_SPREADS == 1.0] = 0.0
    chances *= (1 - _AS_STATED) / chances.sum()
    chances[_SPREADS == 1.0] = _AS_STATED
    spread = np.searchsorted(np.cumsum(chances) * (1 - 1e-12), uniforms(count, stream))
    wall = np.searchsorted(np.cumsum(_WALLS) * (1 - 1e-12), uniforms(count, stream + 1))
    return np.minimum(spread, len(_SPREADS) - 1), np.minimum(wall, len(_WALLS) - 1)


def _open_worlds(table: Floats, places: int, count: int, unknown: bool) -> Worlds:
    """Return shapes of up to twenty sources of any powers."""
    stream = _STREAM + 100 * unknown
    even = uniforms(count * 6, stream).reshape(6, count)
    inverse = 1 / np.arange(1, _SLOTS + 1)
    numbers = 1 + np.searchsorted(np.cumsum(inverse) / inverse.sum(), even[0])
    spots = uniforms(count * _SLOTS, stream + 1).reshape(count, _SLOTS)
    # Three of ten are clusters about one to three centres, of one width.
    centres = uniforms(count * 3, stream + 6).reshape(count, 3)
    one = (uniforms(count * _SLOTS, stream + 8).reshape(count, _SLOTS) * 3).astype(np.int64)
    one %= 1 + (even[2] * 3).astype(np.int64)[:, None]
    width = 0.005 * 40 ** even[3][:, None]
    away = normals(count * _SLOTS, stream + 2).reshape(count, _SLOTS)
    clustered = np.take_along_axis(centres, one, axis=1) + width * away
    spots = np.where((even[1] < 0.3)[:, None], clustered, spots)
    inside = (spots >= 0) & (spots < 1)
    spots = np.where(inside, spots, np.abs(spots) % 1)
    taken = np.arange(_SLOTS) < numbers[:, None]
    where = np.where(taken, (spots * places).astype(np.int64), places)
    chance = uniforms(count * _SLOTS, stream + 3).reshape(count, _SLOTS)
    kind = even[4][:, None]
    # Powers: Gamma of shape .7 and of 2, by Marsaglia's cube, and all equal.
    shape = np.where(kind < 0.4, 0.7, 2.0)
    deep = shape + 1 - 1 / 3
    normal = normals(count * _SLOTS, stream + 4).reshape(count, _SLOTS)
    cube = np.maximum(1 + normal / np.sqrt(9 * deep), 0.01)
    powers = np.where(kind < 0.7, deep * cube**3 * chance ** (1 / shape), 1.0) * taken
    shares = powers / powers.sum(axis=1, keepdims=True)
    as_stated = np.full(count, len(_SPREADS) // 2), np.zeros(count, dtype=np.int64)
    spread, wall = _physics(count, stream + 10) if unknown else as_stated
    shown = np.zeros((count, table.shape[-1]))
    for slot in range(_SLOTS):
        some = np.flatnonzero(taken[:, slot])
        shown[some] += (
            shares[some, slot, None] * table[spread[some], wall[some], where[some, slot]]
        )
    if unknown:
        some = np.flatnonzero(even[5] < _OUTSIDE_CHANCE)
        outer = table.shape[2] - places - 1
        more = uniforms(2 * len(some), stream + 7).reshape(2, -1)
        at = places + 1 + (more[0] * outer).astype(np.int64)
        times = (0.2 + more[1]) / numbers[some]
        shown[some] += times[:, None] * table[spread[some], wall[some], at]
    return _packed(where, shares, shown, np.full(count, 1 / count))


def _packed(where: Whole, shares: Floats, shown: Floats, prior: Floats) -> Worlds:
    return Worlds(
        where.astype(np.int16), shares.astype(np.float32), shown.astype(np.float32), prior
    )


def _equal_worlds(table: Floats, places: int) -> Worlds:
    """Return one to three sources at their warmest in any room, and how likely each world is."""
    rooms = [(s, w) for s in range(len(_SPREADS)) for w in range(len(_WALLS))]
    spread, wall = _physics(20_000, _STREAM + 205)
    likely = np.bincount(spread * len(_WALLS) + wall, minlength=len(rooms)) / 20_000
    first, second = np.triu_indices(places, 1)
    singles, pairs = np.arange(places), len(first)
    shown, where, prior = [], [], []
    for (s, w), chance in zip(rooms, likely, strict=True):
        if not chance:
            continue
        shown += [table[s, w, singles], table[s, w, first] + table[s, w, second]]
        none = np.full(places, places)
        where += [np.column_stack([singles, none, none])]
        where += [np.column_stack([first, second, np.full(pairs, places)])]
        prior += [np.full(places, chance / places / 3), np.full(pairs, chance / pairs / 3)]
    three = (uniforms(3 * _TRIPLES, _STREAM + 200).reshape(_TRIPLES, 3) * places).astype(np.int64)
    spread, wall = _physics(_TRIPLES, _STREAM + 207)
    shown += [table[spread[:, None], wall[:, None], three].sum(axis=1)]
    where, prior = [*where, three], [*prior, np.full(_TRIPLES, 1 / _TRIPLES / 3)]
    sets = np.concatenate(where)
    there = sets < places
    shares = there / there.sum(axis=1, keepdims=True)
    return _packed(sets, shares, np.concatenate(shown), np.concatenate(prior))
