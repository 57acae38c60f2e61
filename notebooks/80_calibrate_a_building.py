# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Calibrate a building
# Three corridors, twelve thermometers in each, and tenants who want to know what the sensors will
# tell about them. What is promised rests on two numbers of each corridor that nobody has: how far
# heat spreads, and how warm a person makes the air. An afternoon with a heater finds both,
# roughly. In short:
#
# - Plan with the **end of the interval at which a move is felt most**, never with its middle: with
#   the middle the promise is broken in one of two buildings, with that end in a few of a hundred
#   at most.
# - What the rough afternoon costs is a little noise, and it is known beforehand how much.
# - Then ask what the map will be worth, **before** anything is bought: sensors, epsilon and rounds
#   are three numbers in a file until then.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import curve_fit

import heatveil
from recovery.maps.guarantee import describe_guarantee
from recovery.noise.gaussian import gaussian_epsilon, gaussian_sigma
from recovery.thermal import make_operator
from recovery.thermal.curve import compute_curve

CELL_MM = 250
HEATER_W, PERSON_W = 500.0, 130.0  # a fan heater; a person who works hard (ASHRAE)

# %% [markdown]
# ## The picture: a heater in a corridor
# Half a kilowatt is set down at a known place, and every thermometer is read for a while. Here the
# building is simulated, so what is true is known: `spread` in m² (how long heat spreads, times how
# fast) and `warmth` in K m (of the heater, spread over the corridor).

# %%
BUILDING = {  # length in metres; the truth, which nobody in the building knows
    "ground floor": (20.0, 3.0, 6.0),
    "first floor": (30.0, 4.5, 7.5),
    "archive": (12.0, 1.5, 4.0),
}
SENSORS = 12


def ask(length_m, spread_m2, warmest, epsilon=(8, 1), sensors=SENSORS, readings=1):
    """Return the query of a corridor between walls that keep their heat."""
    grid = heatveil.Grid((round(1000 * length_m / CELL_MM), 1), CELL_MM)
    return heatveil.ThermalQuery(
        grid,
        (sensors,),
        spread_m2,
        epsilon,
        walls="insulated",
        protect_distance_m=0.5,
        intensity_max=warmest,
        readings=readings,
    )


def felt(length_m, spread_m2, warmth, at_m):
    """Return what each thermometer feels of a source, in kelvin."""
    cell = int(1000 * at_m / CELL_MM)
    return warmth * make_operator(ask(length_m, spread_m2, 1.0))[:, cell]


def record(name, world, looks=30):
    """Return where thermometers are and what they show of the heater, (looks, sensors).

    Their own noise, and a drift of each that stays for the afternoon: the larger of the two.
    """
    length_m, spread_m2, warmth = BUILDING[name]
    true = felt(length_m, spread_m2, warmth, length_m / 3)
    drift = world.normal(0, 0.03, SENSORS)
    return true + drift + world.normal(0, 0.05, (looks, SENSORS))


world = np.random.default_rng(80)
figure, frame = plt.subplots(figsize=(8, 3.2))
for name, (length_m, spread_m2, warmth) in BUILDING.items():
    shown = record(name, world).mean(axis=0)
    places = np.arange(1, SENSORS + 1) / SENSORS * length_m
    (line,) = frame.plot(places, shown, "o", label=name)
    frame.plot(places, felt(length_m, spread_m2, warmth, length_m / 3), color=line.get_color())
frame.set(xlabel="place, m", ylabel="warmer by, K")
frame.legend(title="heater at a third of the way")
plt.show()

# %% [markdown]
# ## The trouble
# Two corridors look alike at the thermometers and differ in what a step changes: shorter spread
# and less warmth, or longer and more. A fit gives both numbers with an interval, and a step is
# felt most at the **short** end of the spread and the **warm** end of the warmth.


# %%
def fit(name, readings):
    """Return (spread, its error), (warmth of the heater, its error): least squares."""
    length_m = BUILDING[name][0]

    def model(_, spread_m2, warmth):
        return felt(length_m, spread_m2, warmth, length_m / 3)

    mean = readings.mean(axis=0)
    start = (2.0, 5.0)
    bounds = ((0.2, 0.1), (50.0, 50.0))
    found, covered = curve_fit(model, np.arange(SENSORS), mean, start, bounds=bounds)
    return list(zip(found, np.sqrt(np.diag(covered)), strict=True))


fits = {name: fit(name, record(name, np.random.default_rng(7))) for name in BUILDING}
print(f"{'':14s}{'spread, m2':>22s}{'warmth of the heater, K m':>34s}")
for name, ((spread, off), (warmth, other)) in fits.items():
    _, spread_m2, of_heater = BUILDING[name]
    print(
        f"{name:14s}{spread:8.2f} +-{2 * off:4.2f} ({spread_m2:4.2f})"
        f"{warmth:16.2f} +-{2 * other:4.2f} ({of_heater:4.2f})"
    )

# %% [markdown]
# ## The sentence
# **A promise holds for every building that is felt no more than the one it was planned for.** So
# plan for the end of both intervals at which a step is felt most: here three standard errors
# away. `spread_m2` of a query is the shortest that there may be, `intensity_max` the warmest.


