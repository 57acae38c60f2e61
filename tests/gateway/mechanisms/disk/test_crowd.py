"""People of a file or an example: each is one device, and none is lost at the border."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.cli.devices.fleet import make_scenery
from gateway.devices.enrol import budgets, enrol
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism, make_first_limits
from gateway.mechanisms.flags import parse_query
from gateway.mechanisms.places import load_crowd, measure_grid_sides
from gateway.mechanisms.worlds import FleetInputs, Inputs
from gateway.settings import config
from gateway.settings.deployment import Deployment
from recovery.disk import plan
from tests.processes import find_free_port

query = partial(parse_query, find_mechanism("disk"))

WORLD = np.random.default_rng(1)


def _file(folder: Path, *rows: str, header: str = "user,x,y") -> Inputs:
    path = folder / "points.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return Inputs(points=str(path))


def test_x_goes_across_and_y_down(tmp_path: Path) -> None:
    """The map of a city must not come out turned over."""
    asked = query(grid="4x2")
    found = load_crowd(asked, _file(tmp_path, "ann,0.9,0.1", "bob,0.1,0.9"), WORLD)

    assert found.truth.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    said = [reading.values for reading in found.read_devices(plan(asked, []))]
    assert said == [(3, 0), (0, 1)]


def test_with_a_length_points_are_in_metres(tmp_path: Path) -> None:
    """Eight metres in four columns: 5 m is in the third; three rows are six metres."""
    asked = query(grid="4x3", length=8)
    found = load_crowd(asked, _file(tmp_path, "ann,5,5.9"), WORLD)

    assert measure_grid_sides(asked.grid).tolist() == [8, 6]
    assert np.argwhere(found.truth).tolist() == [[2, 2]]
    assert found.outside == 0


def test_who_stands_outside_answers_from_the_border(tmp_path: Path) -> None:
    """Dropping somebody would tell that he is outside; the file's maker hears of it."""
    inputs = _file(tmp_path, "ann,1.1,0.5", "bob,-3,0.5", "eve,0.5,0.5")
    found = load_crowd(query(grid="5x5"), inputs, WORLD)

    assert found.truth[2].tolist() == [1, 0, 1, 0, 1]
    assert "2 of the points stand beyond the grid" in found.describe_exceptions()


def test_the_far_border_of_the_unit_square_is_of_it(tmp_path: Path) -> None:
    """Whoever scales points to the unit square has one at exactly 1, who is in the last cell."""
    found = load_crowd(query(grid="5x5"), _file(tmp_path, "ann,1.0,1.0", "eve,0.5,0.5"), WORLD)

    assert np.argwhere(found.truth).tolist() == [[2, 2], [4, 4]]
    assert found.outside == 0


def test_with_readings_each_user_walks_through_his_rows(tmp_path: Path) -> None:
    """In the file's order, whoever stands between; who has no more rows stays."""
    inputs = _file(tmp_path, "ann,0.1,0", "bob,0.9,0", "ann,0.6,0", "ann,0.3,0")
    asked = query(grid="10", epsilon="3/1", settings=["readings=3"])
    found = load_crowd(asked, inputs, WORLD)

    assert found.cells.tolist() == [[1, 9], [6, 9], [3, 9]]
    assert found.truth.sum() == 6


# Where the virtual people of a fleet stand, and what is refused before any of them speaks.

Heatveil = Any


@pytest.fixture
def square(tmp_path: Path) -> Deployment:
    """Return a deployment of three people on eight metres by four."""
    path = tmp_path / "site.toml"
    text = config.make_sample("disk").replace("devices = 2000", "devices = 3")
    text = text.replace("cells = [15, 15]", "cells = [4, 2]").replace("30.0", "8.0")
    text = text.replace("quorum = 20", "quorum = 2")
    path.write_text(text.replace("readings = 1", "readings = 2"))
    return config.load_deployment(path)


def stood(deployment: Deployment, seen: FleetInputs) -> Any:
    return make_scenery(deployment, config.make_query(deployment), seen, np.random.default_rng(4))


def devices(deployment: Deployment, count: int) -> Any:
    """Return so many devices that were enrolled for it, each with its budget."""
    made, place = enrol.enrol_fleet(deployment.site.name, count), budgets.keep_slots_in_memory()
    budgets.write_first_budgets(
        made, make_first_limits(deployment, config.make_query(deployment)), place
    )
    return budgets.boot_devices(made.secrets, place).devices


