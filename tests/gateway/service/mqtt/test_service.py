"""Links to a real broker: nothing acknowledged is lost, and trouble is said in one line."""

import logging
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.devices.broker import embedded
from gateway.service.mqtt import connection
from gateway.service.mqtt.connection import ClientCallbacks, Message, UnsentMessages
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from tests.processes import find_free_port
from tests.waiting import eventually, hearing


class Taker:
    """Keeps what comes, and acknowledges it when it is told to."""

    def __init__(self, *, acknowledge: bool = True) -> None:
        self.came: queue.Queue[tuple[Link, Message]] = queue.Queue()
        self.acknowledge = acknowledge

    def __call__(self, link: Link, message: Message) -> None:
        if self.acknowledge:
            link.acknowledge(message)
        self.came.put((link, message))

    def payloads(self, count: int) -> list[bytes]:
        """Return so many payloads, in the order they came."""
        return [self.came.get(timeout=30)[1].payload for _ in range(count)]

    def nothing_more(self, wait_s: float = 0.3) -> bool:
        """True when nothing else comes."""
        try:
            self.came.get(timeout=wait_s)
        except queue.Empty:
            return True
        return False


def test_what_was_not_acknowledged_comes_again_after_a_restart(
    mosquitto: Mqtt, pump: Pump
) -> None:
    """A gateway that dies between taking and committing must get the message again."""
    sender = Link(mosquitto, "again-sender", pump).wait_connected()
    first = Taker(acknowledge=False)
    link = Link(mosquitto, "again", pump, subscribe=["again"], on_message=first).wait_connected()
    for number in range(3):
        sender.publish("again", b"%d" % number)
    assert first.payloads(3) == [b"0", b"1", b"2"]
    link.close()

    second = Taker()
    link = Link(mosquitto, "again", pump, subscribe=["again"], on_message=second).wait_connected()
    assert second.payloads(3) == [b"0", b"1", b"2"]
    link.close()
    third = Taker()
    link = Link(mosquitto, "again", pump, subscribe=["again"], on_message=third).wait_connected()

    assert third.nothing_more()
    link.close()
    sender.close()


def test_a_whole_window_that_waited_does_not_hide_that_we_are_subscribed(
    mosquitto: Mqtt, pump: Pump
) -> None:
    """Nothing is let go before a gateway is at work, and it is not before it is subscribed."""
    narrow, held = mosquitto.model_copy(update={"window": 5}), Taker(acknowledge=False)
    words: Any = {"subscribe": ["window"], "on_message": held}
    Link(narrow, "window", pump, **words).wait_connected().close()
    sender = Link(mosquitto, "window-sender", pump).wait_connected()
    for _ in range(9):
        sender.publish("window", b"waits")
    assert sender.wait_until_sent(30)

    for _ in range(4):  # what the broker says in one breath is read at once, however narrow
        link = Link(narrow, "window", pump, **words).wait_connected()
        assert held.payloads(5) == [b"waits"] * 5
        assert held.nothing_more()
        link.close()
    sender.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_what_the_broker_retained_is_told_from_what_comes(
    mosquitto: Mqtt, pump: Pump, version: Any
) -> None:
    """By the flag of the packet, which a broker sets for whoever subscribes later alone."""
    own, name = mosquitto.model_copy(update={"version": version}), f"retained-{version}"
    sender, taker = Link(own, f"{name}-sender", pump).wait_connected(), Taker()
    links = []
    for number in range(2):
        link = Link(
            own, f"{name}-{number}", pump, subscribe=[name], on_message=taker
        ).wait_connected()
        if number == 0:
            sender.publish(name, b"kept", retain=True)
        links.append(link)
        assert taker.came.get(timeout=30)[1].retained is (number == 1)
    for link in (*links, sender):
        link.close()


