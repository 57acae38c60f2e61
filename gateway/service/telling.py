"""What the service says of itself, and who hears it: plain dicts for page, map topic and log.

Every one has a "kind" and values that JSON can write. Nothing in them has not passed the
veil: noised whole numbers, maps made of them, counts and prices.

How sure a map is goes with it as lists and numbers, no NaN. Listeners are the log, the page and
others; what was said last of each kind is kept for those who come later.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recovery.maps.guarantee import to_json
from recovery.maps.heatmap import Band, Blocks, Credible, Heatmap, Unresolved, Verdict
from recovery.maps.sentence import Wording, describe_sentence, recognise

from ..logs import log
from ..mechanisms import Mechanism, find_for_deployment, find_serving
from ..mechanisms.summary import describe_source_count, find_warmest_places
from .intake.judge import ALARMS
from .intake.outcomes import Alarm, Who
from .ledger import Ledger, find_unit, is_distributed
from .rounds import OpenRound

if TYPE_CHECKING:  # it takes a third of a second
    from ..settings.deployment import Deployment, Room

# Digits after the point: a millionth is less than anybody can be sure of, and a chance of
# twenty digits for each of four thousand cells would double what the broker keeps.
_DIGITS = 6
_ONE = 10**_DIGITS


def describe_map(found: Heatmap) -> dict[str, Any]:
    """Return what JSON can write of a map's estimator, its sd, and of how sure it is."""
    credible, certified = found.credible, found.certified
    event: dict[str, Any] = {"estimator": found.estimator, "chosen": found.why}
    event["sd"] = None if found.sd is None else _round_chances(found.sd)
    if found.blocks is not None:
        event["blocks"] = _describe_blocks(found.blocks)
    event["certified"] = None if certified is None else _describe_band(certified)
    event["credible"] = None if credible is None else _describe_credible(credible)
    event["verdict"] = None if found.verdict is None else _describe_verdict(found.verdict)
    return event


def parse_map(event: dict[str, Any]) -> tuple[Credible | None, Band | None, Verdict | None]:
    """Return what `describe_map` was given, to a millionth; older maps have no verdict."""
    credible, certified, verdict = event["credible"], event["certified"], event.get("verdict")
    band = None if certified is None else _read(certified)
    judged = None if verdict is None else _judge(verdict)
    if credible is None:
        return None, band, judged
    error, blind = credible["expected_error"], credible.get("blind_error")
    return (
        Credible(
            credible["level"],
            np.array(credible["present"]),
            np.array(credible["numbers"]),
            None if credible["band"] is None else _read(credible["band"]),
            math.nan if error is None else error,
            math.nan if blind is None else blind,
        ),
        band,
        judged,
    )


