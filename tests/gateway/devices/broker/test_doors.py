"""Where devices are let in: asked while the broker runs, written while it rests, never both."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import control, dynamic
from gateway.devices.broker.control import Control, Silence
from gateway.devices.broker.doors import Plain, Resting, Running
from gateway.devices.broker.doors import open_doors as opened
from gateway.devices.broker.dynamic import differ
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.broker.mosquitto import list_device_rights
from gateway.faults import LinkFault, OperatorFault
from gateway.mqtt.pump import Pump
from gateway.mqtt.service import Link
from gateway.operating import Mqtt

SITE = "testsite"


def named(mqtt: Mqtt) -> Mqtt:
    return mqtt.model_copy(update={"username": "gateway"})


def may_come(mqtt: Mqtt, pump: Pump) -> bool:
    link = Link(mqtt, f"heatveil-{SITE}-{mqtt.username}", pump, lasting=False)
    try:
        link.wait(10)
    except LinkFault:
        return False
    link.close()
    return True


def test_the_way_in_is_the_one_that_is_there(
    doors: Any, mosquitto: Mqtt, tmp_path: Path, need: Callable[[str], str]
) -> None:
    """Asked where it runs, its file where it rests, the two files, or somebody else's broker."""
    gateway = doors.comes("gateway")
    with opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, Resting)
    with doors.run(), opened(gateway, SITE, doors.folder) as door:
        assert isinstance(door, Running)
    (plain := tmp_path / "plain").mkdir()
    (plain / "acl").touch()
    with opened(named(mosquitto), SITE, plain) as door:
        assert isinstance(door, Plain)
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
        assert not may_come(doors.comes("node-1"), pump)
        assert not may_come(doors.comes("node-2"), pump)
        assert may_come(doors.comes("node-2", "another"), pump)


def test_a_name_does_not_come_back_with_its_old_password(doors: Any) -> None:
    """Removed and added again it is another device; at rest and running alike."""
    for runs in (True, False):
        if runs:
            with doors.run(), opened(doors.comes("gateway"), SITE, doors.folder) as door:
                assert door is not None
                door.remove("node-1")
                door.add("node-1", "of its own")
        else:
            with opened(doors.comes("gateway"), SITE, doors.folder) as door:
                assert isinstance(door, Resting)
                door.remove("node-3")
                door.add("node-3", "of its own")
    with doors.run(), Pump("test") as pump:
        for name in ("node-1", "node-3"):
            assert not may_come(doors.comes(name), pump)
            assert may_come(doors.comes(name, "of its own"), pump)


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
            with pytest.raises(OperatorFault, match="the gateway's own name"):
                do("gateway")
