"""Several rooms on one floor: the maps of other gateways, read from their stores."""

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import AskedRound
from gateway.service.telling import make_ready_event
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.store.store import Store
from gateway.web.floor import read_floor
from gateway.web.server import Page

from .conftest import PRICE
from .test_page import BRIGHT, Opened, Until, coloured, drawn, read, shown

PLACED = '[[page.floor]]\nsettings = "hall/gateway.toml"\ncorner_m = [{}, 0.0]\n'
FULL = [[0.0] * 6 for _ in range(3)] + [[0.0] * 5 + [1.0]]


def write(folder: Path, name: str, more: str = "", cells: str = "[6, 4]") -> Path:
    """Return a deployment file of a room of 6 m by 4 m."""
    folder.mkdir(exist_ok=True)
    path = folder / "gateway.toml"
    path.write_text(
        f'[site]\nname = "{name}"\ndatabase = "{name}.sqlite"\n[room]\ncells = {cells}\n'
        "length_m = 6.0\n[heat]\nspread_m2 = 1.0\nintensity_max = 1.0\n[sensors]\n"
        f'count = {cells}\n[privacy]\nepsilon = "8/1"\ndelta = "1/100000"\n[rounds]\n'
        f'mechanism = "thermal"\nevery_s = 3600\n{more}'
    )
    return path


def beside(folder: Path, **rooms: str) -> Deployment:
    """Return our deployment, with rooms beside it so many metres to the right."""
    for name in rooms:
        write(folder / name, name)
    placed = (PLACED.format(at).replace("hall", name) for name, at in rooms.items())
    return config.load_deployment(write(folder, "lab", "".join(placed)))


@pytest.fixture
def hall(tmp_path: Path, home: Any) -> Callable[..., None]:
    """Return what keeps a map in the hall's store, of a round that closed at a time."""

    def keep(number: int, closed_s: float, total: float, rounds: int = 9, **more: Any) -> None:
        store = Store(tmp_path / "hall" / "hall.sqlite", "hall")
        name = number.to_bytes(4, "big")
        asked = AskedRound(name, name, home.round(number), b"message", PRICE)
        assert store.open_round(asked, rounds * PRICE, keys=dict.fromkeys("abcd", b"")) == ""
        store.close_round(name, [number, None], 1)
        store.keep_map(name, json.dumps(drawn(number, 0, mass=FULL, total=total) | more))
        store.close()
        with sqlite3.connect(tmp_path / "hall" / "hall.sqlite") as connection:
            connection.execute(
                "UPDATE rounds SET closed_s = ? WHERE number = ?", (closed_s, number)
            )
        connection.close()

    return keep


def test_the_other_rooms_are_read_from_their_stores_as_they_were(
    tmp_path: Path, hall: Callable[..., None], ask: Callable[..., Any]
) -> None:
    """Now, at a time, before the first map, and where a gateway has not begun."""
    deployment = beside(tmp_path, hall="-6.0", attic="6.0")
    hall(1, 1000.0, 2.0, sensors_used=4)
    hall(2, 2000.0, 3.0, verdict={"level": "clamp", "why": "it is"})
    with Page("127.0.0.1", 0, neighbours=read_floor(deployment)) as page:
        now, attic = ask(page, "/api/v1/floor").json["rooms"]
        then = ask(page, "/api/v1/floor?at_s=1999").json["rooms"][0]
        before = ask(page, "/api/v1/floor?at_s=999").json["rooms"][0]

    assert (now["site"], now["corner_m"], now["shape"]) == ("hall", [-6.0, 0.0], [6, 4])
    assert (now["at_s"], now["map"]["number"], now["map"]["total"]) == (2000.0, 2, 3.0)
    assert now["map"]["verdict"]["level"] == "clamp"
    assert (then["map"]["number"], then["map"]["mass"], then["map"]["verdict"]) == (1, FULL, None)
    assert (before["map"], before["code"]) == (None, "floor.none")
    assert (attic["map"], attic["code"]) == (None, "floor.unread")
    assert str(tmp_path) not in json.dumps(attic)


