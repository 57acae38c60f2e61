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
# # Where is the warmth?
# A corridor of ten metres, two people, fifty thermometers on its wall. We want a map of about
# where it is warm. Nobody who sees what the thermometers send shall be able to tell well whether
# somebody stood at one place or 20 cm beside it. About where somebody stood, to a metre, is not
# hidden: that is the map.
#
# In short: each thermometer adds noise to its reading before it sends it. That is called the
# **veil**, and it stands between what a thermometer reads and everybody else, us included; only
# the thermometer itself has to be trusted. How much noise is a choice, whose name is
# **epsilon**: the smaller, the more is hidden, and the coarser the map.
#
# One unit of a person's heat (K m) warms one metre of the corridor by one kelvin. Heat spreads:
# the further it has come, the less the readings tell of where it began. Here each person's heat
# is that of one moment, fifty seconds ago, and the thermometers have no error of their own.
# The promise is for such heat; people who still stand there give off heat all the time, and for
# what has only just left them this epsilon does not hold.

# %%
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from edge.mechanisms.thermal import Params
from heatveil import (
    Grid,
    Reading,
    Tape,
    ThermalQuery,
    earth_movers,
    find_mechanism,
    minimise_l1,
    plan,
    play,
    recover,
    release,
    report,
)
from physics.places import cell_places, sensor_places
from physics.scenes import Scene
from physics.sensors import to_grains
from recovery.maps.guarantee import describe_guarantee
from recovery.thermal import calibrate_query, make_operator
from recovery.thermal.curve import bound_presence_epsilon, compute_curve, find_epsilon

corridor = Grid(shape=(100, 1), cell_mm=100)
query = ThermalQuery(
    grid=corridor,
    sensors=(50,),
    spread_m2=1.0,  # 0.02 m²/s, the mixing of a ventilated corridor, for fifty seconds
    walls="insulated",
    epsilon=(4, 1),  # the ratio 4/1
    protect_distance_m=0.2,  # the step that is hidden
)
cells_m = cell_places(corridor)
sensors_m = sensor_places(query.sensors, corridor)

people = Scene(np.array([1.95, 5.25]), np.array([1.0, 1.0]))
truth = people.heat(corridor)
warmth = make_operator(query) @ truth


