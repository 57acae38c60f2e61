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
# One city, one grid, one promise, and five mechanisms that map people; then the one that maps
# warmth, which is asked something else. In short:
#
# - First decide **whom you trust**. Nobody but each person's own device: `disk`. A gateway that
#   follows the protocol, and so sees one sum of each group (*shard*) of up to 10,000 devices and
#   nothing else (against one that cheats nothing is promised): `quadtree`, `pyramid_sum`. A
#   gateway that sees every place: `pyramid`.
# - With twenty thousand people `pyramid` is the nearest of ours, 11 m off; the two sums are
#   about twice as far off, and may be a tie; `disk` is 17 times as far off as `pyramid`.
# - With a thousand people `quadtree` is nearer than `pyramid`, and asks for less trust; `disk`
#   is about twice as far off as `pyramid`. `pyramid_sum` takes one round where `quadtree` takes
#   several, and can go on in windows of hours, each of which costs a person epsilon again.
# - The winner is not always ours: a plain adaptive grid is nearer than `pyramid` with a thousand
#   people, and may tie with it with twenty thousand. And `ranks`, whose gateway sees all, is no
#   nearer to where everybody is than `disk`: it is for a line, which is not tried here
#   (`55_ranks`).
# - A second map **costs as much again**, or both share one promise and are farther off: *And
#   tomorrow?*
# - `thermal` protects a step, not a place: no epsilon makes it comparable, so it is not in the
#   race.
#
# Each person has **one place in a map** on this page. Of a trace of many points a device reports
# one, drawn by you, or several: `pyramid` and `pyramid_sum` then divide one person's mass among
# them (`places`), `ranks` counts so many (`points`), and the promise is for all of them
# together. `disk` and `quadtree` take one. The next map of the same person is paid for again.
# Who carries two devices is two people here, and has twice the epsilon.
#
# | mechanism | what a device sends |
# | --- | --- |
# | `disk` | one cell, drawn: near ones are likelier, by no more than the promise's factor |
# | `quadtree` | marks for squares, masked: only sums can be read. Then full ones are divided |
# | `pyramid` | its share of squares, large and small, sealed to the gateway, which adds noise |
# | `pyramid_sum` | its share of the same squares, masked as in `quadtree` |
# | `ranks` | its place on a curve through all cells, sealed to the gateway, which sorts them |
# | `thermal` | a temperature with noise on it |

# %%
from fractions import Fraction
from functools import partial

import numpy as np

from edge.mechanisms import pyramid_sum as device
from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import draw_city
from gateway.mechanisms.pyramid_sum.crowd import release_shards as release_sum
from gateway.mechanisms.quadtree.crowd import release_crowd
from gateway.mechanisms.sums import PlaySums
from gateway.settings.windows import DAYS, count_answers, count_windows
from heatveil import Grid, Reading, Tape, dlaplace, earth_movers
from physics.crowds.disk import count_many
from physics.crowds.pyramid import release_points
from physics.crowds.ranks import release_many
from physics.points import histogram
from recovery import disk, pyramid, pyramid_sum, quadtree, ranks
from recovery.disk.channel import channel_of
from recovery.disk.estimators import estimate
from recovery.disk.query import find_radius_cells, scheme_of
from recovery.peers.grids import Crowd, map_by_adaptive_grid
from recovery.ranks.order import cells_of, places_of
from recovery.ranks.query import ORDERS

SIDE = 32
GRID = Grid((SIDE, SIDE), 0)

