"""A deployment with room for one board more, and a stand-in: a real MicroPython in a folder."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edge.board.binding import Bound
from edge.core import slots
from gateway.devices import bundle
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.kit import boards, modules
from gateway.devices.kit.boardfile import Held
from gateway.devices.kit.connect import StandIn
from tests import processes, sites

Ran = Callable[[Path, int], AbstractContextManager[int]]

OWN = '[driver]\nname = "ds18b20"\npin = 4\nempty = 336\n'


class Desk(NamedTuple):
    """A deployment whose last sensor has no device yet, and what lies beside it."""

    path: Path
    own: Path
    program: str
    template: Path
    heatveil: Callable[..., Any]

    def board(self, name: str = "board", bare: bool = False, **more: Any) -> StandIn:
        """Return a board of that name, with the modules of edge on it if it is not bare."""
        folder = self.path.parent / name
        if not folder.exists():
            if bare:
                folder.mkdir()
            else:
                shutil.copytree(self.template, folder)
        chip = str(folder.resolve()).encode()  # as a command names it: `connect.open_board`
        return StandIn(self.program, folder, chip=chip, **more)

    def run(self, *words: object) -> Any:
        """Run a command; where it would look for the board at a broker, it does not."""
        if words[0] in ("provision", "rotate") and "--wait" not in words:
            words += ("--wait", 0)
        return self.heatveil(*words, "--config", self.path)


def budget_place(flash: Path, held: Held) -> Bound:
    """Return the slots of a board as it reads them itself."""
    place = slots.Files(str(flash / bundle.FOLDER), "budget")
    return Bound(place, held.identity.state_key, bytes.fromhex(held.chip))


@pytest.fixture(scope="session")
def template(need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the modules of edge as they were copied to a stand-in."""
    folder = tmp_path_factory.mktemp("template")
    boards.copy_files(StandIn(need("micropython"), folder), modules.read_small())
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
def brokers(need: Callable[[str], str], answers: Callable[[int], None]) -> Ran:
    """Return what runs a broker on a port; it keeps what it retains as long as the block lasts."""

    @contextmanager
    def run(folder: Path, port: int) -> Iterator[int]:
        rules = folder / "broker.conf"
        rules.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        with processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL) as child:
            answers(port)
            yield port
            child.terminate()

    return run
