"""The file of the plugin: complete, denying, hashed as mosquitto hashes; never overwritten."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway import config
from gateway.devices.broker import dynamic
from gateway.devices.broker.mosquitto import CONTROL, list_device_rights
from gateway.devices.enrol import enrol
from tests import processes


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the sample deployment file, with three devices enrolled beside it."""
    path = tmp_path / "gateway.toml"
    path.write_text(config.sample())
    enrol.save_secrets(enrol.make("lab", 3).secrets, tmp_path / "secrets.json")
    return path


@pytest.fixture
def init(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    """Return the command, on a machine that has the plugin."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / dynamic.PLUGIN).touch()
    monkeypatch.setattr(
        dynamic.find_plugin, "__defaults__", ((f"{tmp_path}/li*",), dynamic.PLUGIN)
    )
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
    assert not [line for line in settings if line.startswith(("acl_file", "password_file"))]
    assert not list(folder.glob("acl")) + list(folder.glob("passwords"))
    assert stat.S_IMODE((folder / dynamic.FILE).stat().st_mode) == 0o600


def test_without_the_plugin_the_two_files_are_written(
    init: Any, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself, and said."""
    monkeypatch.setattr(dynamic.find_plugin, "__defaults__", (("/nowhere",), dynamic.PLUGIN))
    said = init()
    folder = site.parent / "broker"

    assert said.status == 0
    assert "only not listened to" in said.out
    assert f"acl_file {folder}/acl" in (folder / "mosquitto.conf").read_text()
    assert not (folder / dynamic.FILE).exists()


def test_mosquitto_21_reads_the_two_files_by_its_plugins(
    init: Any, site: Path, tmp_path: Path
) -> None:
    """It deprecates the keys of 2.0; where both plugins are, those are used and no older key."""
    for name in ("mosquitto_password_file.so", "mosquitto_acl_file.so"):
        (tmp_path / "lib" / name).touch()
    assert init("--plain").status == 0
    folder = site.parent / "broker"
    settings = (folder / "mosquitto.conf").read_text().splitlines()
    lines = [line for line in settings if line.startswith(("plugin", "acl_file", "password_file"))]

    assert lines == [
        f"plugin {tmp_path}/lib/mosquitto_password_file.so",
        f"plugin_opt_password_file {folder}/passwords",
        f"plugin {tmp_path}/lib/mosquitto_acl_file.so",
        f"plugin_opt_acl_file {folder}/acl",
    ]


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
        assert {topic.split("/")[3] for topic in own} == {f"node-{number}", "round"}
        assert not any(topic.startswith("$") for topic in own)
    assert [name for name, topics in roles.items() if CONTROL in topics] == ["heatveil-gateway"]


@pytest.mark.long
def test_a_second_run_changes_nothing_and_a_third_way_is_refused(init: Any, site: Path) -> None:
    """Nothing is overwritten; who wants plain files instead must move these away."""
    init()
    folder = site.parent / "broker"
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    again, other = init(), init("--plain")

    assert again.status == 0
    assert "nothing was written" in again.out
    assert other.status == 1
    assert "mosquitto.conf uses" in other.err
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


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


@pytest.mark.parametrize("rubbish", ["", "[]", "{}", '{"clients": {}, "roles": []}'])
def test_rubbish_is_told_to_be_rubbish(init: Any, site: Path, rubbish: str) -> None:
    """In one line, and it stays."""
    init()
    (site.parent / "broker" / dynamic.FILE).write_text(rubbish)
    said = init()

    assert said.status == 1
    assert "is none of the plugin's" in said.err


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
