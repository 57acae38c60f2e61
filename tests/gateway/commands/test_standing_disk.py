"""Where the virtual people of a fleet stand, and what is refused before any of them speaks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.node import Node
from gateway import config
from gateway.commands.act import Seen
from gateway.commands.standing import stand
from gateway.deployment import Deployment
from gateway.enrolment import budgets, enrol
from gateway.faults import OperatorFault
from gateway.serves.table import granted

Heatveil = Any


@pytest.fixture
def square(tmp_path: Path) -> Deployment:
    """Return a deployment of three people on eight metres by four."""
    path = tmp_path / "site.toml"
    text = config.sample("disk").replace("devices = 2000", "devices = 3")
    text = text.replace("cells = [15, 15]", "cells = [4, 2]").replace("30.0", "8.0")
    path.write_text(text.replace("readings = 1", "readings = 2"))
    return config.load(path)


def stood(deployment: Deployment, seen: Seen) -> Any:
    return stand(deployment, config.query(deployment), seen, np.random.default_rng(4))


def devices(deployment: Deployment, count: int) -> Any:
    """Return so many devices that were enrolled for it, each with its budget."""
    made, place = enrol.make(deployment.site.name, count), budgets.in_memory()
    budgets.provision(made, granted(deployment, config.query(deployment)), place)
    return budgets.boot(made.secrets, place).devices


def test_everybody_stands_where_the_file_says(square: Deployment, tmp_path: Path) -> None:
    """In metres; who has several points stands at each in turn, and who is outside at the edge."""
    points = tmp_path / "points.csv"
    points.write_text("user,x,y\na,0.5,0.5\nb,7.9,3.9\nc,3.0,99\n")
    there = stood(square, Seen(points=str(points)))
    fleet = there.fleet(devices(square, 3))

    cells = [fleet.read(name, None) for name in fleet.names]
    assert cells == [(0, 0), (3, 1), (1, 1)]
    assert [fleet.read(name, None) for name in fleet.names] == cells
    with there.living(fleet) as said:
        assert "1 of the points stands beyond the grid" in said


def test_who_has_no_device_is_told_of(square: Deployment, tmp_path: Path) -> None:
    """The map leaves them out, and would say nothing."""
    points = tmp_path / "points.csv"
    points.write_text("user,x,y\na,1,1\nb,7,3\nc,3,3\nd,5,1\n")
    there = stood(square, Seen(points=str(points)))

    with there.living(there.fleet(devices(square, 3))) as said:
        assert "has 4 people and the deployment 3 devices: the first 3 have one" in said


def test_they_are_devices_of_edge_that_answer_places(square: Deployment) -> None:
    """Nothing between the cell and the frame is of ours."""
    there = stood(square, Seen())
    fleet = there.fleet(devices(square, 3))

    assert {type(fleet.node(name)) for name in fleet.names} == {Node}
    assert {fleet.node(name).meta()["mechanism"] for name in fleet.names} == {"disk"}
    old = fleet.node("node-0")
    fleet.starts_again("node-0", devices(square, 1)[0][1])
    assert fleet.node("node-0") is not old


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (Seen(sources_random=2), "--sources-random came and the deployment asks where people"),
        (Seen(since="08:00"), "--from came"),
        (Seen(points="nowhere.csv"), "nowhere.csv cannot be read"),
        (Seen(points="two.csv"), "two.csv has 2 people and the deployment 3 devices"),
    ],
)
def test_what_no_person_has_is_refused(
    square: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Seen, words: str
) -> None:
    """It would do nothing unnoticed."""
    monkeypatch.chdir(tmp_path)
    Path("two.csv").write_text("user,x,y\na,1,1\nb,2,2\n")
    with pytest.raises(OperatorFault) as caught:
        stood(square, seen)

    assert words in str(caught.value)


def test_a_thermometer_has_no_points(tmp_path: Path) -> None:
    """And says what it has."""
    path = tmp_path / "site.toml"
    path.write_text(config.sample())
    deployment = config.load(path)
    with pytest.raises(OperatorFault, match="--points normal came and the deployment measures"):
        stood(deployment, Seen(points="normal"))


def test_the_commands_go_together(square: Deployment, tmp_path: Path, heatveil: Heatveil) -> None:
    """Enrolled, looked through, reckoned with, and told of what cannot be: another promise."""
    path = tmp_path / "site.toml"
    text = path.read_text().replace("port = 8883", "port = 1883").replace("ca_file", "# ca_file")
    text = text.replace("username", "# username").replace("password_file", "# password_file")
    path.write_text(text.replace("# insecure", "insecure"))
    assert heatveil("enrol", "--config", path).out.startswith("3 devices are enrolled")

    said = heatveil("check", path)
    assert (said.status, "FAULT" in said.out) == (0, False)
    assert "for 3 of 3 sensors" in said.out
    told = heatveil("ledger", "--config", path)
    assert told.status == 1  # no gateway has made the store yet
    reckoned = heatveil("budget", "--config", path)
    assert reckoned.status == 0, reckoned.err
    assert "a place told by gps each" in reckoned.out
    assert "grains" not in reckoned.out
    refused = heatveil("budget", "--config", path, "--sensor", "tmp117")
    assert (refused.status, "asks for a place" in refused.err) == (1, True)
    more = path.read_text().replace('epsilon = "7/2"', 'epsilon = "7/1"')
    path.write_text(more)
    said = heatveil("check", path)
    assert said.status == 1
    assert "was enrolled to tell another amount with one answer" in said.out
