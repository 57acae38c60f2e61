"""A broker's file is replaced whole or not at all, and never for more eyes than before.

Where devices are let in: asked while the broker runs, written while it rests, never both.
"""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import control, dynamic
from gateway.devices.broker.control import Control, Silence
from gateway.devices.broker.doors import Resting, Running, find_folder, replace_file
from gateway.devices.broker.doors import open_doors as opened
from gateway.devices.broker.dynamic import differ
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.broker.mosquitto import list_device_rights
from gateway.faults import OperatorFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from tests.waiting import may_come


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

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
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

    assert find_folder(broker, tmp_path / "gateway.toml") == tmp_path / meant


SITE = "testsite"


def named(mqtt: Mqtt) -> Mqtt:
    return mqtt.model_copy(update={"username": "gateway"})


def test_the_way_in_is_the_one_that_is_there(
    doors: Any, mosquitto: Mqtt, tmp_path: Path, need: Callable[[str], str]
) -> None:
    """Asked where it runs, its file where it rests, or somebody else's broker."""
    gateway = doors.comes("gateway")
    with opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, Resting)
    with doors.run(), opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, Running)
    nobody = Mqtt(host="127.0.0.1", port=find_free_port(), insecure=True, username="gateway")
    with opened(nobody, SITE, tmp_path / "none") as door:
        assert door is None


def test_a_broker_that_runs_without_its_plugin_is_not_written_behind(
    doors: Any, mosquitto: Mqtt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file says dynamic security and nobody answers: to write it would change nothing."""
    monkeypatch.setattr(control.Control.ask, "__defaults__", (0.3,))
    before = (doors.folder / dynamic.FILE).read_bytes()
    with pytest.raises(Silence), opened(named(mosquitto), SITE, doors.folder):
        pass
    assert (doors.folder / dynamic.FILE).read_bytes() == before
    with opened(named(mosquitto), SITE, tmp_path / "none") as door:
        assert door is None, "somebody else's broker, of which nothing is known here"


def test_who_is_removed_or_renewed_is_cut_off_at_once(doors: Any) -> None:
    """Before the command is over; the neighbour's link does not blink, which is the control."""
    with doors.run(), Pump("test") as pump:
        lost: dict[str, float] = {}

        def hearing(name: str) -> Callable[[bool, str], None]:
            return lambda up, _: None if up else lost.setdefault(name, time.monotonic()) and None

        links = [
            Link(doors.comes(name), f"heatveil-{SITE}-{name}", pump, on_state=hearing(name)).wait()
            for name in ("node-0", "node-1", "node-2")
        ]
        with opened(doors.comes("gateway"), SITE, doors.folder) as door:
            assert door is not None
            door.remove("node-1")
            door.rotate("node-2", "another")
        over_s = time.monotonic()
        while len(lost) < 2 and time.monotonic() < over_s + 1:
            time.sleep(0.005)
        assert lost.keys() == {"node-1", "node-2"}
        assert max(lost.values()) < over_s + 0.2
        for link in links:
            link.close()
        assert not may_come(pump, doors.comes("node-1"))
        assert not may_come(pump, doors.comes("node-2"))
        assert may_come(pump, doors.comes("node-2", "another"))


def test_rights_that_somebody_widened_are_put_right_with_the_password(doors: Any) -> None:
    """So that what `heatveil check` finds is mended by what it says."""
    wanted = dynamic.make_acls(list_device_rights(SITE, "node-1"))
    with doors.run(), Pump("test") as pump:
        gate = Control(doors.comes("gateway"), "control", pump).wait()
        role = dynamic.name_role("node-1")
        wide = {"acltype": "publishClientSend", "topic": "#", "priority": 0, "allow": True}
        ask: list[dict[str, Any]] = [{"command": "addRoleACL", "rolename": role, **wide}]
        control.expect(gate.ask(ask))

        def held() -> Any:
            return gate.ask([{"command": "getRole", "rolename": role}])[0].data["role"]

        assert differ(held(), wanted)
        with opened(doors.comes("gateway"), SITE, doors.folder) as door:
            assert door is not None
            door.rotate("node-1", "another")
        assert not differ(held(), wanted)
        gate.close()


def test_the_gateways_own_name_is_not_touched(doors: Any) -> None:
    """Without it no reading arrives."""
    with doors.run(), opened(doors.comes("gateway"), SITE, doors.folder) as door:
        assert door is not None
        for do in (door.remove, door.disable):
            with pytest.raises(OperatorFault, match="the gateway's own user name"):
                do("gateway")
