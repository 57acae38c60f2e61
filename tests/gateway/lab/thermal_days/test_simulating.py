"""`heatveil simulate`: its files, its lines, and what it leaves when it is interrupted."""

import json
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from gateway.cli.devices.fleet import make_scenery
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.lab.thermal_days import files, picture, run
from gateway.lab.thermal_days.scene import Scene
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.mechanisms.worlds import FleetInputs
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from physics.rooms.read import read_room
from recovery.maps.heatmap import Unresolved


def test_the_sample_is_a_room_file(heatveil: Callable[..., Any], tmp_path: Path) -> None:
    """Whoever has none writes it to a file and goes on from there."""
    said = heatveil("simulate", "--sample")
    path = tmp_path / "room.toml"
    path.write_text(said.out)

    assert said.status == 0
    assert read_room(path).name == "office"
    assert "heatveil simulate --sample > room.toml" in heatveil("simulate").err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("size_m = [5.0, 3.0]", "size_m = [5.0]"), ["room.toml line", "size_m", "Write"]),
        (("1.0, 2.0]", "1.0, 9.0]"), ["room.toml line"]),
        (('"tmp117"', '"tmp711"'), ["room.toml line", "tmp117"]),
    ],
)
def test_a_wrong_room_is_told_in_one_line(
    heatveil: Callable[..., Any],
    written: Callable[..., Path],
    change: tuple[str, str],
    words: list[str],
) -> None:
    """With the line, and an example of the right thing; nothing is written."""
    path = written(change)
    said = heatveil("simulate", path, "--out", path.with_name("day.npz"))

    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1)
    assert all(word in said.err for word in words)
    assert [one.name for one in path.parent.iterdir()] == ["room.toml"]


@pytest.mark.long
def test_the_same_seed_is_the_same_day(
    heatveil: Callable[..., Any], written: Callable[..., Path]
) -> None:
    """Another seed has the same truth, for nobody comes by chance, and other noise."""
    path = written()
    folder = path.parent
    for name, seed in (("a.npz", 4), ("b.npz", 4), ("c.npz", 5)):
        said = heatveil("simulate", path, "--seed", seed, "--out", folder / name)
        assert said.status == 0, said.err
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    with np.load(folder / "a.npz") as first, np.load(folder / "c.npz") as other:
        a, c = dict(first), dict(other)
    assert np.array_equal(a["true_k"], c["true_k"])
    assert not np.array_equal(a["counts"], c["counts"])
    assert not np.array_equal(a["sent_grains"], c["sent_grains"])

    assert a["true_k"].shape == a["counts"].shape == (181, 12)
    assert a["sent_grains"].shape == (3, 12)
    assert {"guarantee", "params"} <= set(a)
    # Ada stands at her second place when the second and the third round are asked.
    places = a["people_at_rounds_m"]
    assert np.isnan(places[0]).all()
    assert places[1:, 0] == pytest.approx(np.array([[1.0, 2.0]] * 2))
    # What is public, and what is not, is every part that tells of the room.
    named_parts = {*str(a["private"]).split(), *str(a["public"]).split()}
    assert named_parts == {*files.PRIVATE, *files.PUBLIC}
    assert set(a) >= named_parts


@pytest.mark.long
def test_pictures_are_pictures(heatveil: Callable[..., Any], written: Callable[..., Path]) -> None:
    """1125 pixels across, as many frames as promised, and scores in metres."""
    path = written()
    plot, gif, scores = (path.with_name(name) for name in ("day.png", "day.gif", "day.json"))
    said = heatveil("simulate", path, "--seed", 1, "--plot", plot, "--scores", scores)

    assert said.status == 0, said.err
    with Image.open(plot) as picture:
        assert (picture.format, picture.size[0]) == ("PNG", 1125)
    found = json.loads(scores.read_text())
    assert found["rounds"] == len(found["by_round"]) == 3
    assert "Protected: the path of one source" in said.out
    assert "Background: each device takes off what it counted before the day" in said.out
    assert "A bright cell of a map is a share of the warmth, not a person" in said.out
    assert "people_max, 2, where fewer people are" in said.out
    assert re.findall(r"(?m)^(\d\d:\d\d)  Number of sources: [0-2](?: to [0-2])? \(", said.out)
    assert not gif.exists()


