"""A crowd in the simulator, whose sums are made at once: the law is that of devices one by one.

Who is in a shard does not matter to the sum of all. What devices mark is added up by the device's
own arithmetic, and the noise of all is drawn together by `physics.crowds.shares`, exactly; but
sums are not taken modulo 2**bits, which changes a number once in 2**40.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edge.core.records import Reading, Release, Round
from edge.mechanisms import pyramid_sum as device
from edge.mechanisms.pyramid_sum import list_levels, list_rates, params_of
from physics.crowds.shares import draw_noise_sums

from ...output import Stage
from ..pyramid import crowd as places
from ..sums import PlaySums, describe_gain, describe_simulation, set_user_count
from ..worlds import Inputs, Judged, Numbers, Played


@dataclass(frozen=True)
class World:
    """Where everybody is."""

    query: Any
    people: places.Crowd
    truth: Any

    def read_devices(self, round: Round) -> Iterator[PlaySums]:
        """Yield what all devices mark. Private."""
        found, present = np.zeros(device.count_sums(round), dtype=np.int64), 0
        seen = dict[Any, Any]()
        for reading in self.people.read_devices(round):
            present += 1
            if reading.values not in seen:
                marked = device.make_marks(round, Reading(0, reading.values), None)
                seen[reading.values] = np.array(marked, dtype=np.int64).reshape(-1, 2)
            at, parts = seen[reading.values].T
            found[at] += parts
        yield PlaySums(found, present)

    def describe_exceptions(self) -> str:
        """Return a clause about points beyond the grid; else empty."""
        return self.people.describe_exceptions()


def load_crowd(query: Any, inputs: Inputs, world: np.random.Generator) -> World:
    """Return the people of a file or an example, and the query for so many.

    Raises:
        OperatorFault: neither is given, the file is wrong, or other users were stated.
    """
    people = places.load_crowd(query, inputs, world)
    users = int(people.users[-1]) + 1
    return World(set_user_count(people.query, users), people, people.truth)


def release_shards(round: Round, payloads: Sequence[Any], rng: Any) -> Release:
    """Return the sums over shards: of reports, or of all devices of a play at once.

    Raises:
        ValueError: a device reports twice, or a report is none.
    """
    if len(payloads) != 1 or not isinstance(payloads[0], PlaySums):
        found: Release = device.release(round, payloads, rng)
        return found
    p, together = device.params_of(round), payloads[0]
    noise = [
        draw_noise_sums(len(squares), together.present, p.threshold - p.colluders, num, den, rng)
        for squares, (num, den) in zip(
            device.list_levels(round), device.list_rates(round), strict=True
        )
    ]
    return Release(round, (together.marks + np.concatenate(noise)).tolist(), together.present)


# What a play and `heatveil calibrate` say of rounds, noise and promise.


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return the distances, and that the sums were simulated."""
    from .. import usual  # here alone: it brings scipy, and a gateway adds sums up with this file

    told = usual.judge_map(played, numbers, stage)
    release = played.watch.releases[0]
    p = params_of(release.round)
    own = {
        "users": release.reports,
        "reports": sum(one.reports for one in played.watch.releases),
        "vector_length": len(release.values),
        "shards": p.shards,
    }
    lines = [
        *told.lines,
        f"A device sends {len(release.values)} numbers a report, squares of {len(p.weights)} "
        f"levels; one for every cell would be {played.world.truth.size}"
        f"{describe_gain(len(release.values), played.world.truth.size)}.",
        describe_simulation(p.shards, p.threshold),
    ]
    return Judged(told.numbers | own, lines)


def describe_levels(query: Any, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what noise each level gets, as numbers and in words."""
    p = params_of(round)
    made = [
        {
            "squares": len(squares),
            "rate": [num, den],
            "noise_sd_users": 2**0.5 * den / num / p.units,
        }
        for squares, (num, den) in zip(list_levels(round), list_rates(round), strict=True)
    ]
    return {"levels": made}, [
        f"Level {level}: {one['squares']} squares, each sum off by {one['noise_sd_users']:.3g} "
        "users (one standard deviation, of one shard that nobody is missing from)."
        for level, one in enumerate(made, p.first)
    ]
