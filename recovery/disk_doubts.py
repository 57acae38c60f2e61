"""Public maps, and what may be otherwise in them: what a footprint is chosen with.

How smooth what may be otherwise is, and how large, was set once: see `disk_choice`.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

Floats = NDArray[np.float64]

_LENGTH = 0.5  # over which h changes, in longer sides
_VARIANCE = 0.06  # of h
_MODES = 8  # along the longer side; finer ones hold a hundredth of the variance
_SMOOTH = 1.5  # Matern's


class Doubt(NamedTuple):
    """A public map, and what may be otherwise."""

    mass: Floats  # (rows, columns), adds to one
    changes: Floats  # (modes, rows, columns): independent, of variance one, adding to nothing
    flows: Floats  # (modes, edges): what mends them


@cache
def doubts(shape: tuple[int, int]) -> tuple[Doubt, ...]:
    """Return the public maps on a grid of (columns, rows), and what may be otherwise in them."""
    columns, rows = shape
    side = max(shape)
    across, down = (np.arange(_MODES) * side / length for length in shape)
    here = (np.arange(_MODES) < columns)[None, :] & (np.arange(_MODES) < rows)[:, None]
    pitch = np.hypot(down[:, None], across[None, :])  # in half waves a side
    v, u = np.nonzero(here & (pitch > 0) & (pitch < _MODES))
    power = (1 + np.square(math.pi * pitch[v, u] * _LENGTH) / (2 * _SMOOTH)) ** -(_SMOOTH + 1)
    y, x = ((np.arange(length) + 0.5) / length for length in (rows, columns))
    waves = 2 * np.cos(math.pi * v[:, None] * y)[:, :, None]
    waves = waves * np.cos(math.pi * u[:, None] * x)[:, None, :]
    waves /= np.sqrt(np.square(waves).mean(axis=(1, 2), keepdims=True))
    waves *= np.sqrt(_VARIANCE * power / power.sum())[:, None, None]
    return tuple(_doubt(mass / mass.sum(), waves) for mass in _public(y[:, None], x[None, :]))


def _doubt(mass: Floats, waves: Floats) -> Doubt:
    changes = waves * mass
    changes -= changes.sum(axis=(1, 2))[:, None, None] * mass
    rows, columns = mass.shape
    bend = [2 - 2 * np.cos(math.pi * np.arange(length) / length) for length in (rows, columns)]
    laplacian = bend[0][:, None] + bend[1][None, :]
    laplacian[0, 0] = 1.0  # of the mean, which does not change
    potential = idctn(dctn(changes, axes=(1, 2)) / laplacian, axes=(1, 2))
    edges = [np.diff(potential, axis=axis).reshape(len(changes), -1) for axis in (1, 2)]
    return Doubt(mass, changes, np.concatenate(edges, axis=1))


def _public(y: Floats, x: Floats) -> tuple[Floats, ...]:
    """Return an even map, a heap, two heaps, two roads and a ramp, on the unit square."""

    def heap(left: float, top: float, wide: float) -> Floats:
        return np.exp(-(np.square(x - left) + np.square(y - top)) / (2 * wide**2)) / wide**2

    def road(off: Floats) -> Floats:
        return np.exp(-np.square(off / 0.03) / 2)

    return (
        np.ones(np.broadcast_shapes(y.shape, x.shape)),
        heap(0.5, 0.5, 0.1),
        0.6 * heap(0.25, 0.3, 0.05) + 0.4 * heap(0.7, 0.75, 0.1),
        road(x - y / 2 - 0.25) + road(x + y - 1) + 1e-9,
        1 / ((1 + x) * (1 + y)),
    )
