"""The empty room taken off a reading, in the process that draws maps: march, judge, remember.

The service hands over when a round was asked, what is known of the sensors' levels, and the state
that the last map left; it keeps the new state with the map, in one transaction. A state that is
lost, or of another room file, or later than the round (a clock set back), is begun again.
"""

import io
import math
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Release
from recovery.thermal.vacancy import Belief, Empty, fade_belief, judge, make_prior_belief

from ...settings.roomfile import ClearedMap, Vacancy

Floats = NDArray[np.float64]

UNKNOWN_K = 1.0  # deviation of a sensor's level where nobody knows when it was recorded
_UNSAID = -1.0  # in the place of that time
_MARCHES = 4  # from a day before, for one map; a level that takes more is of an unknown time


class _Kept(NamedTuple):
    """A state: of the march, and of what is believed."""

    march: Any  # physics.rooms.vacant.Vacant
    belief: Belief  # of the march's causes, then of the sensors' levels
    judged_s: float  # when the reading was asked that was judged last
    recorded_s: Floats  # (sensors,), when levels were, as it was known then
    levels: dict[float, tuple[Floats, Floats]]  # what was seen at such times


def subtract_empty_room(
    query: Any,
    releases: Sequence[Release],
    asked: Vacancy,
    marching: Callable[[bool], object] = lambda begun: None,
) -> ClearedMap:
    """Return the map of the newest round that was answered, less the empty room.

    Args:
        marching: hears when the march begins, and when it is over.

    Raises:
        ValueError: the room file cannot be read, or a release is not of the query.
    """
    from physics.instruments.presets import find_preset
    from physics.rooms.vacant import DAY_S, Vacant

    from ...lab.thermal_days.rooms import find_views, load_room

    marching(True)
    room = load_room(asked.plan)
    _, views = find_views(room)
    weather, notes = load_outdoor_temperature(asked.weather, asked.at_s - DAY_S, asked.at_s)

    def begun(at_s: float) -> Any:
        return Vacant(room, views, at_s - DAY_S, weather)

    kept = _resume(asked, begun(asked.at_s), len(views), notes)
    march, left = kept.march, _MARCHES

    def look(at_s: float) -> tuple[Floats, Floats] | None:
        nonlocal march, left
        if not march.at_s <= at_s <= march.at_s + DAY_S:
            march, left = begun(at_s), left - 1
        return tuple(march.advance(at_s)) if left >= 0 else None

    recorded_s = np.array([_say(one, asked.at_s) for one in asked.recorded_s])
    levels: dict[float, Any] = {}
    for said_s in sorted({_UNSAID, *recorded_s}):
        day_s = march.clock(asked.at_s) - room.day.start_s
        at_s = asked.at_s - day_s % DAY_S if said_s == _UNSAID else said_s
        level = kept.levels.get(said_s) or look(at_s)
        if level is None:
            recorded_s[recorded_s == said_s] = _UNSAID
        else:
            levels[said_s] = level
    seen = march.advance(asked.at_s) if march.at_s <= asked.at_s <= march.at_s + DAY_S else None
    if seen is None:
        march = begun(asked.at_s)
        seen = march.advance(asked.at_s)
    marching(False)
    if query.background == "gateway":  # devices take off the baseline, and the first rounds tell
        recorded_s[:] = _UNSAID
        levels[_UNSAID] = 0 * seen.warmth_k, 0 * seen.causes_k
    elif unsaid := int(np.count_nonzero(recorded_s == _UNSAID)):
        notes.append(f"nobody says when the levels of {unsaid} sensors were recorded")

    # What passes with the day was another when a level was recorded days ago.
    passes = np.array([cause.passes for cause in march.causes])
    was = [levels[one] for one in recorded_s]
    old_s = np.where(recorded_s == _UNSAID, 0.0, asked.at_s - recorded_s)
    held = np.where(passes, np.exp(-np.maximum(old_s - DAY_S, 0) / DAY_S)[:, None], 1.0)
    before = np.array([causes[nth] for nth, (_, causes) in enumerate(was)])
    own = np.concatenate(
        [
            np.full(len(group.places_m), find_preset(group.kind).noise_sd_k)
            for group in room.thermometers
        ]
    )
    if query.sensor_noise:
        own = 0 * own  # the query counts it
    first = min(release.round.number for release in releases)
    release = [one for one in releases if one.reports][-1]
    empty = Empty(
        seen.warmth_k - np.array([warmth[nth] for nth, (warmth, _) in enumerate(was)]),
        np.hstack([seen.causes_k - held * before, np.diag(UNKNOWN_K * (recorded_s == _UNSAID))]),
        np.sqrt(own**2 + ((1 - held**2) * before**2).sum(axis=1)),
        asked.known or release.round.number < first + query.empty_readings,
    )
    rest = np.exp(-max(asked.at_s - kept.judged_s, 0.0) / DAY_S)
    stays = np.concatenate([np.where(passes, rest, 1.0), recorded_s == kept.recorded_s])
    belief = fade_belief(kept.belief, stays)
    found, learnt = judge(query, release, empty, belief)
    if asked.at_s == kept.judged_s:  # drawn again: what it teaches is known already
        learnt = kept.belief
    state = _Kept(march, learnt, asked.at_s, recorded_s, levels)
    return ClearedMap(found, _pack(state), tuple(notes))


