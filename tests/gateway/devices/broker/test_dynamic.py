"""All files of a broker: complete, denying, for their owner alone; never overwritten.

The plugin's file of a broker that rests, changed by one device; the plugin is the judge.
"""

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from gateway.devices.broker import certificates, dynamic
from gateway.devices.broker.control import BrokerControl, check_answers
from gateway.devices.broker.doors import RunningBroker, StoppedBroker
from gateway.devices.broker.dynamic import MARK, has_other_rights, has_role
from gateway.devices.broker.mosquitto import CONTROL, derive_session_id, list_device_rights
from gateway.devices.enrol import enrol
from gateway.service.mqtt.pump import Pump
from gateway.settings import config
from tests import processes
from tests.waiting import may_come

SITE = "testsite"


def held(doors: Any) -> dict[str, dict[str, Any]]:
    body = dynamic.parse_plugin_file((doors.folder / dynamic.FILE).read_text())
    return {row["username"]: row for row in body["clients"]}


def test_what_is_written_is_what_the_plugin_itself_would_have(doors: Any) -> None:
    """Added at rest and added by the broker: rights, session and state are the same.

    A role that is left over is made anew, and one that somebody widened is put right.
    """
    StoppedBroker(SITE, doors.folder / dynamic.FILE).add_device("attic", "sesame")
    at_rest = held(doors)["attic"]
    with doors.run(), Pump("test") as pump:
        gate = BrokerControl(doors.comes("gateway"), "control", pump).wait_connected()
        left_over = {"rolename": dynamic.make_role_name("cellar"), "acls": []}
        # As a kill in between does
        check_answers(gate.run_commands([{"command": "createRole", **left_over}]))
        check_answers(gate.run_commands(dynamic.compose_device_creation(SITE, "cellar", "sesame")))
        wide = {"acltype": "publishClientSend", "topic": "#", "priority": 0, "allow": True}
        role = {"rolename": dynamic.make_role_name("attic")}
        check_answers(gate.run_commands([{"command": "addRoleACL", **role, **wide}]))
        RunningBroker(doors.comes("gateway"), SITE, gate, pump).change_password("attic", "sesame")
        rows = gate.list_clients()
        (answer,) = gate.run_commands(
            [{"command": "getRole", "rolename": dynamic.make_role_name("attic")}]
        )
        (other,) = gate.run_commands(
            [{"command": "getRole", "rolename": dynamic.make_role_name("cellar")}]
        )
        gate.close()

    def rights(role: Any, name: str) -> set[tuple[str, str]]:
        return {(one["acltype"], one["topic"].replace(name, "X")) for one in role["acls"]}

    assert rows["attic"]["clientid"] == derive_session_id(SITE, "attic", "sesame")
    assert at_rest["clientid"] == rows["attic"]["clientid"]
    assert rights(answer.data["role"], "attic") == rights(other.data["role"], "cellar")
    assert has_role(rows["attic"], "attic")
    assert has_role(rows["cellar"], "cellar")


def test_who_is_shut_out_at_rest_does_not_come_in(doors: Any) -> None:
    """With our mark, so that the gateway may let it back; and then it comes, the control."""
    door = StoppedBroker(SITE, doors.folder / dynamic.FILE)
    door.disable_device("node-1")
    door.disable_device("stranger")  # of whom there is nothing to shut out

    def comes() -> bool:
        with doors.run(), Pump("test") as pump:
            return may_come(pump, doors.comes("node-1"))

    assert held(doors)["node-1"]["textdescription"] == MARK
    assert not comes()
    door.enable_device("node-1")
    assert "textdescription" not in held(doors)["node-1"]
    assert comes()


def test_who_goes_takes_its_role_along_and_nothing_else(doors: Any) -> None:
    """Twice is as once; whoever else is in the file stays as it was."""
    path = doors.folder / dynamic.FILE
    before, door = json.loads(path.read_text()), StoppedBroker(SITE, path)
    door.remove_device("node-2")
    door.remove_device("node-2")
    after = json.loads(path.read_text())

    assert not door.has_device("node-2")
    assert door.has_device("node-1")
    gone = {
        "clients": ("username", "node-2"),
        "roles": ("rolename", dynamic.make_role_name("node-2")),
    }
    for part, (key, name) in gone.items():
        assert after[part] == [row for row in before[part] if row[key] != name]
    assert after["defaultACLAccess"] == before["defaultACLAccess"]


