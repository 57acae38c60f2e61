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
# # Which mechanism for which question?
# One city, one grid, one promise, and four mechanisms that map people; then the one that maps
# warmth, which is asked something else. The sixth, `pyramid_sum`, is not run here: it asks as
# `pyramid` does and trusts as `quadtree` does. In short:
#
# - What decides is **whom you trust**. Nobody: `disk`. A sum over everybody alone: `quadtree`. A
#   gateway that sees every place: `pyramid`.
# - At one promise trust is worth more than cleverness: the local map is 3 times as far off as
#   the nearest of a trusted gateway with a thousand people, and 17 times with twenty thousand.
# - Few people and no trusted gateway: `quadtree`, which with a thousand is as near as the nearest
#   of a trusted gateway; where one round must do, `pyramid_sum`.
# - The winner is not always ours: a plain adaptive grid is as near as `pyramid` or nearer with a
#   thousand people. And `ranks`, whose gateway sees all, is no nearer in a plane than `disk`.
# - `thermal` protects a step, not a place: no epsilon makes it comparable, so it is not in the
#   race.

# %%
from fractions import Fraction
from functools import partial

import numpy as np

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import city
from gateway.mechanisms.quadtree.crowd import release_crowd
from physics.crowds.disk import count_many
from physics.crowds.pyramid import release_points
from physics.crowds.ranks import release_many
from physics.points import histogram
from recovery import disk, pyramid, quadtree, ranks
from recovery.disk.channel import channel_of
from recovery.disk.estimators import estimate
from recovery.distance import earth_movers
from recovery.peers.grids import Crowd, adaptive_grid
from recovery.ranks.order import cells_of, places_of
from recovery.ranks.query import ORDERS

SIDE = 32
GRID = Grid((SIDE, SIDE), 0)

# %% [markdown]
# ## One promise for all
# *Whoever sees what is published, and knows where everybody else is, cannot tell whether one
# person was here or there: the odds of any guess change by a factor of at most $e^2$.*
#
# That is epsilon 2 for one person who **moves**. Papers differ in whom they let move, so their
# epsilons cannot be set side by side as they are printed. `pyramid` and the adaptive grid promise
# that a person may **join or leave**; to move is to leave and to join, so they get epsilon 1 here.
# Of `disk`, where each answers alone, nobody else is even trusted to keep quiet.
#
# | | who sees a person's place | neighbours of its paper | asked for |
# | --- | --- | --- | --- |
# | `disk`, k-ary response | nobody | any two places | 2 |
# | `quadtree` | nobody; a sum over all is seen | one moves (`replace-one`) | 2 |
# | `pyramid`, adaptive grid | the gateway | one joins or leaves | 1 |
# | `ranks` | the gateway | one moves | 2 |

# %%
TWO, ONE = (2, 1), (1, 1)


def by_answers(scheme):
    """Return what draws the map of answers that everybody blurs alone."""

    def draw(points, tape, world):
        counts = histogram(points, GRID)
        round = disk.plan(disk.Query(GRID, TWO, scheme=scheme), [])
        answers = count_many(round, counts, world)
        return estimate("auto", channel_of(round), answers, 2.0).mass

    return draw


def by_quadtree(points, tape, world):
    """Return the map of a secure sum over everybody, round by round."""
    query, releases = quadtree.Query(GRID, TWO, "replace-one", len(points)), []
    while round := quadtree.plan(query, releases):
        releases.append(release_crowd(round, histogram(points, GRID), len(points), tape))
    return quadtree.recover(query, releases).mass


def by_pyramid(points, tape, world):
    """Return the map of a gateway that blurs squares within squares."""
    query = pyramid.Query(GRID, ONE, users=len(points))
    x, y = (points * SIDE).astype(int).T
    release = release_points(pyramid.plan(query, ()), y * SIDE + x, tape)
    return pyramid.recover(query, [release]).mass


def by_ranks(points, tape, world):
    """Return the map of a gateway that sorts places along a curve."""
    query = ranks.Query(GRID, TWO, users=len(points))
    round = ranks.plan(query, ())
    along = places_of(cells_of(points, ORDERS[2]), ORDERS[2])
    return ranks.recover(query, [release_many(round, along, tape)]).mass


def by_adaptive_grid(points, tape, world):
    """Return the map of the peer that divides where many are."""
    crowd = Crowd(histogram(points, GRID), len(points))
    return adaptive_grid(crowd, Fraction(1), partial(dlaplace, rng=tape))


WAYS = {
    "nothing asked": lambda points, tape, world: np.full((SIDE, SIDE), SIDE**-2),
    "k-ary response": by_answers("krr"),
    "disk": by_answers("auto"),
    "quadtree": by_quadtree,
    "pyramid": by_pyramid,
    "ranks": by_ranks,
    "adaptive grid": by_adaptive_grid,
}

# %% [markdown]
# ## The picture
# Twenty thousand people of a made city.

# %%
people = city(20_000, np.random.default_rng(90))
maps = {"the truth": histogram(people, GRID) / len(people)}
for name in ("disk", "quadtree", "pyramid", "ranks"):
    maps[name] = WAYS[name](people, Tape(name.encode()), np.random.default_rng(1))
