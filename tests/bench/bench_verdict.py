"""Maps of worlds that are not as stated: how far off, how far off they say, how often right.

Run it: `python tests/bench/bench_verdict.py [scenes] [estimators...] [--plane] [--only WORD]
[--seed N] [--best N]`; the last holds along a line the maps against the best that there can be,
of so many scenes of each kind. 100
cells and 50 sensors along a line, or 20 by 20 and 10 by 10 in a plane; spread 0.05, epsilon 4,
delta 1e-5: exact noise; the stated prior is up to eight sources, all at the warmest or even from
.3 of it. Mean earth mover's distance with its 95 % interval, what the map says of it, coverage of
the 90 % band (along a line), share of maps that are off by more than twice what they say or worse
than a blind guess, and of those that say that something is wrong; in the end how much farther off
each estimator is than the first, on the same scenes, and where each is the nearest of all: one
that is nowhere, and that no paper names, is to go. Of 16 scenes of each of 28 kinds along a line:

| | nearest in | as stated | wrong | late | new |
| --- | --- | --- | --- | --- | --- |
| auto | 20 | .039 | .048 | .057 | .058 |
| posterior | 5 | .035 | .080 | .093 | .099 |
| entropy | 2 | .082 | .086 | .084 | .119 |
| l1-printed, the paper's | 1 | .095 | .100 | .108 | .121 |
| lasso | 0 | .098 | .092 | .104 | .116 |
| l1 | 0 | .106 | .102 | .111 | .121 |

The last two stay for planes of many cells, where they are the nearest (`bench_estimators many`),
and `auto` takes them.

`auto` alone on seeds 13579, 24680, 112233, 48611, 75391 and 96181 together, which set none of its
numbers but were judged by for the exponent below; 48 maps of each kind:

| | as stated | wrong | late | new |
| --- | --- | --- | --- | --- |
| error | .036 | .050 | .056 | .061 |
| said | .050 | .055 | .060 | .067 |
| band holds | .95 | .90 | .89 | .93 |
| beyond twice | 2 % | 7 % | 5 % | 1 % |
| worse than blind | 0 | 4 % | 5 % | 2 % |
| of these say so | - | 17 of 25 | 8 of 15 | 6 of 7 |
| say that something is wrong | 14 % | 37 % | 55 % | 42 % |

Each is the mean over kinds. Where powers are most unlike it is .08 of the line off. Of twenty weak
sources 14 maps of 48 are worse than blind.

Numbers of sources of any powers weigh k**-.5. On the same 1344 scenes an exponent of 0 is .27 +-
.22 thousandths of the line farther off and one of -1 .29 +- .29: it matters little. By -1 56 maps
are worse than blind in place of 47, and by 0 45, but bands hold in 88.9 % in place of 91.0. Seeds
differ by more: on the first three 30 maps are worse than blind, on the last three 17.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from edge.core.records import Grid
from edge.mechanisms.thermal import params_of
from gateway.lab.thermal_study import USUAL, Trial, run_trials, summarise
from physics.kernel import forward
from physics.places import cell_places, sensor_places
from recovery.estimators.record import Estimate, Seen
from recovery.estimators.table import ESTIMATORS, register
from recovery.maps.heatmap import Credible
from recovery.thermal import Query, plan

SEED = 2020
WORSE, TOLD = Trial._fields.index("worse"), Trial._fields.index("told")
World = np.random.Generator
Scene = tuple[np.ndarray, np.ndarray]  # heat of each cell, warmth at each sensor


@dataclass(frozen=True)
class Room:
    """Where scenes are: what is asked of it, and what its sensors feel."""

    query: Query

    @cached_property
    def sigma(self) -> float:
        params = params_of(plan(self.query, ()))
        return params.variance**0.5 * 2.0**-params.exponent

    @cached_property
    def cells(self) -> np.ndarray:
        """(cells, axes)."""
        return np.reshape(cell_places(self.query.grid), (np.prod(self.query.grid.shape), -1))

    @cached_property
    def sensors(self) -> np.ndarray:
        """(sensors, axes)."""
        made = sensor_places(self.query.sensors, self.query.grid)
        return np.reshape(made, (-1, self.cells.shape[1]))

    def heat(self, world: World, sources: int, powers: np.ndarray | float = 1.0) -> np.ndarray:
        made = np.zeros(len(self.cells))
        made[world.choice(len(made), sources, replace=False)] = powers
        return made

    def felt(self, made: np.ndarray, spread: float = 0.05, walls: str = "none") -> np.ndarray:
        return np.asarray(forward(self.cells, self.sensors, spread, walls) @ made)

    def plain(self, made: np.ndarray) -> Scene:
        return made, self.felt(made)


LINE = Room(USUAL)
PLANE = Room(Query(Grid((20, 20), 0), (10, 10), 0.05, (4, 1)))


def stated(room: Room, world: World) -> Scene:
    count = int(world.integers(1, 9))
    powers = 1.0 if world.random() < 0.5 else world.uniform(0.3, 1.0, count)
    return room.plain(room.heat(world, count, powers))


def walls(room: Room, world: World, count: int = 2, low: float = 1.0) -> Scene:
    made = room.heat(world, count, world.uniform(low, 1.0, count))
    return made, room.felt(made, walls="insulated")


def spread(room: Room, world: World, times: float, count: int = 2) -> Scene:
    made = room.heat(world, count)
    return made, room.felt(made, 0.05 * times)


def added(room: Room, world: World, level: float, slope: float, count: int = 2) -> Scene:
    """Add a level and a slope, in what they are of the noise along a line."""
    made = room.heat(world, count)
    odd = level + slope * (2 * room.sensors[:, 0] - 1)
    return made, room.felt(made) + odd * room.sigma / LINE.sigma


def outside(room: Room, world: World, power: float, at: float, count: int = 2) -> Scene:
    made = room.heat(world, count)
    place = np.full((1, room.cells.shape[1]), 0.5)
    place[0, 0] = at
    return made, room.felt(made) + power * forward(place, room.sensors, 0.05)[:, 0]


def lying(room: Room, world: World, *deviations: float) -> Scene:
    made, warmth = room.plain(room.heat(world, 2))
    odd = world.choice(len(warmth), len(deviations), replace=False)
    warmth[odd] += room.sigma * np.array(deviations)
    return made, warmth


def clustered(room: Room, world: World) -> Scene:
    made = np.zeros(len(room.cells))
    if room is LINE:
        made[int(world.integers(0, 90)) + world.choice(10, 4, replace=False)] = 1
    else:
        far = np.abs(room.cells - world.uniform(0.1, 0.9, 2)).max(axis=1)
        made[np.argsort(far)[world.choice(12, 4, replace=False)]] = 1
    return room.plain(made)


def one_wall(room: Room, world: World) -> Scene:
    made, mirrored = room.heat(world, 3), room.cells.copy()
    mirrored[:, 0] *= -1
    return made, room.felt(made) + np.asarray(forward(mirrored, room.sensors, 0.05)) @ made


def longer_and_level(room: Room, world: World) -> Scene:
    made = room.heat(world, 3)
    return made, room.felt(made, 0.05 * 1.15) + 0.12 * room.sigma / LINE.sigma


def pairs(room: Room, world: World) -> Scene:
    made = np.zeros(len(room.cells))
    first = 2 * world.choice(len(made) // 2, 6, replace=False)
    made[first] = made[first + 1] = 0.5
    return room.plain(made)


def hill(room: Room, world: World, centres: int = 1) -> Scene:
    made = np.zeros(len(room.cells))
    for middle in world.uniform(0.15, 0.85, (centres, room.cells.shape[1])):
        made += np.exp(-0.5 * np.square((room.cells - middle) / 0.08).sum(axis=1))
    return room.plain(3 * made / made.sum())


def several(count: int, low: float = 1.0, high: float = 1.0) -> Callable[[Room, World], Scene]:
    """Return what makes so many sources, each even between two powers."""

    def scene(room: Room, world: World) -> Scene:
        powers = world.uniform(low, high, count) if low < high else low
        return room.plain(room.heat(world, count, powers))

    return scene


def dirichlet(count: int, total: float) -> Callable[[Room, World], Scene]:
    return lambda room, world: room.plain(
        room.heat(world, count, total * world.dirichlet(np.ones(count)))
    )


KINDS: dict[str, Callable[[Room, World], Scene]] = {
    "prior true": stated,
    "three equal (true)": several(3),
    "Dirichlet powers": dirichlet(4, 2),
    "three weak": several(3, 0.05, 0.3),
    "four clustered": clustered,
    "twelve": several(12),
    "walls": walls,
    "spread +25 %": lambda room, world: spread(room, world, 1.25),
    "spread -25 %": lambda room, world: spread(room, world, 0.75),
    "background +.2": lambda room, world: added(room, world, 0.2, 0),
    "slope +-.2": lambda room, world: added(room, world, 0, 0.2),
    "gain +10 %": several(2, 1.1, 1.1),
    "outside": lambda room, world: outside(room, world, 1.0, 1.15),
    "a sensor +20": lambda room, world: lying(room, world, 20),
    "smooth hill": hill,
    "twenty weak": several(20, 0.2, 0.2),
    # Written before the weights of families were last set.
    "late: two lie": lambda room, world: lying(room, world, 6, -8),
    "late: walls, 3 unequal": lambda room, world: walls(room, world, 3, 0.3),
    "late: spread +20 %, 4": lambda room, world: spread(room, world, 1.2, 4),
    "late: Dirichlet, 6": dirichlet(6, 3),
    "late: fourteen": several(14),
    "late: outside .6": lambda room, world: outside(room, world, 0.6, -0.1, 3),
    # Written after that.
    "new: a wall at one end": one_wall,
    "new: spread +15 %, level": longer_and_level,
    "new: five of .4 to 1.6": several(5, 0.4, 1.6),
    "new: walls, five": lambda room, world: walls(room, world, 5),
    "new: six pairs": pairs,
    "new: two of .15": several(2, 0.15, 0.15),
}


class Best:
    """The best maps that there can be along the line, of many scenes of every kind, weighed.

    `every` knows the kinds, all as likely, and nobody who is not told which one comes is nearer
    on average over them; `one` is told. Both err the more the fewer scenes fit.
    """

    def __init__(self, room: Room, scenes: int) -> None:
        world = np.random.default_rng(1)
        self.room, self.kind = room, ""
        self.known = {
            kind: [np.array(part, np.float32) for part in zip(*made, strict=True)]
            for kind, make in KINDS.items()
            for made in [[make(room, world) for _ in range(scenes)]]
        }

    def one(self, seen: Seen) -> Estimate:
        return self._weigh(seen, [self.kind])

    def every(self, seen: Seen) -> Estimate:
        return self._weigh(seen, list(self.known))

    def _weigh(self, seen: Seen, kinds: list[str]) -> Estimate:
        heard = np.searchsorted(self.room.sensors[:, 0], seen.near.sensors_m[:, 0] - 1e-9)
        logs, heats = [], []
        for heat, felt in (self.known[kind] for kind in kinds):
            apart = (felt[:, heard] * seen.near.weights - seen.readings) / seen.sigma
            logs.append(-0.5 * np.square(apart).sum(axis=1))
            heats.append(heat[likely := logs[-1] > logs[-1].max() - 20])
            logs[-1] = logs[-1][likely]
        fit = np.concatenate(logs)
        weights = np.exp(fit - fit.max())
        weights /= weights.sum()
        curves = np.cumsum(np.concatenate(heats), axis=1, dtype=np.float64)
        curves /= curves[:, -1:]
        order = np.argsort(curves, axis=0)
        half = (np.cumsum(weights[order], axis=0) >= 0.5).argmax(axis=0)
        middle = np.take_along_axis(curves, order[half, np.arange(curves.shape[1])][None], 0)[0]
        said = float(weights @ np.abs(curves - middle).mean(axis=1))
        heat = np.diff(middle, prepend=0.0)
        numbers = np.array([0.0, 1.0])
        sure = Credible(seen.level, heat[None], numbers, None, said)
        return Estimate(heat, "optimal", np.nan, credible=sure)


def main(words: list[str]) -> None:
    only = words.pop(words.index("--only") + 1) if "--only" in words else ""
    weighed = int(words.pop(words.index("--best") + 1)) if "--best" in words else 0
    seed = int(words.pop(words.index("--seed") + 1)) if "--seed" in words else SEED
    room = PLANE if "--plane" in words else LINE
    words = [word for word in words if not word.startswith("--")]
    scenes = int(words[0]) if words else 4
    names = words[1:] or [name for name in ESTIMATORS if name != "robust"]  # which `auto` takes
    best = Best(room, weighed) if weighed else None
    if best is not None:
        register("knows kinds", best.every)
        register("knows kind", best.one)
        names += ["knows kinds", "knows kind"]
    groups: dict[str, list[np.ndarray]] = {"as stated": [], "wrong": [], "late": [], "new": []}
    wins: dict[str, list[str]] = {name: [] for name in names if "knows" not in name}
    for kind in (kind for kind in KINDS if only in kind):
        if best is not None:
            best.kind = kind
        tried = run_trials(room.query, names, kind, partial(KINDS[kind], room), scenes, seed)
        for at, name in enumerate(names):
            print(line(kind, name, tried[:, at]), flush=True)
        mean = tried[:, : len(wins), 0].mean(axis=0)
        wins[names[int(mean.argmin())]].append(kind)
        group = kind.partition(":")[0] if ":" in kind else "wrong"
        groups["as stated" if "true" in kind else group].append(tried)
    for group, parts in groups.items():
        for at, name in enumerate(names if parts else []):
            both = np.concatenate(parts)
            more = both[:, at, 0] - both[:, 0, 0]
            print(line(f"all {group}", name, both[:, at]))
            print(f"    beyond the first {more.mean():.4f} +- {more.std() / len(more) ** 0.5:.4f}")
            worse = both[both[:, at, WORSE] == 1, at, TOLD]
            print(f"    of {len(worse)} worse than blind {int(worse.sum())} say so")
    for name, kinds in wins.items():
        print(f"{name} is nearest in {len(kinds)}: {', '.join(kinds)}")


def line(kind: str, name: str, tried: np.ndarray) -> str:
    """Return the means over scenes, of what there is; nan where there is none."""
    row = summarise(name, kind, 4.0, tried)
    return (
        f"{kind}: {name:22s} {row.error:.3f} +- {row.half_width:.3f}  said {row.said:.3g}  "
        f"cover {row.covered:.3g}  beyond twice {row.beyond:.3g}  worse than blind {row.worse:.3g}"
        f"  told {row.told:.3g}  ms {1000 * row.seconds:.0f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
