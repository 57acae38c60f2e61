"""A day in a room from its file, with the veil between it and the maps: `heatveil simulate`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edge import thermal
from edge.entropy import Tape, sealed
from physics.rooms import model
from physics.rooms.day import day as day_of
from recovery.distance import earth_movers
from recovery.heatmap import Heatmap
from recovery.thermal import calibration

from .. import mechanisms
from ..commands.outputs import Writer, as_json, check_places, write_all
from ..commands.promise import in_words
from ..commands.stages import Stage
from ..commands.watch import Watch
from . import told
from .asking import Asked, Thermometers, ask, mass_of
from .files import check_format, write_day
from .living import Living, lately, lived, rounds_s
from .records import Floats, Lived, Moment, Played
from .rooms import Modelled


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


def simulate(room: Modelled, order: Order, inputs: Sequence[Path], stage: Stage) -> list[str]:
    """Live through the day of a room, write the files, and return the lines to print.

    Raises:
        OperatorFault: a flag is wrong; then nothing was written.
    """
    check_places(order.files.wanted(), inputs)
    if order.files.out:
        check_format(order.files.out)
    played = play(room, order.seed, stage)
    stage("writing the files")
    write_all(_writers(order.files, played, stage))
    first = played.releases[0].round
    return [
        *told.day_lines(played),
        told.noise_line(played, played.query, calibration(played.query).sigma),
        "",
        *told.round_lines(played),
        "",
        *told.score_lines(played),
        *in_words(played.query, first.guarantee),
    ]


def play(room: Modelled, seed: int | None, stage: Stage) -> Played:
    """Return the day with its rounds.

    Args:
        seed: makes world and noise repeatable; None for noise that nobody can repeat.
    """
    world = np.random.default_rng(seed)
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"simulate %d" % seed)
    day = day_of(room.room, world)
    whole = lived(Living(room.room, day, room.views, stage), stage)
    privacy = room.room.privacy
    moments_s = rounds_s(room.room, room.query.readings, privacy.every_min)
    watch = Watch(stage=stage)
    asked = ask(
        watch.over(mechanisms.named(thermal.NAME), seed is not None),
        room.query,
        whole,
        Thermometers(room.room, world),
        moments_s,
        rng,
        stage,
    )
    moments = tuple(_moment(room, day, one) for one in asked)
    return Played(
        room.room,
        room.query,
        whole,
        moments,
        tuple(one.release for one in asked),
        room.places_m,
    )


def _moment(room: Modelled, day: Any, asked: Asked) -> Moment:
    heat = lately(room.room, day, asked.at_s, room.hold_s)
    mass, longest_m = mass_of(asked.found), max(room.room.size_m)
    found, guess = None, None
    if heat.any():
        # Distances are in sides of the map, the longer one.
        free = model.free(room.room).reshape(heat.shape).astype(float)
        guess = longest_m * earth_movers(heat, free, normalise=True)
        if mass is not None:
            found = longest_m * earth_movers(heat, mass, normalise=True)
    exponent = thermal.Params(*asked.release.round.params).exponent
    sent = [np.nan if value is None else float(value) for value in asked.release.values]
    return Moment(
        at_s=asked.at_s,
        read=asked.read,
        sent_k=np.ldexp(sent, -exponent),
        mass=mass,
        status=asked.found.status if isinstance(asked.found, Heatmap) else asked.found.why,
        total_w=float(getattr(asked.found, "total", 0.0)),
        heat_w=heat,
        emd_m=found,
        guess_m=guess if mass is not None else None,
    )


def _writers(files: Files, played: Played, stage: Stage) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    if files.scores:
        writers[files.scores] = as_json(_numbers(played))
    if files.out:
        ending = files.out.suffix
        writers[files.out] = lambda path: write_day(played, path, ending)
    if files.plot:
        writers[files.plot] = lambda path: _drawn(played, path)
    if files.animation:
        writers[files.animation] = lambda path: _animated(played, path, stage)
    return writers


def _drawn(played: Played, path: Path) -> None:
    # Imported here alone: it takes half a second, and few days are drawn.
    from .picture import draw

    draw(played, path)


def _animated(played: Played, path: Path, stage: Stage) -> None:
    from .animation import animate

    animate(played, path, stage)


def _numbers(played: Played) -> dict[str, Any]:
    """Return the contents of scores.json."""
    off = [moment.emd_m for moment in played.scored]
    blind = [moment.guess_m for moment in played.scored]
    return {
        "rounds": len(played.moments),
        "scored": len(off),
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
        "unbalanced": played.lived.unbalanced,
        "solver": played.lived.solver,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known: Floats = np.array([value for value in values if value is not None])
    return float(known.mean()) if len(known) else None


__all__ = ["Files", "Lived", "Order", "play", "simulate"]
