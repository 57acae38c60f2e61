"""A broker's control topic, and the broker that a gateway brings along."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.devices.broker import control, dynamic, embedded
from gateway.devices.broker.control import BrokerControl, NoAnswerFault
from gateway.devices.broker.doors import (
    RunningBroker,
    StoppedBroker,
    find_broker_folder,
    replace_file,
)
from gateway.devices.broker.doors import open_broker_access as opened
from gateway.faults import OperatorFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import KEEPALIVE_S, Link
from gateway.settings.deployment import Mqtt
from tests import processes
from tests.processes import find_free_port
from tests.waiting import eventually, hearing, may_come

# The topic of mosquitto's dynamic security, spoken to a real mosquitto.

SITE = "testsite"


@pytest.fixture
def gate(doors: Any, pump: Pump) -> Iterator[BrokerControl]:
    """Return a control of a broker that runs."""
    with doors.run():
        control = BrokerControl(doors.comes("gateway"), "control", pump).wait_connected()
        yield control
        control.close()


@pytest.mark.long
def test_everybody_is_known_where_one_answer_cannot_hold_them(gate: BrokerControl) -> None:
    """Of an answer 32 KiB are kept; these names, as long as they may be, take 44."""
    names = [f"{number:063}" for number in range(140)]
    for name in names:
        control.check_answers(
            gate.run_commands(dynamic.compose_device_creation(SITE, name, "secret")),
            "Role not found",
        )
    held = gate.list_clients()

    assert sum(len(json.dumps(held[name])) for name in names) > 1 << 15
    (told,) = gate.run_commands([{"command": "listClients", "count": 1}])
    assert len(held) == told.data["totalCount"]


def test_the_gateway_is_never_shut_out(gate: BrokerControl) -> None:
    """Whoever asks for it, by whatever command."""
    for commands in (
        dynamic.compose_disabling("gateway"),
        dynamic.compose_device_removal("gateway"),
    ):
        with pytest.raises(OperatorFault, match="own user name"):
            gate.run_commands(commands)
    assert not gate.list_clients()["gateway"].get("disabled")


def test_answers_to_others_and_rubbish_are_not_ours(
    gate: BrokerControl, doors: Any, pump: Pump
) -> None:
    """Two who administer at once do not take each other's answers."""
    other = BrokerControl(doors.comes("gateway"), "other", pump).wait_connected()
    told = [
        other.run_commands([{"command": "getRole", "rolename": "none"}])[0].error for _ in range(3)
    ]
    mine = gate.run_commands([{"command": "getClient", "username": "node-0"}])
    for rubbish in (b"", b"[]", b"{}", b'{"responses": [1]}', b'{"responses": [{}]}'):
        gate._take_answers(gate._link, type("Message", (), {"payload": rubbish, "token": (0, 0)}))  # type: ignore[arg-type]
    other.close()

    assert told == ["Role not found"] * 3
    assert mine[0].data["client"]["username"] == "node-0"


def test_a_broker_that_is_away_is_not_asked_later(doors: Any, pump: Pump) -> None:
    """A command must not wait for its return: by then it may be wrong."""
    with doors.run():
        gate = BrokerControl(doors.comes("gateway"), "control", pump).wait_connected()
    assert eventually(lambda: not gate.up)
    with pytest.raises(NoAnswerFault, match="is down"):
        gate.run_commands(dynamic.compose_disabling("node-1"))
    with doors.run():
        assert eventually(lambda: gate.up)
        assert not gate.list_clients()["node-1"].get("disabled")
    gate.close()
    held = json.loads((doors.folder / dynamic.FILE).read_text())
    assert not any(row.get("disabled") for row in held["clients"])


# Brokers of our own: they carry a message, and afterwards there is nothing left of them.


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def folders(tmp: Path) -> list[Path]:
    return list(tmp.glob("heatveil-broker-*"))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mosquitto", "amqtt"])