def test_a_session_belongs_to_a_site_a_name_and_a_password() -> None:
    """Another of any of them is another; it is in force before the password ends the old one."""
    told = ("lab", "attic", "sesame")
    others = ("lab", "attic", "Sesame"), ("lab", "cellar", "sesame"), ("hall", "attic", "sesame")
    sessions = {derive_session_id(*one) for one in (told, *others)}
    session, password = dynamic.compose_password_change(*told)

    assert len(sessions) == 4
    assert session["command"] == "setClientId"
    assert session["clientid"] == derive_session_id(*told)
    assert "sesame" not in str(session)
    assert password["command"] == "setClientPassword"


def test_a_role_that_lets_more_or_less_differs() -> None:
    """One right more is a hole, one less is a device that is not heard; the order is nothing."""
    wanted = dynamic.make_acls(list_device_rights(SITE, "attic"))
    more = {"acltype": "publishClientSend", "topic": "heatveil/1/testsite/#", "allow": True}
    denied = {**wanted[0], "allow": False}

    assert not has_other_rights({"acls": wanted[::-1]}, wanted)
    assert has_other_rights({"acls": [*wanted, more]}, wanted)
    assert has_other_rights({"acls": wanted[1:]}, wanted)
    assert has_other_rights({"acls": [denied, *wanted[1:]]}, wanted)
    assert has_other_rights(None, wanted)


def body(site: Path) -> dict[str, Any]:
    return dynamic.parse_plugin_file((site.parent / "broker" / dynamic.FILE).read_text())


def test_a_plugin_that_is_not_here_is_refused_or_named(
    heatveil: Callable[..., Any], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it every device could write everything; it may lie on another machine."""
    monkeypatch.setattr(dynamic.find_plugin, "__defaults__", (("/nowhere",),))
    init = lambda *words: heatveil("broker", "init", "--config", site, *words)  # noqa: E731
    said, there = init(), site.parent / "broker"
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
        own = roles[dynamic.make_role_name(f"node-{number}")]
        assert own == {right.topic for right in list_device_rights("lab", f"node-{number}")}
        heard = {f"node-{number}", "round", "sum", "update"}
        assert {topic.split("/")[3] for topic in own} == heard
        assert not any(topic.startswith("$") for topic in own)
    assert [name for name, topics in roles.items() if CONTROL in topics] == ["heatveil-gateway"]


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
    (row,) = dynamic.parse_plugin_file(path.read_text())["clients"]

    assert dynamic.accepts_password(row, "sesame")
    assert not dynamic.accepts_password(row, "sesam")
    assert not dynamic.accepts_password({**row, "salt": "???"}, "sesame")
    assert not dynamic.accepts_password({"username": "admin"}, "sesame")


SECRET = {"ca.key", "server.key", dynamic.FILE, "gateway.password"}
OPEN = {"ca.pem", "server.pem", "mosquitto.conf"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the sample deployment file, with three devices enrolled beside it."""
    path = tmp_path / "gateway.toml"
    path.write_text(config.make_sample())
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, tmp_path / "secrets.json")
    return path