# %% [markdown]
# ## One promise for all
# *Whoever sees what comes out, and knows where everybody else is, learns little of whether one
# person was here or there: the odds of any guess change by a factor of at most $e^2$, about 7.*
#
# What comes out is each answer with `disk`, each sum with `quadtree` and `pyramid_sum`, and the
# gateway's release with `pyramid` and `ranks`. The promise is epsilon 2 for one person who
# **moves**, near or far, for one map, all the rounds that it takes together; there is no delta.
# So the best test of two places may be right in up to 88 of 100 cases. (At the same number it is
# 60 in `00_the_veil`, for a step of 20 cm: the two are not to be compared.) That somebody takes
# part, and how many do, is not hidden. Papers differ in whom they let move, so their epsilons
# cannot be set side by side as they are printed. `pyramid` and the adaptive grid promise that a
# person's place may **come or go**; to move is to go and to come, so they get epsilon 1 here.
#
# | | who sees a person's place | neighbours of its paper | asked for |
# | --- | --- | --- | --- |
# | `disk` | nobody | any two places | 2 |
# | `quadtree`, `pyramid_sum` | nobody; sums are seen | one moves (`replace-one`) | 2 |
# | `pyramid`, adaptive grid | the gateway | a place, or none instead | 1 |
# | `ranks` | the gateway | one moves | 2 |
#
# **The sum**: each device adds its part of the noise, and a mask that cancels against those of
# others. Devices are put into **shards** of at most 10,000, and the gateway, which adds up,
# learns one sum of each shard and nothing else. Every shard has noise of its own, so m shards
# have the root of m times the noise of one: a million people are a hundred shards, and have ten
# times the noise of one shard, over a hundred times as many people. Twenty thousand people are
# two shards here, a thousand are one.
#
# That holds while the gateway follows the protocol; against one that departs from it nothing is
# promised. A stated share of devices may help it (`colluders`), and a stated share may drop out
# (`dropout`); with fewer left there is no sum. Both shares are 0 here, the best case: whoever
# allows for more needs more noise. One device can spoil a round, or add anything. What is masked
# or sealed needs keys on both sides: `heatveil enrol` makes them, for a shard all at once.


# %%
def by_disk(points, epsilon, tape, world):
    """Return the map of answers that everybody blurs alone.

    This `auto` is not that of `10_estimators`: by epsilon it weighs maps that fit the answers.
    """
    round = disk.plan(disk.Query(GRID, epsilon.as_integer_ratio()), [])
    answers = count_many(round, histogram(points, GRID), world)
    return estimate("auto", channel_of(round), answers, float(epsilon)).mass


def by_quadtree(points, epsilon, tape, world):
    """Return the map of a secure sum over everybody, round by round."""
    ratio, users = epsilon.as_integer_ratio(), len(points)
    query, releases = quadtree.Query(GRID, ratio, "replace-one", users), []
    while round := quadtree.plan(query, releases):
        releases.append(release_crowd(round, histogram(points, GRID), users, tape))
    return quadtree.recover(query, releases).mass


def by_pyramid(points, epsilon, tape, world):
    """Return the map of a gateway that blurs squares within squares.

    How many people are expected is public, here and in `by_ranks`: it chooses the squares.
    """
    query = pyramid.Query(GRID, (epsilon / 2).as_integer_ratio(), users=len(points))
    x, y = (points * SIDE).astype(int).T
    release = release_points(pyramid.plan(query, ()), y * SIDE + x, tape)
    return pyramid.recover(query, [release]).mass


def by_pyramid_sum(points, epsilon, tape, world):
    """Return the map of the same squares in one secure sum."""
    query = pyramid_sum.Query(GRID, epsilon.as_integer_ratio(), users=len(points))
    round, counts = pyramid_sum.plan(query, ()), histogram(points, GRID)
    added = np.zeros(device.count_sums(round), dtype=np.int64)
    for y, x in np.argwhere(counts):
        places, parts = np.transpose(device.make_marks(round, Reading(0, (int(x), int(y))), None))
        added[places] += counts[y, x] * parts
    release = release_sum(round, [PlaySums(added, len(points))], tape)
    return pyramid_sum.recover(query, [release]).mass


def by_ranks(points, epsilon, tape, world):
    """Return the map of a gateway that sorts places along a curve."""
    query = ranks.Query(GRID, epsilon.as_integer_ratio(), users=len(points))
    round = ranks.plan(query, ())
    along = places_of(cells_of(points, ORDERS[2]), ORDERS[2])
    return ranks.recover(query, [release_many(round, along, tape)]).mass


def by_adaptive_grid(points, epsilon, tape, world):
    """Return the map of the peer that divides where many are."""
    crowd = Crowd(histogram(points, GRID), len(points))
    return map_by_adaptive_grid(crowd, epsilon / 2, partial(dlaplace, rng=tape))


