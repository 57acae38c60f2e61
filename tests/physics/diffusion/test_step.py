"""Steps of heat against closed forms, and the orders at which they come near to them."""

import math
from itertools import pairwise

import numpy as np
import pytest

from physics.diffusion.medium import Drive, Medium, Sides, still
from physics.diffusion.run import Run, march
from physics.kernel import AnyWalls, forward
from physics.places import Floats


def plain(shape: tuple[int, ...], lengths: tuple[float, ...], films: Sides) -> Medium:
    """Return a box of one material with conductivity and capacity 1: time is spread."""
    sizes = tuple(length / count for length, count in zip(lengths, shape[::-1], strict=True))
    return Medium(sizes, np.ones(shape), np.ones(shape), np.zeros(shape), films)


def centres(count: int, length: float = 1.0) -> Floats:
    return length * (np.arange(count) + 0.5) / count


def after(run: Run, until_s: float, steps: int) -> Floats:
    drive = still(run.medium)
    for _ in march(run, lambda *_: drive, (until_s - run.at_s) / steps, until_s):
        pass
    return run.field_k


def kernel(
    shape: tuple[int, ...], lengths: tuple[float, ...], films: Sides, spread: float
) -> Floats:
    """Return what a unit of heat at 0.35 of every length leaves in every cell, line by line."""
    field = np.ones(())
    for count, length, pair in reversed(list(zip(shape[::-1], lengths, films, strict=True))):
        walls: AnyWalls = "cold" if pair[0] else "insulated"
        line = forward([0.35 * length], centres(count, length), spread, walls, length)
        field = np.multiply.outer(field, line[:, 0])
    return field


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "lengths", "films", "bound"),
    [
        ((405,), (1.0,), ((0.0, 0.0),), 1e-6),
        ((405,), (1.0,), ((np.inf, np.inf),), 1e-6),
        ((20, 30), (1.5, 1.0), ((0.0, 0.0), (np.inf, np.inf)), 1e-3),
        ((8, 7, 9), (1.4, 1.0, 1.2), ((0.0, 0.0), (np.inf, np.inf), (0.0, 0.0)), 1e-3),
    ],
)
def test_it_comes_to_the_closed_form(
    shape: tuple[int, ...], lengths: tuple[float, ...], films: Sides, bound: float
) -> None:
    """Images and modes between walls of every kind, in one, two and three dimensions.

    Two grids, one thrice as fine, take off the error of second order that they share.
    """
    from_m2, to_m2 = (0.004, 0.02) if len(shape) == 1 else (0.02, 0.06)
    fields = []
    for finer in (1, 3):
        counts = tuple(finer * count for count in shape)
        start = kernel(counts, lengths, films, from_m2)
        run = Run(plain(counts, lengths, films), start, at_s=from_m2)
        fields.append(after(run, to_m2, finer * (60 if len(shape) == 1 else 10)))
    middles = fields[1][(slice(1, None, 3),) * len(shape)]
    exact = kernel(shape, lengths, films, to_m2)
    error = np.abs((9 * middles - fields[0]) / 8 - exact).max() / exact.max()

    assert error < bound


def test_ventilation_carries_heat_away_at_its_rate() -> None:
    """With the same loss everywhere a field is the closed one, times exp(-loss time)."""
    films: Sides = ((0.0, 0.0),)
    bare = plain((405,), (1.0,), films)
    medium = Medium(bare.cell_m, bare.conductivity, bare.capacity, np.full(405, 30.0), films)
    start = kernel((405,), (1.0,), films, 0.004)
    found = after(Run(medium, start), 0.016, 400)
    exact = kernel((405,), (1.0,), films, 0.02) * math.exp(-30 * 0.016)

    assert np.abs(found - exact).max() < 1e-4 * exact.max()


def wave(x: Floats, y: Floats) -> Floats:
    return np.cos(1.3 * x + 0.2) * np.cos(0.9 * y - 0.1) + 0.5


def undamped(run: Run, step_s: float) -> Run:
    """Return the run with its damped start taken away: Crank-Nicolson alone from here on."""
    run.step_s, run.damped_left = step_s, 0
    return run


