"""A broker's control topic, and the broker that a gateway brings along."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import control, dynamic, embedded
from gateway.devices.broker.control import Control, Silence
from gateway.faults import OperatorFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import KEEPALIVE_S, Link
from gateway.settings.deployment import Mqtt
from tests import processes
from tests.waiting import eventually, may_come

# The topic of mosquitto's dynamic security, spoken to a real mosquitto.

SITE = "testsite"


@pytest.fixture
def pump() -> Iterator[Pump]:
    """Return a pump for one test."""
    with Pump() as pump:
        yield pump


@pytest.fixture
def gate(doors: Any, pump: Pump) -> Iterator[Control]:
    """Return a control of a broker that runs."""
    with doors.run():
        control = Control(doors.comes("gateway"), "control", pump).wait()
        yield control
        control.close()


def test_a_device_comes_and_goes_while_the_broker_runs(
    gate: Control, doors: Any, pump: Pump
) -> None:
    """Created, with another password, taken away; each time at once, and kept over a restart."""
    stranger = doors.comes("attic")
    assert not may_come(pump, stranger)
    control.expect(
        gate.ask(dynamic.compose_create(SITE, "attic", "secret of attic")), "Role not found"
    )
    assert may_come(pump, stranger)
    held = dynamic.parse((doors.folder / dynamic.FILE).read_text())
    assert held["clients"][0]["username"] == "attic", "the plugin sorts, and writes at once"
    assert dynamic.holds(held, {"attic": "secret of attic"})

    control.expect(gate.ask(dynamic.compose_password(SITE, "attic", "another")))
    assert not may_come(pump, stranger)
    assert may_come(pump, doors.comes("attic", "another"))

    control.expect(gate.ask(dynamic.compose_delete("attic")))
    assert not may_come(pump, doors.comes("attic", "another"))
    assert "attic" not in gate.clients()
    assert "attic" not in (doors.folder / dynamic.FILE).read_text()


def test_a_role_that_is_left_over_is_made_anew(gate: Control) -> None:
    """A kill between role and client must not be in the way of the next attempt."""
    role = dynamic.name_role("attic")
    control.expect(gate.ask([{"command": "createRole", "rolename": role, "acls": []}]))
    control.expect(gate.ask(dynamic.compose_create(SITE, "attic", "x" * 64)))
    (answer,) = gate.ask([{"command": "getRole", "rolename": role}])

    assert {one["topic"].split("/")[-1] for one in answer.data["role"]["acls"]} >= {
        "data",
        "receipt",
    }


def test_who_is_disabled_is_thrown_off_at_once(gate: Control, doors: Any, pump: Pump) -> None:
    """And cannot come back, until it is enabled; the others notice nothing."""
    lost: list[float] = []
    states: list[bool] = []

    def hear(up: bool, why: str) -> None:
        if not up:
            lost.append(time.monotonic())

    link = Link(doors.comes("node-1"), "node-1", pump, on_state=hear).wait()
    other = Link(
        doors.comes("node-2"), "node-2", pump, on_state=lambda up, _: states.append(up)
    ).wait()
    control.expect(gate.ask(dynamic.compose_disable("node-1")))
    assert eventually(lambda: lost, KEEPALIVE_S / 2)  # so it is not for want of a sign of life
    assert not may_come(pump, doors.comes("node-1"))
    assert gate.clients()["node-1"]["textdescription"] == dynamic.MARK
    assert gate.clients()["node-1"]["disabled"]
    control.expect(gate.ask(dynamic.compose_enable("node-1")))
    assert may_come(pump, doors.comes("node-1"))
    assert states == [True]
    for one in (link, other):
        one.close()


@pytest.mark.long
def test_everybody_is_known_where_one_answer_cannot_hold_them(gate: Control) -> None:
    """Of an answer 32 KiB are kept; these names, as long as they may be, take 44."""
    names = [f"{number:063}" for number in range(140)]
    for name in names:
        control.expect(gate.ask(dynamic.compose_create(SITE, name, "secret")), "Role not found")
    held = gate.clients()

    assert sum(len(json.dumps(held[name])) for name in names) > 1 << 15
    (told,) = gate.ask([{"command": "listClients", "count": 1}])
    assert len(held) == told.data["totalCount"]


def test_a_list_that_never_fits_together_is_given_up(
    gate: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a broker that knows no pages, each is its first one: asking on would have no end."""
    asked = []

    def without_offset(commands: Any, patience_s: float = 1.0) -> Any:
        asked.append(commands)
        rows = [{"username": f"{number}"} for number in range(control.PAGE)]
        return [control.Answer("listClients", "", {"clients": rows})]

    monkeypatch.setattr(gate, "ask", without_offset)
    with pytest.raises(Silence, match="has changed 5 times while it was read"):
        gate.clients()
    assert len(asked) == 2 * control.AGAIN


