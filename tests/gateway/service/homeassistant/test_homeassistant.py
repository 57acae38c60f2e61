"""The announcer by itself, and as a real service announces at a real broker."""

import json
import math
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from jinja2.sandbox import SandboxedEnvironment
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from edge.core.records import Grid
from gateway.service import homeassistant
from gateway.service.homeassistant import Announcer
from gateway.settings import config
from gateway.settings.deployment import Deployment, Mqtt
from tests import processes, sites
from tests.processes import find_free_port

# What goes to Home Assistant, when, and that all of it can be taken back.

CONFIG = "homeassistant/device/heatveil_lab/config"
STATE, HEALTH, AVAILABLE = (f"heatveil/1/lab/ha/{x}" for x in ("state", "health", "availability"))
MAP = {
    "kind": "map",
    "number": 7,
    "seconds": 0.5,
    "mass": [[0.1, 0.2, 0.6, 0.1]],
    "credible": {"count": {"median": 1}, "expected_error": 0.41234},
    "verdict": {"level": "fits", "why": ""},
    "sensors_used": 5,
}
RELEASE = {"kind": "release", "number": 7, "reports": 4, "values": [31337]}


def sick(ready: bool = False) -> dict[str, Any]:
    """Return what the service says of its health."""
    part = {"ok": ready, "why": "" if ready else "nobody answers"}
    return {"kind": "health", "ready": ready, "parts": {"broker": part, "store": {"ok": True}}}


class Broker:
    """Keeps what is retained, as a broker does."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.retained: dict[str, bytes] = {}

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        """Take a message."""
        assert retain
        self.sent.append(topic)
        self.retained.pop(topic, None)
        if payload:
            self.retained[topic] = payload

    def value(self, topic: str) -> Any:
        """Return what is retained on a topic."""
        return json.loads(self.retained[topic])


@pytest.fixture
def broker() -> Broker:
    """Return a broker without a network."""
    return Broker()


@pytest.fixture
def make(tmp_path: Path, broker: Broker) -> Callable[..., Announcer]:
    """Return the maker of an announcer, with these words under [homeassistant]."""

    def announcer(**words: Any) -> Announcer:
        found = Deployment(
            site={"name": "lab", "database": tmp_path / "heatveil.sqlite"},
            room={"cells": 4, "length_m": 4.0},
            heat={"spread_m2": 1.0},
            sensors={"count": 5},
            privacy={"epsilon": "8/1", "delta": "1/100000"},
            homeassistant={"enabled": True} | words,
        )
        return Announcer(found, broker.publish)

    return announcer


def test_a_round_without_a_map_shows_nothing_old(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """What was warm an hour ago must not stand beside the new round's number."""
    announcer = make()
    announcer.take_event(MAP)
    announcer.take_event(
        {"kind": "map", "number": 8, "seconds": 1, "mass": None, "credible": None}
    )
    found = broker.value(STATE)

    assert found["round"] == 8
    assert [found[name] for name in ("x", "share", "sources", "error")] == [None] * 4