EPSILON = Fraction(2)
WAYS = {
    "nothing asked": lambda points, epsilon, tape, world: np.full((SIDE, SIDE), SIDE**-2),
    "disk": by_disk,
    "quadtree": by_quadtree,
    "pyramid": by_pyramid,
    "pyramid_sum": by_pyramid_sum,
    "ranks": by_ranks,
    "adaptive grid": by_adaptive_grid,
}
auto = disk.Query(GRID, (2, 1))
reach = find_radius_cells(auto)
print(f"disk takes the scheme {scheme_of(auto)} of 40_disk, with reach {reach} cells")

# %% [markdown]
# ## The picture
# Twenty thousand people of a made city. A device of `disk` rather answers with a cell within
# its reach of eight cells, 1.5 km, than with one beyond it: small hot spots are lost.

# %%
people = draw_city(20_000, np.random.default_rng(90))
maps = {"the truth": histogram(people, GRID) / len(people)}
for name in ("disk", "quadtree", "pyramid", "ranks"):
    maps[name] = WAYS[name](people, EPSILON, Tape(name.encode()), np.random.default_rng(1))
show_maps(maps, 6, "km")

# %% [markdown]
# ## Three questions
# - **Where is everybody?** How far people would have to walk to turn the map into the truth
#   (earth mover's distance), in metres of a city of six kilometres.
# - **How many are in this district?** The mean error over the sixteen squares of a 4 x 4 grid,
#   in people per thousand.
# - **Where is it fullest?** In how many of six runs the fullest of these sixteen is named.
#
# *Nothing asked* is an even map. Errors whose intervals overlap may be a tie; for `ranks` and
# `disk`, which come near each other, the difference within each run is printed, too.


# %%
def answers(truth, mass):
    """Return what the three questions come to."""
    districts = [one.reshape(4, 8, 4, 8).sum(axis=(1, 3)).ravel() for one in (truth, mass)]
    return (
        6000 * earth_movers(truth, mass, normalise=True),
        1000 * np.abs(districts[0] - districts[1]).mean(),
        float(districts[0].argmax() == districts[1].argmax()),
    )


RUNS = 6
found = {}
for users in (1000, 20_000):
    for name, way in WAYS.items():
        told = []
        for run in range(RUNS):
            points = draw_city(users, np.random.default_rng([90, run]))
            tape = Tape(f"{name} {users} {run}".encode())
            mass = way(points, EPSILON, tape, np.random.default_rng([run, users]))
            told.append(answers(histogram(points, GRID) / users, mass))
        found[users, name] = np.array(told)

for users in (1000, 20_000):
    print(f"{users:,} people{'':9s}  everybody, m    a district, per 1000   fullest named")
    for name in WAYS:
        mean = found[users, name].mean(axis=0)
        half = 2.57 * found[users, name].std(axis=0, ddof=1) / RUNS**0.5  # Student, 95 %
        print(
            f"  {name:16s} {mean[0]:7.0f} +-{half[0]:4.0f} {mean[1]:15.2f} +-{half[1]:5.2f} "
            f"{mean[2] * RUNS:12.0f} of {RUNS}"
        )

central = ("pyramid", "ranks", "adaptive grid")
far = {key: told[:, 0].mean() for key, told in found.items()}
for users in (1000, 20_000):
    times = far[users, "disk"] / min(far[users, name] for name in central)
    print(f"{users:6,} people: who trusts nobody is {times:.0f} times as far off")
    apart = found[users, "ranks"] - found[users, "disk"]
    half = 2.57 * apart.std(axis=0, ddof=1) / RUNS**0.5
    more = [f"{one:.1f} +-{give:.1f}" for one, give in zip(apart.mean(axis=0), half, strict=True)]
    print(f"{'':15} ranks less disk, run by run: {more[0]} m, a district {more[1]}")
    assert times > 1.5
    assert far[users, "disk"] < 0.5 * far[users, "nothing asked"]
    assert far[users, "disk"] < far[users, "ranks"]

