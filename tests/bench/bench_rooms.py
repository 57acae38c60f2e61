"""Three real offices: what was fitted, and how well it tells the days that were held out.

Run it: `python tests/bench/bench_rooms.py [folder of recorded data]`. The rules are those of
`physics/recorded/held_out.py`: whole days held out, every other one. Sterner still are a
thermometer that the fit never saw, and the parts of the model left out one by one; the last
table is of a room with a single capacity, as room files have it.
Nothing here is asserted.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from physics.places import Floats
from physics.recorded.experiments import Experiment, room_climate
from physics.recorded.fitting import Fitted, fit
from physics.recorded.held_out import against, alternate_days, fill_errors, forecast_errors
from physics.recorded.warming import effective_capacity

Errors = dict[str, Floats]

WITHOUT = {
    "the whole model": {},
    "no walls to lose heat to": {"exchange_per_s": 1e-9},
    "air mixed at once": {"mixing_m2_per_s": 100.0},
    "one capacity alone": {"exchange_per_s": 1e-9, "mixing_m2_per_s": 100.0, "trend": 0.0},
    "mixing 0.02 m2/s": {"mixing_m2_per_s": 0.02},
    "the door told of nothing": {"open_loss_per_s": 1e-9},
}


def main() -> None:
    """Print every table."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HEATVEIL_DATA", "../shared/data")
    rooms = room_climate(Path(given) / "thermal")
    halves = {room: alternate_days(found) for room, found in rooms.items()}
    began = time.process_time()
    fits = {room: fit(first) for room, (first, _) in halves.items()}
    backs = {room: fit(second) for room, (_, second) in halves.items()}
    print(f"six fits: {time.process_time() - began:.1f} s of CPU\n\nfitted, with 95 in 100:")
    for room, fitted in fits.items():
        _figures(room, fitted)
    for title, fitted_on, side in (
        ("days held out", fits, 1),
        ("the other way about: fitted to those, held against the days of the design", backs, 0),
    ):
        chosen = {room: pair[side] for room, pair in halves.items()}
        for task, errors in (("forecast", forecast_errors), ("fill", fill_errors)):
            rows = {room: errors(fitted_on[room], chosen[room]) for room in rooms}
            print(f"\n{task}, {title}; mean error in K:")
            _table(rows)
            days = [room + one.day for room, held in chosen.items() for one in held]
            _by_days(rows, days)
    print("\nfill, held out, and the thermometer not in the fit either:")
    _table({room: _unseen(*pair) for room, pair in halves.items()})
    print("\nleft out, days held out; mean error of forecast and of fill in K, room by room:")
    for what, fixed in WITHOUT.items():
        print(f"  {what:28s}", end="")
        for first, second in halves.values():
            poorer = fit(first, fixed)
            for errors in (forecast_errors, fill_errors):
                print(f"{errors(poorer, second)['model'].mean():8.4f}", end="")
        print()
    print("\none capacity alone, in bare air: by convective watts, and by 75 W a person")
    for room, (first, _) in halves.items():
        alone = fit(first, WITHOUT["one capacity alone"])
        low, high = alone.intervals["capacity_factor"]
        factor = alone.warming.capacity_factor
        print(f"  {room}: {factor:.1f} [{low:.1f}, {high:.1f}], {factor * 75 / 31.5:.0f}")


def _figures(room: str, fitted: Fitted) -> None:
    print(f"  room {room}, {fitted.experiments} experiments, node sd {fitted.node_sd_k:.3f} K")
    for name, (low, high) in fitted.intervals.items():
        if name.startswith("place"):
            value = fitted.warming.place_m["xyz".index(name[6])]
        else:
            value = getattr(fitted.warming, name)
        print(f"    {name:18s} {value:9.3g}  [{low:.3g}, {high:.3g}]")
    after = [effective_capacity(fitted.warming, 60.0 * minutes) for minutes in (1, 10, 60)]
    print("    capacity after 1, 10, 60 minutes:", *(f"{one:.1f}" for one in after))


def _by_days(rows: dict[str, Errors], days: Sequence[str]) -> None:
    """Print the intervals that follow if experiments of one day are no more than one."""
    joined = {name: np.concatenate([row[name] for row in rows.values()]) for name in rows["A"]}
    print(f"  all, in {len(set(days))} whole days:", end="")
    for peer in list(joined)[1:]:
        one = against(joined, peer, days)
        print(f"  {peer} [{one.low:.2f}, {one.high:.2f}]", end="")
    print()


def _table(rows: dict[str, Errors]) -> None:
    joined = {name: np.concatenate([row[name] for row in rows.values()]) for name in rows["A"]}
    for room, errors in [*rows.items(), ("all", joined)]:
        ours = errors["model"]
        print(f"  {room:3s} n={len(ours):3d}  model {ours.mean():.4f}")
        for peer in list(errors)[1:]:
            one = against(errors, peer)
            print(
                f"      {peer:18s} {one.peer_k:.4f}  ratio {one.ratio:.2f} "
                f"[{one.low:.2f}, {one.high:.2f}]  won {one.won:.0%}"
            )


def _unseen(first: Sequence[Experiment], second: Sequence[Experiment]) -> Errors:
    """Return the errors of filling, each thermometer by a fit that has never seen it."""
    squares: dict[str, list[Floats]] = {}
    nodes = len(first[0].places_m)
    for node in range(nodes):
        kept = np.arange(nodes) != node
        blind = fit([_only(one, kept) for one in first])
        whole = replace(blind, places_m=first[0].places_m)
        for name, row in fill_errors(whole, second, [node]).items():
            squares.setdefault(name, []).append(row**2)
    return {name: np.sqrt(np.mean(row, axis=0)) for name, row in squares.items()}


def _only(experiment: Experiment, kept: Floats) -> Experiment:
    return replace(experiment, places_m=experiment.places_m[kept], temp_c=experiment.temp_c[kept])


if __name__ == "__main__":
    main()