def test_the_gateway_is_never_shut_out(gate: Control) -> None:
    """Whoever asks for it, by whatever command."""
    for commands in (dynamic.compose_disable("gateway"), dynamic.compose_delete("gateway")):
        with pytest.raises(OperatorFault, match="own user name"):
            gate.ask(commands)
    assert not gate.clients()["gateway"].get("disabled")


def test_answers_to_others_and_rubbish_are_not_ours(gate: Control, doors: Any, pump: Pump) -> None:
    """Two who administer at once do not take each other's answers."""
    other = Control(doors.comes("gateway"), "other", pump).wait()
    told = [other.ask([{"command": "getRole", "rolename": "none"}])[0].error for _ in range(3)]
    mine = gate.ask([{"command": "getClient", "username": "node-0"}])
    for rubbish in (b"", b"[]", b"{}", b'{"responses": [1]}', b'{"responses": [{}]}'):
        gate._came(gate._link, type("Message", (), {"payload": rubbish, "token": (0, 0)}))  # type: ignore[arg-type]
    other.close()

    assert told == ["Role not found"] * 3
    assert mine[0].data["client"]["username"] == "node-0"


def test_a_broker_without_dynamic_security_is_told_in_words(mosquitto: Mqtt, pump: Pump) -> None:
    """It takes the message and says nothing."""
    named = mosquitto.model_copy(update={"username": "gateway"})
    gate = Control(named, "control", pump).wait()
    with pytest.raises(Silence, match="dynamic security"):
        gate.ask(dynamic.compose_disable("node-1"), 0.3)
    gate.close()


def test_a_broker_that_is_away_is_not_asked_later(doors: Any, pump: Pump) -> None:
    """A command must not wait for its return: by then it may be wrong."""
    with doors.run():
        gate = Control(doors.comes("gateway"), "control", pump).wait()
    until = time.monotonic() + 5
    while gate.up and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(Silence, match="is down"):
        gate.ask(dynamic.compose_disable("node-1"))
    with doors.run():
        while not gate.up and time.monotonic() < until + 10:
            time.sleep(0.01)
        assert not gate.clients()["node-1"].get("disabled")
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
    came: list[tuple[str, bytes]] = []
    with embedded.run_broker(kind) as address, Pump() as pump:
        at = Mqtt(host=address.host, port=address.port, insecure=True)
        sender = Link(at, "sender", pump).wait()
        sender.publish("kept/topic", b"retained", retain=True)
        taker = Link(
            at,
            "taker",
            pump,
            subscribe=["kept/#", "live/#"],
            on_message=lambda link, message: (
                came.append((message.topic, message.payload)),
                link.ack(message),
            )[0],
        ).wait()
        sender.publish("live/topic", b"now")
        until_s = time.monotonic() + 60
        while len(came) < 2 and time.monotonic() < until_s:
            time.sleep(0.01)
        taker.close()
        sender.close()

    assert sorted(came) == [("kept/topic", b"retained"), ("live/topic", b"now")]
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
        assert child.stdout is not None
        port = int(child.stdout.readline())
        assert listens(port)
        child.send_signal(how)
    until_s = time.monotonic() + 60
    while (listens(port) or folders(tmp_path)) and time.monotonic() < until_s:
        time.sleep(0.02)

    assert not listens(port)
    assert folders(tmp_path) == []


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(
    need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between finding a free port and using it, another program may have come."""
    need("mosquitto")
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        ports = iter([squatter.getsockname()[1], embedded.find_free_port()])
        monkeypatch.setattr(embedded, "find_free_port", lambda: next(ports))
        with embedded.run_broker("mosquitto") as address:
            assert address.port != squatter.getsockname()[1]
            assert listens(address.port)


def test_a_machine_without_the_broker_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, for somebody who has just unpacked heatveil."""
    monkeypatch.setattr(embedded, "find_mosquitto", lambda: None)
    with (
        pytest.raises(OperatorFault, match="apt install mosquitto"),
        embedded.run_broker("mosquitto"),
    ):
        pass
    monkeypatch.setitem(sys.modules, "amqtt.broker", None)
    with pytest.raises(OperatorFault, match=r"\[demo\]"), embedded.run_broker():
        pass
