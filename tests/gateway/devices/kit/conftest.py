"""A deployment with room for one board more, and a stand-in: a real MicroPython in a folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edge.board.binding import Bound
from edge.core import wire
from edge.core.budget import Budget, Files, Limits
from edge.core.entropy import Identity
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal
from gateway.cli.devices.provision import find_board_file
from gateway.devices import bundle
from gateway.devices.kit import boards, modules
from gateway.devices.kit.boardfile import BoardFile
from gateway.devices.kit.connect import StandInBoard
from gateway.settings import config
from tests import processes, sites
from tests.processes import find_free_port

Ran = Callable[[Path], AbstractContextManager[None]]
PROGRAM = "import sys; from gateway.cli import main; sys.argv[0] = 'heatveil'; main()"

OWN = '[driver]\nname = "ds18b20"\npin = 4\nempty = 336\n'


class Desk(NamedTuple):
    """A deployment whose last sensor has no device yet, and what lies beside it."""

    path: Path
    own: Path
    program: str
    template: Path
    heatveil: Callable[..., Any]

    def board(self, name: str = "board", bare: bool = False, **more: Any) -> StandInBoard:
        """Return a board of that name, with the modules of edge on it if it is not bare."""
        folder = self.path.parent / name
        if not folder.exists():
            if bare:
                folder.mkdir()
            else:
                shutil.copytree(self.template, folder)
        chip = str(folder.resolve()).encode()  # as a command names it: `connect.open_board`
        return StandInBoard(self.program, folder, chip=chip, **more)

    def run(self, *words: object) -> Any:
        """Run a command; where it would look for the board at a broker, it does not."""
        if words[0] in ("provision", "rotate") and "--wait" not in words:
            words += ("--wait", 0)
        return self.heatveil(*words, "--config", self.path)


def held(desk: Any, name: str = "attic") -> BoardFile:
    """Return what the host keeps of a device: the file of its enrolment, or that of its board."""
    found = find_board_file(desk.path, name, desk.path.with_name(f"{name}.device.json"))
    assert found is not None
    return found


def budget_place(flash: Path, held: BoardFile) -> Bound:
    """Return the slots of a board as it reads them itself."""
    place = Files(str(flash / bundle.FOLDER), "budget")
    return Bound(place, held.identity.state_key, bytes.fromhex(held.chip))


def first_frame(who: Identity, root: bytes, variance: int = 250_000) -> bytes:
    """Return what a real node of that root says first, to a Round of its site."""
    place = Ram()
    held = Limits(1, 8, 1, variance, 10**12, 0)
    provision(place, who.state_key, rootkeys.first_chain(root), held)
    budget = Budget(place, who.state_key)
    budget.boot()
    promise = Guarantee((1, 1), (1, 100_000), (1, 8), "a move", "local", "a day", "presence")
    params = thermal.Params(who.sensors, 8, -8000, 8000, variance, 1, 0)
    asked = Round(1, "thermal", Grid((10, 1), 100), tuple(params), promise)
    message = post.pack_round(asked, who.site_key, wire.round_topic(who.site, "thermal"))
    return bytes(Node(who, budget).answer(message, lambda _: [0] * who.sensors))


@pytest.fixture(scope="session")
def template(need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the modules of edge as they were copied to a stand-in."""
    folder = tmp_path_factory.mktemp("template")
    boards.copy_files(StandInBoard(need("micropython"), folder), modules.read_shrunk_sources())
    return folder


@pytest.fixture
def desk(
    tmp_path: Path,
    need: Callable[[str], str],
    heatveil: Callable[..., Any],
    template: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    """Return a deployment of six sensors, one of them without a device."""
    path, own = tmp_path / "site.toml", tmp_path / "own.toml"
    path.write_text(sites.small("seen", find_free_port(), adc_step="1/16", every_s=12))
    own.write_text(OWN)
    program = need("micropython")
    monkeypatch.setenv("PATH", str(Path(program).parent), prepend=":")
    assert heatveil("enrol", "--config", path).status == 0
    assert heatveil("device", "remove", "node-5", "--config", path).status == 0
    return Desk(path, own, program, template, heatveil)


@pytest.fixture
def made(desk: Desk) -> tuple[str, str]:
    """Return the words that name a stand-in which is the device attic."""
    desk.board()
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    done = desk.run("provision", "attic", *where, "--settings", desk.own)
    assert done.status == 0, done.err
    return where


@pytest.fixture
def brokers(need: Callable[[str], str], answers: Callable[[int], None]) -> Ran:
    """Return what runs a deployment's broker; it keeps what it retains while the block lasts."""

    @contextmanager
    def run(path: Path) -> Iterator[None]:
        rules, port = path.with_name("broker.conf"), config.load_deployment(path).mqtt.port
        rules.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        with processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL) as child:
            answers(port)
            yield
            child.terminate()

    return run


@contextmanager
def running(path: Path, command: str) -> Iterator[Path]:
    """Run a command of the deployment beside the test; return the file of what it says."""
    if "[page]" not in path.read_text():
        path.write_text(f"{path.read_text()}\n[page]\nport = {find_free_port()}\n")
    log = path.with_name(f"{command}.log")
    words = [sys.executable, "-c", PROGRAM, command, "--config", path]
    with log.open("wb") as out, processes.Child(words, stdout=out, stderr=out) as process:
        try:
            yield log
        finally:
            process.terminate()
