"""How near `auto` comes to the better of EM and EMS, on crowds it was and was not made with.

Run it: `python tests/bench/bench_maps.py w2 development|held-out|recorded [settings of each]`, or
`... sd [runs]`. Nothing is asserted.

w2: W2 in cells of `em`, `ems` and `auto`, each the mean over the runs of one setting, and auto
    over the better of the two; at the end the mean, 95th percentile and worst of that ratio, by
    crowd and over all. A ratio of distances that are both below a twentieth of a cell is left out,
    and told. The settings are a sample (`map_families.settings`), not all of them.
sd: z-scores of shares against the users' own, over the cells with people, development only.

`recorded` needs HEATVEIL_DATA to name the folder that the recordings are in.
"""

import itertools
import sys
import zlib

import numpy as np
from map_families import DEVELOPMENT, HELD_OUT, Crowd, Setting, recorded, settings

from edge.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.estimators import cell_sd, estimate
from recovery.distance import wasserstein2

NAMES = ("em", "ems", "auto")
NEAR = 0.05  # cells: nobody sees such a difference
SEEDS = {"development": 1, "held-out": 2, "recorded": 3}


def runs_of(setting: Setting) -> int:
    """So many runs: on large grids one must do."""
    return 3 if setting.side <= 15 else 1 + (setting.side <= 20)


def answered(crowd: Crowd, setting: Setting, run: int) -> tuple[np.ndarray, Channel, np.ndarray]:
    """The users' own shares, the channel, and their answers."""
    key = zlib.crc32(repr(setting).encode())
    world = np.random.default_rng([run, key])
    query = Query(Grid((setting.side, setting.side), 0), setting.epsilon, scheme=setting.scheme)
    planned = plan(query, [])
    assert planned is not None
    people = crowd(setting.users, setting.side, world)
    return people / people.sum(), channel_of(planned), count_many(planned, people, world)


def far(mass: np.ndarray, truth: np.ndarray) -> float:
    """W2 in cells."""
    return wasserstein2(mass, truth, normalise=True) * max(truth.shape)


def distances(crowd: Crowd, setting: Setting, names: tuple[str, ...] = NAMES) -> np.ndarray:
    """W2 of each estimator, the mean over the runs."""
    found = np.empty((runs_of(setting), len(names)))
    for run in range(len(found)):
        truth, channel, counts = answered(crowd, setting, run)
        for at, name in enumerate(names):
            value = setting.epsilon[0] / setting.epsilon[1]
            found[run, at] = far(estimate(name, channel, counts, value).mass, truth)
    return np.asarray(found.mean(axis=0))


def told(title: str, rows: list[tuple[Setting, np.ndarray]]) -> None:
    """Print what the ratios of some settings are."""
    ratios = np.array([off[2] / max(min(off[:2]), 1e-9) for _, off in rows])
    seen = np.array([max(off[2], min(off[:2])) >= NEAR for _, off in rows])
    spare = f"; {(~seen).sum()} within {NEAR} cells left out" if not seen.all() else ""
    if seen.any():
        kept = ratios[seen]
        print(
            f"{title:12} {len(rows):3} settings: mean {kept.mean():.3f}, 95th percentile "
            f"{np.percentile(kept, 95):.3f}, worst {kept.max():.3f}{spare}"
        )


def table(family: str, a_kind: int) -> None:
    """Print the table of W2."""
    kinds = {"development": DEVELOPMENT, "held-out": HELD_OUT}.get(family) or recorded()
    rows = []
    print("crowd          d eps   users scheme     EM    EMS   auto   auto/better")
    for setting in settings(kinds, a_kind, SEEDS[family]):
        off = distances(kinds[setting.kind], setting)
        rows.append((setting, off))
        value = setting.epsilon[0] / setting.epsilon[1]
        print(
            f"{setting.kind:12} {setting.side:3} {value:3g} {setting.users:7} {setting.scheme:6} "
            f"{off[0]:6.3f} {off[1]:6.3f} {off[2]:6.3f}   {off[2] / max(min(off[:2]), 1e-9):.3f}",
            flush=True,
        )
    for kind in kinds:
        told(kind, [row for row in rows if row[0].kind == kind])
    told(family, rows)


def sureness(runs: int) -> None:
    """Print z-scores, over cells that hold a fifth of an even share or more."""
    print("crowd      d eps    z of auto: rms  in 90 %    map: rms  in 90 %    em: rms  in 90 %")
    places = ((10, (7, 10)), (10, (7, 5)), (15, (7, 5)), (15, (5, 1)))
    for kind, (side, epsilon) in itertools.product(DEVELOPMENT, places):
        setting = Setting(kind, side, epsilon, 300_000, "dam")
        scores: dict[str, list[np.ndarray]] = {"auto": [], "map": [], "em": []}
        for run in range(runs):
            truth, channel, counts = answered(DEVELOPMENT[kind], setting, run)
            held = truth > 0.2 / truth.size
            for name, found in scores.items():
                fit = estimate(name, channel, counts, epsilon[0] / epsilon[1])
                sd = fit.sd
                if sd is None:
                    sd = cell_sd(channel, fit.mass, setting.users)
                found.append(((fit.mass - truth) / sd)[held])
        said = [np.concatenate(found) for found in scores.values()]
        told = [f"{np.sqrt((z**2).mean()):6.2f} {(abs(z) < 1.645).mean():5.2f}" for z in said]
        print(
            f"{kind:8} {side:3} {epsilon[0] / epsilon[1]:3g}     " + "     ".join(told), flush=True
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["w2", ("development" | "held-out" | "recorded") as family, *given]:
            table(family, int(given[0]) if given else 6)
        case ["sd", *given]:
            sureness(int(given[0]) if given else 3)
        case _:
            print(__doc__)
