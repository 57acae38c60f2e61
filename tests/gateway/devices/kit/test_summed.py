"""A board in a served secure sum: provisioned from the fleet it was enrolled with, then added up.

On a real MicroPython, with a board's own start, link and arithmetic, at a real broker.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.devices.kit import selftest
from gateway.devices.kit.boards import BoardFault
from gateway.settings import config
from tests import processes
from tests.gateway.devices.kit.conftest import Ran
from tests.gateway.devices.kit.test_tells import FIXED, PROGRAM, Park
from tests.waiting import eventually

NAME = "node-3"
SITE = """
[site]
name = "square"
[room]
cells = [8, 8]
[quadtree]
devices = 4
adjacency = "replace-one"
rounds = 1
[privacy]
epsilon = "64/1"
[rounds]
mechanism = "quadtree"
gather_s = 120
every_s = 0
[mqtt]
port = {port}
insecure = true
[page]
port = {page}
"""


@pytest.fixture
def square(desk: Any) -> Park:
    """Return a deployment of four people, and a board with edge on it beside it."""
    folder = desk.path.parent / "square"
    folder.mkdir()
    made = Park(folder / "site.toml", folder / "own.toml", desk)
    made.path.write_text(SITE.format(port=find_free_port(), page=find_free_port()))
    made.own.write_text(FIXED)
    assert desk.heatveil("enrol", "--config", made.path).status == 0
    desk.board()
    return made


@pytest.fixture
def broker(square: Park, brokers: Ran) -> Iterator[int]:
    """Run the deployment's broker."""
    with brokers(square.path.parent, config.load(square.path).mqtt.port) as port:
        yield port


def running(square: Park, *words: str) -> processes.Child:
    """Return a command of the deployment that runs beside the test."""
    command = [sys.executable, "-c", PROGRAM, *words, "--config", str(square.path)]
    with square.path.with_name(f"{words[0]}.log").open("wb") as log:
        return processes.Child(command, stdout=log, stderr=log)


@pytest.mark.long
@pytest.mark.usefixtures("broker")
def test_a_board_is_in_the_sum_that_the_gateway_opens(square: Park) -> None:
    """Of four devices that must all be there, one is a board: the map is of four."""
    done = square.run("provision", NAME, "--settings", square.own)
    assert done.status == 0, done.err
    assert "its masks and its noise are those of others" in done.out
    left = json.loads(square.path.with_name("secrets.json").read_text())["devices"]
    assert NAME not in [one["name"] for one in left]
    looked = square.run("doctor")
    assert looked.status == 0, looked.out + looked.err
    said, board = square.path.with_name("serve.log"), square.board(lives=True)
    with running(square, "fleet") as others, running(square, "serve") as gateway:
        board.restart()
        over = eventually(lambda: "epsilon is spent" in said.read_text(), 150, 0.1)
        board.stop()
        others.terminate()
        gateway.terminate()

    assert over, said.read_text()[-3000:] + board.console()
    shown = square.desk.heatveil("show", "--config", square.path)
    assert "4 of 4 devices" in shown.out, shown.out + said.read_text()[-2000:]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("mechanisms/crypto.py", "return cipher(key, 1)", "raise OSError"),
        ("core/shares.py", "rng.below", "0 * rng.below"),
    ],
)
def test_other_masks_or_noise_fail_the_self_test(
    square: Park, file: str, before: str, after: str
) -> None:
    """A board without AES, or whose noise is none."""
    board = square.board()
    selftest.check_sums(board)
    place: Path = square.flash / "edge" / file
    text = place.read_text()
    assert before in text
    place.write_text(text.replace(before, after))

    with pytest.raises(BoardFault):
        selftest.check_sums(board)