def _describe_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its sentence, so that nobody who shows it needs words of his own."""
    dropped = [{"sensor": sensor, "deviations": round(z, 2)} for sensor, z in verdict.dropped]
    told = {"level": verdict.level, **describe_sentence(verdict.why), "says": verdict.sentence}
    return told | {"dropped": dropped, "clamped": list(verdict.clamped)}


def _judge(verdict: dict[str, Any]) -> Verdict:
    dropped = [(one["sensor"], one["deviations"]) for one in verdict.get("dropped", ())]
    clamped = tuple(verdict.get("clamped", ()))
    return Verdict(verdict["level"], verdict["why"], tuple(dropped), clamped)


def _describe_blocks(blocks: Blocks) -> dict[str, Any]:
    """Return a row of each block, its interval nowhere narrower."""
    low = np.floor(blocks.low * _ONE) / _ONE
    high = np.minimum(np.ceil(blocks.high * _ONE) / _ONE, 1)
    columns = (*blocks.boxes.T, _round_chances(blocks.shares), low, high, blocks.styles)
    rows = [
        [*map(int, row[:4]), *map(float, row[4:7]), int(row[7])]
        for row in zip(*columns, strict=True)
    ]
    return {"level": blocks.level, "rows": rows, "claims": [int(at) for at in blocks.claims]}


def read_blocks(event: Mapping[str, Any]) -> Blocks | None:
    """Return the blocks of a map, None of one that has none."""
    if event.get("blocks") is None:
        return None
    found = np.array(event["blocks"]["rows"], dtype=np.float64).T
    return Blocks(event["blocks"]["level"], found[:4].T.astype(int), *found[4:7])


def _describe_credible(credible: Credible) -> dict[str, Any]:
    error = credible.expected_error
    return {
        "level": credible.level,
        "present": _round_chances(credible.present),
        "numbers": _round_chances(credible.numbers),
        "band": None if credible.band is None else _describe_band(credible.band),
        "expected_error": error if math.isfinite(error) else None,
        "blind_error": credible.blind_error if math.isfinite(credible.blind_error) else None,
    }


def _describe_band(band: Band) -> dict[str, Any]:
    """Return a band that is nowhere narrower, so that it holds what it held."""
    low = np.maximum(np.floor(band.low * _ONE), 0) / _ONE
    high = np.minimum(np.ceil(band.high * _ONE), _ONE) / _ONE
    return {"level": band.level, "low": low.tolist(), "high": high.tolist()}


def _round_chances(chances: NDArray[np.float64]) -> Any:
    return np.round(chances, _DIGITS).tolist()


def _read(band: dict[str, Any]) -> Band:
    return Band(band["level"], np.array(band["low"]), np.array(band["high"]))


Event = dict[str, Any]

SILENCE = Wording(
    "map.silence",
    "nobody answered the round, or too few for a secure sum, and it is paid for: the devices are "
    "off, or the broker does not let them and us hear each other, or they refuse. They do when "
    "their limits were tightened after this gateway started (start it again with the new file), "
    "when they were enrolled anew or with other noise, when they are asked sooner than they were "
    "enrolled for, and when the budget of their keys is spent: then enrol them again",
)()


DUE = 2.5  # rounds after which a map is old, and drawn grey


def make_ready_event(deployment: "Deployment", enrolled: int) -> Event:
    """The service is connected and about to ask."""
    mechanism = find_for_deployment(deployment)
    return {
        "kind": "ready",
        "site": deployment.site.name,
        **make_vocabulary_event(mechanism),
        "shape": list(deployment.room.cells),
        "cell_mm": deployment.room.cell_mm,
        "sensors": list(mechanism.sensors(deployment)),
        "enrolled": enrolled,
        "insecure": deployment.mqtt.insecure,
        "every_s": deployment.rounds.every_s,
        "gather_s": deployment.rounds.gather_s,
        "due_s": DUE * deployment.rounds.every_s + deployment.rounds.gather_s,
        "hours": deployment.rounds.hours,
        "picture": deployment.page.picture is not None,
        "neighbours": len(deployment.page.floor),
        "floor": _describe_floor(deployment.room),
        "earth": _describe_earth_corner(deployment.own),
        "strength_unit": _name_strength_unit(deployment.room),
    }


def _describe_floor(room: "Room") -> Event | None:
    """Return the lines of the floor, where something is known of it."""
    if room.plan is not None:
        from ..settings.roomfile import read_floor_lines  # which waits as the above

        return read_floor_lines(room.plan)
    side = room.cell_mm / 1000
    if not (room.furniture and side):
        return None
    rects = [
        [side * edge for edge in (left, top, left + columns, top + rows)]
        for left, top, columns, rows in room.furniture
    ]
    desks = [{"rect": rect, "name": "", "warm": False} for rect in rects]
    return {"walls": [], "doors": [], "windows": [], "furniture": desks, "sensors": None}


def _describe_earth_corner(own: Any) -> Event | None:
    """Return where the first cell's corner lies on the earth, and the way of a row."""
    if getattr(own, "corner", None) is None:
        return None
    return {"corner": list(own.corner), "bearing": own.bearing}


def _name_strength_unit(room: "Room") -> str:
    """Return the unit of a source's strength; none on the unit interval."""
    if room.plan is not None:
        return "W"
    if not room.cell_mm:
        return ""
    return "K m" if room.cells[1] == 1 else "K m²"