def _say(recorded_s: float | None, at_s: float) -> float:
    """Return when a level was recorded, `_UNSAID` for what cannot be."""
    return recorded_s if recorded_s is not None and 0 <= recorded_s <= at_s else _UNSAID


def _pack(kept: _Kept) -> bytes:
    times = sorted(kept.levels)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        **kept.march.to_state(),
        mean=kept.belief.mean,
        covariance=kept.belief.covariance,
        judged_s=np.array(kept.judged_s),
        recorded_s=kept.recorded_s,
        levels_s=np.array(times),
        levels_k=np.array([kept.levels[at_s][0] for at_s in times]),
        levels_causes_k=np.array([kept.levels[at_s][1] for at_s in times]),
    )
    return file.getvalue()


def _resume(asked: Vacancy, march: Any, sensors: int, notes: list[str]) -> _Kept:
    """Return the state that was kept, or that of a room of which nothing is known yet."""
    unsaid = np.full(sensors, _UNSAID)
    anew = _Kept(march, make_prior_belief(len(march.causes) + sensors), asked.at_s, unsaid, {})
    if asked.state is None:
        return anew
    try:
        with np.load(io.BytesIO(asked.state), allow_pickle=False) as archive:
            state = {name: archive[name] for name in archive.files}
        levels = zip(state["levels_k"], state["levels_causes_k"], strict=True)
        kept = _Kept(
            march.resume(state),
            Belief(state["mean"], state["covariance"]),
            float(state["judged_s"]),
            state["recorded_s"],
            dict(zip(map(float, state["levels_s"]), levels, strict=True)),
        )
    except (KeyError, ValueError, EOFError, OSError, zipfile.BadZipFile) as fault:
        notes.append(f"the empty room was marched again, for its state is none of it: {fault}")
        return anew
    if asked.at_s < kept.judged_s:
        notes.append(
            "the empty room was marched again, for the clock was set back by "
            f"{kept.judged_s - asked.at_s:.0f} s"
        )
        return anew._replace(belief=kept.belief, recorded_s=kept.recorded_s)
    return kept


# The weather that a file tells: what an outdoor thermometer said, or somebody's records of it.

GAP_S = 3 * 3600.0  # weather readings that are further apart tell nothing of the time in between
_TAIL = 4_000_000  # bytes of a weather file that are read, from the end
_LOOK_S = 600.0


def load_outdoor_temperature(
    path: Path | None, from_s: float, until_s: float
) -> tuple[Callable[[float], float | None], list[str]]:
    """Return how warm it was at a time, None where nobody knows, and what is wrong with that.

    A line is a time, in seconds of the epoch or as 2026-11-23T08:00:00+01:00, a comma and degrees
    Celsius. What is no such line is passed over, so that a header may stand there, and one that
    is only half written.

    Args:
        path: None for no weather, which is nothing wrong.
        from_s: the time that matters, from here on.
    """
    if path is None:
        return lambda at_s: None, []
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _TAIL, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError as fault:
        why = (
            f"the weather file {path} cannot be read ({fault.strerror}), so it is the room file's"
        )
        return lambda at_s: None, [why]
    told = dict(filter(None, map(_parse, lines)))
    times = sorted(told)

    def at(at_s: float) -> float | None:
        after = bisect_right(times, at_s)
        near = times[max(after - 1, 0) : after + 1]
        if not near or not near[0] - GAP_S <= at_s <= near[-1] + GAP_S:
            return None
        if len(near) == 1 or at_s == near[0]:
            return told[near[0]]
        before_s, after_s = near
        if after_s - before_s > GAP_S:
            return None
        share = (at_s - before_s) / (after_s - before_s)
        return told[before_s] + share * (told[after_s] - told[before_s])

    steps = range(max(round((until_s - from_s) / _LOOK_S), 1))
    gone = sum(at(until_s - _LOOK_S * step) is None for step in steps)
    if not gone:
        return at, []
    return at, [
        f"the weather file {path.name} tells nothing of {gone * _LOOK_S / 3600:.1f} of the last "
        f"{(until_s - from_s) / 3600:.0f} h (gaps of over {GAP_S / 3600:.0f} h, or no numbers), "
        "so there it is the room file's"
    ]


def _parse(line: str) -> tuple[float, float] | None:
    """Return the time and the degrees of a line, None where it tells no such things."""
    at, _, degrees = line.partition(",")
    try:
        at_s = datetime.fromisoformat(at).timestamp() if "-" in at[1:] else float(at)
        told = at_s, float(degrees)
    except (ValueError, OverflowError, OSError):
        return None
    return told if all(map(math.isfinite, told)) else None
