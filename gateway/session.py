"""How one MQTT connection stands: up or down, refused, what is still on its way.

A link's callbacks write it on the pump's thread and anybody may wait on it. The messages
and topics themselves are `service`'s business.
"""

import threading
from typing import NamedTuple

from .faults import LinkFault


class Message(NamedTuple):
    """What came: `token` is (connection, packet id) and is good for one acknowledgement."""

    topic: str
    payload: bytes
    token: tuple[int, int]


class Session:
    """The state of one link; place and name are for people."""

    def __init__(self, place: str, name: str) -> None:
        self._place, self._name = place, name
        self._changed = threading.Condition()
        self._ready = False
        self._trouble, self._refused = "it does not answer", False
        self._unsent = 0
        self.connection = 0  # how many there have been: packet ids come back on the next one

    def up(self) -> None:
        """The link is connected and subscribed."""
        with self._changed:
            self._ready = True
            self._changed.notify_all()

    def down(self) -> None:
        """The connection is lost, or was ended."""
        with self._changed:
            self._ready = False
            self._changed.notify_all()

    def failed(self, why: str, *, refused: bool = False) -> None:
        """An attempt was in vain; refused when the broker answered and said no."""
        with self._changed:
            self._trouble, self._refused = why, refused
            self._changed.notify_all()

    def sending(self, more: int) -> None:
        """So many more messages are on their way, or fewer when it is negative."""
        with self._changed:
            self._unsent += more
            self._changed.notify_all()

    def wait_up(self, patience_s: float) -> None:
        """Return once the link is up.

        Raises:
            LinkFault: nobody answers, or the broker will not have us.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._refused, patience_s)
            ready, refused, trouble = self._ready, self._refused, self._trouble
        if refused:
            raise LinkFault(
                f"the broker at {self._place} will not have {self._name} ({trouble}); it must let "
                "the gateway in, or no reading arrives. Mend username and password_file under "
                "[mqtt], or the broker's access list"
            )
        if not ready:
            raise LinkFault(
                f"no MQTT broker at {self._place} ({trouble}); one must listen there, for it "
                "carries every reading. Start it, or mend host and port under [mqtt]"
            )

    def wait_down(self, patience_s: float) -> None:
        """Return once the link is down, or patience is at its end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._ready, patience_s)

    def wait_sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when patience ended before or it is down."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._unsent and self._ready), patience_s)
            return not self._unsent
