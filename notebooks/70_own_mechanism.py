# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own mechanism
# Six mechanisms come with heatveil. Here a seventh is added in front of you, `steps`: everybody
# walks a few random steps before they say where they are. It is the oldest idea of all, and a good
# one to ask the two questions with that every mechanism must answer: what is promised, and how
# near does the map come?
#
# A mechanism is four functions. In the project each side has its place: what a device runs in
# `edge/mechanisms/steps.py`, what the analyst does in `recovery/steps`, and one record in
# `gateway/mechanisms/steps`. On this page they are four cells.

# %%
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import heatveil
from edge.core.records import Release, Round
from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import draw_city
from heatveil import Grid, Guarantee, Heatmap, Reading, Tape
from physics.points import histogram

NAME = "steps"

# %% [markdown]
# ## The device: report
# Whole numbers, one source of chance (`rng.below`), nothing else. `dlaplace` draws a step k with a
# chance that falls by $e^{-\epsilon |k|}$, exactly: no float that an attacker could read. Who
# would leave the map stops at its border, which tells no more than the steps do.


# %%
def report(round, reading, rng):
    """Return a cell some steps east or west, north or south of one's own."""
    num, den = round.params
    told = []
    for place, cells in zip(reading.values, round.grid.shape, strict=True):
        told.append(min(max(place + heatveil.dlaplace(den, num, rng), 0), cells - 1))
    return told


# %% [markdown]
# ## The gateway: release
# Everything is blurred already, so it just counts.


# %%
def release(round, payloads, rng):
    """Return how often each cell was told, row by row."""
    columns, rows = round.grid.shape
    counts = [0] * (columns * rows)
    for x, y in payloads:
        counts[y * columns + x] += 1
    return Release(round, counts, len(payloads))


# %% [markdown]
# ## The analyst: plan
# Floats end here. The Round carries the ratio that devices compute with, and its `Guarantee` says
# in words what is promised: *a step*. Two places that are d cells apart along an axis differ by
# epsilon times d, so this is a weaker promise than `disk`'s, which is for any two places.


# %%
@dataclass(frozen=True)
class Query:
    """Where people are, by answers some steps off."""

    grid: Grid
    epsilon: tuple[int, int]  # of one step


def plan(query, releases):
    """Return the only Round, and then None."""
    if releases:
        return None
    one = Fraction(*query.epsilon)
    promise = Guarantee(
        epsilon=query.epsilon,
        delta=None,
        rho=(one * one / 2).as_integer_ratio(),
        neighbours="a person who is one cell further along one axis",
        trust="local: nobody sees where anybody is",
        unit="one report of a device",
        unprotected="that somebody answers; and longer ways, of which each step costs epsilon",
    )
    return Round(1, NAME, query.grid, one.as_integer_ratio(), promise)


# %% [markdown]
# ## The analyst: recover
# The law of the steps is public, so it can be undone: expectation maximisation climbs to the map
# that most likely gave these answers. Pure: no chance, nothing private.


# %%
def law(cells, epsilon):
    """Return the chance of each told place (down) from each true one, with the border."""
    far = np.abs(np.arange(-cells, 2 * cells)[:, None] - np.arange(cells))
    chance = np.exp(-epsilon * far)
    chance *= np.tanh(epsilon / 2)  # over all whole numbers it adds to one
    inner = chance[cells : 2 * cells].copy()
    inner[0] = np.exp(-epsilon * np.arange(cells)) / (1 + np.exp(-epsilon))
    inner[-1] = inner[0, ::-1]
    return inner


def recover(query, releases):
    """Return the map that most likely gave these answers; stopped early, so smooth."""
    columns, rows = query.grid.shape
    counts = np.reshape(releases[0].values, (rows, columns)) / releases[0].reports
    epsilon = query.epsilon[0] / query.epsilon[1]
    east, north = law(columns, epsilon), law(rows, epsilon)
    mass = np.full((rows, columns), 1 / (rows * columns))
    for _ in range(100):
        mass = mass * (north.T @ (counts / (north @ mass @ east.T)) @ east)
    promised = releases[0].round.guarantee
    return Heatmap(query.grid, mass / mass.sum(), promised, 1.0, "optimal", "em")


