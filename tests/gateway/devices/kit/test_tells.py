"""Boards that tell their place: provisioned, looked at and renewed, on a real MicroPython.

The stand-in has a receiver that is at the Brandenburg Gate, and the grid lies around it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edge.mechanisms import disk_limits
from gateway.devices import bundle
from gateway.devices.kit import state
from gateway.devices.kit.boards import list_files, read_file
from gateway.devices.kit.connect import CONSOLE, StandInBoard
from tests.gateway.devices.kit.conftest import Ran, held, running
from tests.processes import find_free_port

NAME = "walker"
GPS = '[driver]\nname = "gps"\nuart = 1\ntx = 4\nrx = 5\n'
FIXED = '[driver]\nname = "fixed"\ncell = [3, 7]\n'
SITE = """
[site]
name = "park"
[room]
cells = [20, 20]
length_m = 200.0
[disk]
devices = 4
corner = [52.517, 13.377]
[privacy]
epsilon = "4/1"
readings = 8
[rounds]
mechanism = "disk"
gather_s = 5
every_s = 12
[mqtt]
port = {port}
insecure = true
"""


class Park(NamedTuple):
    """A deployment of places, one of its devices not yet there; the rest as `desk` has it."""

    path: Path
    own: Path
    desk: Any

    @property
    def flash(self) -> Path:
        """Return the folder that is the board's flash."""
        return self.path.parents[1] / "board"

    def board(self, **more: Any) -> StandInBoard:
        """Return the board, with the modules of edge on it."""
        board: StandInBoard = self.desk.board(**more)
        return board

    def run(self, *words: object) -> Any:
        """Run a command on the board; it is not looked for at a broker."""
        if words[0] in ("provision", "rotate") and "--wait" not in words:
            words += ("--wait", 0)
        where = ("--board", f"folder:{self.flash}")
        return self.desk.heatveil(*words, *where, "--config", self.path)

    def change(self, before: str, after: str) -> None:
        """Change a line of the deployment."""
        text = self.path.read_text()
        assert before in text
        self.path.write_text(text.replace(before, after))


@pytest.fixture
def park(desk: Any) -> Park:
    """Return the deployment of places, with a bare board beside it."""
    folder = desk.path.parent / "park"
    folder.mkdir()
    made = Park(folder / "site.toml", folder / "own.toml", desk)
    made.path.write_text(SITE.format(port=find_free_port()))
    made.own.write_text(GPS)
    assert desk.heatveil("enrol", "--config", made.path).status == 0
    removed = desk.heatveil("device", "remove", "node-3", "--config", made.path)
    assert removed.status == 0, removed.err
    desk.board()
    return made


@pytest.mark.long
def test_a_bare_board_comes_to_tell_its_place(park: Park) -> None:
    """Enrolled, self-tested, its receiver heard; budget and doctor count what its promise does."""
    done = park.run("provision", NAME, "--settings", park.own)
    assert "the same on CPython; it answers with a place of its Round's" in done.success
    assert "\nsensor       it answers, and is pretended" in done.out
    assert "8 answers; read back" in done.out

    board = park.board()
    told = json.loads(read_file(board, bundle.CONFIG))
    assert (told["mechanism"], told["driver"]["name"]) == ("disk", "gps")
    assert len(told["plane"]) == 8
    mine = held(park, NAME)
    assert (mine.given, mine.mechanism) == (True, "disk")
    seen = state.read_board_state(board, mine.identity.mac_key)
    assert (seen.mechanism, seen.answers_left, seen.budget_state) == ("disk", 8, "ready")
    num, den = disk_limits.total_epsilon(seen.limits)
    assert num / den == pytest.approx(4)

    looked = park.run("doctor")
    assert looked.status == 0, looked.out
    assert "tells its place by gps" in looked.out
    assert "sensor       it answers" in looked.out
    again = park.run("provision", NAME)
    assert "left as it is" in again.success


WHERE = """
import machine
from edge.board import config, places
from edge.core.records import Grid
held = config.load("heatveil.json")
one = places.open_on_board(held, machine)
print(*one.read(Grid((20, 20), 10000)))
"""