@pytest.fixture
def init(site: Path, heatveil: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command, for this deployment."""
    plugin = "--plugin", "/usr/lib/it.so"
    return lambda *words: heatveil("broker", "init", *plugin, "--config", site, *words)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def names(folder: Path) -> list[str]:
    found = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
    held = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in held]


def test_it_writes_all_files_and_says_what_to_do_next(init: Any, site: Path) -> None:
    """The sample names these very files, so there is nothing to write down."""
    said = init()
    folder = site.parent / "broker"

    assert (said.status, said.err) == (0, "")
    assert contents(folder).keys() == SECRET | OPEN
    written = (folder / "mosquitto.conf").read_text().splitlines()
    assert "allow_anonymous false" in written
    assert "persistence true" in written  # what is kept for who is away outlives a restart
    assert sum(line.startswith("listener") for line in written) == 1
    authority = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes()).extensions
    may_sign = authority.get_extension_for_class(x509.BasicConstraints).value
    assert (may_sign.ca, may_sign.path_length) == (True, 0)  # brokers, and no authorities
    assert [line[:2] for line in said.out.splitlines()[1:4]] == ["1.", "2.", "3."]
    assert "nothing to do" in said.out
    assert f"mosquitto -c {folder / 'mosquitto.conf'}" in said.out
    deployment = config.load_deployment(site).mqtt
    assert deployment.password_file == folder / "gateway.password"
    assert deployment.ca_file == folder / "ca.pem"


def test_what_is_secret_is_for_its_owner_alone(init: Any, site: Path) -> None:
    """Keys and passwords, and the folder they lie in."""
    init()
    folder = site.parent / "broker"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}

    assert {name for name, mode in modes.items() if mode == 0o600} == SECRET
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes["data"] == 0o700


def test_no_password_and_no_key_is_told_or_stored_as_it_is(init: Any, site: Path) -> None:
    """A terminal is seen by others, and a broker's disk is not the devices'."""
    said = init()
    found = contents(site.parent / "broker")
    own = found["gateway.password"].strip()
    devices = enrol.load_secrets(site.parent / "secrets.json", "lab").devices

    assert len(own) == 64
    assert own.decode() not in said.out
    for name in found.keys() - {"gateway.password"}:
        assert own not in found[name]
        assert not any(device.link_key.hex().encode() in found[name] for device in devices)


def test_a_second_run_changes_nothing(init: Any, site: Path) -> None:
    """New certificates would shut out every board that trusts the old ones."""
    init()
    before = contents(site.parent / "broker")
    said = init()

    assert "nothing was written" in said.success
    assert contents(site.parent / "broker") == before


def test_an_old_certificate_is_renewed_by_the_same_authority(init: Any, site: Path) -> None:
    """So that no board has to be given another one: the authority lies on all of them."""
    init()
    folder = site.parent / "broker"
    before = contents(folder)
    (folder / "server.pem").unlink()
    (folder / "server.key").unlink()
    said = init("--host", "broker.example", "--host", "192.0.2.7")
    after = contents(folder)

    assert said.status == 0
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"server.pem", "server.key", "mosquitto.conf"}  # it listened here alone
    assert names(folder) == ["127.0.0.1", "broker.example", "192.0.2.7"]


def test_a_broker_known_by_this_machines_names_alone_listens_here_alone(
    init: Any, site: Path
) -> None:
    """A trial must not open a port to the building."""
    init()
    assert "listener 8883 127.0.0.1\n" in (site.parent / "broker" / "mosquitto.conf").read_text()
    init("--host", "broker.example", "--folder", site.parent / "other")

    assert "listener 8883\n" in (site.parent / "other" / "mosquitto.conf").read_text()


def change(folder: Path, do: Callable[[Any, Any], object]) -> None:
    """Change clients and roles of the plugin's file."""
    held = dynamic.parse_plugin_file((folder / dynamic.FILE).read_text())
    do(held["clients"], held["roles"])
    (folder / dynamic.FILE).write_text(dynamic.format_plugin_file(held))


def by_plain_files(folder: Path) -> None:
    """Make a broker go by a list of passwords: to remove a device would change another file."""
    (folder / dynamic.FILE).unlink()
    path = folder / "mosquitto.conf"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("plugin")]
    path.write_text("\n".join([*lines, f"password_file {folder}/passwords", ""]))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "ca.key").unlink(), "ca.pem is there without ca.key"),
        (lambda folder: (folder / "server.key").write_bytes(b""), "no private key"),
        (
            lambda folder: (folder / "server.key").write_bytes((folder / "ca.key").read_bytes()),
            "does not belong to server.pem",
        ),
        (lambda folder: (folder / "gateway.password").unlink(), "is of another"),
        (lambda folder: (folder / "server.key").unlink(), "server.pem is there without"),
        (lambda folder: (folder / "server.pem").write_bytes(b"\xff"), "no broker's certificate"),
        (lambda folder: (folder / dynamic.FILE).write_bytes(b"\xff"), "is no text"),
        (by_plain_files, "mosquitto.conf does not let in by dynamic-security.json"),
        (lambda folder: change(folder, lambda rows, _: rows.pop()), "another enrolment"),
        (
            lambda folder: change(folder, lambda rows, _: rows[1].update(salt="")),
            "another enrolment",
        ),
        (lambda folder: change(folder, lambda _, roles: roles.pop()), "no role for node-2"),
    ],
)
def test_files_that_do_not_fit_are_told_and_left(
    init: Any, site: Path, spoil: Callable[[Path], Any], words: str
) -> None:
    """One line that names the file, and not a byte is changed."""
    init()
    folder = site.parent / "broker"
    spoil(folder)
    if words.startswith("ca.pem"):
        (folder / "server.pem").unlink()
        (folder / "server.key").unlink()
    before = contents(folder)
    said = init()

    assert contents(folder) == before
    assert said.status == 1
    assert said.err.count("\n") == 1
    assert words in said.err
    assert "Nothing was written" in said.err


