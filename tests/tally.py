"""A mechanism of central trust, as small as it can be: how many devices are in each cell.

It stands for what any such mechanism is towards device and gateway, and shows at once whose sum it
is: with noise, of the devices that answered.
"""

from edge.core.grid import clamp_cell
from edge.core.noise import dlaplace
from edge.core.records import Grid, Guarantee, Release, Round

NAME = "tally"
PROMISE = Guarantee(
    (1, 1), None, None, "a device comes or goes", "central: the gateway", "one report", "who"
)


def a_round(number: int = 1, shape: tuple[int, int] = (5, 4)) -> Round:
    """Return a Round of epsilon 1."""
    return Round(number, NAME, Grid(shape, 500), (1, 1), PROMISE)


def epsilon(round):  # type: ignore[no-untyped-def]
    """Return the epsilon of one answer."""
    return round.params[:2]


def objection(round):  # type: ignore[no-untyped-def]
    """Return why its params are none, or ""."""
    return "" if len(round.params) == 2 else "it has other params than two"


def count_numbers(round):  # type: ignore[no-untyped-def]
    """Return how many numbers a payload has."""
    return 2


def report(round, reading, rng):  # type: ignore[no-untyped-def]
    """Return the payload [sensor, cell]."""
    x, y = clamp_cell(round.grid, reading.values)
    return [reading.sensor, y * round.grid.shape[0] + x]


def release(round, payloads, rng):  # type: ignore[no-untyped-def]
    """Return the counts of all cells, each with discrete Laplace noise."""
    num, den = round.params
    counts = [0] * (round.grid.shape[0] * round.grid.shape[1])
    for payload in payloads:
        if payload:
            counts[payload[1]] += 1
    return Release(round, [count + dlaplace(den, num, rng) for count in counts], len(payloads))
