"""Home Assistant: results and the gateway's own health, and nothing of any single device.

One retained message describes the gateway and everything that can be seen of it. Its values come
over two topics of the site's own, so that a change of health does not make an old result look
new. There is nothing in it of any one thermometer: when one speaks shows when somebody is there.

Only what has passed the veil is shown: maps, counts, times, the budget, and the gateway's
own parts; and what comes of all readings is rounded: a cell, a whole per cent, an error of ten
values a decade. Full digits of a map, over rounds, would be as many equations for what each
device sent.

Which retained messages went out is noted in a small file beside the database, so that a gateway
whose site was renamed, or that is to be announced no longer, takes them back by itself.

Source: home-assistant.io, MQTT discovery, "device discovery payload" (since 2024.11).
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from physics.places import is_plane
from recovery.maps.heatmap import Blocks, Verdict

from ..logs import log
from ..mechanisms import find_for_deployment
from ..mechanisms.summary import find_cell_places
from ..settings.deployment import Deployment
from .telling import read_blocks

Message = dict[str, Any]

_PERCENT: Message = {"unit_of_measurement": "%", "suggested_display_precision": 0}
_RULER = "mdi:ruler"

ONLINE, OFFLINE = b"online", b"offline"
BIRTH_PREFIX = "homeassistant"  # where it says that it is back, unless it was told otherwise


def make_config_topic(deployment: Deployment) -> str:
    """Return where the announcement goes."""
    return f"{deployment.homeassistant.prefix}/device/{_make_device_id(deployment)}/config"


def locate_topics_note(deployment: Deployment) -> Path:
    """Return the file in which what was announced is noted."""
    database = deployment.site.database
    return database.with_name(f"{database.name}.announced")


def make_result_topic(site: str) -> str:
    """Return where results go."""
    return f"heatveil/1/{site}/ha/state"


def make_health_topic(site: str) -> str:
    """Return where the gateway's health goes."""
    return f"heatveil/1/{site}/ha/health"


def make_availability_topic(site: str) -> str:
    """Return where it stands whether there is a gateway at all."""
    return f"heatveil/1/{site}/ha/availability"


def list_retained_topics(deployment: Deployment) -> list[str]:
    """Return every topic that holds something of a gateway's: those of now, and those noted."""
    site, noted = deployment.site.name, _read_noted(locate_topics_note(deployment))
    ours = [make_result_topic(site), make_health_topic(site), make_availability_topic(site)]
    told = [make_config_topic(deployment)] if deployment.homeassistant.enabled else []
    return [*dict.fromkeys([*told, *ours, *noted])]


def list_birth_topics(prefix: str) -> tuple[str, ...]:
    """Return the topics on which Home Assistant says that it is back.

    Another prefix for announcements does not move its greeting, unless somebody moved that too.
    """
    return tuple(dict.fromkeys([f"{prefix}/status", f"{BIRTH_PREFIX}/status"]))


def make_announcement(deployment: Deployment) -> Message:
    """Return the announcement of a deployment."""
    own, site = _make_device_id(deployment), deployment.site.name
    components = _results(deployment) | _make_round_sensors(
        find_for_deployment(deployment).words.who_answers
    )
    for key, component in components.items():
        component["unique_id"] = f"{own}_{key}"
    return {
        "device": {
            "identifiers": [own],
            "name": f"heatveil {site}",
            "manufacturer": "heatveil",
            "model": "gateway",
            "sw_version": version("heatveil"),
        },
        "origin": {"name": "heatveil", "sw_version": version("heatveil")},
        "state_topic": make_result_topic(site),
        "availability_topic": make_availability_topic(site),
        "qos": 1,
        "components": components | {"problem": _make_problem_sensor(own, site)},
    }


def _results(deployment: Deployment) -> dict[str, Message]:
    """Return what a map says; unavailable once it is older than the operator wants to see."""
    expiry: Message = {}
    if deployment.homeassistant.expire_s is not None:
        expiry["expire_after"] = math.ceil(deployment.homeassistant.expire_s)
    length: Message = {"suggested_display_precision": 2}
    if deployment.room.cell_mm:
        length |= {"unit_of_measurement": "m", "device_class": "distance"}
    mechanism = find_for_deployment(deployment)
    place, share, icon = mechanism.words.announced
    found = {"x": _make_sensor(f"{place}, x", "x", icon="mdi:arrow-left-right", **length)}
    if is_plane(deployment.room.grid):
        found["y"] = _make_sensor(f"{place}, y", "y", icon="mdi:arrow-up-down", **length)
    found["share"] = _make_sensor(share, "share", icon=icon, **_PERCENT)
    found |= _make_certainty_sensors(mechanism.words.has_sd, length)
    return {key: component | expiry for key, component in found.items()}


