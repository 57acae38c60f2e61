"""A fleet in a room that lives: changing warmth on a real broker, and a clean end."""

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.cli.devices.fleet import stand
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.lab.thermal_days.scene import Scene
from gateway.mechanisms.thermal.granting import grant
from gateway.mechanisms.worlds import Seen
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from recovery.maps.heatmap import Unresolved

SITE = """
[site]
name = "scene"
[room]
plan = "room.toml"
[heat]
[sensors]
background_k = 6.0
[privacy]
epsilon = "100000/1"
delta = "1/100000"
protect_distance_m = 0.5
readings = 4
[rounds]
gather_s = 5
every_s = 0.5
[mqtt]
port = {port}
insecure = true
"""


class Unsolved:
    """Draws no maps: what the devices send is tested."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> "Unsolved":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stop(self) -> None:
        pass

    def recover(self, mechanism: str, query: Any, releases: Any, *_: Any) -> Any:
        return Unresolved(query.grid, releases[0].round.guarantee, math.inf, math.inf, "not asked")


@pytest.fixture
def site(written: Callable[..., Path], mosquitto: Mqtt) -> Path:
    """Return a deployment file whose room is the small one."""
    path = written().with_name("site.toml")
    path.write_text(SITE.format(port=mosquitto.port))
    return path


@pytest.mark.long
def test_rounds_feel_a_room_as_it_lives(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From before Ada comes to hours later, in seconds; the devices recorded it empty."""
    monkeypatch.setattr("gateway.service.serving.Solver", Unsolved)
    deployment = config.load(site)
    query = config.query(deployment)
    world, room = np.random.default_rng(1), site.with_name("room.toml")
    scene = stand(deployment, query, Seen(scene=room, speed=3600.0, since="10:00"), world)
    assert isinstance(scene, Scene)
    there_k, empty_k = scene._living.seen_k
    assert np.array_equal(there_k, empty_k)  # and warmed by the heater, since eight
    assert empty_k.max() > 0.5
    made, place = enrol.enrol_fleet("scene", 12), budgets.keep_in_memory()
    budgets.provision(made, grant(query, deployment.rounds.every_s), place)
    fleet = scene.fleet(budgets.boot(made.secrets, place).devices)
    events: list[dict[str, Any]] = []
    threads = set(threading.enumerate())
    with (
        scene.living(fleet) as said,
        Crowd(deployment.mqtt, fleet),
        Service(deployment, enrol.derive_devices(made.secrets), on_event=events.append) as service,
    ):
        assert "lives from 10:00 to 14:00, 3600 times as fast as the clock" in said
        service.run()
    assert set(threading.enumerate()) <= threads
    sent = [event["values"] for event in events if event["kind"] == "release"]

    assert len(sent) == 4
    assert scene.at_s > 11.5 * 3600
    exponent = scene_exponent(query)
    near, far = ([np.ldexp(row[sensor], -exponent) for row in sent] for sensor in (8, 3))
    assert near[-1] - near[0] > 0.3  # Ada sits beside the one
    assert near[-1] - near[0] > far[-1] - far[0] + 0.2


def scene_exponent(query: Any) -> int:
    """Return what grain the rounds of a query are in."""
    from recovery.thermal import plan

    round = plan(query, [])
    assert round is not None
    return int(round.params[1])


@pytest.mark.parametrize(
    ("change", "seen", "says"),
    [
        (
            ("count = [4, 3]", "count = [4, 4]"),
            {},
            "has 16 thermometers but the deployment has 12",
        ),
        (('"tmp117"', '"ds18b20"'), {}, "counts in steps of 1/16 K but"),
        (("small", "small"), {"adc_behind": True}, "and no adc_behind"),
        (("small", "small"), {"since": "07:00"}, "the day of"),
        (("small", "small"), {"since": "noon"}, "Write --from 08:00"),
        (("small", "small"), {"sources_random": 2}, "Leave one out"),
        (("small", "small"), {"scene": None, "speed": 2.0}, "came without --scene"),
    ],
)
def test_a_room_that_does_not_fit_is_refused(
    written: Callable[..., Path],
    mosquitto: Mqtt,
    heatveil: Callable[..., Any],
    change: tuple[str, str],
    seen: dict[str, Any],
    says: str,
) -> None:
    """Before anything is on the broker; a deployment without a plan needs no more than to fit."""
    room = written(change)
    site = room.with_name("site.toml")
    text = config.sample().replace("count = 50", "count = 12").replace("port = 8883", "port = 1")
    if "adc_behind" in seen:
        text = text.replace("# adc_behind", "adc_behind")
    site.write_text(text)
    words = {"scene": room, **seen, "adc_behind": None}
    flags = {"since": "--from", "sources_random": "--sources-random"}
    asked = [
        part
        for name, value in words.items()
        if value is not None
        for part in (flags.get(name, "--" + name), value)
    ]
    said = heatveil("fleet", "--config", site, *asked)

    assert said.status == 1
    assert says in said.err
