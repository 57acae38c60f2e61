"""What a simulated day comes to, in lines for a terminal."""

import numpy as np

from physics.rooms.plan import redrawn
from recovery.thermal import Query, calibration

from ...mechanisms.thermal.words import doubt_lines, in_words
from .day import Moment, Played
from .rooms import clock, sentences


def lines(played: Played) -> list[str]:
    """Return everything there is to say of a day."""
    told = day_lines(played)
    if played.query is None or not played.releases:
        return [*told, _unveil(played)]
    first = played.releases[0].round
    return [
        *told,
        noise_line(played, played.query, calibration(played.query).sigma),
        *sentences(played.query),
        "",
        *round_lines(played),
        "",
        *score_lines(played),
        *map_lines(played, played.query),
        *in_words(played.query, first.guarantee),
    ]


def day_lines(played: Played) -> list[str]:
    """Return what was lived: the room, how warm it was, and by whom."""
    lived, room = played.lived, played.room
    width, height = room.size_m
    warmest, frame = _warmest(played)
    most = max((len(places) for places in lived.people), default=0)
    hours = (lived.times_s[-1] - lived.times_s[0]) / 3600
    found = [
        f"{room.name}: {width:g} x {height:g} m, {len(played.places_m)} thermometers, "
        f"{hours:g} h in steps of {room.day.step_s:g} s; the energy "
        f"balance closes to {lived.unbalanced:.0e}.",
        *(f"Walls are drawn in steps of 25 mm: {'; '.join(it)}." for it in [redrawn(room)] if it),
        f"At most {most} {'person' if most == 1 else 'people'} at once; the air they warm gets up "
        f"to {warmest:.2f} K warmer, at {clock(float(lived.frames_s[frame]))}."
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


def round_lines(played: Played) -> list[str]:
    """Return a line for each round, under a heading."""
    told = ["time   people  map off by  guess off by"]
    for moment in played.moments:
        people = len(played.lived.people[played.lived.frame_of(moment.at_s)])
        told.append(
            f"{clock(moment.at_s):<7}{people:>6}{_far(moment.emd_m):>12}{_far(moment.guess_m):>14}"
            + ("" if moment.emd_m is not None else f"  {_why(moment)}")
        )
    return told


def score_lines(played: Played) -> list[str]:
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


def map_lines(played: Played, query: Query) -> list[str]:
    """Return what a bright cell of a map is, and how many sources each map speaks for."""
    mapped = [one for one in played.moments if one.mass is not None]
    if not mapped:
        return []
    return [
        "A bright cell of a map is a share of the warmth, not a person: a map may have as many "
        f"as the file's people_max, {query.sources_max}, where fewer people are.",
        *(
            f"{clock(one.at_s)}  {one.credible.says[:-1]}, by the map's own reckoning, "
            "which is no head count."
            for one in mapped
            if one.credible is not None
        ),
        *(f"{clock(one.at_s)}  {line}" for one in mapped for line in doubt_lines(one.verdict)),
    ]


def noise_line(played: Played, query: Query, sigma_k: float) -> str:
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


def _warmest(played: Played) -> tuple[float, int]:
    per_frame = played.lived.warmth_k.max(axis=(1, 2))
    return float(per_frame.max()), int(per_frame.argmax())


def _far(distance_m: float | None) -> str:
    return "-" if distance_m is None else f"{distance_m:.2f} m"


def _why(moment: Moment) -> str:
    if not moment.heat_w.any() and moment.mass is not None:
        return "nobody there lately, yet there is a map"
    return moment.status
