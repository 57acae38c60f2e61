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
# # A map of a crowd of whom nobody can be read
# A hundred thousand people, each with a device that marks the square that it is in. No gateway is
# trusted: a secure sum shows it totals over many devices and nothing else, and every device
# brings a little of the noise that the totals need. This is Bagdasaryan and others' *Towards
# Sparse Federated Analytics* (2022), here "the paper", with the secure sum of Bell and others
# (2020). In three lines, all printed below:
#
# - Asking again, in finer squares where people are, needs few of the numbers of a full grid.
# - All rounds together give hardly a better map than the last one, which has most of the epsilon.
# - In a secure sum of real devices the gateway sees masked numbers, and their exact sum.

# %%
from fractions import Fraction

import numpy as np

from edge.core import wire
from edge.host import post
from edge.mechanisms.quadtree import params_of
from edge.mechanisms.sum_node import SumNode
from gateway.devices.enrol import budgets, enrol, roster
from gateway.devices.enrol.capped import make_capped_limits
from gateway.lab.maps import show_maps
from gateway.lab.reproduce.people import draw_city
from gateway.mechanisms.quadtree.crowd import release_crowd
from gateway.service.secure_sum import ciphers
from gateway.service.secure_sum.collecting import Link, ShardSum
from heatveil import Grid, QuadtreeQuery, Tape, plan, recover
from recovery.quadtree.estimate import count_squares, estimate_density
from recovery.quadtree.schedule import epsilon_of

USERS, SIDE = 100_000, 256
people = draw_city(USERS, np.random.default_rng(70))
columns, rows = np.minimum((people * SIDE).astype(int), SIDE - 1).T
cells = np.bincount(rows * SIDE + columns, minlength=SIDE * SIDE).reshape(SIDE, SIDE)
truth = cells / USERS


def asked(epsilon, estimator="auto"):
    """Return the query and the releases of all its rounds."""
    ratio = Fraction(epsilon).as_integer_ratio()
    query = QuadtreeQuery(Grid((SIDE, SIDE), 0), ratio, "replace-one", USERS, estimator=estimator)
    releases, tape = [], Tape(b"notebook")
    while round := plan(query, releases):
        releases.append(release_crowd(round, cells, USERS, tape))
    return query, releases


# %% [markdown]
# ## The picture
# The tree grows round by round. A round costs the epsilon that makes its noise as wide as a share
# of an even square's count; the last round has what is left.

# %%
query, releases = asked(1)
maps = {"the truth": truth}
for upto, one in enumerate(releases, 1):
    if upto > 1:  # the first round has four squares
        title = f"round {upto}: {len(params_of(one.round).squares):,} squares"
        maps[title] = estimate_density(count_squares(query, releases[:upto]))[0]
show_maps(dict([*maps.items()][:1] + [*maps.items()][-4:]))
numbers = sum(len(one.values) for one in releases)
for one in releases:
    cost = float(epsilon_of(one.round))
    print(f"round {one.round.number}: {len(one.values):5,} numbers, epsilon {cost:.4f}")
print(f"{numbers:,} numbers a device in all; a full grid has {SIDE * SIDE:,}")
assert sum(epsilon_of(one.round) for one in releases) == 1
assert 5 * numbers < SIDE * SIDE

# %% [markdown]
# ## The function
# A square's count in one round is the sum of its parts' counts in the next. So all counts stand
# on one forest, and averaging them by their variances costs no epsilon at all. It gains little,
# though: noise is the smaller part of what is off, the larger is that a square's people are drawn
# evenly over it.

# %%
for epsilon in ("1/4", "1", "4"):
    off = {}
    for estimator in ("last", "all"):
        mass = recover(*asked(epsilon, estimator)).mass
        off[estimator] = np.square(mass - truth).mean()
    even = np.square(1 / truth.size - truth).mean()
    words = ", ".join(f"{name} {error:.4g}" for name, error in off.items())
    print(f"epsilon {epsilon:>3}: {words}, an even map {even:.4g}")
    assert 0.95 < off["all"] / off["last"] < 1.01
    assert off["all"] < even

# %% [markdown]
# ## The check
# Twenty devices of `edge`, the code that runs on boards, add themselves up; two of them vanish.
# The gateway's half sees their frames. What one sends looks like chance, and the sum is exact:
# epsilon is so large here that no noise is in the way of seeing that.

# %%
small = QuadtreeQuery(
    Grid((2, 2), 0), (64, 1), "replace-one", 20, dropout=(1, 5), colluders=(1, 10), rounds=1
)
made, (drawn,) = roster.enrol_in_shards(enrol.enrol_fleet("square", 20), small)
place = budgets.keep_slots_in_memory()
budgets.write_first_budgets(made, make_capped_limits(Fraction(64), 1, 0.0), place)
nodes = [
    SumNode(who, held, "quadtree", ciphers)
    for who, held in budgets.boot_devices(made.secrets, place).devices
]
nodes = sorted(nodes, key=lambda node: drawn.shard.members.index(node.identity.name))
round, topic = plan(small), wire.round_topic("square", "quadtree")
links = {at: Link(one.identity.mac_key, one.identity.config_key) for at, one in enumerate(nodes)}
site_key = made.secrets.site_key
gateway = ShardSum(drawn.shard, wire.round_body(round), 16, 4, "square", site_key, links)
where = [(0, 0), (1, 0), (1, 0), (1, 1)] * 5
message = post.pack_round(round, site_key, topic)
reads = [lambda grid, cell=cell: cell for cell in where]
frames = {at: one.handle(topic, message, reads[at]) for at, one in enumerate(nodes)}
seen = b""
while frames:
    for at, said in frames.items():
        for frame in said:
            gateway.take_frame(at, frame)
            seen += frame if gateway.state == 2 and at == 2 else b""
    sent, frames = gateway.end_step(), {}
    for to, message in sent:
        for at in range(2, 20) if to is None else [to]:
            if at >= 2 or gateway.state < 2:  # the first two vanish before they send numbers
                heard = nodes[at].topics[to is None], message, reads[at]
                frames[at] = nodes[at].handle(*heard)
stayed = where[2:]
expected = [stayed.count(cell) for cell in ((0, 0), (1, 0), (0, 1), (1, 1))]
print("device 2's four numbers, as they were sent:", np.frombuffer(seen[-24:-16], "<i2").tolist())
print(f"the sum: {gateway.total.tolist()}; those who stayed: {expected}")
assert gateway.total.tolist() == expected