def _make_certainty_sensors(counted: bool, length: Message) -> dict[str, Message]:
    """Return what a map says of how sure it is; counted: as `has_sd` of a mechanism."""
    if counted:
        more = {**_PERCENT, "suggested_display_precision": 1}
        more["value_template"] = "{{ value_json.sd | default(none) }}"  # till there is a map
        return {"sd": _make_sensor("Standard deviation of that share", "sd", icon=_RULER, **more)}
    return {
        "sources": _make_sensor("Likely warm sources", "sources", icon="mdi:account-multiple"),
        "error": _make_sensor("Expected error of the map", "error", icon=_RULER, **length),
        "contradicted": _make_sensor(
            "Map contradicts its settings",
            "contradicted",
            platform="binary_sensor",
            device_class="problem",
            state_class=None,
        ),
    }


def _make_round_sensors(answered: str) -> dict[str, Message]:
    """Return what rounds say of themselves."""
    seconds = {"unit_of_measurement": "s", "device_class": "duration"}
    found = {
        "round": _make_sensor("Round", "round", state_class=None, icon="mdi:counter"),
        "sensors": _make_sensor(
            f"{answered} that answered", "sensors", icon="mdi:thermometer-check"
        ),
        "rounds_left": _make_sensor("Rounds left in the budget", "rounds_left", icon="mdi:wallet"),
        "lag": _make_sensor("From the question to the map", "lag", **seconds),
        "drawn": _make_sensor("Map drawn", "drawn", state_class=None, device_class="timestamp"),
    }
    return {key: component | {"entity_category": "diagnostic"} for key, component in found.items()}


def _make_sensor(name: str, key: str, **more: Any) -> Message:
    """Return a number to show; what is null in the state is "unknown" there."""
    component = {
        "platform": "sensor",
        "name": name,
        "value_template": f"{{{{ value_json.{key} }}}}",
        "state_class": "measurement",
    }
    return {key: value for key, value in (component | more).items() if value is not None}


def _make_problem_sensor(own: str, site: str) -> Message:
    """Return whether the gateway works, and as attributes which of its parts do not."""
    return {
        "platform": "binary_sensor",
        "name": "Gateway",
        "state_topic": make_health_topic(site),
        "value_template": "{{ value_json.problem }}",
        "json_attributes_topic": make_health_topic(site),
        "json_attributes_template": "{{ value_json.parts | tojson }}",
        "device_class": "problem",
        "entity_category": "diagnostic",
        "unique_id": f"{own}_problem",
    }


def _make_device_id(deployment: Deployment) -> str:
    return f"heatveil_{deployment.site.name}"


Event = Mapping[str, Any]
NAMES = (
    *("x", "y", "share", "sources", "error", "contradicted"),
    *("round", "sensors", "rounds_left", "lag", "drawn"),
)


class Results:
    """The values of the latest events; what is not known is None.

    Args:
        middles: a cell of a unit grid is told by its middle.
    """

    def __init__(self, grid: Any, middles: bool = False) -> None:
        self.values: dict[str, Any] = dict.fromkeys(NAMES)
        self._grid, self._middles = grid, middles
        self._opened = dict[int, float]()  # when rounds did, by number, of those yet to be drawn

    def take_event(self, event: Event, now: datetime, clock_s: float) -> bool:
        """Take an event; return whether there is something new to show.

        Args:
            now: when it came, with its zone; and by a clock that only goes forward.
        """
        kind = event["kind"]
        if kind == "round":
            self._opened[event["number"]] = clock_s
        elif kind == "release":
            self.values["sensors"] = event["reports"]
        elif kind == "map":
            self._opened = {n: s for n, s in self._opened.items() if n >= event["number"]}
            self.values |= self._list_map_values(event, now, clock_s)
        elif kind == "budget":
            left = None if "window_h" in event else event["rounds_left"]  # there are always more
            if self.values["rounds_left"] == left:
                return False
            self.values["rounds_left"] = left
        return kind in ("map", "budget")  # a release has its map yet to come

    def compute_age_s(self, event: Event, now: datetime) -> float:
        """Return how many seconds old a map is: that of a round that opened here is new.

        Only one that is told again is dated by the clock of the day, which may have been set.
        """
        closed_s = event.get("closed_s")
        if closed_s is None or event["number"] in self._opened:
            return 0.0
        return max(now.timestamp() - float(closed_s), 0.0)

    def _list_map_values(self, event: Event, now: datetime, clock_s: float) -> dict[str, Any]:
        credible, opened_s = event.get("credible") or {}, self._opened.get(event["number"])
        return _find_main_place(event, self._grid, self._middles) | {
            "sources": (credible.get("count") or {}).get("median"),
            "error": _round_expected_error(credible),
            "contradicted": _is_contradicted(event.get("verdict")),
            "round": event["number"],
            "sensors": event.get("sensors_used", self.values["sensors"]),
            "lag": None if opened_s is None else round(clock_s - opened_s, 1),
            "drawn": (now - timedelta(seconds=self.compute_age_s(event, now))).isoformat(
                timespec="seconds"
            ),
        }