def test_everybody_stands_where_the_file_says(square: Deployment, tmp_path: Path) -> None:
    """In metres; who has several points stands at each in turn, and who is outside at the edge."""
    points = tmp_path / "points.csv"
    points.write_text("user,x,y\na,0.5,0.5\nb,7.9,3.9\nc,3.0,99\n")
    there = stood(square, FleetInputs(points=str(points)))
    fleet = there.make_fleet(devices(square, 3))

    cells = [fleet.read(name, None) for name in fleet.names]
    assert cells == [(0, 0), (3, 1), (1, 1)]
    assert [fleet.read(name, None) for name in fleet.names] == cells
    with there.run_scene(fleet) as said:
        assert "1 of the points stands beyond the grid" in said
        assert "only this simulation knows: 33% near " in said


def test_who_has_no_device_is_told_of(square: Deployment, tmp_path: Path) -> None:
    """The map leaves them out, and would say nothing."""
    points = tmp_path / "points.csv"
    points.write_text("user,x,y\na,1,1\nb,7,3\nc,3,3\nd,5,1\n")
    there = stood(square, FleetInputs(points=str(points)))

    with there.run_scene(there.make_fleet(devices(square, 3))) as said:
        assert "has 4 people and the deployment 3 devices: the first 3 have one" in said


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (FleetInputs(sources_random=2), "--sources-random describes warmth"),
        (FleetInputs(since="08:00"), "--from describes warmth"),
        (FleetInputs(points="nowhere.csv"), "nowhere.csv cannot be read"),
        (FleetInputs(points="two.csv"), "two.csv has 2 people but"),
        (FleetInputs(points="thrice.csv"), "[privacy] readings = 3"),
    ],
)
def test_what_no_person_has_is_refused(
    square: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seen: FleetInputs,
    words: str,
) -> None:
    """It would do nothing unnoticed."""
    monkeypatch.chdir(tmp_path)
    Path("two.csv").write_text("user,x,y\na,1,1\nb,2,2\n")
    Path("thrice.csv").write_text("user,x,y\n" + "a,1,1\n" * 3)
    with pytest.raises(OperatorFault) as caught:
        stood(square, seen)

    assert words in str(caught.value)


def test_a_thermometer_has_no_points(tmp_path: Path) -> None:
    """And says what it has."""
    path = tmp_path / "site.toml"
    path.write_text(config.make_sample())
    deployment = config.load_deployment(path)
    with pytest.raises(OperatorFault, match="--points normal came, but the deployment measures"):
        stood(deployment, FleetInputs(points="normal"))


def test_the_commands_go_together(square: Deployment, tmp_path: Path, heatveil: Heatveil) -> None:
    """Enrolled, looked through, reckoned with, and told of what cannot be: another promise."""
    path = tmp_path / "site.toml"
    text = path.read_text().replace("port = 8883", "port = 1883").replace("ca_file", "# ca_file")
    text = text.replace("username", "# username").replace("password_file", "# password_file")
    text = text.replace("port = 8080", f"port = {find_free_port()}")
    path.write_text(text.replace("# insecure", "insecure"))
    assert heatveil("enrol", "--config", path).out.startswith("3 devices are enrolled")

    said = heatveil("check", path)
    assert (said.status, "FAULT" in said.out) == (0, False)
    assert "for 3 of 3 that the file counts" in said.out
    path.write_text((text := path.read_text()).replace("quorum = 2", "quorum = 1"))
    alone = heatveil("check", path)
    assert (alone.status, "quorum is 1, and devices are people" in alone.out) == (1, True)
    path.write_text(text)
    told = heatveil("ledger", "--config", path)
    assert told.status == 1  # no gateway has made the store yet
    reckoned = heatveil("budget", "--config", path)
    assert "a place told by gps each" in reckoned.success
    assert "grains" not in reckoned.out
    refused = heatveil("budget", "--config", path, "--sensor", "tmp117")
    assert (refused.status, "asks for a place" in refused.err) == (1, True)
    more = path.read_text().replace('epsilon = "7/2"', 'epsilon = "7/1"')
    path.write_text(more)
    said = heatveil("check", path)
    assert said.status == 1
    assert "another price" in said.out


# `heatveil play disk`: its files are a contract with scripts, its faults a line each.


