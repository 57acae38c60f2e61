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
# # Rooms: what the model leaves out, and what that costs
# The map rests on a kernel, and so does the noise. A real room is never that kernel. Here is what
# is missing, how far the map goes wrong for it, how much privacy it costs, and what three real
# offices said. In three lines:
#
# - Walls or a spread that are not what they are believed to be put the best map four to five times
#   as far off (.022 of the corridor becomes .090 and .114), and more epsilon does not mend it.
# - They cost privacy too: epsilon 1 becomes 1.5 to 2.2 by one mistake, 3.7 by two.
# - Fitted to recordings, a room's figures foretold other days with .51 to .69 of the error of
#   holding the last value.
#
# *Spread* is diffusivity times time; *l1* is the least heat that explains the readings, and
# *posterior* what `auto` begins with; both are told in `10_estimators`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from heatveil import Prior, Seen, earth_movers, estimate, forward, sensitivity
from recovery.noise.gaussian import gaussian_epsilon, gaussian_sigma, zcdp_epsilon

CELLS = np.arange(1, 101) / 100
SENSORS = np.arange(1, 51) / 50


def corridor(spread=0.05, walls="insulated"):
    """Return the operator of the corridor, of length one, that all of this page is about."""
    return forward(CELLS, SENSORS, spread, walls)


# %% [markdown]
# ## One person at the end of a corridor
# Walls send the heat back. Who does not know of them sees more heat than one person has, and it
# comes from further inside. Below, what either belief makes of that warmth, a hundred times: the
# wrong one is the surer.

# %%
PERSON = Prior(1, 1)
right = corridor()


def scene(truth, believed, heat, trial, prior, warmth=1.0, epsilon=1):
    """Return what comes out of the veil: noise as it is planned for the believed room."""
    sigma = gaussian_sigma(epsilon, 0.1, sensitivity(believed))
    noise = sigma * np.random.default_rng([30, trial]).normal(size=len(SENSORS))
    readings = warmth * truth @ heat + noise
    return Seen(believed, readings, sigma, CELLS[:, None], (1, len(CELLS)), prior)


heat = np.zeros(100)
heat[7] = 1
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 4.5), sharex=True)
for walls, colour in (("insulated", "tab:blue"), ("none", "tab:orange")):
    above.plot(SENSORS, corridor(walls=walls) @ heat, color=colour, label=f"walls: {walls}")
    maps = [
        estimate("posterior", scene(right, corridor(walls=walls), heat, trial, PERSON)).heat
        for trial in range(100)
    ]
    below.fill_between(CELLS, np.mean(maps, axis=0), step="mid", alpha=0.5, color=colour)
above.set_ylabel("warmth")
above.legend(title="what one person leaves")
below.vlines(
    CELLS[heat > 0],
    0,
    below.get_ylim()[1],
    color="tab:red",
    label="the person; the mean of 100 maps",
)
below.set(xlabel="place, in corridors", ylabel="share of the heat")
below.legend()
plt.show()

# %% [markdown]
# ## What is not in the kernel
#
# | left out | how large it is |
# | --- | --- |
# | walls and furniture store heat | in an hour, like 5 to 14 times the air (below) |
# | plumes, layers of height | empty, one office's thermometers differ by 0.3 to 0.45 K |
# | who is near a thermometer | 0.1 to 0.2 K between them, half or all of what the room warms |
# | radiation | 49 to 60 % of a person's sensible heat in still air: walls and things first |
# | latent heat | 45 to 55 W of 115 to 130 W: no thermometer feels it |
# | currents, heaters, the sun | empty offices drift, r.m.s. 0.3 K/h; a person makes 0.1 to 0.4 |
# | air that walkers drag along | not known; mixing is 0.001 to 0.01 m2/s in homes, else 0.1 |
# | the shadow of furniture | not known; maps can be told where nobody stands, no more |
# | walls in time, in a room file | four layers: 0.94 of the heat in half an hour (*) |
# | when the heat was released | the spread is known, or between two bounds (`spread_max_m2`) |
# | a sensor's lag | tens of seconds in still air: the spread looks shorter than it is |
#
# (*) 100 mm of plasterboard, and 0.97 in brick, however large the cells of the map are: walls
# have layers of their own. In the steady state, and in all that they take up, they are right.
#
# Sources: people as in `physics/air.py` (ASHRAE), the offices are those at the end of this page,
# mixing is Cheng and others 2011, and Lidwell 1975.

# %% [markdown]
# ## What a wrong room costs the map
# Two people at random places; the noise of epsilon 1 and delta 1/10. Each row is a room that is
# one thing and believed to be another. Distances are in corridors.

# %%
TRIALS = 40
PAIR = Prior(2, 2)


def distance(estimator, truth, believed, warmth=1.0, prior=PAIR, epsilon=1):
    """Return the mean distance of the map from two people, over the same scenes each time."""
    far = []
    for trial in range(TRIALS):
        heat = np.zeros(100)
        heat[np.random.default_rng(trial).choice(100, 2, replace=False)] = 1
        seen = scene(truth, believed, heat, trial, prior, warmth, epsilon)
        found = estimate(estimator, seen).heat
        far.append(earth_movers(found if found.any() else np.ones(100), heat, normalise=True))
    return np.mean(far)