class Made:
    """A solution that was made first: u = how(t) wave(x, y), k = 1 + sin(2 x + y) / 2.

    Insulated nowhere: films from 2 to infinity, ventilation, and a capacity that varies.
    """

    supply, loss = 0.3, 0.7
    kept = 4  # films, near and far for x and y

    def __init__(self, count: int, bare: bool = False) -> None:
        """Bare forgets the half cell between the film and the middle of its cell."""
        self.line = centres(count)
        self.x, self.y = np.meshgrid(self.line, self.line)
        k, capacity = self.k(self.x, self.y), 1 + 0.3 * np.cos(self.x)
        self.films = ((2.0, 1 + self.line), (5.0, np.inf))
        films: Sides = self.films
        if bare:
            half = 0.5 / count
            sides = ((k[:, 0], k[:, -1]), (k[0], k[-1]))
            films = tuple(
                tuple(
                    1 / (1 / np.asarray(film) - half / at)
                    if np.isfinite(film).all()
                    else np.full(count, np.inf)
                    for film, at in zip(pair, ats, strict=True)
                )
                for pair, ats in zip(self.films, sides, strict=True)
            )
        self.medium = Medium(
            (1 / count, 1 / count), k, capacity, np.full(k.shape, self.loss), films
        )

    @staticmethod
    def k(x: Floats, y: Floats) -> Floats:
        return 1 + np.sin(2 * x + y) / 2

    def flow(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return k times the slope of the wave along x and y."""
        k = self.k(x, y)
        along_x = -1.3 * np.sin(1.3 * x + 0.2) * np.cos(0.9 * y - 0.1)
        along_y = -0.9 * np.cos(1.3 * x + 0.2) * np.sin(0.9 * y - 0.1)
        return k * along_x, k * along_y

    def drive(self, how: float, slope: float) -> Drive:
        """Return what keeps u = how wave going, where how grows at this slope."""
        x, y = self.x, self.y
        k, u = self.k(x, y), wave(x, y)
        along_x, along_y = (flow / k for flow in self.flow(x, y))
        bent = -(1.3**2 + 0.9**2) * (u - 0.5)
        spreads = np.cos(2 * x + y) * (along_x + along_y / 2) + k * bent
        capacity, volume = self.medium.capacity, self.medium.volume_m3
        power = capacity * slope * u - how * spreads + self.loss * (how * u - self.supply)
        nought, one, line = np.zeros(1), np.ones(1), self.line
        places = (((nought, line), (one, line)), ((line, nought), (line, one)))
        outside = []
        for axis, pair in enumerate(places):
            beyond = []
            for end, (at_x, at_y) in enumerate(pair):
                outward = (1 if end else -1) * self.flow(at_x, at_y)[axis]
                beyond.append(how * (wave(at_x, at_y) + outward / self.films[axis][end]))
            outside.append(tuple(beyond))
        return Drive(power * volume, tuple(outside), self.supply)


def orders(errors: list[float]) -> list[float]:
    return [math.log2(coarse / fine) for coarse, fine in pairwise(errors)]


def in_space(bare: bool) -> list[float]:
    """Return the orders over grids of a solution that grows evenly: steps in time are exact."""
    errors = []
    for count in (16, 32, 64):
        made = Made(count, bare)
        run = undamped(Run(made.medium, wave(made.x, made.y)), 0.1)
        for _ in march(run, lambda a, b, made=made: made.drive(1 + (a + b) / 2, 1.0), 0.1, 1.0):
            pass
        errors.append(float(np.sqrt(np.mean((run.field_k - 2 * wave(made.x, made.y)) ** 2))))
    return orders(errors)


def test_it_is_of_second_order_in_space() -> None:
    """Varying conductivity and capacity, films, a kept side and ventilation, all at once.

    Control: a film that touches the middle of its cell makes it first order.
    """
    bare = in_space(bare=True)

    assert in_space(bare=False) == pytest.approx([2.0, 2.0], abs=0.1)
    assert max(bare) < 1.5


def in_time(always_damped: bool) -> list[float]:
    """Return the orders over steps, against steps so short that they stand for none.

    Few cells, so that the longest step resolves what the quickest of them does.
    """
    made = Made(4)
    fields = []
    for steps in (1024, 16, 32, 64):
        damped = always_damped and bool(fields)
        run = Run(made.medium, wave(made.x, made.y), always_damped=damped)
        for _ in march(
            run,
            lambda a, b: made.drive(math.exp(-(a + b) / 2), -math.exp(-(a + b) / 2)),
            1 / steps,
            1.0,
        ):
            pass
        fields.append(run.field_k)
    return orders([float(np.abs(field - fields[0]).max()) for field in fields[1:]])


def test_it_is_of_second_order_in_time() -> None:
    """The damped start does not spoil it. Control: damping every step makes it first order."""
    damped = in_time(always_damped=True)

    assert in_time(always_damped=False) == pytest.approx([2.0, 2.0], abs=0.1)
    assert max(damped) < 1.2


@pytest.mark.parametrize(("steps", "least"), [(50, 16), (25, 64)])
def test_without_the_damped_start_heat_in_one_cell_rings(steps: int, least: float) -> None:
    """Crank-Nicolson alone barely damps what varies from cell to cell: a point stays a point."""
    count = 200
    medium = plain((count,), (1.0,), ((0.0, 0.0),))
    start = np.zeros(count)
    start[60] = count
    exact = forward(centres(count)[60:61], centres(count), 0.05, "insulated")[:, 0]
    damped = np.abs(after(Run(medium, start), 0.05, steps) - exact).max()
    alone = undamped(Run(medium, start), 0.05 / steps)
    rung = np.abs(after(alone, 0.05, steps) - exact).max()

    assert damped < 0.009
    assert least < rung < 96


def test_what_is_always_damped_only_fades_after_a_pulse() -> None:
    """No cell warms above the warmest or cools below the coldest without heat or loss.

    Control: Crank-Nicolson's warmest cell rises again by a third, once its start is over.
    """
    medium = plain((60,), (1.0,), ((0.0, 0.0),))
    pulse = np.zeros(60)
    pulse[20] = 1.0
    rises, falls = {}, {}
    for always_damped in (True, False):
        run, fields = Run(medium, always_damped=always_damped), []
        for count in range(9):
            run.step(still(medium, pulse if count == 2 else 0 * pulse), 0.02)
            fields.append(run.field_k)
        later = np.array(fields[2:])
        rises[always_damped] = (later.max(axis=1)[1:] / later.max(axis=1)[:-1]).max()
        falls[always_damped] = (later.min(axis=1)[1:] / later.min(axis=1)[:-1]).min()

    assert rises[True] < 1 < falls[True]
    assert rises[False] > 1.3
    assert falls[False] < 0.7
