"""The scene of the demonstration a hundred times over: how far its map is from the truth.

Run it: `python tests/bench/bench_demo.py [scenes] [estimators]`. Two people anywhere in the
corridor, the noise of the demonstration on the whole path of a release; every line is one
estimator, on the same scenes and the same noise. Nothing here is asserted.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from edge.entropy import Tape
from gateway.mechanisms import named, play
from gateway.mechanisms.thermal.demo import corridor_of, two_people
from gateway.mechanisms.thermal.world import Room
from gateway.settings import config
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap

LONG_M = 20.0


def main() -> None:
    """Print one line for each estimator."""
    scenes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    names = sys.argv[2:] or ["auto", "l1", "lasso", "nnls"]
    asked_for = {"sensors": 50, "epsilon": "8/1", "rounds": 4, "keyholder": False}
    room_file = corridor_of(folder=Path(), broker=("127.0.0.1", 1883), **asked_for)
    query = config.query(room_file)
    print(f"{scenes} scenes; metres from the truth, and seconds of CPU a map")
    print(
        f"{'estimator':12s} {'mean':>6s} {'median':>6s} {'worst':>6s}  no map  no better  seconds"
    )
    for name in names:
        far, blind, none = [], [], 0
        began = time.process_time()
        for scene in range(scenes):
            world = np.random.default_rng(scene)
            room = Room(query, two_people(query, world), world)
            asked = replace(query, estimator=name)
            found = play(named("thermal"), asked, room.readings, Tape(b"demo %d" % scene))
            truth = room.heat / room.heat.sum()
            guess = np.full(truth.shape, 1 / truth.size)
            blind.append(LONG_M * earth_movers(truth, guess))
            if isinstance(found, Heatmap):
                far.append(LONG_M * earth_movers(truth, found.mass))
            else:
                far.append(blind[-1])
                none += 1
        spent = (time.process_time() - began) / scenes
        worse = int(np.sum(np.array(far) >= np.array(blind)))
        print(
            f"{name:12s} {np.mean(far):6.2f} {np.median(far):6.2f} {np.max(far):6.2f}"
            f" {none:7d} {worse:10d} {spent:8.3f}",
            flush=True,
        )
    print(f"{'a guess':12s} {np.mean(blind):6.2f} {np.median(blind):6.2f} {np.max(blind):6.2f}")


if __name__ == "__main__":
    main()