rooms = {
    "all as believed": (right, right, 1.0),
    "as believed, twice the spread": (corridor(0.1), corridor(0.1), 1.0),
    "walls: believed none": (right, corridor(walls="none"), 1.0),
    "the same at twice the spread": (corridor(0.1), corridor(0.1, "none"), 1.0),
    "walls: cold, believed insulated": (corridor(walls="cold"), right, 1.0),
    "spread a quarter longer": (corridor(0.0625), right, 1.0),
    "spread twice as long": (corridor(0.1), right, 1.0),
    "spread half as long": (corridor(0.025), right, 1.0),
    "capacity a quarter more": (right, right, 0.8),
    "capacity twice as much": (right, right, 0.5),
}
cost = {}
print(f"{'':33s}{'l1':>6s}{'posterior':>11s}")
for name, case in rooms.items():
    cost[name] = [distance(estimator, *case) for estimator in ("l1", "posterior")]
    print(f"{name:33s}{cost[name][0]:6.3f}{cost[name][1]:11.3f}")
doubted = distance("posterior", right, right, 0.5, Prior(2, 2, 1.0, None))
clearer = distance("posterior", right, corridor(walls="none"), epsilon=10)
print(f"{'the last, warmth left open':33s}{doubted:17.3f}")
print(f"{'walls believed none, epsilon 10':33s}{clearer:17.3f}")

# %% [markdown]
# The better estimator loses more, for it believes more: with the wrong walls it is hardly nearer
# than l1 is with the right ones. Ten times the epsilon does not help. Leaving open what is not
# known does.

# %%
(_, best), (l1_walls, walls) = cost["all as believed"], cost["walls: believed none"]
assert walls > 3 * best
assert l1_walls > cost["all as believed"][0]
assert cost["spread twice as long"][1] > 3 * best
assert clearer > 0.8 * walls
assert doubted < 0.7 * cost["capacity twice as much"][1]

# %% [markdown]
# ## What a wrong room costs in privacy
# Worse than a bad map is a promise that does not hold. Noise is planned for how much a move of
# one person changes the readings *of the believed room*. Whatever makes the true room feel the
# move more spends more than was promised. Planned here: epsilon 1 at delta 1/100000; what is
# printed is the epsilon really given, for one release and for the sum of ten that were planned
# so (by zCDP, delta 1/100000 as well).

# %%
DELTA = 1e-5


def given(planned, real, releases=1):
    """Return the epsilon of noise that was made for another sensitivity."""
    sigma = gaussian_sigma(1, DELTA, planned)
    if releases == 1:
        return gaussian_epsilon(sigma, DELTA, real)
    return zcdp_epsilon(releases * (real / sigma) ** 2 / 2, DELTA)


free, insulated = sensitivity(corridor(walls="none")), sensitivity(right)
half, cold = sensitivity(corridor(0.025)), sensitivity(corridor(walls="cold"))
mistakes = {
    "none: all as planned": (insulated, insulated),
    "walls insulated, planned free": (free, insulated),
    "walls cold, planned free": (free, cold),
    "walls cold, planned insulated": (insulated, cold),
    "spread half as long": (insulated, half),
    "spread twice as long": (insulated, sensitivity(corridor(0.1))),
    "a person half as warm again": (insulated, 1.5 * insulated),
    "capacity half as much": (insulated, 2 * insulated),
    "half the spread and half the capacity": (insulated, 2 * half),
}
print(f"{'mistake':38s}{'felt':>6s}{'one':>8s}{'ten':>8s}")
really = {}
for name, (planned, real) in mistakes.items():
    really[name] = given(planned, real)
    print(f"{name:38s}{real / planned:5.2f}x{really[name]:8.2f}{given(planned, real, 10):8.2f}")

# %%
assert abs(really["none: all as planned"] - 1) < 1e-6
assert round(insulated / free, 2) == 1.42
assert really["walls insulated, planned free"] > 1.4
assert really["spread twice as long"] < 1
assert cold >= insulated

# %% [markdown]
# What to do about each:
#
# - **Unknown walls**: plan for insulated ones, never for none. Walls that lose heat can be felt
#   more still, here by a tenth; no query promises it, so raise `intensity_max` by that
#   much where walls are cold.
# - **Unknown spread**: `spread_m2` is the *shortest* that the room can meet; the noise of a query
#   is enough for every longer one. What the map may count on goes in `spread_max_m2`.
# - **Unknown warmth and capacity**: `intensity_max` is the *warmest* person over the *smallest*
#   capacity. The lower end of a fit's interval is the one to take, not its middle.
# - **A room that was computed or measured**: give the query its own response, and the noise is
#   made for that room. It is still a model: all of the above holds for it too.

# %% [markdown]
# ## Three real offices
# 144 recordings with one or two people coming and going (Morgner and others, *Privacy
# Implications of Room Climate Data*, ESORICS 2017) were fitted once, those of every other day, by
# a box that mixes, loses heat and passes it to a store (commit 34d1eec5, `physics/recorded`). Days
# between were forecast from the readings before somebody came in and from who was there. Capacity
# is in that of bare air, mixing in m²/s, and what forecasts are off is in K:
#
# | office | at once | an hour | mixing | forecast | last value held |
# | --- | --- | --- | --- | --- | --- |
# | A | 2.2 (1.3 to 3.6) | 10 | .006 (.004 to .009) | .097 | .192 |
# | B | 2.3 (1.7 to 3.1) | 5 | .032 (.008 to .122) | .090 | .152 |
# | C | 2.8 (1.9 to 4.1) | 14 | .015 (.004 to .049) | .041 | .060 |
#
# So heat foretells other days with .51 to .69 of the error of holding the last value. And where it
# does not: in C the ratio's interval ends at 1.00; whether the door stood open made no difference
# that these days could show; mixing is known to a factor of two or three in A, of ten or more in B
# and C. The table of privacy says what such factors cost, so plan for the ends of the intervals.
# What a room file calls mixing is that of bare air: it is the fitted one times the capacity.