# %%
def plan_for(fitted, errors):
    """Return spread and warmth of the warmest person, so many errors on the safe side."""
    (spread, off), (warmth, other) = fitted
    warmest = (warmth + errors * other) * PERSON_W / HEATER_W
    shortest = np.floor(100 * (spread - errors * off)) / 100
    assert shortest >= 0.2, "too few readings to plan by: measure again"
    return shortest, np.ceil(100 * warmest) / 100


DELTA = 1e-5


def step_of(length_m, spread_m2, warmest):
    """Return by how much half a metre's step of the warmest person changes all readings, in K."""
    return warmest * heatveil.sensitivity(make_operator(ask(length_m, spread_m2, 1.0)), cells=2)


def really(name, fitted, errors, epsilon=8):
    """Return the epsilon that noise planned so gives in the true building, and that noise."""
    length_m, spread_m2, warmth = BUILDING[name]
    sigma = gaussian_sigma(epsilon, DELTA, step_of(length_m, *plan_for(fitted, errors)))
    true = step_of(length_m, spread_m2, warmth * PERSON_W / HEATER_W)
    return gaussian_epsilon(sigma, DELTA, true), sigma


# %% [markdown]
# ## The check
# A hundred afternoons in each corridor: how often is more than the promised epsilon given away?

# %%
AFTERNOONS = 100
print(f"{'':14s}{'planned with':>16s}{'broken':>9s}{'worst':>9s}{'sigma, K':>10s}")
broken = {}
for name in BUILDING:
    afternoons = [
        fit(name, record(name, np.random.default_rng([80, n]))) for n in range(AFTERNOONS)
    ]
    for errors, words in ((0, "the middle"), (3, "the safe end")):
        told = np.array([really(name, fitted, errors) for fitted in afternoons])
        broken[name, errors] = np.mean(told[:, 0] > 8)
        print(
            f"{name:14s}{words:>16s}{broken[name, errors]:9.0%}{told[:, 0].max():9.2f}"
            f"{told[:, 1].mean():10.3f}"
        )
assert all(broken[name, 0] > 0.2 for name in BUILDING)
assert all(broken[name, 3] <= 0.03 for name in BUILDING)

# %% [markdown]
# The safe end costs a few hundredths of a kelvin. What no afternoon shows stays an assumption, and
# `30_rooms` tells what each costs: walls that lose heat, a door that stands open, a person warmer
# than any that was thought of.
#
# ## What will the map be worth?
# Simulated before anything hangs on a wall: one person somewhere, the noise of the plan, the map
# that a gateway would draw; beside it a guess that has seen no data. In metres.

# %%
print(f"{'':14s}{'epsilon':>9s}{'sensors':>9s}{'map off by':>14s}{'a guess':>10s}")
worth = {}
for name, fitted in fits.items():
    length_m = BUILDING[name][0]
    for epsilon, sensors in ((2, 12), (8, 12), (8, 24)):
        query = ask(length_m, *plan_for(fitted, 3), (epsilon, 1), sensors)
        (row,) = heatveil.study(["auto"], {"one": 1}, [epsilon], query=query, trials=8, seed=80)
        worth[name, epsilon, sensors] = row.error / row.blind
        half = f"{row.error * length_m:.2f} +-{row.half_width * length_m:.2f}"
        print(f"{name:14s}{epsilon:9d}{sensors:9d}{half:>14s}{row.blind * length_m:10.2f}")
assert all(worth[name, 8, 12] < worth[name, 2, 12] for name in BUILDING)
assert all(worth[name, 8, 12] < 0.6 for name in BUILDING)

# %% [markdown]
# Twice the sensors hardly make a better map: each is blurred more, for together they must tell no
# more. What decides is epsilon, and **whom a step of half a metre is worth hiding from**.
#
# ## What to tell the tenants
# The promise in words comes with the plan, and so does what it does *not* hide: further away the
# same noise hides less, and nothing hides that somebody is there.

# %%
name = "ground floor"
chosen = ask(BUILDING[name][0], *plan_for(fits[name], 3), (8, 1))
promised = heatveil.plan(chosen).guarantee
for sentence in describe_guarantee(promised):
    print(sentence)
for row in compute_curve(chosen, (1, 2, 4, 20)):
    way_m, right = row.cells * CELL_MM / 1000, min(row.right, 0.9999)
    print(
        f"moved by {way_m:4.2f} m: epsilon {row.epsilon:6.2f}, the best test is right {right:.2%}"
    )

# %% [markdown]
# ## And then
# The numbers go into a deployment file, and the program says the same of it, in full:
#
# ```
# heatveil config --sample > gateway.toml    # [heat] spread_m2, intensity_max; [privacy] epsilon
# heatveil calibrate gateway.toml            # what it promises, and what would change it
# heatveil check --config gateway.toml
# ```
#
# | number of the file | from | take |
# | --- | --- | --- |
# | `spread_m2` | the heater, fitted | the short end |
# | `intensity_max` | the heater, fitted, times the warmest person | the warm end |
# | `epsilon`, `readings` | whom the tenants trust, and for how long | as little as the map bears |
# | `count` of sensors | the table above | as few as the map bears |
#
# A room that is no corridor has a room file instead (`[room] plan`), whose noise is worked out by
# finite volumes; what is fitted there is told in `30_rooms`.
