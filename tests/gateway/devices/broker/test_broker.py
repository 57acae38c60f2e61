"""Brokers of our own: they carry a message, and afterwards there is nothing left of them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.devices.broker import embedded
from gateway.faults import OperatorFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from tests import processes


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
    with pytest.raises(OperatorFault, match=r"heatveil\[demo\]"), embedded.run_broker():
        pass