def describe_health(event: Event) -> dict[str, Any]:
    """Return how the gateway is: whether there is a problem, and the parts that have one."""
    parts = {name: part["why"] for name, part in event["parts"].items() if not part["ok"]}
    return {"problem": "OFF" if event["ready"] else "ON", "parts": parts}


def _find_main_place(event: Event, grid: Any, middles: bool) -> dict[str, Any]:
    """Return where most are, which share of all is there, and how sure that is, in percent."""
    verdict, blocks = event.get("verdict"), read_blocks(event)
    if middles and verdict is not None and Verdict(verdict["level"]).contradicts:
        return {"x": None, "y": None, "share": None, "sd": None}
    if blocks is not None:
        return _find_densest_block(blocks, grid)
    return _find_warmest_place(event, grid, middles) | _find_share_sd(event)


def _find_densest_block(blocks: Blocks, grid: Any) -> dict[str, Any]:
    """Return the middle of the densest block that may be named; nothing where there is none."""
    if not len(blocks.claims):
        return {"x": None, "y": None, "share": None, "sd": None}
    top = blocks.claims[0]
    inside = blocks.fill_cells(np.arange(len(blocks.shares)) == top).ravel() > 0
    middle = find_cell_places(grid, True)[inside].mean(axis=0)
    return {
        "x": round(float(middle[0]), 3),
        "y": round(float(middle[1]), 3) if is_plane(grid) else None,
        "share": round(100 * float(blocks.shares[top])),
        "sd": float(f"{100 * float(blocks.sd[top]):.2g}"),
    }


def _find_warmest_place(event: Event, grid: Any, middles: bool) -> dict[str, Any]:
    """Return where most of the warmth is, and which share of all of it is there, in percent.

    The first of a map's sources, at the cell that it is in; of people, the fullest cell.
    """
    mass, sources = event.get("mass"), event.get("sources")
    shares = np.zeros(1) if mass is None else np.asarray(mass, dtype=np.float64).ravel()
    cell, total = int(shares.argmax()), float(shares.sum())
    if not total > 0 or sources == []:
        return {"x": None, "y": None, "share": None}
    places, share = find_cell_places(grid, middles), float(shares[cell]) / total
    if sources:
        at = [sources[0][axis] for axis in ("x", "y")][: places.shape[1]]
        cell, share = int(np.linalg.norm(places - at, axis=1).argmin()), sources[0]["share"]
    return {
        "x": round(float(places[cell, 0]), 3),
        "y": round(float(places[cell, 1]), 3) if is_plane(grid) else None,
        "share": round(100 * share),
    }


def _find_share_sd(event: Event) -> dict[str, Any]:
    """Return how sure the share at that place is, in percent; nothing where a map has none."""
    if event.get("sd") is None or event.get("mass") is None:
        return {}
    cell = int(np.argmax(np.ravel(event["mass"])))
    return {"sd": float(f"{100 * float(np.ravel(event['sd'])[cell]):.2g}")}


def _is_contradicted(verdict: Event | None) -> str | None:
    """Return whether readings contradict their own query; why would be of too many digits."""
    if verdict is None:
        return None
    found = Verdict(verdict["level"])
    return "ON" if found.contradicts or found.level == "other" else "OFF"