# %% [markdown]
# ## One line
# The record is data. With it the mechanism stands in the table, and `play` runs it.

# %%
steps = heatveil.Mechanism(
    NAME,
    plan,
    report,
    release,
    recover,
    trust="local",
    reads="place",
    query=Query,
    bits=lambda round: 16,
)
heatveil.register_mechanism(steps)

SIDE, USERS = 24, 5000
GRID = Grid((SIDE, SIDE), 0)
people = draw_city(USERS, np.random.default_rng(70))
truth = histogram(people, GRID) / USERS
cells = np.minimum((people * SIDE).astype(int), SIDE - 1).tolist()
readings = [Reading(user, tuple(cell)) for user, cell in enumerate(cells)]


def drawn(query):
    """Return the map that everybody's answers give."""
    mechanism = heatveil.find_mechanism(heatveil.plan(query).mechanism)
    return heatveil.play(mechanism, query, lambda round: readings, Tape(b"seventy")).mass


ours = drawn(Query(GRID, (1, 2)))
disk = drawn(heatveil.DiskQuery(GRID, (3, 1)))
show_maps({"the truth": truth, "steps, 1/2 a step": ours, "disk, 3 a place": disk}, 6, "km")


# %%
def metres_off(mass):
    """Return how far people would have to walk, in a city of six kilometres."""
    return 6000 * heatveil.earth_movers(truth, mass, normalise=True)


even_m = metres_off(np.ones(truth.shape))
steps_m, disk_m = metres_off(ours), metres_off(disk)
print(f"steps {steps_m:.0f} m off, disk {disk_m:.0f} m, an even map {even_m:.0f} m")
assert steps_m < even_m / 2

# %% [markdown]
# ## The check: what is promised
# The whole law is small enough to look at. From one cell to the next no answer may be more than
# $e^{\epsilon}$ times as likely, the border included. A check that nothing can fail proves
# nothing, so here is one that must: steps that know only where they may end.

# %%
epsilon = 0.5
chances = law(SIDE, epsilon)
worst = np.log(
    np.maximum(chances[:, 1:] / chances[:, :-1], chances[:, :-1] / chances[:, 1:])
).max()
print(f"worst log-ratio of one step: {worst:.6f}, promised {epsilon}")
assert np.allclose(chances.sum(axis=0), 1)
assert worst <= epsilon + 1e-9

wrong = np.exp(-epsilon * np.abs(np.subtract.outer(np.arange(SIDE), np.arange(SIDE))))
wrong /= wrong.sum(axis=0)  # whoever would leave the map draws again
worst = np.log(np.maximum(wrong[:, 1:] / wrong[:, :-1], wrong[:, :-1] / wrong[:, 1:])).max()
print(f"the same, drawing again at the border: {worst:.6f}. That is a broken promise.")
assert worst > 1.2 * epsilon

# %% [markdown]
# And the device follows that law:

# %%
round = plan(Query(GRID, (1, 2)), [])
rng = Tape(b"one cell")
told = np.bincount(
    [report(round, Reading(0, (3, 3)), rng)[0] for _ in range(20_000)], minlength=SIDE
)
off = np.abs(told / 20_000 - chances[:, 3]).max()
print(f"20,000 answers from column 3 are off the law by {off:.4f} at most")
assert off < 0.012

# %% [markdown]
# ## Is it any good?
# The map above is nearer than `disk`'s, because less is promised: across the map, 46 steps,
# `steps` gives away epsilon 23 where `disk` gives away 3. For a promise of epsilon 3 from anywhere
# to anywhere each step would have to cost 3/46, and then it loses:

# %%
honest = drawn(Query(GRID, (3, 46)))
honest_m = metres_off(honest)
print(f"steps at epsilon 3 for any two places: {honest_m:.0f} m off; disk {disk_m:.0f} m")
assert honest_m > disk_m

# %% [markdown]
# To go on: `ARCHITECTURE.md`, "How to add", has the three places and the one line; the record's
# docstring (`gateway/mechanisms/record.py`) says what else it may hold, so that the service, the
# command line and the page know of it; `heatveil audit` attacks what its cases offer. And
# `90_which` shows when to take which of those that are there.
