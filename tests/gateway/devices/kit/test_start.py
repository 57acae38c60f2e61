"""What is said of a frame that the gateway refused, and of the one after it.

From a bare board to its first frame: a real MicroPython, a real broker, a real gateway.
"""

import re
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from edge.core import wire
from edge.host import rootkeys
from gateway.devices import bundle
from gateway.devices.kit import link, selftest, start
from gateway.devices.kit.connect import open_board
from gateway.devices.kit.start import Frame, Listener
from gateway.faults import OperatorFault
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.store.store import Store
from tests import emulator, processes
from tests.gateway.devices.kit.conftest import Ran, running
from tests.processes import find_free_port

WHO = rootkeys.identity("seen", "attic", bytes(range(32)), bytes(32), 5)
OLD, NEW = Frame(2, 1, b"old" * 300), Frame(2, 2, b"new")
LATE = "round 33 closed 0.3 s ago"


@pytest.fixture
def deployment(desk: Any) -> Deployment:
    """Return a deployment whose gateway ran once."""
    found = config.load_deployment(desk.path)
    Store.open_for(found).close()
    return found


@pytest.fixture
def write(deployment: Deployment) -> Callable[..., None]:
    """Return what writes a frame into the store, as the gateway does."""

    def row(frame: Frame, kind: str = "", why: str = "") -> None:
        with sqlite3.connect(deployment.site.database) as store:
            if why:
                store.execute(
                    "INSERT INTO refused (at_s, topic, why, size, frame, kind) VALUES "
                    "(1, ?, ?, ?, ?, ?)",
                    (
                        wire.topic("seen", "attic", "data"),
                        why,
                        frame.bytes,
                        frame.body[:512],
                        kind,
                    ),
                )
                return
            store.execute(
                "INSERT INTO reports (device, key_id, epoch, seq, round, frame, taken_s) VALUES "
                "('attic', ?, ?, ?, ?, ?, 1)",
                (WHO.key_id, frame.epoch, frame.seq, bytes(4), frame.body),
            )
        store.close()

    return row


class Came:
    """An ear to which these frames come, one a look."""

    def __init__(self, *frames: Frame) -> None:
        self.frames = frames

    def wait_more_frames(self, known: int, _: float) -> list[Frame]:
        return list(self.frames[known : known + 1])


def told(deployment: Deployment, *frames: Frame) -> list[str]:
    said: list[str] = []
    start._follow_frames(cast(Listener, Came(*frames)), deployment, WHO, 30, said.append)
    return said


def test_a_frame_that_was_refused_is_no_success(
    deployment: Deployment, write: Callable[..., None]
) -> None:
    """A board answers the old round that the broker kept; what counts is what comes after it."""
    write(OLD, "late", LATE)
    alone = told(deployment, OLD)
    assert f"refused: {LATE}" in alone[0]
    assert "none that counts yet" in alone[-1]
    assert not any("on its disk" in line for line in alone)

    write(NEW)
    both = told(deployment, OLD, NEW)
    assert f"refused: {LATE}" in both[0]
    assert "has it on its disk" in both[-1]


def test_what_the_next_round_does_not_mend_is_a_fault(
    deployment: Deployment, write: Callable[..., None]
) -> None:
    """A wrong place is one for ever; a new device, or new keys, a gateway takes at a reload."""
    write(OLD, "place", "attic is not enrolled for round 3")
    with pytest.raises(OperatorFault, match="attic is not enrolled for round 3"):
        told(deployment, OLD)
    write(NEW, "unknown", "no device is called attic")
    assert "SIGHUP" in told(deployment, NEW)[-1]
    write(NEW, "forged", "the MAC is not that of this message")
    assert "or new keys" in told(deployment, NEW)[-1]


NAME = "attic"
RADIO = """
import network
class WLAN:
    def __init__(self, mode=0): pass
    def active(self, on=True): pass
    def connect(self, ssid, password=None): pass
    def disconnect(self): pass
    def isconnected(self): return False
    def status(self): return 202
    def scan(self): return [(b"ours", b"", 1, -40, 3, 0)]
network.WLAN, network.STAT_WRONG_PASSWORD = WLAN, 202
"""


@pytest.fixture
def broker(desk: Any, brokers: Ran) -> Iterator[None]:
    """Run the deployment's broker."""
    with brokers(desk.path):
        yield


@pytest.fixture
def provision(desk: Any) -> Callable[..., Any]:
    """Return what provisions a stand-in of that name and looks for it."""

    def run(*words: object, name: str = "board") -> Any:
        desk.board(name)
        where = f"folder:{desk.path.parent / name}"
        more = (
            () if (desk.path.parent / name / bundle.CONFIG).exists() else ("--settings", desk.own)
        )
        return desk.run("provision", NAME, "--board", where, *more, *words)

    return run