GOOD = "user,x,y\nann,0.10,0.10\nbob,0.60,0.20\neve,0.95,0.85\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "line 1: the header is missing"),
        ("x,y\n0.1,0.1\n", "line 1: the header"),
        ("user,x,y\nann,0.1\n", "line 2"),
        ("user,x,y\nann,0.1,0.1\nbob,nan,0.1\n", "line 3: x is 'nan'"),
        ("user,x,y\nann,0.1,left\n", "line 2: y is 'left'"),
        ("user,x,y\n,0.1,0.1\n", "line 2: the user is missing"),
        (GOOD + "ann,0.2,0.2\n", "line 5: row 2 of user ann"),
        ("user,x,y,weight\nann,0.1,0.1,3\n", "line 2: the weight is 3"),
        ("user,x,y\nann,120,44\n", "1 of 1 points beyond the grid"),
    ],
)
def test_a_fault_of_the_file_is_said_by_its_line_and_nothing_is_written(
    heatveil: Callable[..., Any], tmp_path: Path, content: str, says: str
) -> None:
    """One line on standard error, status 1, and no file where there was none."""
    path, out = tmp_path / "points.csv", tmp_path / "map.npz"
    path.write_text(content)
    said = heatveil("play", "disk", "--points", path, "--out", out, "--scores", tmp_path / "s")

    assert said.status == 1
    assert said.err.count("\n") == 1
    assert says in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--points is missing"),
        (("--points", "normal", "--sensors", 5), "--sensors came with disk, which takes --points"),
        (("--points", "normal", "--cells", 5), "--cells came with disk"),
        (("--sources-random", 2), "--sources-random came with disk"),
        (("--points", "normal", "--set", "grid=4"), "use --grid and --length"),
        (("--points", "normal", "--set", "scheme=square"), "scheme is 'square'"),
        (("--points", "normal", "--set", "radius=-1"), "radius is -1"),
        (("--points", "normal", "--estimator", "posterior"), "estimator is 'posterior'"),
        (("--points", "normal", "--epsilon", "100/1"), "epsilon of one report is 100"),
        (("--points", "normal", "--grid", "9999x9999"), "at most 1048576"),
    ],
)
def test_a_flag_that_means_nothing_here_is_refused(
    heatveil: Callable[..., Any], words: tuple[object, ...], says: str
) -> None:
    """A flag that is ignored would be believed to hold."""
    said = heatveil("play", "disk", *words)

    assert said.status == 1
    assert said.err.count("\n") == 1
    assert says in said.err


# `heatveil recover` of places: from published counts, and from nothing else.


@pytest.fixture
def published(heatveil: Callable[..., Any], tmp_path: Path) -> Path:
    """Return published counts of two rounds, with the map that was drawn at once beside it."""
    path = tmp_path / "public.json"
    words = ("play", "disk", "--points", "mnormal", "--users", 3000, "--grid", "9x9")
    words += ("--epsilon", "6/1", "--set", "readings=2", "--set", "radius=2.5", "--seed", "3")
    heatveil(*words, "--published", path, "--out", tmp_path / "map.npz")
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: one["values"].pop(), "counts for"),
        (lambda one: one["values"].__setitem__(40, -1), "cell 40 was answered -1 times"),
        (lambda one: one["values"].__setitem__(40, 1.5), "no whole number"),
        (lambda one: one["params"].__setitem__(2, 2 * one["params"][2]), "exp"),
        (lambda one: one["params"].__setitem__(3, 4), "plan"),
        (lambda one: one["params"].__setitem__(0, "3"), "no whole number"),
        (lambda one: one.pop("guarantee"), "'guarantee' is missing"),
        (lambda one: one["guarantee"].__setitem__("epsilon", [1, 100]), "plan"),
    ],
)
def test_a_file_that_no_gateway_made_is_refused(
    heatveil: Callable[..., Any],
    published: Path,
    tmp_path: Path,
    change: Callable[[Any], Any],
    says: str,
) -> None:
    """Other weights are another channel, and a stranger promise would be printed as ours."""
    found = json.loads(published.read_text())
    change(found["rounds"][1])
    published.write_text(json.dumps(found))
    said = heatveil("recover", published, "--out", tmp_path / "new.npz")

    assert (said.status, said.err.count("\n")) == (1, 1)
    assert says in said.err
    assert not (tmp_path / "new.npz").exists()


@pytest.mark.long
def test_more_rounds_than_the_promise_is_for_are_refused(
    heatveil: Callable[..., Any], published: Path
) -> None:
    """Two reports were promised for; a third would be one more than anybody allowed."""
    found = json.loads(published.read_text())
    found["rounds"].append({**found["rounds"][0], "number": 3})
    published.write_text(json.dumps(found))

    assert "3 rounds share a promise for 2" in heatveil("recover", published).err