@pytest.mark.long
@pytest.mark.parametrize("where", ["living", "writing"])
def test_who_interrupts_it_finds_nothing_left(
    heatveil: Callable[..., Any],
    written: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    """Ctrl-C in the middle of the day, or while a file is half written."""
    path = written()
    stopped = (run, "read_day") if where == "living" else (picture, "draw_day")
    monkeypatch.setattr(*stopped, Mock(side_effect=KeyboardInterrupt))
    results = "--out", path.with_name("a.npz"), "--plot", path.with_name("a.png")
    said = heatveil("simulate", path, *results)
    assert said.status == 130
    # Where nobody sees a spinner, a line for each stage says that it is alive.
    *lines, last = said.err.splitlines()
    assert lines[0] == "working out what its thermometers feel of whom ..."
    assert "living through the day ..." in lines
    assert len(lines) == len(set(lines))
    assert last == "stopped; nothing was written"
    assert [one.name for one in path.parent.iterdir()] == ["room.toml"]


@pytest.mark.parametrize(
    ("flag", "given", "says"),
    [
        ("--out", "day.csv", "must end in .npz"),
        ("--scores", "room.toml", "are not all different"),
        ("--plot", "day.gif", "the picture is a PNG"),
        ("--out", "nowhere/day.npz", "there is no folder"),
        ("--estimator", "foo", "foo came but it must be one of auto, posterior"),
    ],
)
def test_a_result_without_a_place_is_refused_before_the_day(
    heatveil: Callable[..., Any],
    written: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    given: str,
    says: str,
) -> None:
    """Not at its end."""
    path = written()
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(run, "play_day", lambda *_: pytest.fail("the day was lived"))
    said = heatveil("simulate", path, flag, given)

    assert says in said.refusal


# A fleet in a room that lives: changing warmth on a real broker.


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
    deployment = config.load_deployment(site)
    query = config.make_query(deployment)
    world, room = np.random.default_rng(1), site.with_name("room.toml")
    scene = make_scenery(
        deployment, query, FleetInputs(scene=room, speed=3600.0, since="10:00"), world
    )
    assert isinstance(scene, Scene)
    there_k, empty_k = scene._living.seen_k
    assert np.array_equal(there_k, empty_k)  # and warmed by the heater, since eight
    assert empty_k.max() > 0.5
    made, place = enrol.enrol_fleet("scene", 12), budgets.keep_slots_in_memory()
    budgets.write_first_budgets(made, make_first_limits(query, deployment.rounds.every_s), place)
    fleet = scene.make_fleet(budgets.boot_devices(made.secrets, place).devices)
    events: list[dict[str, Any]] = []
    threads = set(threading.enumerate())
    with (
        scene.run_scene(fleet) as said,
        Crowd(deployment.mqtt, fleet),
        Service(
            deployment, enrol.derive_gateway_half(made.secrets), on_event=events.append
        ) as service,
    ):
        assert "lives from 10:00 to 14:00, 3600 times as fast as the clock" in said
        assert "only this simulation knows: Ada " in said
        service.run_rounds()
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
    return int(round.params[1])


@pytest.mark.parametrize(
    ("change", "words", "says"),
    [
        (("[4, 3]", "[4, 4]"), (), "has 16 thermometers but the deployment has 12"),
        (('"tmp117"', '"ds18b20"'), (), "counts in steps of 1/16 K but"),
        (('"tmp117"', '"bme280"'), (), 'adc_step = "1/100" in [sensors] and adc_behind = "1/250"'),
        ((), ("--from", "07:00"), "the day of"),
        ((), ("--from", "noon"), "Write --from 08:00"),
        ((), ("--sources-random", 2), "Leave one out"),
    ],
)
def test_a_room_that_does_not_fit_is_refused(
    written: Callable[..., Path],
    heatveil: Callable[..., Any],
    change: tuple[str, ...],
    words: tuple[object, ...],
    says: str,
) -> None:
    """Before anything is on the broker; a deployment without a plan needs no more than to fit."""
    room = written(change) if change else written()
    site = room.with_name("site.toml")
    site.write_text(config.make_sample().replace("count = 50", "count = 12"))
    said = heatveil("fleet", "--config", site, "--scene", room, *words)

    assert says in said.refusal
