"""The plugin's file of a broker that rests, changed by one device; the plugin is the judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import dynamic
from gateway.devices.broker.control import Control, expect
from gateway.devices.broker.doors import Resting
from gateway.devices.broker.dynamic import MARK, differ, has_role, is_device
from gateway.devices.broker.mosquitto import derive_session, list_device_rights
from gateway.faults import LinkFault, OperatorFault
from gateway.mqtt.pump import Pump
from gateway.mqtt.service import Link

SITE = "testsite"


def held(doors: Any) -> dict[str, dict[str, Any]]:
    body = dynamic.parse((doors.folder / dynamic.FILE).read_text())
    return {row["username"]: row for row in body["clients"]}


def test_what_is_written_is_what_the_plugin_itself_would_have(doors: Any) -> None:
    """Added at rest and added by the broker: rights, session and state are the same."""
    Resting(SITE, doors.folder / dynamic.FILE).add("attic", "sesame")
    at_rest = held(doors)["attic"]
    with doors.run(), Pump("test") as pump:
        gate = Control(doors.comes("gateway"), "control", pump).wait()
        expect(gate.ask(dynamic.compose_create(SITE, "cellar", "sesame")), "Role not found")
        rows = gate.clients()
        (answer,) = gate.ask([{"command": "getRole", "rolename": dynamic.name_role("attic")}])
        (other,) = gate.ask([{"command": "getRole", "rolename": dynamic.name_role("cellar")}])
        gate.close()

    def rights(role: Any, name: str) -> set[tuple[str, str]]:
        return {(one["acltype"], one["topic"].replace(name, "X")) for one in role["acls"]}

    assert rows["attic"]["clientid"] == derive_session(SITE, "attic", "sesame")
    assert at_rest["clientid"] == rows["attic"]["clientid"]
    assert rights(answer.data["role"], "attic") == rights(other.data["role"], "cellar")
    assert has_role(rows["attic"], "attic")
    assert has_role(rows["cellar"], "cellar")


def test_who_is_shut_out_at_rest_does_not_come_in(doors: Any) -> None:
    """With our mark, so that the gateway may let it back; and then it comes, the control."""
    door = Resting(SITE, doors.folder / dynamic.FILE)
    door.disable("node-1")
    door.disable("stranger")  # of whom there is nothing to shut out

    def comes() -> bool:
        with doors.run(), Pump("test") as pump:
            link = Link(doors.comes("node-1"), "any", pump, lasting=False)
            try:
                link.wait(10)
            except LinkFault:
                return False
            link.close()
            return True

    assert held(doors)["node-1"]["textdescription"] == MARK
    assert not comes()
    door.enable("node-1")
    assert "textdescription" not in held(doors)["node-1"]
    assert comes()


def test_who_goes_takes_its_role_along_and_nothing_else(doors: Any) -> None:
    """Twice is as once; whoever else is in the file stays as it was."""
    path = doors.folder / dynamic.FILE
    before, door = json.loads(path.read_text()), Resting(SITE, path)
    door.remove("node-2")
    door.remove("node-2")
    after = json.loads(path.read_text())

    assert not door.knows("node-2")
    assert door.knows("node-1")
    gone = {"clients": ("username", "node-2"), "roles": ("rolename", dynamic.name_role("node-2"))}
    for part, (key, name) in gone.items():
        assert after[part] == [row for row in before[part] if row[key] != name]
    assert after["defaultACLAccess"] == before["defaultACLAccess"]


@pytest.mark.parametrize("do", [lambda door: door.knows("x"), lambda door: door.remove("x")])
def test_a_file_that_is_none_is_told_and_left(
    tmp_path: Path, do: Callable[[Resting], object]
) -> None:
    """In one line."""
    path = tmp_path / dynamic.FILE
    path.write_text('{"clients": [{}], "roles": []}')
    with pytest.raises(OperatorFault, match="cannot be read"):
        do(Resting(SITE, path))
    assert path.read_text() == '{"clients": [{}], "roles": []}'


def test_a_role_that_lets_more_or_less_differs() -> None:
    """One right more is a hole, one less is a device that is not heard; the order is nothing."""
    wanted = dynamic.make_acls(list_device_rights(SITE, "attic"))
    more = {"acltype": "publishClientSend", "topic": "heatveil/1/testsite/#", "allow": True}
    denied = {**wanted[0], "allow": False}

    assert not differ({"acls": wanted[::-1]}, wanted)
    assert differ({"acls": [*wanted, more]}, wanted)
    assert differ({"acls": wanted[1:]}, wanted)
    assert differ({"acls": [denied, *wanted[1:]]}, wanted)
    assert differ(None, wanted)


def test_a_name_of_somebody_else_is_no_device() -> None:
    """Nor is one that has another device's role."""
    row = dynamic.make_client("attic", "x", dynamic.name_role("attic"), bytes(12))

    assert is_device(row, "attic")
    assert not is_device(None, "attic")
    for other in ({**row, "roles": []}, {**row, "roles": [{"rolename": dynamic.name_role("b")}]}):
        with pytest.raises(OperatorFault, match="no device of ours"):
            is_device(other, "attic")