# %%
def corridor_figure(readings, label, heat=None):
    """Show where the people are, what the thermometers say, and what was recovered."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 4), sharex=True)
    above.plot(sensors_m, readings, ".", color="tab:orange", label=label)
    above.set_ylabel("warmth, K")
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)  # off the dots
    below.vlines(people.places, 0, 0.5, color="tab:red", label="true")
    if heat is not None:
        below.fill_between(cells_m, heat / heat.sum(), step="mid", alpha=0.6, label="recovered")
    below.set(xlabel="place along the corridor, m", ylabel="share of the heat")
    below.legend(loc="upper right")
    plt.show()


corridor_figure(warmth, "what the thermometers read")

# %% [markdown]
# The readings give both people away. Here is how little it takes: the least heat that explains
# them to a thousandth of a kelvin.

# %%
bare = minimise_l1(make_operator(query), warmth, radius=1e-3)
corridor_figure(warmth, "what the thermometers read", bare.heat)
found_m = cells_m[bare.heat > 0.1]
print("people found at", found_m.round(2), "m; they stand at", people.places, "m")

# %%
assert np.abs(found_m[:, None] - people.places).min(axis=1).max() <= 0.1  # to the cell

# %% [markdown]
# Now we draw the veil: each thermometer blurs its own reading before it speaks. How much blur?
# As much as hides a step of 20 cm, at epsilon 4, from whoever sees *all* thermometers. Hides
# means: name anything that may be found in what is sent. Its probability if somebody stood here
# is at most $e^4$, about 55, times its probability if they stood 20 cm away, plus 1 in 100,000.
# That last number is called **delta**. It is not the chance that the factor is exceeded, which
# is several times larger: it is the most that all such outcomes together can add.
#
# `play` is the whole protocol. `plan` turns the query into whole numbers, `report` runs on each
# device, `release` puts their answers into one list, `recover` draws the map. The tape makes
# this notebook repeatable; a device uses entropy that nobody can repeat.


# %%
def readings(round):
    """What each thermometer reads, in whole grains, before its veil."""
    values = to_grains(warmth, Params(*round.params).exponent)
    return [Reading(sensor, (value,)) for sensor, value in enumerate(values)]


mechanism = find_mechanism("thermal")
planned = plan(query)
rng = Tape(b"the veil")
payloads = [report(planned, reading, rng) for reading in readings(planned)]
released = release(planned, payloads)
blurred = np.array(released.values) * 2.0 ** -Params(*planned.params).exponent

veiled = recover(query, [released])
corridor_figure(blurred, "what the thermometers send", veiled.mass.ravel())

# %%
same = play(mechanism, query, readings, Tape(b"the veil"))
assert np.array_equal(same.mass, veiled.mass)  # play is those four lines, and nothing else

# %% [markdown]
# How far is this map from the truth? The earth mover's distance is how far the recovered warmth
# would have to be carried, on average, to lie where it really was.

# %%
fair = truth / truth.sum()
near_m = earth_movers(fair, veiled.mass.ravel(), positions=cells_m)
guess_m = earth_movers(fair, np.full(100, 0.01), positions=cells_m)
print(f"the map is {near_m:.2f} m from the truth; a guess without any data is {guess_m:.2f} m")

# %%
assert near_m < guess_m

# %% [markdown]
# The map says how far off it expects to be. Whoever draws it does not know how many people there
# are nor how warm each is, so it weighs every scene that could have sent these readings: a
# *scene* is a number of people, where each stands and how warm each is. The bars above are *the*
# map, the middle of all these scenes; below is how many of them have somebody in each cell of 10
# cm.

# %%
for people_there, chance in enumerate(veiled.credible.numbers):
    if chance > 0.02:
        print(f"{people_there} people: {100 * chance:.0f} %")
print(f"the map expects to be {veiled.expected_error:.2f} m off")
plt.figure(figsize=(8, 2))
plt.fill_between(cells_m, veiled.credible.present.ravel(), step="mid", alpha=0.6)
plt.vlines(people.places, 0, veiled.credible.present.max(), color="tab:red", label="true")
plt.xlabel("place along the corridor, m")
plt.ylabel("chance, per 10 cm")
plt.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
plt.show()

# %% [markdown]
# And what can no one learn? The promise, as it travels with every map:

# %%
for sentence in describe_guarantee(veiled.guarantee):
    print("-", sentence)

# %% [markdown]
# From even odds, an outcome that moves them by the whole factor, 54.6 to 1, would make a guess
# 98 % sure (second column). Such outcomes are rare; a few rarer ones tell more, and delta bounds
# what they add. Over **all** outcomes the best possible test of two places 20 cm apart is right
# far less often: the last column. A smaller epsilon needs more blur.

# %%
print("epsilon   at the factor   blur, K   best test right")
for epsilon in (1, 2, 4, 8):
    asked = replace(query, epsilon=(epsilon, 1))
    (row,) = compute_curve(asked, (2,))
    sure = np.exp(epsilon) / (1 + np.exp(epsilon))
    print(f"{epsilon:7} {sure:15.2%} {calibrate_query(asked).sigma:9.2f} {row.right:17.2f}")

# %% [markdown]
# The promise is for 20 cm, for people of at most one unit of heat, who stand at points of the
# map's grid, and for heat that has spread at least so far. Heat that somebody gave off just now
# has not: it is outside the promise, and so is who stands before a thermometer. Over a longer
# way less is hidden. Where an assumption does not hold no device notices, and what holds instead
# is another epsilon. A long way takes warmth from one place and brings it to another, so it may
# cost more than that somebody is there at all.

# %%
made = calibrate_query(query)
print(f"at epsilon 4 the blur is {made.sigma:.2f} K; at most {warmth.max():.2f} K are read")
print(" way, m   epsilon   best test right")
for row in compute_curve(query, (1, 2, 5, 10, 20, 50)):
    print(f"{row.cells / 10:7.1f} {row.epsilon:9.2f} {row.right:17.2f}")
print(
    f"a person twice as warm: epsilon {find_epsilon(replace(query, intensity_max=2.0), made):.1f}"
)
print(f"half the spread: epsilon {find_epsilon(replace(query, spread_m2=0.5), made):.1f}")
seen = bound_presence_epsilon(query)
print(f"\nand that somebody is there at all: epsilon {seen:.0f}. That is not protected.")

# %% [markdown]
# One corridor, one throw of the noise. Over forty corridors with two people at random places:

# %%
world = np.random.default_rng(4)
errors, expected = [], []
for trial in range(40):
    places = world.choice(cells_m, 2, replace=False)
    scene = Scene(places, np.ones(2))
    warmth = make_operator(query) @ scene.heat(corridor)
    result = play(mechanism, query, readings, Tape(b"corridor %d" % trial))
    fair = scene.heat(corridor) / 2
    errors.append(earth_movers(fair, result.mass.ravel(), positions=cells_m))
    expected.append(result.expected_error)
off, said = np.mean(errors), np.mean(expected)
print(f"40 maps, {off:.2f} m from the truth on average")
print(f"they expected to be {said:.2f} m off")

# %%
assert off < 0.5
assert 0.5 < off / said < 1.2

# %% [markdown]
# These maps allow for more people than two and for cooler ones. With two people of full warmth
# there they are nearer, on average, than they expect to be.
#
# ## Readings of your own
# Say you have a file of what each thermometer showed **above the empty corridor**, in kelvin; this
# one is of the last of the forty. A thermometer counts **grains**, and its round says how many a
# kelvin has: 2 to the power of `params[1]`. If yours were blurred already, as this round asks,
# leave `report` out: a payload is the number of a sensor and its grains.

# %%
with TemporaryDirectory() as folder:
    file = Path(folder, "own.csv")
    rows = "\n".join(f"{sensor},{kelvin:.4f}" for sensor, kelvin in enumerate(warmth))
    file.write_text(f"sensor,kelvin\n{rows}\n")
    sensors, kelvins = np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)
asked, rng = plan(query), Tape(b"readings of my own")  # heatveil.sealed(key), for real ones
grains = np.rint(kelvins * 2.0 ** asked.params[1])
payloads = [
    report(asked, Reading(int(sensor), (int(grain),)), rng)
    for sensor, grain in zip(sensors, grains, strict=True)
]
found = recover(query, [release(asked, payloads)])
off = earth_movers(scene.heat(corridor) / 2, found.mass.ravel(), positions=cells_m)
print(f"{len(payloads)} readings, {off:.2f} m from the truth; {found.expected_error:.2f} expected")

# %%
assert off < 1.5

# %% [markdown]
# Temperatures from which that of the empty corridor was not taken give no map: `recover` returns
# an `Unresolved`, which says so.

# %%
wrong = [[sensor, grain + round(21 * 2 ** asked.params[1])] for sensor, grain in payloads]
print(type(recover(query, [release(asked, wrong)])).__name__)

# %% [markdown]
# ## What to take home
# | | |
# | --- | --- |
# | take it for | about where it is warm, where only the thermometers themselves are trusted |
# | it promises | a limit to how well anybody can tell two places a step apart from each other |
# | you choose | the step, in metres, and epsilon: at 1 the best test is right 55 %, at 8 80 % |
# | it does not hide | that somebody is there, how many, how warm; where, to within a metre |
# | it costs | a coarser map; and more readings under one promise (`readings`) blur each more |
# | you must know | how warm one is at the most, how far heat has spread at the least, the walls |
#
# A promise is for a number of readings, here one of every thermometer. A device counts what it
# has given, and refuses to answer beyond that.
#
# On the command line, `heatveil calibrate` prints the tables above for a room of your own, and
# `heatveil play thermal --sources-random 2` makes such a map. Other ways to draw one from the
# same readings are the subject of `10_estimators`. Other questions, such as where many people
# are, have other mechanisms: `90_which`. The mechanism is the work of a paper, Gilbert and
# McMillan 2017; `20_errata` is about what it misprints.