@pytest.mark.parametrize(
    ("more", "broken", "code"),
    [
        ({"mass": [[0.5, 0.5]]}, "", "floor.grid"),
        ({}, "DROP TABLE maps", "floor.unread"),
        ({}, "UPDATE about SET schema = 1", "floor.unread"),
    ],
)
def test_a_room_that_cannot_be_drawn_says_why_and_takes_no_other_away(
    tmp_path: Path,
    hall: Callable[..., None],
    ask: Callable[..., Any],
    more: dict[str, Any],
    broken: str,
    code: str,
) -> None:
    """Its store is damaged or another heatveil's, or its map is none that this floor can show."""
    deployment = beside(tmp_path, hall="-6.0", attic="6.0")
    hall(1, 1000.0, 2.0, **more)
    with sqlite3.connect(tmp_path / "hall" / "hall.sqlite") as connection:
        connection.execute(broken)
    connection.close()
    with Page("127.0.0.1", 0, neighbours=read_floor(deployment)) as page:
        found, attic = ask(page, "/api/v1/floor").json["rooms"]

    assert (found["map"], found["code"]) == (None, code)
    assert attic["site"] == "attic"


@pytest.mark.parametrize(
    ("own", "other", "why"),
    [
        ("[6, 4]", ("[6, 4]", 3.0), "lie over each other by 3 m x 4 m"),
        ("[6, 1]", ("[6, 4]", 6.0), "is a line"),
        ("[6, 4]", ("6", 6.0), "is a line"),
    ],
)
def test_rooms_that_no_floor_can_have_are_refused(
    tmp_path: Path, own: str, other: tuple[str, float], why: str
) -> None:
    """A room that hides another, or whose colours would mean something else, is nobody's floor."""
    write(tmp_path / "hall", "hall", cells=other[0])
    path = write(tmp_path, "lab", PLACED.format(other[1]), own)

    with pytest.raises(OperatorFault, match=why):
        read_floor(config.load_deployment(path))


def test_a_room_is_not_beside_itself(tmp_path: Path) -> None:
    """It is on its own floor already, however its file is reached."""
    (tmp_path / "hall").symlink_to(tmp_path)
    path = write(tmp_path, "lab", PLACED.format(9.0))

    with pytest.raises(OperatorFault, match="the room of this page"):
        read_floor(config.load_deployment(path))


def test_rooms_of_one_name_are_told_apart_by_another(tmp_path: Path) -> None:
    """Two rooms that are called the same are one room to whoever looks."""
    write(tmp_path / "hall", "lab")
    placed = PLACED.format(6.0)

    with pytest.raises(OperatorFault, match="two rooms of the floor are called lab"):
        read_floor(config.load_deployment(write(tmp_path, "lab", placed)))
    named = config.load_deployment(write(tmp_path, "lab", placed + 'name = "hall"\n'))
    assert [one.name for one in read_floor(named)] == ["hall"]


def test_the_floor_is_drawn_in_one_scale(
    tmp_path: Path, hall: Callable[..., None], opened: Opened, until: Until
) -> None:
    """The fuller room is bright, ours is not; without other rooms there is no floor."""
    deployment = beside(tmp_path, hall="6.0")
    hall(1, time.time(), 4.0)
    ours = drawn(1, 0, mass=FULL[::-1], total=1.0)
    with Page("127.0.0.1", 0, neighbours=read_floor(deployment)) as page:
        page.feed.put_event(make_ready_event(deployment, 24))
        page.feed.put_event(ours)
        tab = opened(page.url, 1000)
        until(tab, shown(1))
        until(tab, "document.querySelectorAll('#storey-rooms li').length == 2")
        rows = read(tab, "#storey-rooms")
        bright = [coloured(tab, BRIGHT, side, "storey") for side in ("left", "right")]
        page.feed.put_event({**make_ready_event(deployment, 24), "neighbours": 0})
        until(tab, "document.getElementById('storey-box').hidden")

        assert tab.said == []
        assert {url.split("/")[2] for url in tab.asked} == {page.url.split("/")[2]}
    assert "lab (this page): Strength 1.00 K m²" in rows
    assert "hall: Strength 4.00 K m²" in rows
    assert bright == [False, True]


def test_what_is_not_to_be_trusted_does_not_make_the_scale(
    tmp_path: Path, hall: Callable[..., None], opened: Opened, until: Until
) -> None:
    """Nor does what is old: a wrong map of a hundred people would leave the others dark."""
    deployment = beside(tmp_path, hall="6.0")
    hall(1, time.time(), 400.0, verdict={"level": "clamp", "why": "it is"})
    with Page("127.0.0.1", 0, neighbours=read_floor(deployment)) as page:
        page.feed.put_event(make_ready_event(deployment, 24))
        page.feed.put_event(drawn(1, 0, mass=FULL[::-1], total=1.0))
        tab = opened(page.url, 1000)
        until(tab, "document.querySelectorAll('#storey-rooms li').length == 2")

        assert coloured(tab, BRIGHT, "left", "storey")
        assert not coloured(tab, BRIGHT, "right", "storey")