def test_an_acknowledgement_from_an_older_connection_is_dropped(
    mosquitto: Mqtt, pump: Pump
) -> None:
    """Packet numbers are used again: it would let go of a message that nobody has seen."""
    sender = Link(mosquitto, "tagged-sender", pump).wait_connected()
    taker = Taker(acknowledge=False)
    link = Link(mosquitto, "tagged", pump, subscribe=["tagged"], on_message=taker).wait_connected()
    sender.publish("tagged", b"x")
    _, old = taker.came.get(timeout=30)
    link._client.socket().shutdown(2)
    _, new = taker.came.get(timeout=30)

    assert old.token[0] + 1 == new.token[0]
    link.acknowledge(old)
    sender.publish("tagged", b"y")
    taker.came.get(timeout=30)  # by then the broker has heard what we said before
    link.close()
    after = Taker()
    link = Link(mosquitto, "tagged", pump, subscribe=["tagged"], on_message=after).wait_connected()

    assert after.payloads(2) == [b"x", b"y"]
    link.close()
    sender.close()


def test_what_was_published_while_the_broker_was_away_arrives_later(
    pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link keeps its messages and comes back by itself; nobody has to restart anything."""
    taker, port = Taker(), find_free_port()
    monkeypatch.setattr(embedded, "find_free_port", lambda: port)
    with embedded.run_broker() as address:
        at = Mqtt(host=address.host, port=address.port, insecure=True)
        link = Link(at, "returns", pump, subscribe=["returns"], on_message=taker).wait_connected()
    link.publish("returns", b"kept")
    with embedded.run_broker():
        assert taker.payloads(1) == [b"kept"]
        link.close()


# MQTT 5 where the broker has it, 3.1.1 where it has not, and what either is needed for.

BOTH = pytest.mark.parametrize("version", ["5", "3.1.1"])


def speaking(at: Mqtt, version: str) -> Mqtt:
    """Return the same broker, spoken to in this version."""
    return at.model_copy(update={"version": version})


@BOTH
def test_a_session_outlives_its_connection(mosquitto: Mqtt, pump: Pump, version: str) -> None:
    """In MQTT 5 it would end with it, unless one says how long it is to be kept."""
    at, name = speaking(mosquitto, version), f"outlives-{version}"
    Link(at, name, pump, subscribe=[name]).wait_connected().close()
    sender = Link(at, f"{name}-sender", pump).wait_connected()
    sender.publish(name, b"while you were away")
    assert sender.wait_until_sent(5)
    taker = Taker(acknowledge=False)
    link = Link(at, name, pump, subscribe=[name], on_message=taker).wait_connected()

    assert taker.payloads(1) == [b"while you were away"]
    assert str(link.version) == version
    link.close()
    sender.close()


def test_a_test_that_hears_leaves_no_session_behind(mosquitto: Mqtt, pump: Pump) -> None:
    """Else the next test would be told what came in between."""
    sender = Link(mosquitto, "left-sender", pump, lasting=False).wait_connected()
    with hearing(mosquitto, "left", session="left") as heard:
        sender.publish("left", b"0")
        assert eventually(lambda: heard)
    sender.publish("left", b"1")
    assert sender.wait_until_sent(30)
    sender.close()
    with hearing(mosquitto, "left", session="left") as heard:
        assert not eventually(lambda: heard, 0.3)


@BOTH
def test_filters_of_an_earlier_time_are_unsubscribed(
    mosquitto: Mqtt, pump: Pump, version: str
) -> None:
    """A session keeps them for ever: the first time round they are left there, as a control."""
    at, name = speaking(mosquitto, version), f"stale-{version}"
    Link(at, name, pump, subscribe=[f"{name}/old"]).wait_connected().close()
    sender, came = Link(at, f"{name}-sender", pump).wait_connected(), []
    for stale in ([], [f"{name}/old", f"{name}/new"]):
        taker = Taker()
        link = Link(
            at, name, pump, subscribe=[f"{name}/new"], unsubscribe=stale, on_message=taker
        ).wait_connected()
        for topic in ("old", "new"):
            sender.publish(f"{name}/{topic}", topic.encode())
        came.append(taker.payloads(1 if stale else 2))
        assert taker.nothing_more()
        link.close()

    assert came == [[b"old", b"new"], [b"new"]]
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
            link.wait_connected()
            for number in range(300):
                link.publish("few", b"%d" % number)
            assert link.wait_until_sent(10)
            assert lost == []
            link.close()


def test_receipts_and_acknowledgements_go_out_together(mosquitto: Mqtt, pump: Pump) -> None:
    """The receipt reaches its device, and the broker does not bring the message again."""
    taker, device = Taker(acknowledge=False), Taker()
    link = Link(
        mosquitto, "joined", pump, subscribe=["joined/data"], on_message=taker
    ).wait_connected()
    other = Link(
        mosquitto, "joined-device", pump, subscribe=["joined/receipt"], on_message=device
    ).wait_connected()
    other.publish("joined/data", b"report")
    _, message = taker.came.get(timeout=30)
    link.acknowledge_batch([("joined/receipt", b"r" * 200)], [message])

    assert device.payloads(1) == [b"r" * 200]
    link.close()
    again = Taker()
    link = Link(
        mosquitto, "joined", pump, subscribe=["joined/data"], on_message=again
    ).wait_connected()
    assert again.nothing_more()
    link.close()
    other.close()


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
        link = Link(at, "older", pump, subscribe=["older"], on_message=taker).wait_connected(30)
        link.publish("older", b"hello")

        assert taker.payloads(1) == [b"hello"]
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
            link.settimeout(60)
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
def test_a_broker_may_refuse_mqtt_5_in_three_ways(
    pump: Pump, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the code of either version, or by closing the connection; not by its silence here."""
    monkeypatch.setattr(connection, "ANSWER_S", 3600.0)
    with scripted(REFUSALS[answer]) as (port, versions):
        at = Mqtt(host="127.0.0.1", port=port, insecure=True)
        link = Link(at, "refused", pump).wait_connected(30)

        assert (versions, str(link.version)) == ([5, 4], "3.1.1")
        link.close(0.1)


# Who waits for a message to be taken hears so once, however fast the broker answers.


def test_an_answer_that_is_quicker_than_we_are_is_not_lost() -> None:
    """The packet id is known after the packet is on its way: a letter would wait for ever."""
    heard: list[int] = []
    sending = UnsentMessages()
    sending.remove(7, taken=True)
    sending.add(7, lambda: heard.append(7))
    sending.add(8, lambda: heard.append(8))
    sending.remove(8, taken=True)
    sending.add(7, lambda: heard.append(9))  # there are 65,535 ids: one that comes back is
    sending.remove(7, taken=True)  # another message

    assert heard == [7, 8, 9]


def test_what_the_broker_does_not_take_is_not_said_to_be_taken() -> None:
    """The outbox would forget a letter that nobody has."""
    heard: list[int] = []
    sending = UnsentMessages()
    sending.add(1, lambda: heard.append(1))
    sending.remove(1, taken=False)
    sending.remove(2, taken=False)  # before we said that it was on its way
    sending.add(2, lambda: heard.append(2))

    assert heard == []


def test_a_fault_of_who_waits_for_a_message_keeps_no_other_waiting() -> None:
    """What is on its way would be counted for ever, and each end would wait in vain."""
    standing, client = ClientCallbacks(Mqtt(), "node", ((), ()), None), SimpleNamespace()
    standing.attach(client, SimpleNamespace())  # type: ignore[arg-type]
    standing.session.count_sending(1)
    standing.sending.add(1, Mock(side_effect=KeyError))
    with pytest.raises(KeyError):
        client.on_publish(None, None, 1, SimpleNamespace(is_failure=False), None)

    assert standing.session.wait_sent(0)
