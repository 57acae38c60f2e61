"""A day in a room from its file, with the veil between it and the maps: `heatveil simulate`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape, sealed
from edge.core.pixels import subtract_baseline
from edge.core.records import Reading
from edge.mechanisms import thermal
from edge.mechanisms.thermal import params_of
from physics.instruments.presets import FINEST
from physics.rooms import model
from physics.rooms.day import Day, draw_day
from physics.rooms.plan import describe_redrawing
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query, calibrate_query
from recovery.thermal.noise import make_follower

from ... import mechanisms
from ...mechanisms import Verbs
from ...mechanisms.scores import Watch
from ...mechanisms.thermal.words import describe_promise, format_doubt_lines
from ...output import Stage, Writer, check_writable, make_json_writer, write_all
from .day import (
    Counts,
    Lived,
    LivingRoom,
    Moment,
    Played,
    Readings,
    average_recent_watts,
    read_day,
    simulate_day,
)
from .files import check_format, write_day
from .rooms import (
    RoomModel,
    describe_baseline,
    find_level_grains,
    format_clock,
    list_round_times_s,
    load_room,
    make_model,
    subtract_grains,
    widen_query_clamp,
)

# The rounds of a simulated day: read, veiled on the device, and mapped as a gateway would.

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlayedRound:
    """One round of a day: when, what was sent, and what came of it."""

    at_s: float
    release: Any
    known: Any  # the same release, less what is publicly known of the empty room
    found: Any  # Heatmap | Unresolved; None while the hours are known to be empty


def play_rounds(
    mechanism: Verbs,
    query: Query,
    lived: Lived,
    read: Readings,
    baseline_c: float,
    moments_s: Sequence[float],
    rng: Any,
    stage: Stage,
) -> list[PlayedRound]:
    """Return the rounds of a lived day, each with its own map."""
    rounds: list[PlayedRound] = []
    ratio = (query.step or FINEST).as_integer_ratio()
    levels = _select_levels(query, read, baseline_c)
    followers: list[Any] = [make_follower(query) for _ in levels]
    learnt = query.empty_readings
    for at_s in moments_s:
        round = mechanism.plan(query, [asked.release for asked in rounds])
        if round is None:
            break
        step, exponent = lived.find_step(at_s), params_of(round).exponent
        payloads = []
        for sensor, (count, level) in enumerate(zip(read.counts[step], levels, strict=True)):
            if count is None or level is None:
                continue  # a device without a reading makes no frame
            values = subtract_baseline([count], [level], exponent, ratio)
            own = followers[sensor]
            if own is not None:
                values = own.subtract(values, exponent)
            payloads.append(mechanism.report(round, Reading(sensor, values), rng))
            if own is not None:
                own.follow()
        release = mechanism.release(round, payloads, rng)
        known = subtract_grains(release, find_level_grains(query, lived, step, exponent))
        stage(f"drawing the maps, {len(rounds) + 1} of {len(moments_s)}")
        found = None
        if len(rounds) >= learnt:
            found = mechanism.recover(query, [*(one.known for one in rounds[:learnt]), known])
        rounds.append(PlayedRound(at_s, release, known, found))
    return rounds


def find_mass(found: Any) -> Floats | None:
    """Return the map, or None where there is none or it is no estimate."""
    return found.mass if isinstance(found, Heatmap) and found.total > 0 else None


def _select_levels(query: Query, read: Readings, baseline_c: float) -> Counts:
    """Return what each device takes off; where the gateway does that, the baseline alone."""
    if query.background != "gateway":
        return read.level
    constants = np.rint(baseline_c / read.step_k).astype(int)
    return tuple(int(count) for count in constants)


# How near the maps of a simulated day came to the truth, as numbers for a file.


def collect_scores(played: Played) -> dict[str, Any]:
    """Return the contents of scores.json; distances are in metres, None where there is none."""
    scored = played.scored
    off = [moment.emd_m for moment in scored]
    blind = [moment.guess_m for moment in scored]
    return {
        "rounds": len(played.moments),
        "scored": len(scored),
        "emd_l1_m": _compute_mean(off),
        "emd_l1_data_free_m": _compute_mean(blind),
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


def _compute_mean(values: Sequence[float | None]) -> float | None:
    known = np.array([value for value in values if value is not None], dtype=float)
    return float(known.mean()) if len(known) else None


_EMPTY = "known to be empty: the gateway learns its levels from these readings"


def check_result_paths(files: Mapping[str, Path | None], inputs: Sequence[Path]) -> None:
    """Check, before anything is computed, that the results have their places.

    Args:
        files: as for `simulate`.

    Raises:
        OperatorFault: a flag is wrong.
    """
    check_writable([path for path in files.values() if path], inputs)
    if out := files.get("out"):
        check_format(out)


def simulate(
    room: RoomModel, seed: int | None, files: Mapping[str, Path | None], stage: Stage
) -> list[str]:
    """Live through the day of a room, write the files, and return the lines to print.

    Args:
        files: where results go, by the names of the flags: out, scores, plot, animation.
    """
    played = play_day(room, seed, stage)
    stage("writing the files")
    write_all(_make_writers(files, played, stage))
    return format_day(played)


def simulate_file(path: Path | str, seed: int | None = None, estimator: str = "auto") -> Played:
    """Return the day of a room file: its warmth, what its sensors sent, and the maps of that.

    Args:
        path: of a file as `heatveil simulate --sample` begins one.
        seed: makes world and noise repeatable; None for noise that nobody can repeat.

    Raises:
        OperatorFault: the file is wrong; it says in which line.
    """
    return play_day(make_model(load_room(Path(path)), estimator), seed, lambda _: None)


def play_day(room: RoomModel, seed: int | None, stage: Stage) -> Played:
    """Return the day with its rounds.

    Args:
        seed: makes world and noise repeatable; None for noise that nobody can repeat.
    """
    world = np.random.default_rng(seed)
    day = draw_day(room.room, world)
    moments_s = (
        list_round_times_s(room.room, room.query.readings, room.every_min) if room.query else ()
    )
    whole = simulate_day(LivingRoom(room.room, day, room.views, stage), stage, moments_s)
    read = read_day(room.room, whole, world)
    if room.query is None:
        return Played(room.room, whole, read, room.places_m)
    query = widen_query_clamp(room.query, room.room, whole, moments_s)
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"simulate %d" % seed)
    mechanism = Watch(stage=stage).watch_mechanism(
        mechanisms.find_mechanism(thermal.NAME), seed is not None
    )
    baseline_c = room.room.air.baseline_c
    asked = play_rounds(mechanism, query, whole, read, baseline_c, moments_s, rng, stage)
    moments = tuple(_make_moment(room, query, day, one) for one in asked)
    releases = tuple(one.release for one in asked)
    return Played(room.room, whole, read, room.places_m, query, moments, releases)


def _make_moment(room: RoomModel, query: Query, day: Day, asked: PlayedRound) -> Moment:
    heat = average_recent_watts(room.room, day, asked.at_s, room.hold_s)
    mass, longest_m = find_mass(asked.found), max(room.room.size_m)
    found, guess = None, None
    if heat.any() and mass is not None:
        # Distances are in sides of the map, the longer one.
        free = model.find_free_cells(room.room).reshape(heat.shape).astype(float)
        guess = longest_m * earth_movers(heat, free, normalise=True)
        found = longest_m * earth_movers(heat, mass, normalise=True)
    exponent = thermal.params_of(asked.release.round).exponent
    return Moment(
        at_s=asked.at_s,
        sent_k=np.ldexp(np.array(asked.known.values, dtype=float), -exponent),
        mass=mass,
        status=_describe_status(asked.found),
        heat_w=heat,
        emd_m=found,
        guess_m=guess,
        credible=getattr(asked.found, "credible", None),
        verdict=getattr(asked.found, "verdict", None),
    )


def _describe_status(found: Any) -> str:
    if found is None:
        return _EMPTY
    return str(found.status if isinstance(found, Heatmap) else found.why)


def _make_writers(
    files: Mapping[str, Path | None], played: Played, stage: Stage
) -> dict[Path, Writer]:
    def draw(path: Path) -> None:
        from .picture import draw_day  # half a second, and few days are drawn

        draw_day(played, path)

    def animate(path: Path) -> None:
        from .picture import write_animation

        write_animation(played, path, stage)

    every: dict[str, Writer] = {
        "scores": lambda path: make_json_writer(collect_scores(played))(path),
        "out": partial(write_day, played),
        "plot": draw,
        "animation": animate,
    }
    return {path: every[name] for name, path in files.items() if path}


# What a simulated day comes to, in lines for a terminal.


def format_day(played: Played) -> list[str]:
    """Return everything there is to say of a day."""
    told = format_room_lines(played)
    if played.query is None or not played.releases:
        return [*told, _unveil(played)]
    first = played.releases[0].round
    return [
        *told,
        format_noise_line(played, played.query, calibrate_query(played.query).sigma),
        *describe_baseline(played.query),
        "",
        *format_round_lines(played),
        "",
        *format_score_lines(played),
        *format_map_lines(played, played.query),
        *describe_promise(played.query, first.guarantee),
    ]


def format_room_lines(played: Played) -> list[str]:
    """Return what was lived: the room, how warm it was, and by whom."""
    lived, room = played.lived, played.room
    width, height = room.size_m
    warmest, frame = _find_warmest(played)
    most = max((len(places) for places in lived.people), default=0)
    hours = (lived.times_s[-1] - lived.times_s[0]) / 3600
    found = [
        f"{room.name}: {width:g} x {height:g} m, {len(played.places_m)} thermometers, "
        f"{hours:g} h in steps of {room.day.step_s:g} s; the energy "
        f"balance closes to {lived.unbalanced:.0e}.",
        *(
            f"Walls are drawn in steps of 25 mm: {'; '.join(it)}."
            for it in [describe_redrawing(room)]
            if it
        ),
        f"At most {most} {'person' if most == 1 else 'people'} at once; the air they warm gets up "
        f"to {warmest:.2f} K warmer, at {format_clock(float(lived.frames_s[frame]))}."
        if lived.warmth_k.any()
        else "Nobody is there all day, so nothing is warmed by people.",
    ]
    if len(played.places_m):
        base = room.air.baseline_c
        found.append(
            f"The empty room by itself goes from {lived.empty_k.min() + base:.1f} to "
            f"{lived.empty_k.max() + base:.1f} C at the thermometers."
        )
    return found


def format_round_lines(played: Played) -> list[str]:
    """Return a line for each round, under a heading."""
    told = ["time   people  map off by  guess off by"]
    for moment in played.moments:
        people = len(played.lived.people[played.lived.find_frame(moment.at_s)])
        told.append(
            f"{format_clock(moment.at_s):<7}{people:>6}{_format_distance(moment.emd_m):>12}{_format_distance(moment.guess_m):>14}"
            + ("" if moment.emd_m is not None else f"  {_explain_unscored(moment)}")
        )
    return told


def format_score_lines(played: Played) -> list[str]:
    """Return how the maps fared on the whole, beside a guess that has seen nothing."""
    scored = played.scored
    if not scored:
        return ["No round had both somebody in the room and a map, so there is nothing to score."]
    off = np.array([moment.emd_m for moment in scored], dtype=float)
    blind = np.array([moment.guess_m for moment in scored], dtype=float)
    better = int((off < blind).sum())
    found = [
        f"Of {len(played.moments)} rounds {len(scored)} had somebody there and a map: it is "
        f"{off.mean():.2f} m off on average, a guess without data {blind.mean():.2f} m; nearer "
        f"than the guess in {better} of {len(scored)}."
    ]
    if off.mean() >= blind.mean():
        found.append("So these maps are no better than that guess: they say nothing of value.")
    return found


def format_map_lines(played: Played, query: Query) -> list[str]:
    """Return what a bright cell of a map is, and how many sources each map speaks for."""
    mapped = [one for one in played.moments if one.mass is not None]
    if not mapped:
        return []
    return [
        "A bright cell of a map is a share of the warmth, not a person: a map may have as many "
        f"as the file's people_max, {query.sources_max}, where fewer people are.",
        *(
            f"{format_clock(one.at_s)}  {one.credible.sentence[:-1]}, by the map's own reckoning, "
            "which is no head count."
            for one in mapped
            if one.credible is not None
        ),
        *(
            f"{format_clock(one.at_s)}  What the map can know by itself: {line}"
            for one in mapped
            for line in format_doubt_lines(one.verdict)
        ),
    ]


def format_noise_line(played: Played, query: Query, sigma_k: float) -> str:
    """Return how the noise compares with what it hides."""
    felt_k = float(np.abs(played.lived.seen_k - played.lived.empty_k).max(initial=0.0))
    return (
        f"Noise on every reading: {sigma_k:.3g} K (standard deviation), for {query.readings} "
        f"readings together; people warm the thermometer that feels most by {felt_k:.2f} K."
    )


def _unveil(played: Played) -> str:
    if played.query is not None:
        return "No round falls into the day, so nothing is sent and there is no map."
    if not len(played.places_m):
        return "There is no thermometer, so nothing is sent and there is no map."
    return (
        "The room has no [privacy], so there is no veil and no map: what was simulated is the "
        'truth and what the converters count. Add [privacy] with epsilon = "8/1" to see what '
        "may leave such a room."
    )


def _find_warmest(played: Played) -> tuple[float, int]:
    per_frame = played.lived.warmth_k.max(axis=(1, 2))
    return float(per_frame.max()), int(per_frame.argmax())


def _format_distance(distance_m: float | None) -> str:
    return "-" if distance_m is None else f"{distance_m:.2f} m"


def _explain_unscored(moment: Moment) -> str:
    if not moment.heat_w.any() and moment.mass is not None:
        return "nobody there lately, yet there is a map"
    return moment.status