# %% [markdown]
# ## And tomorrow?
# All that was **one map**. Whoever is asked again for the same epsilon pays again: epsilons add
# up, k maps cost k times. There are two ways to go on:
#
# - `readings=k`: k maps share one epsilon, a k-th each, and a device's key answers no more.
# - `window_h`, in a deployment file, for all but `quadtree`: epsilon is for **any** so many
#   hours. What was spent may be spent again when it is a window old; so somebody who is there
#   for k windows has k times the epsilon in all.
#
# Say five maps a day for a year, of twenty thousand people, each off by so many metres. It is
# one run, so small differences say nothing. Six answers of a device may fall into 24 hours by
# its own clock, so six share the epsilon of a window. `quadtree` has no window: there the six
# are all that a key ever answers. A year under one promise of 2 is no nearer than an even map,
# mostly farther off.

# %%
asked = ("disk", "quadtree", "pyramid", "pyramid_sum", "ranks")
truth = histogram(people, GRID)
print(f"{'maps that share':18}epsilon of one", *(f"{name:>11}" for name in asked))
for words, maps in (
    ("all", 1),
    ("in 24 h", count_answers(24, 86_400 / 5)),
    ("in a year", 5 * 365),
):
    off = []
    for name in asked:
        tape, world = Tape(f"{name} {maps}".encode()), np.random.default_rng(maps)
        off.append(answers(truth, WAYS[name](people, EPSILON / maps, tape, world))[0])
    print(f"{words:10}{maps:6}{float(EPSILON / maps):16.4f}", *(f"{one:11.0f}" for one in off))
assert min(off[1:]) > far[20_000, "nothing asked"]
stays = ", ".join(f"{name} {count_windows(days, 24) * EPSILON}" for name, days in DAYS)
print(f"epsilon of whoever is there, with a window of 24 h: {stays}")

# %% [markdown]
# ## And warmth?
# `thermal` maps heat from thermometers, and hides which of two places a *step* apart
# (`protect_distance_m`) somebody is at, not where in the room. A longer way has a larger
# epsilon: on this line more than five times that of a step for five steps, less than twenty
# times for twenty. Its question is "about where is it warm", of a handful of people whom no
# device knows. It has a delta, 1/100000. Over windows a price called *rho* adds up, and epsilon
# is worked out from its sum: it grows more slowly than the number of windows. `00_the_veil` is
# about it.

# %%
from heatveil import ThermalQuery
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import calibrate_query
from recovery.thermal.curve import compute_curve

line = Grid((SIDE, 1), 200)
query = ThermalQuery(line, (16,), 0.5, (2, 1), walls="insulated", protect_distance_m=0.2)
for row in compute_curve(query, (1, 5, 20)):
    print(f"a way of {row.cells * 0.2:.1f} m (steps: {row.cells}) has epsilon {row.epsilon:.1f}")
rho = Fraction(*calibrate_query(query).rho)
week, year = (zcdp_epsilon(windows * rho, 1e-5) for windows in (7, 365))
print(f"7 windows cost epsilon {week:.1f}, 365 cost {year:.1f}")

# %% [markdown]
# ## So take
#
# Nobody: no one but the device that measures. Sums: a gateway that follows the protocol of
# secure sums, and would see nothing else.
#
# | you ask | and trust | take | beware |
# | --- | --- | --- | --- |
# | where is it warm | nobody | `thermal` | a longer way is hidden less |
# | where are people | nobody | `disk` | far off, the fewer people the more |
# | where are a thousand people | sums, or the gateway | `quadtree` | several rounds, no window |
# | where are twenty thousand | sums | `quadtree`, `pyramid_sum` | may be a tie |
# | where are people, in one round or in a window | sums | `pyramid_sum` | shards add noise |
# | where are twenty thousand | the gateway | `pyramid` | it sees every place until the release |
# | medians, ranges on a **line** | the gateway | `ranks` | not tried here, see `55_ranks` |
#
# The adaptive grid is here to be compared with: no gateway of ours runs it.
#
# What each promises: `thermal` hides which of two places so many metres apart a person is at;
# the others hide which of any two cells of the grid, at the epsilons of the table under *One
# promise for all*. `pyramid` also hides whether her device had
# a place to report. That a device takes part, and when, is seen with all of them.
#
# How near is near depends on the people: `heatveil calibrate` says it for your numbers before
# anybody is asked, `heatveil reproduce all --quick` what became of the claims of the five
# papers.