@pytest.mark.parametrize(
    "host", ["", "two words", "-x", "a..b", "https://broker", "300.1.2.3", "*", "x" * 64]
)
def test_what_is_no_host_is_refused(init: Any, site: Path, host: str) -> None:
    """A certificate for a name that nobody can write would shut everybody out."""
    said = init("--host", host)

    assert "neither a host name nor" in said.refusal
    assert not (site.parent / "broker").exists()


def test_a_device_with_the_gateways_name_is_refused(init: Any, site: Path) -> None:
    """The broker tells them apart by name: it could ask and command like the gateway."""
    site.write_text(config.make_sample().replace('username = "gateway"', 'username = "node-1"'))
    said = init()

    assert "also the name of a device" in said.refusal


def rehost(site: Path, host: str) -> None:
    """Give the broker another name in the deployment file."""
    text = site.read_text()
    site.write_text(text.replace('host = "127.0.0.1"', f'host = "{host}"', 1))


def test_a_broker_that_gets_a_name_keeps_all_but_certificate_and_listener(
    init: Any, site: Path
) -> None:
    """The first board comes after the first trial; every command before it named 127.0.0.1."""
    init()
    folder = site.parent / "broker"
    before = contents(folder)
    (folder / "server.pem.new").write_text("of a run that was cut off")
    rehost(site, "vm")
    said = init("--host", "192.0.2.7")
    after = contents(folder)

    assert "server.pem, mosquitto.conf" in said.success
    assert "again where it runs" in said.out
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"server.pem", "mosquitto.conf"}
    assert names(folder) == ["vm", "192.0.2.7", "127.0.0.1"]
    lines = [(before, b"listener 8883 127.0.0.1"), (after, b"listener 8883")]
    rules = [one["mosquitto.conf"].splitlines() for one, _ in lines]
    assert [
        (old, new) for old, new in zip(*rules, strict=True) if old != new
    ] == [tuple(line for _, line in lines)]  # fmt: skip
    assert "nothing was written" in init().success


def test_a_listener_in_the_clear_stays_on_this_machine(init: Any, site: Path) -> None:
    """An operator's own, for a program beside the broker: passwords would cross the network."""
    init()
    path = site.parent / "broker" / "mosquitto.conf"
    before = path.read_text()
    own = "\nlistener 1883 127.0.0.1\n# certfile none\n\nlistener 8884 ::1\ncertfile own.pem\n"
    path.write_text(before + own)
    init("--host", "broker.example")

    opened = before.replace("listener 8883 127.0.0.1\n", "listener 8883\n")
    assert path.read_text() == opened + own


def test_a_certificate_of_another_s_is_not_replaced(init: Any, site: Path) -> None:
    """Its owner has put it there; what we would sign nobody may trust."""
    init()
    folder = site.parent / "broker"
    now = datetime.now(UTC)
    made = certificates.make_server(["127.0.0.1"], certificates.make_authority("x", now), now)
    (folder / "server.pem").write_bytes(made.certificate)
    (folder / "server.key").write_bytes(made.key)
    rehost(site, "vm")
    before = contents(folder)

    assert "server.pem does not name vm" in init().refusal
    assert contents(folder) == before


def test_check_holds_host_against_the_broker_s_files(
    init: Any, site: Path, heatveil: Callable[..., Any]
) -> None:
    """Before a board is on the wall, and without a broker that runs."""
    init()
    right = heatveil("check", site).out
    rehost(site, "vm")
    wrong = heatveil("check", site).out
    init()
    mended = heatveil("check", site).out

    words = "certificate {0}/server.pem is for 127.0.0.1;", "{0}/mosquitto.conf listens to this"
    places = [word.format(site.parent / "broker") for word in words]
    assert [[place in said for place in places] for said in (right, wrong, mended)] == [
        [False, False],
        [True, True],
        [False, False],
    ]
