"""MQTT, and nothing else: the only file of heatveil that imports paho.

A `Link` is a client of MQTT 5 or 3.1.1. Data goes at QoS 1 and is acknowledged when its taker says
so: after the commit. (QoS 2 would be worse: paho sends PUBREC before anybody has seen a message.)
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ...settings.deployment import Mqtt
from . import access, framing
from .connection import TWICE as TWICE
from .connection import WINDOW, ClientCallbacks, Message
from .framing import ReceivedMessage, Stream
from .pump import Pump, Rider

KEEPALIVE_S = 30
PATIENCE_S = 3.0
SESSION_S = 30 * 24 * 3600  # how long a broker keeps what waits for us; 5 would keep it for 0
MESSAGE_BYTES = 1 << 20  # a broker of 5 drops what is longer; of the rest we keep a beginning

Taker = Callable[["Link", Message], None]
OnSent = Callable[[], None]


class _Client(Client):
    """paho, with a `Stream` for a socket and both versions to choose from at each connection."""

    link: "Link"

    def wishes(self) -> dict[str, Any]:
        """Return what a broker of MQTT 5 is asked for."""
        wishes = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        wishes.ReceiveMaximum, wishes.MaximumPacketSize = self.link._window, MESSAGE_BYTES
        wishes.SessionExpiryInterval = SESSION_S if self.link._lasting else 0
        return {"clean_start": not self.link._lasting, "properties": wishes}

    @property
    def stream(self) -> Stream | None:
        return found if isinstance(found := self.socket(), Stream) else None

    def want_write(self) -> bool:
        return super().want_write() or (self.stream is not None and self.stream.has_unsent)

    def loop_write(self) -> MQTTErrorCode:
        code = super().loop_write()
        if self.stream is not None:
            self.stream.flush()
        return code

    def loop_misc(self) -> MQTTErrorCode:
        stream, now_s = self.stream, time.monotonic()
        if stream is not None and self.link._standing.version.is_overdue(now_s):
            stream.shutdown(2)  # SHUT_RDWR; the other version is next
        if stream is not None and stream.keep_alive_if_paused(now_s):
            return MQTTErrorCode.MQTT_ERR_SUCCESS
        return super().loop_misc()

    def _create_socket(self) -> Any:
        five = self.link._standing.note_opening()
        self._protocol = MQTTProtocolVersion.MQTTv5 if five else MQTTProtocolVersion.MQTTv311
        self._clean_session = not self.link._lasting
        stream = Stream(super()._create_socket(), self.link._pass_on_messages)
        # One more than a broker gives us unacknowledged: behind those that waited for us comes the
        # word that we are subscribed, before which nobody begins to acknowledge.
        stream.version5, stream.room = five, self.link._window + 1
        return stream


class Link:
    """One MQTT client on a pump, connected and kept connected until `close`."""

    def __init__(
        self,
        broker: Mqtt,
        client_id: str,
        pump: Pump,
        *,
        subscribe: Sequence[str] = (),
        unsubscribe: Sequence[str] = (),
        on_message: Taker | None = None,
        will: tuple[str, bytes] | None = None,
        lasting: bool = True,
        on_state: Callable[[bool, str], None] | None = None,
        may_connect: Callable[[], bool] = lambda: True,
    ) -> None:
        """Begin to connect; `wait_connected` says when it has succeeded.

        Args:
            client_id: names the session that the broker keeps for us: see `access.make_client_id`.
            unsubscribe: topic filters that the session may still have from an earlier time.
            on_message: on the pump's thread, as the next two; returns at once and never raises.
            on_state: hears whether the link is up and why not. may_connect: is asked before.
            will: topic and payload that the broker retains when we are lost.
            lasting: the broker keeps for us what comes while we are away.
        """
        self._standing = ClientCallbacks(broker, client_id, (subscribe, unsubscribe), on_state)
        self._session, self._on_message = self._standing.session, on_message
        self.version = self._standing.version  # "5" or "3.1.1" as text, once it is let in
        own, five = access.make_client_id(broker, client_id), MQTTProtocolVersion.MQTTv5
        client = _Client(CallbackAPIVersion.VERSION2, own, protocol=five, manual_ack=True)
        client.link, self._lasting, self._window = self, lasting, broker.window
        self._client, self._pump = client, pump
        self._rider = rider = Rider(client, self._standing.note_failure, may_connect)
        client.max_inflight_messages_set(WINDOW)
        self._standing.attach(client, rider)
        client.on_socket_register_write = lambda *_: pump.wake(rider)
        if will is not None:
            client.will_set(*will, qos=1, retain=True)
        if broker.username is not None:
            client.username_pw_set(broker.username, access.read_password(broker))
        if (tls := access.make_tls_context(broker)) is not None:
            client.tls_set_context(tls)
        client.connect_async(broker.host, broker.port, KEEPALIVE_S, **client.wishes())
        pump.add(rider)

    def wait_connected(self, patience_s: float = PATIENCE_S) -> "Link":
        """Return this link once it is up, or close it and raise a LinkFault that says why."""
        try:
            self._session.wait_up(patience_s)
        except BaseException:
            self.close()
            raise
        return self

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, on_sent: OnSent | None = None
    ) -> None:
        """Send at QoS 1, now or later; call on_sent, which returns at once, when it is there."""
        self._session.count_sending(1)
        packet = self._client.publish(topic, payload, 1, retain).mid
        self._standing.sending.add(packet, on_sent)
        # Not only by on_socket_register_write: paho takes the stream's unsent bytes for its own.
        self._pump.wake(self._rider)

    def wait_until_sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when it has not within this time."""
        return self._session.wait_sent(patience_s)

    def acknowledge(self, message: Message) -> None:
        """Tell the broker that this message is safe with us."""
        self.acknowledge_batch((), [message])

    def acknowledge_batch(
        self, receipts: Sequence[tuple[str, bytes]], messages: Sequence[Message]
    ) -> None:
        """Send receipts at QoS 0 and acknowledge these messages, in one write.

        Packet ids come back: one from an older connection would acknowledge a message that we
        have not seen, so it is dropped. The broker sends such a message again.
        """
        stream, now = self._client.stream, self._standing.connections
        ours = [packet for number, packet in (one.token for one in messages) if number == now]
        if stream is not None and (ours or self._session.ready):
            stream.make_room(len(ours))  # at QoS 0 too, where there is nothing to acknowledge
            said = framing.pack_publishes(receipts, five=stream.version5)
            stream.push_packets(said + framing.pack_acknowledgements(filter(None, ours)))
            self._pump.wake(self._rider)

    def close(self, patience_s: float = 1.0) -> None:
        """Send what is on its way, and say goodbye, so that there is no last will."""
        self._session.wait_sent(patience_s)
        self._standing.closing = True
        self._client.disconnect()
        self._pump.wake(self._rider)
        self._session.wait_down(patience_s)
        self._pump.remove(self._rider)
        if (socket := self._client.socket()) is not None:
            socket.close()

    def _pass_on_messages(self, came: list[ReceivedMessage]) -> None:
        if self._on_message is not None:
            number = self._standing.connections
            for topic, payload, packet, retained in came:
                self._on_message(self, Message(topic, payload, (number, packet), retained))


@contextmanager
def open_link(
    broker: Mqtt, client_id: str, subscribe: Sequence[str] = (), on_message: Taker | None = None
) -> Iterator[Link]:
    """Lend a link that is up, on a pump of its own; the broker keeps nothing for it afterwards.

    Raises:
        LinkFault: the broker does not answer, or will not have us.
    """
    with Pump(client_id) as pump:
        link = Link(
            broker, client_id, pump, subscribe=subscribe, on_message=on_message, lasting=False
        ).wait_connected()
        try:
            yield link
        finally:
            link.close()
