"""What a simulated day comes to, in lines for a terminal."""

import numpy as np

from recovery.thermal import Query

from .panels import clock
from .records import Moment, Played


def day_lines(played: Played) -> list[str]:
    """Return what was lived: the room, how warm it was, and by whom."""
    lived, room = played.lived, played.room
    width, height = room.size_m
    warmest, frame = _warmest(played)
    most = max((len(places) for places in lived.people), default=0)
    hours = (lived.times_s[-1] - lived.times_s[0]) / 3600
    return [
        f"{room.name}: {width:g} x {height:g} m, {len(played.places_m)} thermometers, "
        f"{hours:g} h in steps of {room.day.step_s:g} s ({lived.solver}); the energy balance "
        f"closes to {lived.unbalanced:.0e}.",
        f"At most {most} people at once. They warm the air by up to {warmest:.2f} K, at "
        f"{clock(float(lived.frames_s[frame]))}; the empty room by itself goes from "
        f"{lived.empty_k.min() + room.air.baseline_c:.1f} to "
        f"{lived.empty_k.max() + room.air.baseline_c:.1f} C at the thermometers.",
    ]


def round_lines(played: Played) -> list[str]:
    """Return a line for each round, under a heading."""
    told = ["time   people  map off by  guess off by"]
    for moment in played.moments:
        people = len(_there(played, moment))
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
    lines = [
        f"Of {len(played.moments)} rounds {len(scored)} had somebody there and a map: it is "
        f"{off.mean():.2f} m off on average, a guess without data {blind.mean():.2f} m; nearer "
        f"than the guess in {better} of {len(scored)}."
    ]
    if off.mean() >= blind.mean():
        lines.append("So these maps are no better than that guess: they say nothing of value.")
    return lines


def noise_line(played: Played, query: Query, sigma_k: float) -> str:
    """Return how the noise compares with what it hides."""
    warmest, _ = _warmest(played)
    return (
        f"Noise on every reading: {sigma_k:.3g} K (standard deviation), against {warmest:.2f} K "
        f"that people warm at the most; for {query.readings} readings together."
    )


def _warmest(played: Played) -> tuple[float, int]:
    per_frame = played.lived.warmth_k.max(axis=(1, 2))
    return float(per_frame.max()), int(per_frame.argmax())


def _there(played: Played, moment: Moment) -> np.ndarray:
    frame = int(np.abs(played.lived.frames_s - moment.at_s).argmin())
    return played.lived.people[frame]


def _far(distance_m: float | None) -> str:
    return "-" if distance_m is None else f"{distance_m:.2f} m"


def _why(moment: Moment) -> str:
    if not moment.heat_w.any():
        return "nobody there lately" + ("" if moment.mass is None else ", yet there is a map")
    return moment.status
