"""MQTT 5 where the broker has it, 3.1.1 where it has not, and what either is needed for."""

import logging
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.devices.broker import embedded
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt

BOTH = pytest.mark.parametrize("version", ["5", "3.1.1"])


@pytest.fixture
def pump() -> Iterator[Pump]:
    """Return a pump for one test."""
    with Pump() as pump:
        yield pump


def speaking(at: Mqtt, version: str, **more: int) -> Mqtt:
    """Return the same broker, spoken to in this version."""
    return at.model_copy(update={"version": version, **more})


class Taker:
    """Keeps what comes and acknowledges nothing by itself."""

    def __init__(self) -> None:
        self.came: queue.Queue[Message] = queue.Queue()

    def __call__(self, _link: Link, message: Message) -> None:
        self.came.put(message)

    def drained(self, quiet_s: float = 0.4) -> list[Message]:
        """Return what comes until nothing comes."""
        found = []
        while True:
            try:
                found.append(self.came.get(timeout=quiet_s))
            except queue.Empty:
                return found


@BOTH
def test_a_session_outlives_its_connection(mosquitto: Mqtt, pump: Pump, version: str) -> None:
    """In MQTT 5 it would end with it, unless one says how long it is to be kept."""
    at, name = speaking(mosquitto, version), f"outlives-{version}"
    Link(at, name, pump, subscribe=[name]).wait().close()
    sender = Link(at, f"{name}-sender", pump).wait()
    sender.publish(name, b"while you were away")
    assert sender.sent(5)
    taker = Taker()
    link = Link(at, name, pump, subscribe=[name], on_message=taker).wait()

    assert [one.payload for one in taker.drained()] == [b"while you were away"]
    assert str(link.version) == version
    link.close()
    sender.close()


@BOTH
def test_filters_of_an_earlier_time_are_unsubscribed(
    mosquitto: Mqtt, pump: Pump, version: str
) -> None:
    """A session keeps them for ever: the first time round they are left there, as a control."""
    at, name = speaking(mosquitto, version), f"stale-{version}"
    Link(at, name, pump, subscribe=[f"{name}/old"]).wait().close()
    sender, came = Link(at, f"{name}-sender", pump).wait(), []
    for stale in ([], [f"{name}/old", f"{name}/new"]):
        taker = Taker()
        link = Link(
            at, name, pump, subscribe=[f"{name}/new"], unsubscribe=stale, on_message=taker
        ).wait()
        for topic in ("old", "new"):
            sender.publish(f"{name}/{topic}", topic.encode())
        found = taker.drained()
        link.settle((), found)
        came.append(sorted(one.payload for one in found))
        link.close()

    assert came == [[b"new", b"old"], [b"new"]]
    sender.close()


@BOTH
def test_a_broker_that_bears_little_at_once_is_not_overrun(pump: Pump, version: str) -> None:
    """A stock mosquitto takes 20 messages, and in MQTT 5 ends the link of who sends more."""
    with pytest.MonkeyPatch.context() as patch:
        few = embedded.CONFIGURATION.replace(
            "max_inflight_messages 500", "max_inflight_messages 5"
        )
        patch.setattr(embedded, "CONFIGURATION", few)
        with embedded.run_broker("mosquitto") as address:
            at = Mqtt(host=address.host, port=address.port, insecure=True, version=version)
            lost: list[str] = []
            link = Link(
                at, "few", pump, on_state=lambda up, why: lost.append(why) if why else None
            )
            link.wait()
            for number in range(300):
                link.publish("few", b"%d" % number)
            assert link.sent(10)
            assert lost == []
            link.close()


def test_receipts_and_acknowledgements_go_out_together(mosquitto: Mqtt, pump: Pump) -> None:
    """The receipt reaches its device, and the broker does not bring the message again."""
    taker, device = Taker(), Taker()
    link = Link(mosquitto, "joined", pump, subscribe=["joined/data"], on_message=taker).wait()
    other = Link(
        mosquitto, "joined-device", pump, subscribe=["joined/receipt"], on_message=device
    ).wait()
    other.publish("joined/data", b"report")
    message = taker.came.get(timeout=30)
    link.settle([("joined/receipt", b"r" * 200)], [message])

    assert device.came.get(timeout=30).payload == b"r" * 200
    link.close()
    again = Taker()
    link = Link(mosquitto, "joined", pump, subscribe=["joined/data"], on_message=again).wait()
    assert again.drained() == []
    link.close()
    other.close()


def test_who_publishes_hears_when_the_broker_has_it(mosquitto: Mqtt, pump: Pump) -> None:
    """Once each: the outbox forgets a letter then."""
    link = Link(mosquitto, "heard", pump).wait()
    heard: list[int] = []
    for number in range(200):
        link.publish("heard", b"x", on_sent=lambda number=number: heard.append(number))
    assert link.sent(5)

    assert sorted(heard) == list(range(200))
    link.close()


@pytest.mark.long
def test_a_broker_without_mqtt_5_is_spoken_to_in_its_own_version(
    pump: Pump, caplog: pytest.LogCaptureFixture
) -> None:
    """amqtt is the broker of a demonstration where there is no mosquitto.

    It refuses version 5, which is no fault of anybody: nothing of that is logged.
    """
    with embedded.run_broker("amqtt") as address:
        taker = Taker()
        at = Mqtt(host=address.host, port=address.port, insecure=True)
        link = Link(at, "older", pump, subscribe=["older"], on_message=taker).wait(30)
        link.publish("older", b"hello")

        assert taker.came.get(timeout=30).payload == b"hello"
        assert str(link.version) == "3.1.1"
        link.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@contextmanager
def scripted(answer: bytes) -> Iterator[tuple[int, list[int]]]:
    """Yield the port of a broker that answers CONNECT of MQTT 5 so, and lets 3.1.1 in."""
    listening = socket.create_server(("127.0.0.1", 0))
    versions: list[int] = []
    open_now: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                link, _ = listening.accept()
            except OSError:
                return
            link.settimeout(5)
            packet = link.recv(1000)
            versions.append(packet[packet.index(b"MQTT") + 4])
            if versions[-1] == 5:
                link.sendall(answer)
                link.close()
            else:
                link.sendall(b"\x20\x02\x00\x00")
                open_now.append(link)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1], versions
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for link in open_now:
            link.close()


REFUSALS = {
    "in MQTT 5": b"\x20\x03\x00\x84\x00",
    "in 3.1.1": b"\x20\x02\x00\x01",
    "without a word": b"",
}


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_broker_may_refuse_mqtt_5_in_three_ways(pump: Pump, answer: str) -> None:
    """With the code of either version, or by closing the connection."""
    with scripted(REFUSALS[answer]) as (port, versions):
        at = Mqtt(host="127.0.0.1", port=port, insecure=True)
        link = Link(at, "refused", pump).wait(30)

        assert (versions, str(link.version)) == ([5, 4], "3.1.1")
        link.close(0.1)
