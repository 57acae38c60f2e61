"""Commands to the plugin: each names one client or one role, and none the gateway's.

The plugin's file of a broker that rests, changed by one device; the plugin is the judge.

The file of the plugin: complete, denying, hashed as mosquitto hashes; never overwritten.
"""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import dynamic
from gateway.devices.broker.control import Control, expect
from gateway.devices.broker.doors import Resting
from gateway.devices.broker.dynamic import MARK, differ, has_role, is_device
from gateway.devices.broker.mosquitto import CONTROL, derive_session, list_device_rights
from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault
from gateway.service.mqtt.pump import Pump
from gateway.settings import config
from tests import processes
from tests.waiting import may_come


def test_no_password_goes_where_it_need_not() -> None:
    """It is in the one command that sets it; the session's mark does not tell it."""
    for made in (
        dynamic.compose_create("lab", "attic", "sesame"),
        dynamic.compose_password("lab", "attic", "sesame"),
    ):
        held = [one for one in made if "sesame" in str(one)]
        assert len(held) == 1
        assert held[0]["password"] == "sesame"
        marked = [one["clientid"] for one in made if "clientid" in one]
        assert marked == [derive_session("lab", "attic", "sesame")]


def test_a_new_password_is_the_last_thing_that_is_said() -> None:
    """It ends the connection: whoever comes again must find the new session in force."""
    assert [one["command"] for one in dynamic.compose_password("lab", "attic", "x")] == [
        "setClientId",
        "setClientPassword",
    ]


@pytest.mark.parametrize(
    "made",
    [
        dynamic.compose_create("lab", "attic", "x"),
        dynamic.compose_delete("attic"),
        dynamic.compose_password("lab", "attic", "x"),
        dynamic.compose_role("lab", "attic"),
        dynamic.compose_disable("attic"),
        dynamic.compose_enable("attic"),
    ],
)
def test_every_command_is_about_this_device_alone(made: list[dynamic.Command]) -> None:
    """By its name or by its role; a device that is shut out is marked as ours."""
    for one in made:
        named = {one.get("username", "attic"), one.get("rolename", dynamic.name_role("attic"))}
        assert named == {"attic", dynamic.name_role("attic")}
        assert "username" in one or "rolename" in one
    assert dynamic.MARK in str(dynamic.compose_disable("attic"))
    assert dynamic.MARK not in str(dynamic.compose_enable("attic"))


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
            return may_come(pump, doors.comes("node-1"))

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
        with pytest.raises(OperatorFault, match="heatveil did not create"):
            is_device(other, "attic")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the sample deployment file, with three devices enrolled beside it."""
    path = tmp_path / "gateway.toml"
    path.write_text(config.sample())
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, tmp_path / "secrets.json")
    return path


@pytest.fixture
def init(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    """Return the command, on a machine that has the plugin."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / dynamic.PLUGIN).touch()
    monkeypatch.setattr(dynamic.find_plugin, "__defaults__", ((f"{tmp_path}/li*",),))
    return lambda *words: heatveil("broker", "init", "--config", site, *words)


def body(site: Path) -> dict[str, Any]:
    return dynamic.parse((site.parent / "broker" / dynamic.FILE).read_text())


def test_the_plugin_is_used_where_it_is(init: Any, site: Path, tmp_path: Path) -> None:
    """Its file is there and those that mosquitto deprecates are not; it is for its owner alone."""
    said = init()
    folder = site.parent / "broker"
    settings = (folder / "mosquitto.conf").read_text().splitlines()

    assert (said.status, said.err) == (0, "")
    assert f"plugin {tmp_path}/lib/{dynamic.PLUGIN}" in settings
    assert f"plugin_opt_config_file {folder}/{dynamic.FILE}" in settings
    assert stat.S_IMODE((folder / dynamic.FILE).stat().st_mode) == 0o600


def test_a_plugin_that_is_not_here_is_refused_or_named(
    init: Any, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it every device could write everything; it may lie on another machine."""
    monkeypatch.setattr(dynamic.find_plugin, "__defaults__", (("/nowhere",),))
    said = init()
    there = site.parent / "broker"
    assert (said.status, there.exists()) == (1, False)
    assert "--plugin" in said.err

    assert init("--plugin", "/elsewhere/it.so").status == 0
    assert "\nplugin /elsewhere/it.so\n" in (there / "mosquitto.conf").read_text()


def test_everything_is_denied_but_what_a_role_names(init: Any, site: Path) -> None:
    """No wildcard above its own name, no default that allows, no password as it is."""
    init()
    held = body(site)
    password = (site.parent / "broker" / "gateway.password").read_text().strip()
    roles = {role["rolename"]: {acl["topic"] for acl in role["acls"]} for role in held["roles"]}

    assert [kind for kind, may in held["defaultACLAccess"].items() if may] == ["unsubscribe"]
    assert [row["username"] for row in held["clients"]] == [
        "gateway",
        "node-0",
        "node-1",
        "node-2",
    ]
    assert all(len(row["roles"]) == 1 for row in held["clients"])
    assert password not in json.dumps(held)
    assert len({row["salt"] for row in held["clients"]}) == 4
    for number in range(3):
        own = roles[dynamic.name_role(f"node-{number}")]
        assert own == {right.topic for right in list_device_rights("lab", f"node-{number}")}
        heard = {f"node-{number}", "round", "sum", "update"}
        assert {topic.split("/")[3] for topic in own} == heard
        assert not any(topic.startswith("$") for topic in own)
    assert [name for name, topics in roles.items() if CONTROL in topics] == ["heatveil-gateway"]


def forget(held: dict[str, Any]) -> None:
    held["clients"].pop()


def rolled(held: dict[str, Any]) -> None:
    held["roles"].pop()


def swapped(held: dict[str, Any]) -> None:
    held["clients"][1]["salt"] = held["clients"][2]["salt"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (forget, "another enrolment"),
        (swapped, "another enrolment"),
        (rolled, "no role for node-2"),
    ],
)
def test_a_file_that_does_not_fit_is_told_and_left(
    init: Any, site: Path, spoil: Callable[[dict[str, Any]], None], words: str
) -> None:
    """Somebody could not get in, or could say nothing."""
    init()
    held = body(site)
    spoil(held)
    path = site.parent / "broker" / dynamic.FILE
    path.write_text(dynamic.dump(held))
    said = init()

    assert said.status == 1
    assert words in said.err
    assert path.read_text() == dynamic.dump(held)


def test_others_whom_the_operator_let_in_are_named(init: Any, site: Path) -> None:
    """A dashboard must not be in the way of a new certificate."""
    init()
    held = body(site)
    held["clients"].append(dynamic.make_client("dashboard", "sesame", "reads", bytes(12)))
    (site.parent / "broker" / dynamic.FILE).write_text(dynamic.dump(held))

    assert init().out.endswith("whom you have added: dashboard\n")


def test_passwords_are_hashed_as_mosquittos_own_tool_hashes_them(
    need: Callable[[str], str], tmp_path: Path
) -> None:
    """What mosquitto_ctrl wrote lets the same password in here, and no other."""
    need("mosquitto")
    path = tmp_path / "theirs.json"
    processes.run(
        ["mosquitto_ctrl", "dynsec", "init", path, "admin", "sesame"],
        check=True,
        capture_output=True,
    )
    (row,) = dynamic.parse(path.read_text())["clients"]

    assert dynamic.lets_in(row, "sesame")
    assert not dynamic.lets_in(row, "sesam")
    assert not dynamic.lets_in({**row, "salt": "???"}, "sesame")
    assert not dynamic.lets_in({"username": "admin"}, "sesame")