show_maps(maps, 6, "km")

# %% [markdown]
# ## Three questions
# - **Where is everybody?** How far people would have to walk to turn the map into the truth (earth
#   mover's distance), in metres of a city of six kilometres.
# - **How many are in this quarter?** The mean error over the sixteen squares of a 4 x 4 grid, in
#   people per thousand.
# - **Where is it fullest?** How often the fullest of these sixteen is named.


# %%
def answers(truth, mass):
    """Return what the three questions come to."""
    quarters = [one.reshape(4, 8, 4, 8).sum(axis=(1, 3)).ravel() for one in (truth, mass)]
    return (
        6000 * earth_movers(truth, mass, normalise=True),
        1000 * np.abs(quarters[0] - quarters[1]).mean(),
        float(quarters[0].argmax() == quarters[1].argmax()),
    )


RUNS = 6
found = {}
for users in (1000, 20_000):
    for name, way in WAYS.items():
        told = []
        for run in range(RUNS):
            points = city(users, np.random.default_rng([90, run]))
            tape = Tape(f"{name} {users} {run}".encode())
            mass = way(points, tape, np.random.default_rng([run, users]))
            told.append(answers(histogram(points, GRID) / users, mass))
        found[users, name] = np.array(told)

for users in (1000, 20_000):
    print(f"{users:,} people{'':9s}  everybody, m     a quarter, per 1000   fullest named")
    for name in WAYS:
        mean = found[users, name].mean(axis=0)
        half = 2.57 * found[users, name].std(axis=0, ddof=1) / RUNS**0.5  # Student, 95 %
        print(
            f"  {name:16s} {mean[0]:7.0f} +-{half[0]:4.0f} {mean[1]:15.2f} +-{half[1]:5.2f} "
            f"{mean[2]:14.0%}"
        )


# %% [markdown]
# ## Who wins, and who loses
# The table above has the interval of each mean; the sentences below are computed from it.


# %%
def nearest(users, question, among):
    """Return the names by their mean error, the nearest first."""
    return sorted(among, key=lambda name: found[users, name][:, question].mean())


central, everybody = ("pyramid", "ranks", "adaptive grid"), list(WAYS)[1:]
for users in (1000, 20_000):
    for question, words in ((0, "for everybody"), (1, "for a quarter")):
        order = nearest(users, question, everybody)
        print(f"{users:6,} people, {words}: nearest {order[0]}, then {order[1]}; last {order[-1]}")
far = {key: told[:, 0].mean() for key, told in found.items()}
for users in (1000, 20_000):
    times = far[users, "disk"] / min(far[users, name] for name in central)
    print(f"{users:6,} people: who trusts nobody is {times:.0f} times as far off")
    assert times > 1.5
    assert far[users, "disk"] < 0.5 * far[users, "nothing asked"]
    assert far[users, "disk"] < far[users, "k-ary response"]
    assert nearest(users, 0, central)[-1] == "ranks"

# %% [markdown]
# ## And warmth?
# `thermal` maps heat from thermometers, and protects that somebody moves by a *step*
# (`protect_distance_m`), not where she is: a whole room's width is many steps, and each costs
# epsilon once more. Its question is "about where is it warm", of a handful of people whom no
# device knows. `00_the_veil` is about it.

# %%
from edge.mechanisms.thermal import Params
from heatveil import Reading, ThermalQuery, find_mechanism, play
from physics.sensors import grains
from recovery.thermal import operator
from recovery.thermal.curve import curve

line = Grid((SIDE, 1), 200)
query = ThermalQuery(line, (16,), 0.5, TWO, walls="insulated", protect_distance_m=0.2)
heat = np.zeros(SIDE)
heat[[8, 20]] = 1
warmth = operator(query) @ heat


def read(round):
    """Return what the thermometers read, in whole grains."""
    values = grains(warmth, Params(*round.params).exponent)
    return [Reading(sensor, (value,)) for sensor, value in enumerate(values)]


mass = play(find_mechanism("thermal"), query, read, Tape(b"ninety")).mass
far_m = earth_movers(heat / 2, mass.ravel(), positions=np.arange(SIDE) * 0.2)
print(f"two people in a corridor of 6.4 m, epsilon 2 for a step of 0.2 m: {far_m:.2f} m off")
for row in curve(query, (1, 5, 20)):
    print(f"what hides {row.cells * 0.2:.1f} m: epsilon {row.epsilon:.1f}")

# %% [markdown]
# ## So take
#
# | you ask | and trust | take | beware |
# | --- | --- | --- | --- |
# | where is it warm | nobody | `thermal` | a longer way is hidden less |
# | where are people | nobody | `disk` | the farthest off, the fewer people the more |
# | where are people | a sum over all | `quadtree` | devices must stay for several rounds |
# | where are people | the gateway | `pyramid` | it sees every place until the release |
# | medians, ranges on a **line** | the gateway | `ranks` | in a plane `disk` is as near |
#
# What each promises: `thermal` that a person who moves by so many metres stays hidden, `pyramid`
# that she is there at all, the others where she is.
#
# How near is near depends on the people: `heatveil calibrate` says it for your numbers before
# anybody is asked, `heatveil reproduce all --quick` what became of the claims of the five papers.
