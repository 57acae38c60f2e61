"""A day in a room from its file, with the veil between it and the maps: `heatveil simulate`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape, sealed
from edge.core.pixels import above
from edge.core.records import Reading
from edge.mechanisms import thermal
from edge.mechanisms.thermal import params_of
from physics.instruments.presets import FINEST
from physics.rooms import model
from physics.rooms.day import Day
from physics.rooms.day import day as day_of
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query
from recovery.thermal.noise import follower

from ... import mechanisms
from ...mechanisms import Verbs
from ...mechanisms.scores import Watch
from ...output import Stage, Writer, as_json, check_places, write_all
from .day import Counts, Lived, Living, Moment, Played, Read, lately, live, read_day
from .files import check_format, write_day
from .report import lines
from .rooms import Modelled, fit_query, known_grains, less, make_model, room_of, rounds_s

# The rounds of a simulated day: read, veiled on the device, and mapped as a gateway would.

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Asked:
    """One round of a day: when, what was sent, and what came of it."""

    at_s: float
    release: Any
    known: Any  # the same release, less what is publicly known of the empty room
    found: Any  # Heatmap | Unresolved; None while the hours are known to be empty


def ask(
    mechanism: Verbs,
    query: Query,
    lived: Lived,
    read: Read,
    baseline_c: float,
    moments_s: Sequence[float],
    rng: Any,
    stage: Stage,
) -> list[Asked]:
    """Return the rounds of a lived day, each with its own map."""
    rounds: list[Asked] = []
    ratio = (query.step or FINEST).as_integer_ratio()
    levels = _levels(query, read, baseline_c)
    followers: list[Any] = [follower(query) for _ in levels]
    learnt = query.empty_readings
    for at_s in moments_s:
        round = mechanism.plan(query, [asked.release for asked in rounds])
        if round is None:
            break
        step, exponent = lived.step_of(at_s), params_of(round).exponent
        payloads = []
        for sensor, (count, level) in enumerate(zip(read.counts[step], levels, strict=True)):
            if count is None or level is None:
                continue  # a device without a reading makes no frame
            values = above([count], [level], exponent, ratio)
            own = followers[sensor]
            if own is not None:
                values = own.less(values, exponent)
            payloads.append(mechanism.report(round, Reading(sensor, values), rng))
            if own is not None:
                own.follow()
        release = mechanism.release(round, payloads, rng)
        known = less(release, known_grains(query, lived, step, exponent))
        stage(f"drawing the maps, {len(rounds) + 1} of {len(moments_s)}")
        found = None
        if len(rounds) >= learnt:
            found = mechanism.recover(query, [*(one.known for one in rounds[:learnt]), known])
        rounds.append(Asked(at_s, release, known, found))
    return rounds


def mass_of(found: Any) -> Floats | None:
    """Return the map, or None where there is none or it is no estimate."""
    return found.mass if isinstance(found, Heatmap) and found.total > 0 else None


def _levels(query: Query, read: Read, baseline_c: float) -> Counts:
    """Return what each device takes off; where the gateway does that, the baseline alone."""
    if query.background != "gateway":
        return read.level
    constants = np.rint(baseline_c / read.step_k).astype(int)
    return tuple(int(count) for count in constants)


# How near the maps of a simulated day came to the truth, as numbers for a file.


def numbers(played: Played) -> dict[str, Any]:
    """Return the contents of scores.json; distances are in metres, None where there is none."""
    scored = played.scored
    off = [moment.emd_m for moment in scored]
    blind = [moment.guess_m for moment in scored]
    return {
        "rounds": len(played.moments),
        "scored": len(scored),
        "emd_l1_m": _mean(off),
        "emd_l1_data_free_m": _mean(blind),
        "nearer": sum(a < b for a, b in zip(off, blind, strict=True) if a is not None and b),
        "by_round": [
            {
                "at_s": moment.at_s,
                "emd_l1_m": moment.emd_m,
                "emd_l1_data_free_m": moment.guess_m,
                "status": moment.status,
            }
            for moment in played.moments
        ],
        "warmest_k": float(played.lived.warmth_k.max()),
        "unbalanced": played.lived.unbalanced,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = np.array([value for value in values if value is not None], dtype=float)
    return float(known.mean()) if len(known) else None


_EMPTY = "known to be empty: the gateway learns its levels from these readings"


@dataclass(frozen=True)
class Files:
    """Where the results go; None for those that nobody wants."""

    out: Path | None = None
    scores: Path | None = None
    plot: Path | None = None
    animation: Path | None = None

    def wanted(self) -> list[Path]:
        """Return the paths of the results that somebody wants."""
        every = (self.out, self.scores, self.plot, self.animation)
        return [path for path in every if path is not None]


@dataclass(frozen=True)
class Order:
    """What `heatveil simulate` was asked for, in the words of its flags."""

    seed: int | None = None
    files: Files = field(default_factory=Files)

    def check(self, inputs: Sequence[Path]) -> None:
        """Check, before anything is computed, that the results have their places.

        Raises:
            OperatorFault: a flag is wrong.
        """
        check_places(self.files.wanted(), inputs)
        if self.files.out:
            check_format(self.files.out)


def simulate(room: Modelled, order: Order, stage: Stage) -> list[str]:
    """Live through the day of a room, write the files, and return the lines to print.

    Raises:
        OperatorFault: a flag is wrong; then nothing was written.
    """
    played = play(room, order.seed, stage)
    stage("writing the files")
    write_all(_writers(order.files, played, stage))
    return lines(played)


def simulate_file(path: Path | str, seed: int | None = None, estimator: str = "auto") -> Played:
    """Return the day of a room file: its warmth, what its sensors sent, and the maps of that.

    Args:
        path: of a file as `heatveil simulate --sample` begins one.
        seed: makes world and noise repeatable; None for noise that nobody can repeat.

    Raises:
        OperatorFault: the file is wrong; it says in which line.
    """
    return play(make_model(room_of(Path(path)), estimator), seed, lambda _: None)


def play(room: Modelled, seed: int | None, stage: Stage) -> Played:
    """Return the day with its rounds.

    Args:
        seed: makes world and noise repeatable; None for noise that nobody can repeat.
    """
    world = np.random.default_rng(seed)
    day = day_of(room.room, world)
    moments_s = rounds_s(room.room, room.query.readings, room.every_min) if room.query else ()
    whole = live(Living(room.room, day, room.views, stage), stage, moments_s)
    read = read_day(room.room, whole, world)
    if room.query is None:
        return Played(room.room, whole, read, room.places_m)
    query = fit_query(room.query, room.room, whole, moments_s)
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"simulate %d" % seed)
    mechanism = Watch(stage=stage).over(mechanisms.find(thermal.NAME), seed is not None)
    baseline_c = room.room.air.baseline_c
    asked = ask(mechanism, query, whole, read, baseline_c, moments_s, rng, stage)
    moments = tuple(_moment(room, query, day, one) for one in asked)
    releases = tuple(one.release for one in asked)
    return Played(room.room, whole, read, room.places_m, query, moments, releases)


def _moment(room: Modelled, query: Query, day: Day, asked: Asked) -> Moment:
    heat = lately(room.room, day, asked.at_s, room.hold_s)
    mass, longest_m = mass_of(asked.found), max(room.room.size_m)
    found, guess = None, None
    if heat.any() and mass is not None:
        # Distances are in sides of the map, the longer one.
        free = model.free(room.room).reshape(heat.shape).astype(float)
        guess = longest_m * earth_movers(heat, free, normalise=True)
        found = longest_m * earth_movers(heat, mass, normalise=True)
    exponent = thermal.params_of(asked.release.round).exponent
    sent = [np.nan if value is None else float(value) for value in asked.known.values]
    return Moment(
        at_s=asked.at_s,
        sent_k=np.ldexp(sent, -exponent),
        mass=mass,
        status=_status(asked.found),
        total_w=float(getattr(asked.found, "total", 0.0)),
        heat_w=heat,
        emd_m=found,
        guess_m=guess,
        credible=getattr(asked.found, "credible", None),
        verdict=getattr(asked.found, "verdict", None),
    )


def _status(found: Any) -> str:
    if found is None:
        return _EMPTY
    return str(found.status if isinstance(found, Heatmap) else found.why)


def _writers(files: Files, played: Played, stage: Stage) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    if files.scores:
        writers[files.scores] = as_json(numbers(played))
    if files.out:
        ending = files.out.suffix
        writers[files.out] = lambda path: write_day(played, path, ending)
    if files.plot:
        writers[files.plot] = lambda path: _draw(played, path)
    if files.animation:
        writers[files.animation] = lambda path: _animate(played, path, stage)
    return writers


def _draw(played: Played, path: Path) -> None:
    # Imported here alone: it takes half a second, and few days are drawn.
    from .picture import draw

    draw(played, path)


def _animate(played: Played, path: Path, stage: Stage) -> None:
    from .picture import animate

    animate(played, path, stage)