def _round_expected_error(credible: Event) -> float | None:
    """Return how far off the map expects to be, the nearest of ten values a decade."""
    error = credible.get("expected_error")
    if error is None or not 0 < error < math.inf:
        return None
    return float(f"{10 ** (round(10 * math.log10(error)) / 10):.1e}")


Publish = Callable[[str, bytes, bool], Any]  # topic, payload, whether it is retained


class Announcer:
    """What of a gateway goes to Home Assistant; any thread may call it. Nothing here raises.

    Where it is not enabled it takes back what was announced before, and says nothing more.
    """

    def __init__(self, deployment: Deployment, publish: Publish) -> None:
        """Begin; `online` is to be called when the broker has us.

        Args:
            publish: sends now or when the broker is back, in order; it must not wait.
        """
        self._deployment, self._publish = deployment, publish
        self._lock = threading.Lock()
        self._results = Results(
            deployment.room.grid, find_for_deployment(deployment).reads == "place"
        )
        self._drawn_s: float | None = None
        self._health: dict[str, Any] | None = None
        site, self._note = deployment.site.name, locate_topics_note(deployment)
        self._config = make_config_topic(deployment)
        self._result, self._healthy = make_result_topic(site), make_health_topic(site)
        self._available = make_availability_topic(site)
        self.enabled = deployment.homeassistant.enabled
        self.births = list_birth_topics(deployment.homeassistant.prefix) if self.enabled else ()
        self.will = (self._available, OFFLINE) if self.enabled else None

    def announce_all(self) -> None:
        """Announce everything: when the broker has us, and when Home Assistant says it is back.

        `take_message` sees to the latter: a message on one of `list_birth_topics`, `online`.
        """
        with self._lock:
            self._tidy()
            if not self.enabled:
                return
            self._send(self._config, make_announcement(self._deployment))
            self._publish(self._available, ONLINE, True)
            if self._health is not None:
                self._send(self._healthy, self._health)
            if self._drawn_s is not None and not self._is_result_expired():
                self._send(self._result, self._results.values)

    def take_message(self, topic: str, payload: bytes) -> None:
        """Take a message that came; it matters when Home Assistant has just started."""
        if topic in self.births and payload.strip() == ONLINE:
            self.announce_all()

    def take_event(self, event: Event) -> None:
        """Take one of the service's events, and pass on what is to be seen of it."""
        if not self.enabled:
            return
        with self._lock:
            if event["kind"] == "health":
                found = describe_health(event)
                if found != self._health:
                    self._health = found
                    self._send(self._healthy, found)
            elif self._results.take_event(event, datetime.now(UTC), time.monotonic()):
                if event["kind"] == "map":  # told again after a start, it is as old as it was
                    old_s = self._results.compute_age_s(event, datetime.now(UTC))
                    self._drawn_s = time.monotonic() - old_s
                if self._drawn_s is not None and not self._is_result_expired():
                    self._send(self._result, self._results.values)

    def publish_offline(self) -> None:
        """Say goodbye, before the link is closed; what was shown turns unavailable."""
        if self.enabled:
            self._publish(self._available, OFFLINE, True)

    def _list_own_topics(self) -> list[str]:
        return [self._config, self._available, self._healthy, self._result]

    def _is_result_expired(self) -> bool:
        """Whether the last result would be taken for a new one if it were sent again."""
        after_s = self._deployment.homeassistant.expire_s
        passed_s = time.monotonic() - (self._drawn_s or 0.0)
        return after_s is not None and passed_s > after_s

    def _tidy(self) -> None:
        """Take back what is announced no longer, and note what is."""
        wanted = self._list_own_topics() if self.enabled else []
        noted = _read_noted(self._note)
        if gone := [topic for topic in noted if topic not in wanted]:
            log.info("removed entities from Home Assistant", topics=len(gone))
        for topic in gone:
            self._publish(topic, b"", True)
        if noted != wanted:
            self._write(wanted)

    def _write(self, topics: list[str]) -> None:
        try:
            if topics:
                self._note.write_text(json.dumps(topics), "utf-8")
            else:
                self._note.unlink(missing_ok=True)
        except OSError as fault:
            log.warning(
                "the list of Home Assistant entities cannot be written; old ones will stay",
                why=fault.strerror,
            )

    def _send(self, topic: str, value: Any) -> None:
        self._publish(topic, json.dumps(value, allow_nan=False).encode(), True)


def _read_noted(path: Path) -> list[str]:
    """Return the retained topics that a gateway on this database has sent before."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []
