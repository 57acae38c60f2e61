"""How a link stands with its broker: what it does when it is let in, refused or lost.

Everything here is called on the pump's thread, by the client, and says what came of it to whoever
waits (`session`), asks (`version`) or listens (`on_state`).
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from ..operating import Mqtt
from . import access
from .pump import Rider
from .sending import Sending
from .session import Session
from .version import Version

WINDOW = 500  # messages on their way to the broker at once
TWICE = "somebody else may be using our name: a second gateway or fleet of this site?"

log = structlog.get_logger()


class Standing:
    """What the client's callbacks do; attach it before the client is on the pump."""

    def __init__(
        self,
        broker: Mqtt,
        name: str,
        filters: tuple[Sequence[str], Sequence[str]],
        on_state: Callable[[bool, str], None] | None,
    ) -> None:
        """Begin, not connected; filters are those to subscribe and those to be rid of."""
        self.session = Session(f"{broker.host}:{broker.port}", name)
        self.version, self.sending = Version(broker.version), Sending()
        self.connections = 0  # that were made, let in or not: packet ids come back on the next
        self.closing = False
        self._broker, self._on_state = broker, on_state
        wanted, stale = filters
        self._filters = [(topic, 1) for topic in wanted]
        self._stale = [topic for topic in stale if topic not in wanted]
        self._complaints: set[str] = set()  # of the broker, since it was last trusted

    def attach(self, client: Any, rider: Rider) -> None:
        """Hear what this client meets."""
        self._client, self._rider = client, rider
        client.on_connect, client.on_disconnect = self._connected, self._disconnected
        client.on_subscribe, client.on_publish = self._subscribed, self._published

    def opening(self) -> bool:
        """A connection is about to be made; return whether to speak MQTT 5 on it."""
        self.connections += 1
        self.version.opening()
        return self.version.five

    def failed(self, fault: OSError) -> None:
        """There is nobody, or nobody that is to be trusted."""
        why = access.distrust(self._broker, fault)
        if why:
            self.session.unwilling(why, final=access.proven(fault))
            self._complain("the broker is not trusted", why)
        else:
            self.session.failed(fault.strerror or str(fault))
        self._say(False)

    def _connected(self, _client: Any, _data: Any, _flags: Any, reason: Any, said: Any) -> None:
        if reason.is_failure:
            if self.version.refused(reason.value):
                self._rider.settled()  # with the other version, and at once
            else:
                self.session.refused(str(reason))
                self._say(False)
            return
        self.version.welcome()
        # How much a broker can bear paho leaves to us, and would not have it changed now.
        self._client._max_inflight_messages = min(WINDOW, getattr(said, "ReceiveMaximum", WINDOW))
        self.session.connection += 1
        self._complaints.clear()
        if self.session.connection > 1:
            log.info("the broker is back", connection=self.session.connection)
        self._rider.settled()
        if self._stale:
            self._client.unsubscribe(self._stale)
        if self._filters:
            self._client.subscribe(self._filters)
        else:
            self._up()

    def _subscribed(
        self, _client: Any, _data: Any, _packet: Any, reasons: Any, _more: Any
    ) -> None:
        if failures := sorted({str(one) for one in reasons if one.is_failure}):
            self.session.refused(f"it may not subscribe: {', '.join(failures)}")
            self._say(False)
        else:
            self._up()

    def _up(self) -> None:
        self.session.up()
        self._say(True)

    def _disconnected(self, _c: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        turned = self.version.closed()
        if turned:
            self._rider.settled()
        often = self.session.down(time.monotonic(), f"the connection was lost: {reason}")
        if not self.closing and not turned:
            log.warning("the broker is lost; connecting again", why=str(reason))
            if often:
                log.warning(TWICE)
            self._say(False)

    def _published(self, _c: Any, _data: Any, packet: int, reason: Any, _more: Any) -> None:
        self.session.sending(-1)
        if reason.is_failure:
            self._complain("the broker does not take what we publish", str(reason))
        self.sending.ended(packet, taken=not reason.is_failure)

    def _complain(self, trouble: str, why: str) -> None:
        """Log it once: what is wrong stays wrong for a while."""
        if why not in self._complaints:
            log.warning(trouble, why=why)
            self._complaints.add(why)

    def _say(self, up: bool) -> None:
        if self._on_state is not None:
            self._on_state(up, "" if up else self.session.trouble)