def make_vocabulary_event(mechanism: Mechanism) -> Event:
    """What a mechanism reads, and what the page calls things."""
    who, of_all, page = mechanism.words.who, mechanism.words.of_all, mechanism.words.page
    return {
        "mechanism": mechanism.name,
        "reads": mechanism.reads,
        "words": {"who": who, "of_all": of_all, "page": dict(page)},
    }


def make_round_event(round: OpenRound, gather_s: float) -> Event:
    """A round went out."""
    return {
        "kind": "round",
        "number": round.plan.number,
        "name": round.name.hex(),
        "enrolled": len(round.places),
        "gather_s": gather_s,
        "late": round.late,
    }


def make_reports_event(round: OpenRound, refused: int) -> Event:
    """So many have answered; refused: messages that were, since the service started."""
    return {
        "kind": "reports",
        "number": round.plan.number,
        "came": len(round.reports),
        "enrolled": len(round.places),
        "refused_since_start": refused,
        "late": round.late,
    }


def make_quarantine_event(devices: Mapping[str, tuple[str, float]]) -> Event:
    """These devices are in quarantine: why, and since when by the wall's clock."""
    return {
        "kind": "quarantine",
        "devices": [
            {"device": device, **describe_sentence(why), "since_s": since_s}
            for device, (why, since_s) in sorted(devices.items())
        ],
    }


def make_alarm_event(alarms: Mapping[Who, tuple[str, int]]) -> Event:
    """These devices have broken, or could break, their own noise; all that are known, each time.

    Args:
        alarms: of a device and its key, the latest reason and how often there was one.
    """
    return {
        "kind": "alarm",
        "alarms": [
            {"device": device, **describe_sentence(why), "times": times}
            for (device, _), (why, times) in sorted(alarms.items())
        ],
    }


def make_release_event(release: Any, late: int = 0) -> Event:
    """A round was closed; values are whole numbers, noised, None where none came.

    How long it took is not told: drawing noise takes as long as that is large, and sorting as the
    places lie.

    Args:
        late: reports that came after its end, so far.
    """
    return {
        "kind": "release",
        "number": release.round.number,
        "reports": release.reports,
        "values": list(release.values),
        "late": late,
    }


def make_map_event(
    number: int, result: Heatmap | Unresolved, seconds: float, reads: str = "temperature"
) -> Event:
    """A map was drawn, or could not be; this is what the map topic carries."""
    event = {
        "kind": "map",
        "number": number,
        "guarantee": json.loads(to_json(result.guarantee)),
        "seconds": seconds,
    }
    if isinstance(result, Heatmap):
        found = {"status": "solved", "mass": result.mass.tolist(), "total": float(result.total)}
        if result.nobody is not None:
            found["nobody"] = result.nobody
            if result.nobody > 0.5 and not result.total:
                found |= {"status": "nobody", "mass": None}
        event |= found | {"why": result.status} | describe_map(result)
        return event | _describe_sources(result, event) if reads == "temperature" else event
    return (
        event
        | {"status": "unresolved", "mass": None, "total": None}
        | describe_sentence(result.why)
    )


def _describe_sources(found: Heatmap, event: Event) -> Event:
    """Return what page, API and Home Assistant show of sources: what `play` says of them."""
    credible = found.credible
    most = find_warmest_places(found.mass, found.grid, credible=credible) if found.total else []
    listed = [
        {
            "x": float(place.at[0]),
            "y": float(place.at[1]) if len(place.at) > 1 else None,
            "share": place.share,
            "within": place.within,
        }
        for place in most
    ]
    if credible is None:
        return {"sources": listed}
    low, high, chance = credible.likely_range
    count = {"low": low, "high": high, "chance": chance, "median": credible.median}
    count |= {"several": 0 < len(most) < low, "empty": credible.may_be_empty}
    said = {"says": describe_source_count(credible, most), "count": count}
    return {"sources": listed, "credible": event["credible"] | said}


def complete_old_map(event: Event) -> Event:
    """Return a map that was kept, completed where it is of before a median number was told."""
    if count := (event.get("credible") or {}).get("count"):
        count.setdefault("median", count.get("likeliest"))
    return event