def test_an_embedded_broker_carries_a_message_and_leaves_nothing(
    kind: str, need: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round trip at QoS 1 and a retained one; then no port, thread, folder or process."""
    if kind == "mosquitto":
        need("mosquitto")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads = set(threading.enumerate())
    with embedded.run_broker(kind) as address, Pump() as pump:
        at = Mqtt(host=address.host, port=address.port, insecure=True)
        sender = Link(at, "sender", pump).wait_connected()
        sender.publish("kept/topic", b"retained", retain=True)
        with hearing(at, "kept/#", "live/#") as came:
            sender.publish("live/topic", b"now")
            assert eventually(lambda: len(came) == 2)
        sender.close()

    assert sorted(one[:2] for one in came) == [("kept/topic", b"retained"), ("live/topic", b"now")]
    assert not listens(address.port)
    assert set(threading.enumerate()) == threads
    assert folders(tmp_path) == []


HOLDER = """
import time
from gateway.devices.broker import embedded
with embedded.run_broker("mosquitto") as address:
    print(address.port, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_broker_dies_with_its_gateway(
    how: signal.Signals, need: Callable[[str], str], tmp_path: Path
) -> None:
    """Even kill -9, which lets nobody clean up, leaves no broker and no folder behind."""
    need("mosquitto")
    command = [sys.executable, "-c", HOLDER]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with processes.Child(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as child:
        port = int(child.stdout.readline())
        assert listens(port)
        child.send_signal(how)

    assert eventually(lambda: not listens(port) and not folders(tmp_path))


# A broker's file is replaced whole or not at all; where devices are let in.


@pytest.fixture
def lax() -> Any:
    """Let this process make files for everybody, as a careless shell does."""
    old = os.umask(0)
    yield
    os.umask(old)


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_what_replaces_a_file_is_for_the_same_eyes(tmp_path: Path, lax: None, mode: int) -> None:
    """Whatever the umask says; and of the way there nothing is left."""
    path = tmp_path / "passwords"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, "new")

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [one.name for one in tmp_path.iterdir()] == ["passwords"]


def test_at_no_moment_may_others_read_it(
    tmp_path: Path, lax: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is for its owner alone from its first byte on; then it gets the mode that it had."""
    path = tmp_path / "passwords"
    path.write_text("old")
    path.chmod(0o600)
    seen: list[int] = []
    fchmod: Callable[[int, int], None] = os.fchmod

    def look(file: int, mode: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        fchmod(file, mode)

    monkeypatch.setattr(os, "fchmod", look)
    replace_file(path, "new")

    assert seen == [0o600]


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_disk_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A broker with half a list of passwords would let nobody in."""
    path = tmp_path / "passwords"
    path.write_text("old")
    monkeypatch.setattr(os, step, Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OperatorFault, match="No space left on device.*stays as it was"):
        replace_file(path, "new")

    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["passwords"]


def test_a_link_laid_beside_it_is_not_followed(tmp_path: Path) -> None:
    """Who may write in the folder must not make us write somewhere else."""
    path, other = tmp_path / "passwords", tmp_path / "other"
    path.write_text("old")
    other.write_text("precious")
    (tmp_path / "passwords.new").symlink_to(other)
    replace_file(path, "new")

    assert (path.read_text(), other.read_text()) == ("new", "precious")
    assert not path.is_symlink()


@pytest.mark.parametrize(
    ("lists", "meant"),
    [
        ({"broker", "other"}, "other"),
        ({"other"}, "other"),
        ({"broker"}, "broker"),
        (set(), "broker"),
    ],
)
def test_the_files_beside_the_certificate_are_the_brokers(
    tmp_path: Path, lists: set[str], meant: str
) -> None:
    """Else a device that is removed would go from old files, and still come to the broker."""
    for name in ("broker", "other"):
        (tmp_path / name).mkdir()
    for name in lists:
        (tmp_path / name / dynamic.FILE).write_text("{}")
    broker = Mqtt(host="127.0.0.1", ca_file=tmp_path / "other" / "ca.pem")

    assert find_broker_folder(broker, tmp_path / "gateway.toml") == tmp_path / meant


def named(mqtt: Mqtt) -> Mqtt:
    return mqtt.model_copy(update={"username": "gateway"})


def test_the_way_in_is_the_one_that_is_there(
    doors: Any, mosquitto: Mqtt, tmp_path: Path, need: Callable[[str], str]
) -> None:
    """Asked where it runs, its file where it rests, or somebody else's broker."""
    gateway = doors.comes("gateway")
    with opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, StoppedBroker)
    with doors.run(), opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, RunningBroker)
    nobody = Mqtt(host="127.0.0.1", port=find_free_port(), insecure=True, username="gateway")
    with opened(nobody, SITE, tmp_path / "none") as door:
        assert door is None


def test_a_broker_that_runs_without_its_plugin_is_not_written_behind(
    doors: Any, mosquitto: Mqtt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file says dynamic security and nobody answers: to write it would change nothing."""
    monkeypatch.setattr(control.BrokerControl.run_commands, "__defaults__", (0.3,))
    before = (doors.folder / dynamic.FILE).read_bytes()
    with pytest.raises(NoAnswerFault), opened(named(mosquitto), SITE, doors.folder):
        pass
    assert (doors.folder / dynamic.FILE).read_bytes() == before
    with opened(named(mosquitto), SITE, tmp_path / "none") as door:
        assert door is None, "somebody else's broker, of which nothing is known here"


def test_who_is_removed_renewed_or_shut_out_is_cut_off_at_once(doors: Any) -> None:
    """By the command; the neighbour's link does not blink, which is the control."""
    with doors.run(), Pump("test") as pump:
        lost: set[str] = set()

        def hearing(name: str) -> Callable[[bool, str], None]:
            return lambda up, _: None if up else lost.add(name)

        links = [
            Link(
                doors.comes(name), f"heatveil-{SITE}-{name}", pump, on_state=hearing(name)
            ).wait_connected()
            for name in ("node-0", "node-1", "node-2", "node-3")
        ]
        with opened(doors.comes("gateway"), SITE, doors.folder) as door:
            door.remove_device("node-1")
            door.change_password("node-2", "another")
            door.disable_device("node-3")
        # By the broker's own word, and not for want of a sign of life.
        assert eventually(lambda: lost == {"node-1", "node-2", "node-3"}, KEEPALIVE_S / 2)
        for link in links:
            link.close()
        assert not may_come(pump, doors.comes("node-1"))
        assert not may_come(pump, doors.comes("node-2"))
        assert not may_come(pump, doors.comes("node-3"))
        assert may_come(pump, doors.comes("node-2", "another"))