@pytest.mark.long
@pytest.mark.usefixtures("broker")
def test_its_first_frame_is_seen_at_the_gateway(
    desk: Any, provision: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Provisioned before the gateway starts, then asked by it, and on its disk."""
    monkeypatch.setattr(start, "LONGEST_S", -start.MARGIN_S)
    first = provision("--wait", 30)
    assert "attic is there, boot 1" in first.success
    assert "first frame  none yet" in first.out
    monkeypatch.setattr(start, "LONGEST_S", 30.0)
    with running(desk.path, "serve"):
        second = provision("--wait", 30)

    assert "its MAC is right" in second.success
    assert "has it on its disk" in second.out


@pytest.mark.long
@pytest.mark.usefixtures("broker")
def test_a_board_that_does_not_come_says_why(desk: Any, provision: Any) -> None:
    """Its main.py is spoilt after it was brought there: everything else on the way is right."""
    assert provision("--wait", 0).status == 0
    starts = bundle.read_start_files
    try:
        bundle.read_start_files = lambda: {**starts(), "main.py": b"raise ValueError('mine')\n"}
        said = provision("--wait", 3)
    finally:
        bundle.read_start_files = starts
    assert "not heard at the broker within 3 s" in said.refusal
    assert "lets it in" in said.err
    assert "ValueError: mine" in said.err


@pytest.mark.long
def test_nothing_secret_is_printed_on_the_way(desk: Any, provision: Any) -> None:
    """What a board prints goes into the report of whoever asks for help: no name, no password."""
    desk.own.write_text(desk.own.read_text() + '[wifi]\nssid = "ours"\npassword = "hunter33"\n')
    assert provision("--wait", 0).status == 0
    board = open_board(f"folder:{desk.path.parent / 'board'}")
    impatient = (link._ASK % bundle.CONFIG).replace("range(100)", "range(1)")
    printed = board.run(RADIO + impatient)

    assert printed.splitlines() == ["status STAT_WRONG_PASSWORD", "network True"]
    said = link.explain_link_answers({"status": "STAT_WRONG_PASSWORD", "network": "True"})
    assert "password is another" in said


@pytest.mark.long
@pytest.mark.usefixtures("broker")
def test_doctor_tries_the_way_to_the_broker(desk: Any, provision: Any) -> None:
    """From the board, with what it was given; a broker that went is named, step by step."""
    assert provision("--wait", 0).status == 0
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    well = desk.run("doctor", *where, "--reach")
    assert (well.status, "the broker lets it in" in well.out) == (0, True), well.out

    text = desk.path.read_text().splitlines()
    text = [f"port = {find_free_port()}" if line.startswith("port = ") else line for line in text]
    desk.path.write_text("\n".join(text))
    assert provision("--wait", 0).status == 0
    lost = desk.run("doctor", *where, "--reach")
    assert lost.status == 1
    assert "nobody answers it at the broker's port" in lost.out


# An emulated Pico W with the firmware that you give, from bare to its first frame:
#
#     HEATVEIL_UF2=RPI_PICO_W.uf2 make test ARGS="tests/gateway/devices/kit/test_start.py -rs"
#
# It is slow, and needs an emulator (pip install rp2040py mpremote); without them it is left out,
# also in CI. Its Wi-Fi ends in sockets of this machine, so the broker listens on an address of it
# that is not 127.0.0.1, which for the board is itself.


WITHIN_S = 90.0  # from bare to the gateway, where the machine is not shared
WIFI = '[wifi]\nssid = "emulated"\npassword = "anything"\n'
# Its one-wire bus has nobody on it: what is looked at here is the way, and not the sensor.
OWN = '[driver]\nname = "ds18b20"\npin = 4\n' + WIFI


@pytest.fixture
def own_address() -> str:
    """Return an address of this machine that another would use; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of documentation
        except OSError:
            pytest.skip("this machine has no network but itself")
        return str(probe.getsockname()[0])


@pytest.fixture
def pico(tmp_path: Path) -> Iterator[str]:
    """Return the address of an emulated Pico W that has started."""
    if why := emulator.lacking(with_radio=True):
        pytest.skip(why)
    with emulator.emulated(tmp_path / "emulator.log") as address:
        yield address


def test_an_emulated_pico_comes_to_its_broker(
    desk: Any,
    pico: str,
    own_address: str,
    need: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Real firmware, real mpremote, Wi-Fi, MQTT: its `meta` names the boot that began."""
    port, rules = find_free_port(), tmp_path / "broker.conf"
    rules.write_text(f"listener {port} {own_address}\nallow_anonymous true\n")
    text = re.sub(r"port = \d+", f'host = "{own_address}"\nport = {port}', desk.path.read_text())
    desk.path.write_text(text)
    desk.own.write_text(OWN)
    monkeypatch.setattr(selftest, "try_sensor", lambda *_: selftest.SensorTrial(""))
    with processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL) as broker:
        since_s = time.monotonic()
        words = ("--board", pico, "--settings", desk.own, "--mpy", "--wait", WITHIN_S)
        said = desk.run("provision", "attic", *words)
        broker.terminate()
    assert said.status == 0, said.out + said.err
    assert "the same on CPython" in said.out
    assert "attic is there, boot 1" in said.out
    print(f"from bare to the broker in {time.monotonic() - since_s:.0f} s")