def make_budget_event(ledger: Ledger, rho: Fraction, plan: Any, window_h: int = 0) -> Event:
    """How the ledger stands; rho is the price of one more such round.

    Budget, spent and left are in rho. Where something else was promised, `unit` says so.
    """
    epsilon, delta = Fraction(*plan.guarantee.epsilon), plan.guarantee.delta
    at, unit = find_serving(plan.mechanism).ledger_delta(plan), find_unit(plan.guarantee)
    shared = is_distributed(plan.guarantee)
    return {
        "kind": "budget",
        "budget": float(ledger.budget),
        "spent": float(ledger.spent),
        "left": float(ledger.left),
        "epsilon": float(epsilon),
        "epsilon_spent": ledger.compute_epsilon(at, float(epsilon)),
        "delta": None if delta is None else float(Fraction(*delta)),  # of a pure promise
        # Of maps whose Rounds share what is left, nobody knows yet into how many parts.
        "rounds_left": int(ledger.left > 0 if shared else ledger.left / rho),
        "unit": unit.name,
        # Of a pure promise, by the ledger's own fractions; else nothing adds up to it.
        "epsilon_left": float(unit.convert(ledger.left)) if unit.is_epsilon else None,
        # Of a promise for a window: what is spent and left is so within it, and comes back.
        **({"window_h": window_h} if window_h else {}),
    }


# What of an event is too long for a log, or shown elsewhere.
DULL = {"guarantee", "kind", "alarms", "parts", "devices", "words", "floor", "earth"}
# What follows from readings: it is public, and still would make a log of years a log of people.
TOLD = {"values", "mass", "total"}
# Of a map a log has this alone: whether there is one, and by what, follows from readings too.
MAP = {"number", "seconds", "sensors_used", "sensors_enrolled", "quorum", "late"}
# Of a budget: what the promise is not told in.
OTHER = {"rho": {"epsilon_left"}, "epsilon": {"budget", "spent", "left", "delta"}}

Listener = Callable[[Event], None]


class Teller:
    """Tells everybody; any thread may."""

    def __init__(self, *listeners: Listener | None) -> None:
        """Begin.

        Args:
            listeners: hear every event, on the thread that tells it; they must return at once.
        """
        self.last: dict[str, Event] = {}
        self._listeners = [hear for hear in listeners if hear is not None]
        self._alarms: dict[Who, tuple[str, int]] = {}

    def add_listener(self, hear: Listener) -> None:
        """Let another one hear what comes from now on."""
        self._listeners.append(hear)

    def tell(self, event: Event) -> None:
        """Remember an event, log what it is, and pass it on."""
        self.last[event["kind"]] = event
        left = event.keys() - MAP if event["kind"] == "map" else DULL | TOLD
        if event["kind"] == "budget":
            left = left | OTHER[event.get("unit", "rho")]
        # How many came so far is progress; how many came in all, the release says.
        say = log.debug if event["kind"] == "reports" else log.info
        say(event["kind"], **{key: event[key] for key in event if key not in left})
        if event["kind"] == "release" and not event["reports"]:
            log.warning(SILENCE, number=event["number"])
        for hear in self._listeners:
            try:
                hear(event)
            except Exception:  # who listens must not stop who works
                log.exception("a listener failed on an event; the rounds go on")

    def tell_progress(self, round: OpenRound | None, refused: int) -> None:
        """Tell how a round stands, where that is news."""
        if round is not None:
            event = make_reports_event(round, refused)
            if event != self.last.get("reports"):
                self.tell(event)

    def tell_start(self, ready: Event, alarms: Mapping[Who, tuple[str, int]]) -> None:
        """Tell what we are, and of devices that have needed a new key since before this start."""
        self.tell(ready)
        self._alarms = {
            who: (recognise(why, ALARMS), times) for who, (why, times) in alarms.items()
        }
        if alarms:
            self.tell(make_alarm_event(self._alarms))

    def tell_alarms(self, raised: Sequence[Alarm]) -> None:
        """Tell of devices that need a new key."""
        for device, key_id, why in raised:
            log.error("alarm", device=device, why=why)
            _, times = self._alarms.get((device, key_id), ("", 0))
            self._alarms[device, key_id] = recognise(why, ALARMS), times + 1
        self.tell(make_alarm_event(self._alarms))