def test_nothing_a_device_said_and_no_device_s_name_is_passed_on(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """Events hold values and names, for pages that are allowed to show them."""
    announcer = make()
    alarm = {"kind": "alarm", "alarms": [{"device": "node-3", "why": "went back", "times": 1}]}
    shut_out = {"kind": "quarantine", "devices": [{"device": "node-4", "why": "x", "since_s": 1}]}
    for event in (RELEASE, alarm, shut_out, sick(), MAP | {"devices": ["node-5"]}):
        announcer.take_event(event)
    said = b"".join(broker.retained.values())

    assert b"node" not in said
    assert b"31337" not in said


def test_health_does_not_make_an_old_result_look_new(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """Every message on its topic begins the time of `expire_after` anew."""
    announcer = make(expire_s=60)
    announcer.take_event(MAP)
    broker.sent.clear()
    for ready in (False, True, True):
        announcer.take_event(sick(ready))

    assert broker.sent == [HEALTH, HEALTH]
    assert broker.value(HEALTH) == {"problem": "OFF", "parts": {}}


def test_a_result_that_has_expired_is_not_sent_again(
    make: Callable[..., Announcer], broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home Assistant, started again, would show it as new."""
    announcer = make(expire_s=60)
    announcer.take_event(MAP)
    broker.sent.clear()
    announcer.take_message("homeassistant/status", b"online")
    assert STATE in broker.sent
    broker.sent.clear()
    now_s = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now_s + 61)
    announcer.take_message("homeassistant/status", b"online")

    assert CONFIG in broker.sent
    assert STATE not in broker.sent


def test_a_map_is_as_old_as_its_round_only_where_it_is_told_again(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """The clock of the day may be set while a round is under way, and its map is new."""
    late = MAP | {"closed_s": time.time() - 3600}
    make(expire_s=60).take_event(late)
    assert STATE not in broker.retained
    fresh = make(expire_s=60)
    fresh.take_event({"kind": "round", "number": 7})
    fresh.take_event(late)

    drawn = datetime.fromisoformat(broker.value(STATE)["drawn"])
    assert drawn.timestamp() == pytest.approx(time.time(), abs=60)


def test_a_map_that_comes_after_other_rounds_is_new_and_counts_from_its_own(
    make: Callable[..., Announcer], broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rounds are quicker than maps, no map comes before the next round."""
    announcer, now_s = make(expire_s=60), time.monotonic()
    for number, lag_s in ((7, 300.0), (9, 100.0)):
        for after_s in (0, 100, 200):
            monkeypatch.setattr("time.monotonic", lambda s=now_s + after_s: s)
            announcer.take_event({"kind": "round", "number": 7 + after_s // 100})
        monkeypatch.setattr("time.monotonic", lambda: now_s + 300)
        announcer.take_event(MAP | {"number": number, "closed_s": time.time() - 3600})

        assert broker.value(STATE)["lag"] == lag_s
        drawn = datetime.fromisoformat(broker.value(STATE)["drawn"])
        assert drawn.timestamp() == pytest.approx(time.time(), abs=60)


def test_only_a_greeting_makes_it_say_all_again(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """Another prefix does not move the topic on which Home Assistant says that it is back."""
    announcer = make(prefix="ha")
    assert announcer.births == ("ha/status", "homeassistant/status")
    for topic, payload in (("ha/status", b"offline"), ("other", b"online")):
        announcer.take_message(topic, payload)
    assert broker.sent == []
    announcer.take_message("ha/status", b"online")

    assert "ha/device/heatveil_lab/config" in broker.sent


def test_what_is_disabled_is_taken_back_and_nothing_more_is_said(
    make: Callable[..., Announcer], broker: Broker
) -> None:
    """Otherwise the entities stay "unavailable" in somebody's dashboard for ever."""
    first = make()
    first.announce_all()
    first.take_event(MAP)
    assert set(broker.retained) == {CONFIG, STATE, AVAILABLE}
    second = make(enabled=False)
    second.announce_all()
    second.take_event(MAP)
    second.publish_offline()

    assert broker.retained == {}
    assert second.births == ()
    broker.sent.clear()
    make(enabled=False).announce_all()
    assert broker.sent == []


# The two programs and a broker between them: what Home Assistant would see of a site.

SCHEMA = json.loads(Path(__file__).with_name("device_discovery.schema.json").read_text())
PROGRAM = Path(sys.executable).with_name("heatveil")
OUR_CONFIG = "homeassistant/device/heatveil_assisted/config"
OURS = "heatveil/1/assisted/ha/"


class Assistant:
    """Listens as Home Assistant does, and keeps the newest of each topic."""

    def __init__(self, port: int) -> None:
        self.newest: dict[str, bytes] = {}
        self._came: Any = queue.Queue()
        self.client = Client(CallbackAPIVersion.VERSION2, clean_session=True)
        self.client.on_message = lambda _c, _d, m: self._came.put((m.topic, m.payload))
        self.client.on_connect = lambda c, *_: c.subscribe(
            [("homeassistant/device/#", 1), (OURS + "#", 1)]
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def until(self, said: Callable[[dict[str, bytes]], bool]) -> dict[str, bytes]:
        """Return the newest of each topic, once this is true of it."""
        end_s = time.monotonic() + 60
        while not said(self.newest):
            topic, payload = self._came.get(timeout=max(end_s - time.monotonic(), 0.01))
            self.newest[topic] = payload
        return dict(self.newest)


@pytest.fixture
def assistant(mosquitto: Mqtt) -> Iterator[Assistant]:
    """Return a Home Assistant on the tests' broker."""
    one = Assistant(mosquitto.port)
    yield one
    one.client.disconnect()
    one.client.loop_stop()


@pytest.mark.long
def test_a_site_appears_shows_its_map_dies_and_goes(
    tmp_path: Path, mosquitto: Mqtt, heatveil: Callable[..., Any], assistant: Assistant
) -> None:
    """Announced, shown, unavailable after kill -9, announced anew at a greeting, taken back."""
    site = tmp_path / "site.toml"
    shape = {"cells": 20, "sensors": 4, "readings": 2, "gather_s": 10.0, "every_s": 0.2}
    text = sites.small("assisted", mosquitto.port, find_free_port(), **shape)
    site.write_text(f"{text}[homeassistant]\nenabled = true\n")
    assert heatveil("enrol", "--config", site).status == 0
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [PROGRAM, *words, "--config", site]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(processes.Child(command, **quiet))  # type: ignore[call-overload]
        return started[-1]

    try:
        start("fleet", "--sources-random", "1")
        serve = start("serve")
        shown = assistant.until(
            lambda all_: (
                b'"rounds_left": 0' in all_.get(OURS + "state", b"")
                and b'"round": 2' in all_[OURS + "state"]
            )
        )
        serve.send_signal(signal.SIGKILL)
        dead = assistant.until(lambda all_: all_[OURS + "availability"] == b"offline")
        again = start("serve")
        assistant.until(lambda all_: all_[OURS + "availability"] == b"online")
        assistant.newest.pop(OUR_CONFIG, None)
        assistant.client.publish("homeassistant/status", b"online", 1)
        greeted = assistant.until(lambda all_: OUR_CONFIG in all_)
        again.send_signal(signal.SIGTERM)
        assert again.wait() == 0
        gone = assistant.until(lambda all_: all_[OURS + "availability"] == b"offline")
        site.write_text(site.read_text().replace("enabled = true", "enabled = false"))
        start("serve")
        removed = assistant.until(lambda all_: all_[OUR_CONFIG] == b"")
    finally:
        for one in started:
            one.kill()
            one.wait()

    config, state = json.loads(shown[OUR_CONFIG]), json.loads(shown[OURS + "state"])
    jsonschema.validate(config, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert state["sensors"] == 4
    assert 0 < state["x"] < 10
    assert state["lag"] > 0
    assert dead[OUR_CONFIG] == greeted[OUR_CONFIG] == gone[OUR_CONFIG] == shown[OUR_CONFIG]
    assert removed[OUR_CONFIG] == b""
    assert b"node-" not in b"".join(shown.values())


# What Home Assistant is told is what it accepts, and the same message every time.


SITES = {
    "expiring": {"homeassistant": {"enabled": True, "prefix": "home/ha", "expire_s": 7200.5}},
    "plane": {"room": {"cells": [8, 4], "length_m": 4.0}, "sensors": {"count": [4, 2]}},
    "unit": {"room": {"cells": 10}},
}


def deployment(name: str) -> Deployment:
    """Return a deployment of a site by that name."""
    given: dict[str, Any] = {
        "site": {"name": name},
        "room": {"cells": 80, "length_m": 20.0},
        "heat": {"spread_m2": 4.0},
        "sensors": {"count": 50},
        "privacy": {"epsilon": "8/1", "delta": "1/100000"},
        "homeassistant": {"enabled": True},
    }
    return Deployment(**(given | SITES[name]))


@pytest.mark.parametrize("name", SITES)
def test_the_announcement_is_the_golden_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entity is known to somebody's dashboard by its ids: they change on purpose alone."""
    monkeypatch.setattr(homeassistant, "version", lambda _: "0.0.0")
    topic, golden = (
        homeassistant.make_config_topic(deployment(name)),
        Path(__file__).with_name("golden.json"),
    )

    said = homeassistant.make_announcement(deployment(name))
    # It drops a whole device for one key that the published schema does not know.
    jsonschema.validate(said, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert said == json.loads(golden.read_text())[topic]


def test_every_template_finds_its_value_in_the_state() -> None:
    """Rendered as Home Assistant does; a key that is misspelled shows "unknown" for ever."""
    environment = SandboxedEnvironment()
    values = {name: number for number, name in enumerate(homeassistant.NAMES, 100)}
    health = {"problem": "ON", "parts": {"broker": "gone"}}
    rendered = {}
    for key, one in homeassistant.make_announcement(deployment("plane"))["components"].items():
        value = health if key == "problem" else values
        rendered[key] = environment.from_string(one["value_template"]).render(value_json=value)

    assert rendered.pop("problem") == "ON"
    assert sorted(map(int, rendered.values())) == sorted(values.values())


def test_the_share_comes_with_what_it_is_off_by(tmp_path: Path) -> None:
    """To two digits, of the cell that is named and of no other."""
    path = tmp_path / "site.toml"
    path.write_text(config.make_sample("disk"))
    said = homeassistant.make_announcement(config.load_deployment(path))["components"]
    sd = [[0.01, 0.0234], [0.3, 0.3]]
    results = homeassistant.Results(GRID)
    template = SandboxedEnvironment().from_string(said["sd"]["value_template"])

    assert template.render(value_json=results.values) == "None"
    assert results.take_event({**SHARES, "sd": sd}, NOW, 5.0)
    assert results.values["share"] == 60
    assert template.render(value_json=results.values) == "2.3"
    results = homeassistant.Results(GRID)
    results.take_event({**SHARES, "sd": None}, NOW, 5.0)
    assert template.render(value_json=results.values) == "None"


# What Home Assistant is told of a map of people: cells and shares, and no warmth.

GRID = Grid((2, 2), 1000)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
SHARES = {"kind": "map", "number": 3, "mass": [[0.1, 0.6], [0.2, 0.1]], "credible": None}


@pytest.fixture
def said(tmp_path: Path) -> dict[str, Any]:
    """Return the components that are announced of the sample of people."""
    path = tmp_path / "site.toml"
    path.write_text(config.make_sample("disk"))
    found: dict[str, Any] = homeassistant.make_announcement(config.load_deployment(path))[
        "components"
    ]
    return found


def test_of_people_only_what_may_be_named_is_announced() -> None:
    """The middle of the densest block that is surely above an even share; no cell of noise, and
    nothing of answers that contradict their query."""
    rows = [[0, 0, 2, 1, 0.8, 0.7, 0.9, 2], [0, 1, 1, 1, 0.2, 0.0, 0.3, 1]]
    rows.append([1, 1, 1, 1, 0.0, 0.0, 0.2, 0])
    noise = [[*row[:5], 0.0, 1.0, 1] for row in rows]
    wrong = {"verdict": {"level": "assumptions"}}
    told = []
    for more in ({"blocks": {"level": 0.9, "rows": one}} for one in (rows, noise)):
        results = homeassistant.Results(GRID, middles=True)
        results.take_event({**SHARES, **more}, NOW, 5.0)
        told.append([results.values[name] for name in ("x", "y", "share", "sd")])
    results.take_event({**SHARES, **wrong}, NOW, 5.0)
    told.append([results.values[name] for name in ("x", "y", "share", "sd")])

    assert told == [[0.5, 1.0, 80, 6.1], [None] * 4, [None] * 4]


# What goes to Home Assistant of a map is too coarse to lead back to any device.

MORNING = datetime(2026, 11, 22, 8, tzinfo=UTC)


def shown(**more: Any) -> dict[str, Any]:
    """Return what is shown of a map on a line, without the time at which it was."""
    results = homeassistant.Results(Grid((40, 1), 250))
    results.take_event({"kind": "map", "number": 1, "mass": [[1.0] * 40], **more}, MORNING, 0.0)
    names = ("x", "y", "share", "sources", "error", "contradicted")
    return {name: results.values[name] for name in names}


def test_what_is_shown_of_a_map_has_few_values() -> None:
    """A cell, 101 shares, ten errors a decade: some 18 bits, and a report alone may have 16."""
    world, seen = np.random.default_rng(6), set()
    for _ in range(2000):
        mass = world.dirichlet(np.full(40, 0.05))
        credible = {"expected_error": float(world.lognormal())}
        found = shown(mass=[mass.tolist()], credible=credible)
        assert float(found["share"]).is_integer()
        assert 0 <= found["share"] <= 100
        assert found["x"] in {round(0.125 + 0.25 * cell, 3) for cell in range(40)}
        assert found["error"] == float(f"{10 ** (round(10 * np.log10(found['error'])) / 10):.1e}")
        seen.add(json.dumps(found))

    assert len(seen) > 500  # it does say something


@pytest.mark.parametrize("credible", [None, {"count": {"median": 1}, "expected_error": 0.5}])
def test_readings_that_contradict_their_query_are_a_problem(credible: Any) -> None:
    """An error is said where the map counts on that, and why, which has many digits, nowhere."""
    good, bad = (
        shown(credible=credible, verdict={"level": level, "why": "warmer by 1.7321"})
        for level in ("fits", "assumptions")
    )

    assert (good["contradicted"], bad["contradicted"]) == ("OFF", "ON")
    assert [bad[name] is None for name in ("error", "sources")] == [credible is None] * 2
    assert "1.7321" not in str(bad)


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_what_json_cannot_write_is_unknown(error: float) -> None:
    """Home Assistant would drop the whole message."""
    credible = {"expected_error": error}
    found = shown(credible=credible)

    assert found["error"] is None
    json.dumps(found, allow_nan=False)
