"""MQTT, and nothing else: the only file of heatveil that knows it.

A `Link` is one MQTT 3.1.1 client. Its session outlives the connection, everything goes at
QoS 1, and a message is acknowledged when its taker says so, which for the gateway is after
the commit. (QoS 2 would be worse: paho sends PUBREC before anybody has seen the message.)
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from paho.mqtt.client import Client, MQTTMessage, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion

from ..operating import Mqtt
from . import access
from .pump import Pump, Rider
from .session import Message, Session

KEEPALIVE_S = 30
PATIENCE_S = 3.0
WINDOW = 500  # messages on their way to the broker at once
TWICE = "somebody else may be using our name: a second gateway or fleet of this site?"

log = structlog.get_logger()

Taker = Callable[["Link", Message], None]


def _nobody() -> None:
    """Hear that a message has arrived."""


def _arrived() -> None:
    """Stand for a message that arrived before anybody asked."""


class Link:
    """One MQTT client on a pump, connected and kept connected until `close`."""

    def __init__(
        self,
        broker: Mqtt,
        client_id: str,
        pump: Pump,
        *,
        subscribe: Sequence[str] = (),
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
            on_message: called on the pump's thread; it must return at once and never raise.
            will: topic and payload that the broker publishes, retained, when we are lost.
            lasting: the broker keeps for us what comes while we are away.
            on_state: hears, on the pump's thread, whether the link is up and why it is not.
            may_connect: asked on the pump's thread before each attempt to connect.
        """
        self._broker, self._session = broker, Session(f"{broker.host}:{broker.port}", client_id)
        self._closing = False
        self._complaints: set[str] = set()  # of the broker, since it was last trusted
        self._filters = [(topic, 1) for topic in subscribe]
        self._on_message, self._on_state = on_message, on_state
        self._on_sent: dict[int, Callable[[], None]] = {}
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=access.client_id(broker, client_id),
            clean_session=not lasting,
            protocol=MQTTv311,
            manual_ack=True,
        )
        self._client, self._pump = client, pump
        self._rider = rider = Rider(client, self._failed, may_connect)
        client.max_inflight_messages_set(WINDOW)
        client.on_connect, client.on_disconnect = self._connected, self._disconnected
        client.on_subscribe, client.on_publish = self._subscribed, self._published
        client.on_message = self._came
        client.on_socket_register_write = lambda *_: pump.nudge(rider)
        if will is not None:
            client.will_set(*will, qos=1, retain=True)
        if broker.username is not None:
            client.username_pw_set(broker.username, access.password(broker))
        if (tls := access.tls(broker)) is not None:
            client.tls_set_context(tls)
        client.connect_async(broker.host, broker.port, KEEPALIVE_S)
        pump.add(rider)

    def wait(self, patience_s: float = PATIENCE_S) -> "Link":
        """Return this link once it is connected and subscribed.

        Raises:
            LinkFault: nobody answers, or one of us will not have the other. The link is closed.
        """
        try:
            self._session.wait_up(patience_s)
        except BaseException:
            self.close()
            raise
        return self

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        on_sent: Callable[[], None] | None = None,
    ) -> None:
        """Send at QoS 1, now or when the connection is back.

        Args:
            on_sent: called on the pump's thread when the broker has it.
        """
        self._session.sending(1)
        packet = self._client.publish(topic, payload, qos=1, retain=retain).mid
        # Of us and the acknowledgement, who may be quicker, the second one calls. There is no
        # lock, for paho holds one of its own while it tells of acknowledgements.
        if self._on_sent.setdefault(packet, on_sent or _nobody) is _arrived:
            self._on_sent.pop(packet)
            (on_sent or _nobody)()

    def sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when it has not within this time."""
        return self._session.wait_sent(patience_s)

    def ack(self, message: Message) -> None:
        """Tell the broker that this message is safe with us.

        Packet ids are used again: one from an older connection would acknowledge a message
        that we have not seen, so it is dropped. The broker sends such a message again.
        """
        connection, packet = message.token
        if packet and connection == self._session.connection:
            self._client.ack(packet, 1)

    def close(self, patience_s: float = 1.0) -> None:
        """Send what is on its way, and say goodbye, so that there is no last will."""
        self._session.wait_sent(patience_s)
        self._closing = True
        self._client.disconnect()
        self._session.wait_down(patience_s)
        self._pump.remove(self._rider)
        if (socket := self._client.socket()) is not None:
            socket.close()

    def _failed(self, fault: OSError) -> None:
        why = access.distrust(self._broker, fault)
        if why:
            self._session.unwilling(why, final=access.proven(fault))
            if why not in self._complaints:  # once: what is wrong stays wrong for a while
                log.warning("the broker is not trusted", why=why)
                self._complaints.add(why)
        else:
            self._session.failed(fault.strerror or str(fault))
        self._say(False)

    def _connected(self, _client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._session.refused(str(reason))
            self._say(False)
            return
        self._session.connection += 1
        self._complaints.clear()
        if self._session.connection > 1:
            log.info("the broker is back", connection=self._session.connection)
        self._rider.settled()
        if self._filters:
            self._client.subscribe(self._filters)
        else:
            self._session.up()
            self._say(True)

    def _subscribed(
        self, _client: Any, _data: Any, _packet: Any, reasons: Any, _more: Any
    ) -> None:
        if any(reason.is_failure for reason in reasons):
            self._session.refused("it may not subscribe")
            self._say(False)
        else:
            self._session.up()
            self._say(True)

    def _disconnected(self, *_: Any) -> None:
        often = self._session.down(time.monotonic())
        if not self._closing:
            log.warning("the broker is lost; connecting again")
            if often:
                log.warning(TWICE)
            self._say(False)

    def _published(self, _client: Any, _data: Any, packet: int, *_: Any) -> None:
        self._session.sending(-1)
        if (on_sent := self._on_sent.setdefault(packet, _arrived)) is not _arrived:
            self._on_sent.pop(packet)
            on_sent()

    def _say(self, up: bool) -> None:
        if self._on_state is not None:
            self._on_state(up, "" if up else self._session.trouble)

    def _came(self, _client: Any, _data: Any, message: MQTTMessage) -> None:
        if self._on_message is not None:
            token = (self._session.connection, message.mid)
            self._on_message(self, Message(message.topic, bytes(message.payload), token))
