"""What a play says of its rounds, and the picture of the tree as it grows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edge.mechanisms.quadtree import params_of, sensitivity
from recovery.quadtree.estimate import counted, density
from recovery.quadtree.schedule import epsilon_of

from ...output import Stage
from .. import usual
from ..worlds import Numbers, Played, Told

_HEADER = 40  # bytes of a frame beside its numbers, about


def judge(played: Played, numbers: Numbers, stage: Stage) -> Told:
    """Return the distances, the rounds, and what one device sent in all of them."""
    told = usual.judge(played, numbers, stage)
    query, releases = played.world.query, played.watch.releases
    asked = [params_of(one.round) for one in releases]
    lengths = [len(one.values) for one in releases]
    size = sum(_HEADER + -(-n * p.bits // 8) for n, p in zip(lengths, asked, strict=True))
    truth = played.world.truth / played.world.truth.sum()
    own = {
        "users": query.users,
        "reports": sum(one.reports for one in releases),
        "rounds": len(releases),
        "vector_length": sum(lengths),
        "bytes_per_report": size,
        "mse_data_free": float(np.square(truth - 1 / truth.size).mean()),
        "sensitivity": sensitivity(asked[0]),
        "shards": asked[0].shards,
    }
    steps = ", ".join(
        f"{n} at {float(epsilon_of(one.round)):.2g}"
        for n, one in zip(lengths, releases, strict=True)
    )
    lines = [
        *told.lines,
        f"Asked {len(releases)} times for numbers, at an epsilon: {steps}. A device sends "
        f"{sum(lengths)} numbers in all, in {size} bytes; one for every cell would be "
        f"{truth.size}.",
        f"{asked[0].shards} secure sums a round were simulated in this process, over at least "
        f"{asked[0].threshold} devices each. No cryptography hid them from it.",
    ]
    return Told(told.numbers | own, lines)


def picture(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw the truth, the first rounds and the last, and the map."""
    from ..panels import Panel, draw  # half a second

    query, releases = replace(played.world.query, estimator="last"), played.watch.releases
    truth = played.world.truth / played.world.truth.sum()
    top = float(np.quantile(truth, 0.999)) or None
    panels: list[Any] = [
        Panel("The truth, which only the simulator knows", truth, "share", True, top)
    ]
    last = len(releases)
    for number in sorted({1, (1 + last) // 2, last}):
        if releases[number - 1].reports:
            found = counted(query, releases[:number])
            title = f"Round {number}: {len(found.squares)} squares"
            panels.append(Panel(title, density(found)[0], "share", True, top))
    if played.mass is not None:
        panels.append(Panel("The map, from all rounds", played.mass, "share", True, top))
    draw(query.grid, panels, path, " ".join(usual.promise(query, played.found.guarantee)[:3]))
