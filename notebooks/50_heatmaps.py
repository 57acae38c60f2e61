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
# # How much of a crowd can a trusted gateway show?
# Two hundred people, a gateway that sees where each of them is, and a heatmap for everybody else.
# This is Ghazi and others' *Differentially Private Heatmaps* (2022), here "the paper", and what
# heatveil makes of it. In three lines, all printed below:
#
# - Noise on every cell hides the crowd together with each of its people.
# - Squares within squares show it: most noise lies where nobody looked.
# - What the paper throws away, the squares that were measured and not kept, brings the map nearer.

# %%
from fractions import Fraction
from functools import partial

import numpy as np

from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import draw_city
from heatveil import Grid, PyramidQuery, Tape, dlaplace, earth_movers, plan
from physics.crowds.pyramid import release_points
from physics.points import histogram
from recovery.peers.grids import Crowd, map_by_laplace
from recovery.pyramid import fit_parts
from recovery.pyramid.dense import blur_map
from recovery.pyramid.tree import read_tree, reconstruct, solve_program

SIDE, USERS = 128, 200
GRID = Grid((SIDE, SIDE), 0)
people = draw_city(USERS, np.random.default_rng(50))
truth = histogram(people, GRID).astype(float)
x, y = (people * SIDE).astype(int).T

# %% [markdown]
# ## The same epsilon, twice
# All three promise epsilon 2: whether one person is there or not moves the odds of any guess by
# a factor of at most e squared. The first blurs each of 16 384 cells, the others some hundreds of
# squares.

# %%
crowd = Crowd(truth.astype(np.int64), USERS)
plain = map_by_laplace(crowd, Fraction(2), partial(dlaplace, rng=Tape(b"plain")))


def released(name):
    """Return the public numbers of one round of these people."""
    round = plan(PyramidQuery(GRID, (2, 1), users=USERS, estimator=name))
    return release_points(round, y * SIDE + x, Tape(name.encode()))


sparse, ours = released("sparse"), released("auto")
maps = {
    "the truth": truth,
    "noise on every cell": plain,
    "the paper's squares": fit_parts("sparse", sparse),
    "ours": fit_parts("tree", ours),
}
show_maps({title: blur_map(mass / mass.sum(), 3.0) for title, mass in maps.items()})


# %% [markdown]
# ## How far off
# The earth mover's distance says how far people would have to walk, on average and in sides of the
# map, to turn one map into the other.


# %%
def far(mass):
    """Return the distance to the truth at 32 x 32."""
    coarse = [one.reshape(32, 4, 32, 4).sum(axis=(1, 3)) for one in (truth, mass)]
    return earth_movers(*coarse, normalise=True)


distances = {title: far(mass) for title, mass in maps.items()}
distances["an even map"] = far(np.ones((SIDE, SIDE)))
for title, distance in distances.items():
    print(f"{distance:.3f}  {title}")
assert distances["ours"] < distances["noise on every cell"] < distances["an even map"] * 1.2

# %% [markdown]
# ## The fit is exact
# The paper fits its squares by a linear program. It is a problem on a tree, whose costs are convex
# and piecewise linear: merged from the cells up they give the same optimum, in half a millisecond.

# %%
nodes = read_tree(sparse)
print(reconstruct(nodes).cost, solve_program(nodes))
assert abs(reconstruct(nodes).cost - solve_program(nodes)) <= 1e-9 * solve_program(nodes)
