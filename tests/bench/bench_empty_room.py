"""What taking off the empty room is worth: the sample office, people, an empty day, a control.

Run it: `python tests/bench/bench_empty_room.py [--worlds 4] [--epsilon 100000/1]`. Worlds differ
from the room file as the priors of `physics.rooms.vacant` say, and are lived on cells half as
large. Eight rounds, 07:30 to 18:00, each with the gateway's own march, judge and memory;
`tests/gateway/test_empty_day.py` has the same through a broker. Maps by `lasso`, in metres from
where people were in the last hour; watts off; empty days told empty; people told nobody.
Nothing here is asserted.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from empty_days import HEAD, Round, calm, drawn, living, releases, row, score, wrong

from gateway.lab.thermal_days.rooms import room_of
from gateway.settings import config
from recovery.thermal import vacancy
from recovery.thermal.vacancy import Belief, Empty

OFFICE = Path(__file__).parents[2] / "physics" / "rooms" / "office.toml"
MOMENTS_S = [3600 * hour for hour in (7.5, 9.0, 10.5, 12.0, 13.5, 15.0, 16.5, 18.0)]
DEPLOYED = """
[room]
plan = "room.toml"
[heat]
[sensors]
background_k = 8.0
[privacy]
epsilon = "{epsilon}"
delta = "1/100000"
protect_distance_m = 0.2
readings = 8
[rounds]
estimator = "lasso"
"""


def nothing(query: Any, release: Any, empty: Empty, belief: Belief) -> Any:
    """Take nothing off."""
    bare = empty._replace(warmth_k=0 * empty.warmth_k, causes_k=0 * empty.causes_k)
    return vacancy.judge(query, release, bare, belief)[0], belief


def alone(query: Any, release: Any, empty: Empty, belief: Belief) -> Any:
    """Take the model for the truth."""
    return vacancy.judge(query, release, empty._replace(causes_k=0 * empty.causes_k), belief)


def unlearning(query: Any, release: Any, empty: Empty, belief: Belief) -> Any:
    """Learn nothing."""
    return vacancy.judge(query, release, empty, belief)[0], belief


WAYS: dict[str, Callable[..., Any]] = {
    "nothing off": nothing,
    "model alone": alone,
    "and its uncertainty": unlearning,
    "and learnt": vacancy.judge,
}


def main() -> None:
    """Print the table."""
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--worlds", type=int, default=4)
    flags.add_argument("--epsilon", nargs="*", default=["100000/1", "8/1"])
    given = flags.parse_args()
    with TemporaryDirectory() as folder:
        for epsilon in given.epsilon:
            table(Path(folder), epsilon, given.worlds)


def table(folder: Path, epsilon: str, worlds: int) -> None:
    """Print the table of one epsilon."""
    began, text = time.process_time(), OFFICE.read_text("utf-8")
    rooms = {"weather": text, "control": calm(text)}
    scored: dict[str, tuple[list[Round], list[Round]]] = {}
    for kind, said in rooms.items():
        site = folder / f"{kind}.toml"
        (folder / "room.toml").write_text(said)
        site.write_text(DEPLOYED.format(epsilon=epsilon))
        plan = folder / "room.toml"
        query, room = config.query(config.load(site)), room_of(plan)
        ways = WAYS if kind == "weather" else {"control": vacancy.judge}
        for seed in range(worlds):
            world = np.random.default_rng(seed)
            true = replace(wrong(room, world) if kind == "weather" else room, cell_mm=100)
            both = living(true, MOMENTS_S, world)
            sent = [releases(query, been, MOMENTS_S, seed) for been in both]
            for name, judge in ways.items():
                rows = scored.setdefault(name, ([], []))
                for been, some, into in zip(both, sent, rows, strict=True):
                    found, _ = drawn(query, plan, some, MOMENTS_S, judge=judge)
                    into += [
                        score(query, been, one, at_s, query.response.hold_s)
                        for one, at_s in zip(found, MOMENTS_S, strict=True)
                    ]
    guess = [one.guess_m for people, _ in scored.values() for one in people if one.guess_m]
    print(f"epsilon {epsilon}, {worlds} worlds; a guess is {np.mean(guess):.2f} m off")
    print(f"{'':20} {HEAD}")
    for name, (people, empty) in scored.items():
        print(f"{name:20} {row(people, empty)}")
    print(f"{time.process_time() - began:.0f} s of CPU\n")


if __name__ == "__main__":
    main()
