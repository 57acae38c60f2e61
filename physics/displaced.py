"""How far warmth that was given off elsewhere changes what sensors feel, whatever the path.

Take one source of at most P watts and two paths of it that are never further apart than a
protected distance. Its warmth reaches the sensors by K_l, the response at the moment of reading
to a watt in each cell during the lag l before it, so the two readings differ by

    sum over l of p_l (K_l[:, here_l] - K_l[:, there_l]),    0 <= p_l <= P

and, by the triangle inequality, in l2 norm by at most P times the sum over lags of the greatest
|| K_l[:, a] - K_l[:, b] || of cells a and b that are no further apart; on one sensor by at most
P times the sum of the greatest difference there. Who moves within a lag has been in several
cells, and a body is in several at once: each is a mean of such differences with the same
weights on both sides, and no mean is longer than the longest. A thermometer that lags behind
the air takes a mean of what was there before, again with weights of one together, so the sum
over all lags is not raised by it either.

Source: the triangle inequality, over time.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .pairs import Near, Neighbours
from .places import Floats

# Lags that are told by those before and after them add at most this share to what they change.
_LOOSE = 5e-3
_MANY = 32  # of them at once

Mask: TypeAlias = NDArray[np.bool_]


class Displaced(NamedTuple):
    """What a source of one watt changes, in kelvin, at the most."""

    joint: Floats  # (distances,), l2 norm over all sensors of displaced paths
    each: Floats  # (distances, sensors), on one sensor
    presence: float  # l2 norm of what a source gives that comes, wherever it goes
    presence_each: Floats  # (sensors,)


def displaced(
    fields: Iterable[Floats],
    air: Mask,
    known: Neighbours,
    worn: Callable[[Floats], Floats] | None = None,
) -> Displaced:
    """Return what one watt changes at the most, on any path and any displaced one.

    Where the neighbours change, with a door, the changes of all the times between add up: see
    `plus`.

    Args:
        fields: for each lag, (sensors, rows, columns): kelvin at each sensor of a watt that was
            in each cell during that lag.
        air: (rows, columns), the cells that can be warmed at all.
        known: where a source can be in these lags, and where it could be as well.
        worn: from a field to that of a body which stands in each open cell and warms those about
            it too, each by a share of one watt; without, it warms its own cell alone.

    Raises:
        ValueError: a field is not finite or of another shape.
    """
    exact, blocks, count = known.exact, known.blocks, len(known.far_cells)

    def told(field: Floats) -> _Told:
        felt = _felt(field if worn is None else worn(field), known.open_cells)
        apart, spans = blocks.apart(felt), np.tile(np.ptp(felt, axis=0), (count, 1))
        apart[:exact], spans[:exact] = _compared(felt, known.near, exact)
        most = Displaced(apart, spans, _longest(felt), np.abs(felt).max(axis=0))
        return _Told(_felt(field, air), most)

    several = iter(fields)
    last = told(next(several))
    total, many = last.most, 1
    while after := list(islice(several, many)):
        last, more, kept = _over(last, after, told, air)
        total = plus(total, more)
        many = min(2 * many, _MANY) if kept else max(1, many // 2)
    return total


class _Told(NamedTuple):
    """One lag: what is felt in each cell of air, and what its differences come to."""

    felt: Floats
    most: Displaced


def _over(
    before: _Told, fields: list[Floats], told: Callable[[Floats], _Told], air: Mask
) -> tuple[_Told, Displaced, bool]:
    """Return the last of these lags, the sum over them all, and whether none was looked at.

    Lags between two others are near the straight line between these. No difference of theirs
    is greater than that line's, and what they are off it by on both sides; for a body's warmth is
    a mean of that of cells, the cells of air may tell by how much they are off.
    """
    last, count = told(fields[-1]), len(fields)
    total, off = last.most, 0.0
    for nth, field in enumerate(fields[:-1], 1):
        share = nth / count
        rest = _felt(field, air) - (1 - share) * before.felt - share * last.felt
        longest, each = _longest(rest), np.abs(rest).max(axis=0)
        line = plus(times(before.most, 1 - share), times(last.most, share))
        beside = Displaced(
            np.full(len(line.joint), 2 * longest),
            np.tile(2 * each, (len(line.joint), 1)),
            longest,
            each,
        )
        total, off = plus(total, plus(line, beside)), off + longest
    if count == 1 or 2 * off <= _LOOSE * total.joint[-1]:
        return last, total, True
    middle, first, _ = _over(before, fields[: count // 2], told, air)
    last, second, _ = _over(middle, fields[count // 2 :], told, air)
    return last, plus(first, second), False


def plus(one: Displaced, other: Displaced) -> Displaced:
    """Return what changes in two times together."""
    (a, b, c, d), (e, f, g, h) = one, other
    return Displaced(a + e, b + f, c + g, d + h)


def times(one: Displaced, factor: float) -> Displaced:
    """Return what so many times as much heat changes."""
    joint, each, presence, presence_each = one
    return Displaced(factor * joint, factor * each, factor * presence, factor * presence_each)


def _longest(felt: Floats) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", felt, felt).max()))


def _compared(felt: Floats, near: Sequence[Near], exact: int) -> tuple[Floats, Floats]:
    """Return the greatest difference up to each of the exact distances: l2, and on each sensor."""
    square, each = np.zeros(exact), np.zeros((exact, felt.shape[1]))
    for distance, one, other in near:
        change = felt[one]
        change -= felt[other]
        most = float(np.einsum("ij,ij->i", change, change).max())
        square[distance] = max(square[distance], most)
        np.abs(change, out=change)
        np.maximum(each[distance], change.max(axis=0), out=each[distance])
    return np.sqrt(np.maximum.accumulate(square)), np.maximum.accumulate(each)


def _felt(field: Floats, cells: Mask) -> Floats:
    """Return (those cells, sensors) of a field."""
    if field.ndim != 3 or field.shape[1:] != cells.shape or not np.isfinite(field).all():
        raise ValueError(
            f"a field has shape {field.shape} or holds a value that is not finite, but "
            f"(sensors, {', '.join(map(str, cells.shape))}) of finite numbers is needed, or "
            "the noise that rests on it would protect nobody. Take them from the room's model."
        )
    return np.ascontiguousarray(field[:, cells].T)
