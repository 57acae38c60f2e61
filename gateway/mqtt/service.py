"""MQTT, and nothing else: the only file of heatveil that knows it.

A `Link` is one client, of MQTT 5 or 3.1.1. Its session outlives the connection, data is at QoS 1,
and a message is acknowledged when its taker says so, which for the gateway is after the commit.
(QoS 2 would be worse: paho sends PUBREC before anybody has seen the message.)
"""

from collections.abc import Callable, Sequence
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ..operating import Mqtt
from . import access, packets
from .pump import Pump, Rider
from .session import Message
from .standing import TWICE as TWICE
from .standing import WINDOW, Standing
from .stream import Came, Stream

KEEPALIVE_S = 30
PATIENCE_S = 3.0
SESSION_S = 30 * 24 * 3600  # how long a broker keeps what waits for us; 5 would keep it for 0
MESSAGE_BYTES = 1 << 20  # a broker of 5 drops what is longer; of the rest we keep a beginning

Taker = Callable[["Link", Message], None]
OnSent = Callable[[], None]


class _Client(Client):
    """paho, with a `Stream` for a socket and both versions to choose from at each connection."""

    opening: Callable[[], bool]
    came: Callable[[list[Came]], None]
    lasting: bool

    def want_write(self) -> bool:
        stream = self.socket()
        return super().want_write() or (isinstance(stream, Stream) and stream.unsent)

    def loop_write(self) -> MQTTErrorCode:
        code = super().loop_write()
        if isinstance(stream := self.socket(), Stream):
            stream.flush()
        return code

    def _create_socket(self) -> Any:
        five = self.opening()
        self._protocol = MQTTProtocolVersion.MQTTv5 if five else MQTTProtocolVersion.MQTTv311
        self._clean_session = not self.lasting
        stream = Stream(super()._create_socket(), self.came)
        stream.version5 = five
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
        """Begin to connect; `wait` says when it has succeeded.

        Args:
            client_id: names the session that the broker keeps for us: see `access.client_id`.
            subscribe: topic filters.
            unsubscribe: topic filters that the session may still have from an earlier time.
            on_message: called on the pump's thread; it must return at once and never raise.
            will: topic and payload that the broker publishes, retained, when we are lost.
            lasting: the broker keeps for us what comes while we are away.
            on_state: hears, on the pump's thread, whether the link is up and why it is not.
            may_connect: asked on the pump's thread before each attempt to connect.
        """
        self._standing = Standing(broker, client_id, (subscribe, unsubscribe), on_state)
        self._session, self._on_message = self._standing.session, on_message
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=access.client_id(broker, client_id),
            protocol=MQTTProtocolVersion.MQTTv5,
            manual_ack=True,
        )
        client.opening, client.came = self._standing.opening, self._came
        client.lasting = lasting
        self._client, self._pump = client, pump
        self._rider = rider = Rider(client, self._standing.failed, may_connect)
        client.max_inflight_messages_set(WINDOW)
        self._standing.attach(client, rider)
        client.on_socket_register_write = lambda *_: pump.nudge(rider)
        if will is not None:
            client.will_set(*will, qos=1, retain=True)
        if broker.username is not None:
            client.username_pw_set(broker.username, access.password(broker))
        if (tls := access.tls(broker)) is not None:
            client.tls_set_context(tls)
        wishes = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        wishes.ReceiveMaximum, wishes.MaximumPacketSize = broker.window, MESSAGE_BYTES
        wishes.SessionExpiryInterval = SESSION_S if lasting else 0
        client.connect_async(
            broker.host, broker.port, KEEPALIVE_S, clean_start=not lasting, properties=wishes
        )
        pump.add(rider)

    @property
    def version(self) -> str:
        """The version of MQTT that is spoken: "5" or "3.1.1"; before `wait`, the one tried."""
        return str(self._standing.version)

    def wait(self, patience_s: float = PATIENCE_S) -> "Link":
        """Return this link once it is up, or close it and raise LinkFault."""
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
        self._session.sending(1)
        info = self._client.publish(topic, payload, qos=1, retain=retain)
        self._standing.sending.began(info.mid, on_sent)
        # Not only by on_socket_register_write: paho takes the stream's unsent bytes for its own.
        self._pump.nudge(self._rider)

    def sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when it has not within this time."""
        return self._session.wait_sent(patience_s)

    def ack(self, message: Message) -> None:
        """Tell the broker that this message is safe with us."""
        self.settle((), (message,))

    def settle(self, receipts: Sequence[tuple[str, bytes]], messages: Sequence[Message]) -> None:
        """Send receipts at QoS 0, and tell the broker that these messages are safe with us.

        In one write. Packet ids are used again: one from an older connection would acknowledge a
        message that we have not seen, so it is dropped. The broker sends such a message again.
        """
        stream, number = self._client.socket(), self._standing.connections
        tokens = [one.token for one in messages]
        acks = [packet for connection, packet in tokens if packet and connection == number]
        if isinstance(stream, Stream) and (acks or self._session.ready):
            said = packets.publishes(receipts, five=stream.version5)
            stream.push(said + packets.acknowledgements(acks))
            self._pump.nudge(self._rider)

    def close(self, patience_s: float = 1.0) -> None:
        """Send what is on its way, and say goodbye, so that there is no last will."""
        self._session.wait_sent(patience_s)
        self._standing.closing = True
        self._client.disconnect()
        self._pump.nudge(self._rider)
        self._session.wait_down(patience_s)
        self._pump.remove(self._rider)
        if (socket := self._client.socket()) is not None:
            socket.close()

    def _came(self, came: list[Came]) -> None:
        if self._on_message is not None:
            number = self._standing.connections
            for topic, payload, packet in came:
                self._on_message(self, Message(topic, payload, (number, packet)))