def test_the_board_finds_the_cell_that_it_is_in(park: Park) -> None:
    """From its own config to its own receiver: 47 m east and 78 m south of the corner."""
    assert park.run("provision", NAME, "--settings", park.own).status == 0

    # A second of latitude is 30.9 m there and one of longitude 18.8 m: cells of 10 m.
    assert park.board().run(WHERE) == "4 7\n"


def test_a_grid_that_moved_is_told_to_the_board(park: Park) -> None:
    """Its keys stay; a device that knew the old corner would answer the wrong cell."""
    assert park.run("provision", NAME, "--settings", park.own).status == 0
    before = json.loads(read_file(park.board(), bundle.CONFIG))
    park.change("corner = [52.517, 13.377]", "corner = [52.518, 13.377]\nbearing = 90")
    assert park.run("provision", NAME).status == 0
    after = json.loads(read_file(park.board(), bundle.CONFIG))

    assert after["plane"][0] - before["plane"][0] == pytest.approx(10_000, abs=1)
    assert after["mac_key"] == before["mac_key"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("own", "change", "says"),
    [
        (GPS, ("corner = [52.517, 13.377]", ""), "has no corner.*Write corner = "),
        (GPS, ("corner = [52.517, 13.377]", "corner = [13.3, 152.5]\nbearing = 400"), "bearing"),
        (GPS, ("[52.517, 13.377]", "[97.0, 13.4]"), "corner is 97, 13.4; needed.*wrong way round"),
        (GPS, ("length_m = 200.0", ""), "no size in metres.*length_m"),
        (GPS, ("length_m = 200.0", "length_m = 2000000.0"), "a tenth of a cell"),
        (GPS + "until_mm = [1, 200000]\n", None, "until_mm of the settings is.*0 to 199999"),
        (FIXED.replace("3, 7", "3, 20"), None, r"cell of the settings is \[3, 20\].*0 to 19"),
        ("wake_s = 60\n" + GPS, None, "wake_s goes with until_mm"),
        ('[driver]\nname = "tmp117"\nsda = 4\nscl = 5\n', None, "tmp117 tells no place"),
        (GPS.replace("tx = 4", ""), None, "gps is named without tx.*belong to the flash"),
        (GPS.replace("tx = 4", "tx = 5"), None, "tx = 5 and rx = 5"),
        (GPS.replace("rx = 5", "rx = -5"), None, "rx = -5"),
        (GPS + 'baud = "9600"\n', None, r"baud under \[driver\].*a whole number"),
        (FIXED.replace("[3, 7]", '"3, 7"'), None, "cell under.*a list in brackets"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(
    park: Park, own: str, change: tuple[str, str] | None, says: str
) -> None:
    """On the desk: no device is enrolled by it, and nothing is on the board."""
    park.own.write_text(own)
    if change:
        park.change(*change)
    said = park.run("provision", NAME, "--settings", park.own)

    assert said.status == 1
    assert re.search(says, said.err), said.err
    assert bundle.CONFIG not in list_files(park.board(), ".")
    assert not list(park.path.parent.glob(f"{NAME}.*"))


@pytest.fixture
def broker(park: Park, brokers: Ran) -> Iterator[None]:
    """Run the deployment's broker."""
    with brokers(park.path):
        yield


def counted(park: Park) -> str:
    """Have a gateway run till the board's first answer is on its disk; return what all say."""
    with running(park.path, "serve") as log:
        said = park.run("provision", NAME, "--wait", 40)
    assert said.status == 0, said.err + log.read_text()[-2000:]
    assert "its MAC is right" in said.out
    assert "has it on its disk" in said.out
    return str(said.out + said.err + log.read_text() + (park.flash / CONSOLE).read_text())


@pytest.mark.long
@pytest.mark.usefixtures("broker")
def test_its_first_frame_is_in_the_gateways_round(park: Park) -> None:
    """Provisioned, started, asked by a gateway that runs, its answer on the disk; no cell is told.

    What the board's receiver says, where it is, and in which cell, stands nowhere but in it.
    """
    assert park.run("provision", NAME, "--settings", park.own).status == 0
    told = counted(park)

    assert not re.search(r"52\.5163|5230\.97|13\.3777|01322\.66|\(4, 7\)", told)
    left = [file.read_bytes() for file in park.flash.rglob("*") if file.is_file()]
    ours = [text for text in left if b"5230.97" in text]
    assert len(ours) == 1  # the firmware's own stand-in for a sky
