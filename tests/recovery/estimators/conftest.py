"""Scenes that the tests of estimators share: a line or a plane, some of it furniture."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.estimators.record import Prior, Seen


def line(
    seed: int,
    sources: int = 2,
    sigma: float = 0.172,
    cells: int = 40,
    sensors: int = 25,
    furniture: bool = False,
    power: float = 1.0,
) -> tuple[np.ndarray, Seen]:
    """Return the true heat and what is seen of it along a line of length 1."""
    world = np.random.default_rng([seed, sources])
    places = np.arange(1, cells + 1) / cells
    operator = forward(places, np.arange(1, sensors + 1) / sensors, 0.05)
    free = np.ones(cells, dtype=bool)
    if furniture:
        free[cells // 4 : cells // 2] = False
    heat = np.zeros(cells)
    heat[world.choice(np.flatnonzero(free), sources, replace=False)] = power
    readings = operator @ heat + sigma * world.normal(size=sensors)
    prior = Prior(sources, sources, power, power)
    seen = Seen(operator, readings, sigma, places[:, None], (1, cells), prior, upper=power)
    return heat, seen if not furniture else _closed(seen, free)


def plane(
    seed: int, sources: int = 2, sigma: float = 0.1, side: int = 8, furniture: bool = False
) -> tuple[np.ndarray, Seen]:
    """Return the true heat and what is seen of it in a square of side 1."""
    world = np.random.default_rng([seed, sources])
    along = np.arange(1, side + 1) / side
    factor = forward(along, along[::2], 0.02)
    operator = np.kron(factor, factor)
    places = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    free = np.ones(side**2, dtype=bool)
    if furniture:
        free[: side**2 // 4] = False
    heat = np.zeros(side**2)
    heat[world.choice(np.flatnonzero(free), sources, replace=False)] = 1
    readings = operator @ heat + sigma * world.normal(size=len(operator))
    seen = Seen(operator, readings, sigma, places, (side, side), Prior(sources, sources))
    return heat, seen if not furniture else _closed(seen, free)


def _closed(seen: Seen, free: np.ndarray) -> Seen:
    return replace(seen, open=free)


@pytest.fixture(name="line")
def the_line() -> Callable[..., tuple[np.ndarray, Seen]]:
    """Give tests `line`."""
    return line


@pytest.fixture(name="plane")
def the_plane() -> Callable[..., tuple[np.ndarray, Seen]]:
    """Give tests `plane`."""
    return plane
