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
# # What does it cost to publish a sorted list?
# Twenty thousand people on a line, a gateway that sees where each of them is, and a list of
# blurred places for everybody else. This is Fang and Chang's *Adaptive Differentially Private
# Histogram of Low-Dimensional Data* (2012), here "the paper", and what heatveil makes of it. In
# three lines, all printed below:
#
# - One person who moves changes a sorted list by no more than she moved, however long the list is.
# - Groups of neighbours need less noise each; the paper's groups are too small.
# - On a line the list is good; in a plane counts are nearer, and both together nearer still.

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import draw_city
from gateway.lab.reproduce.ranks import make_equi_width_map, make_sorted_maps
from heatveil import Grid, RanksQuery, Tape, earth_movers, plan
from physics.crowds.ranks import release_many
from recovery.ranks.groups import choose_group, find_paper_group, predict_error
from recovery.ranks.order import estimate_release_order

USERS, CELLS = 20_000, 1 << 16
world = np.random.default_rng(60)
places = np.sort(world.beta(2, 5, USERS))
ranks = (np.arange(USERS) + 0.5) / USERS


def released(epsilon, group):
    """Return the places behind one release of everybody, as lines between groups."""
    query = RanksQuery(
        Grid((64, 1), 0), Fraction(epsilon).as_integer_ratio(), users=USERS, group=group
    )
    whole = np.minimum((places * CELLS).astype(int), CELLS - 1)
    return estimate_release_order(release_many(plan(query), whole, Tape(b"notebook")))


# %% [markdown]
# ## The picture
# All places in their order. Each group of neighbours gives one sum, each sum gets noise of its
# own, and the nearest list that rises is drawn through what is left.

# %%
found = released(1, choose_group(USERS, 1.0)).quantile(ranks)
alone = released(1, 1).quantile(ranks)
figure, frame = plt.subplots(figsize=(8, 4))
frame.plot(ranks, places, color="#555555", linewidth=3, label="the truth")
frame.plot(ranks, alone, color="#e69f00", linewidth=1, label="noise on every place")
frame.plot(ranks, found, color="#0072b2", linewidth=1, label="noise on groups")
frame.set_xlabel("part of all people")
frame.set_ylabel("place")
frame.legend(frameon=False)
plt.show()

# %% [markdown]
# ## The trouble
# Sorting mixes everybody: where one person moves from one end to the other, every place between
# shifts by one. That looks as if all of them had to be hidden. But the shifts are the gaps between
# neighbours, and these gaps add up to the way that she went.

# %%
moved = places.copy()
moved[0] = 1.0
change = np.abs(np.sort(moved) - places)
print(f"{np.count_nonzero(change)} of {USERS} places change, by {change.sum():.4f} in all")
assert abs(change.sum() - (1.0 - places[0])) < 1e-9

# %% [markdown]
# ## The sentence
# *Whatever the groups, the sums of a sorted list change by at most the length of the line when one
# person moves.* So noise of that length over epsilon on each sum is enough, and what a group's
# average errs by falls with its size.
#
# ## The function
# How large should a group be? The paper takes the least of a sum of two errors that do not add up.
# The rule here takes the least of the error itself, as it was measured on even places.

# %%
for name, group in (("paper", find_paper_group(USERS, 1.0)), ("rule", choose_group(USERS, 1.0))):
    order = released(1, group)
    off = np.abs(order.quantile(ranks) - places).mean()
    expected = predict_error(USERS, 1.0, group)
    print(f"{name:5} groups of {group:3}: off by {off:.5f}; as steps, {expected:.5f} expected")

# %% [markdown]
# ## The check
# In a plane the line is a Hilbert curve. Neighbours on it are neighbours in the plane, but not the
# other way round: a small error along the curve may be a large one across it. Counts in squares do
# not have this trouble. The best of both sorts first and then counts, in squares that are small
# where the sorted list has many people. The distance is the earth mover's, in sides of the map.

# %%
SIDE = 64
people = draw_city(USERS, world)
truth = np.histogram2d(people[:, 1], people[:, 0], SIDE, [[0, 1]] * 2)[0] / USERS
maps = {
    "the truth": truth,
    "64 x 64 counts": make_equi_width_map(people, SIDE, "notebook"),
    **make_sorted_maps(people, SIDE, "notebook"),
}
show_maps(maps)
distances = {title: earth_movers(truth, mass, normalise=True) for title, mass in maps.items()}
for title, distance in distances.items():
    print(f"{distance:.4f}  {title}")
nearest = min(list(distances)[1:], key=distances.__getitem__)
print(f"nearest: {nearest}")
assert distances["sorted, then counted"] < distances["ranks, lines"]
