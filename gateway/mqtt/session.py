"""How one MQTT connection stands: up or down, refused, what is still on its way.

A link's callbacks write it on the pump's thread and anybody may wait on it. The messages
and topics themselves are `service`'s business.
"""

import threading
from collections import deque
from typing import NamedTuple

from ..faults import LinkFault, RefusedFault

OFTEN, OFTEN_S = 3, 5.0  # losses within so many seconds: a network does not fail like that


class Message(NamedTuple):
    """What came: `token` is (connection, packet id) and is good for one acknowledgement.

    retained: the broker had kept it, and gives it to everybody who subscribes.
    """

    topic: str
    payload: bytes
    token: tuple[int, int]
    retained: bool = False


class Session:
    """The state of one link; place and name are for people."""

    def __init__(self, place: str, name: str) -> None:
        self._place, self._name = place, name
        self._changed = threading.Condition()
        self._ready = False
        self._silent("it does not answer")
        self._final = False
        self._unsent = 0
        self._lost: deque[float] = deque(maxlen=OFTEN)
        self._counted, self._told = 0, False
        self.connection = 0  # how many there have been: packet ids come back on the next one

    def up(self) -> None:
        """The link is connected and subscribed."""
        with self._changed:
            self._ready, self._final = True, False
            self._changed.notify_all()

    @property
    def ready(self) -> bool:
        """Whether the link is up."""
        return self._ready

    def down(self, now_s: float, why: str = "the connection is lost") -> bool:
        """The connection is lost, or was ended; return whether that is too often, once alone."""
        with self._changed:
            if self._ready:
                self._silent(why)
            self._ready = False
            self._changed.notify_all()
            if self._counted < self.connection:  # else there was none to be lost
                self._counted = self.connection
                self._lost.append(now_s)
            often = len(self._lost) == OFTEN and now_s - self._lost[0] <= OFTEN_S
            first, self._told = often and not self._told, often or self._told
            return first

    def failed(self, why: str) -> None:
        """An attempt was in vain; the next one may not be."""
        with self._changed:
            self._silent(why)
            self._changed.notify_all()

    def refused(self, why: str) -> None:
        """The broker answered and said no."""
        self.unwilling(
            f"the broker at {self._place} will not have {self._name} ({why}); it must let the "
            "gateway in, or no reading arrives. Mend username and password_file under [mqtt], or "
            "the broker's access list",
            final=True,
        )

    def unwilling(self, sentence: str, *, final: bool) -> None:
        """One of us will not have the other; final when another attempt would end alike."""
        with self._changed:
            self._trouble, self._final = sentence, final
            self._changed.notify_all()

    @property
    def trouble(self) -> str:
        """Why the link is not up, as a sentence."""
        with self._changed:
            return self._trouble

    def sending(self, more: int) -> None:
        """So many more messages are on their way, or fewer when it is negative."""
        with self._changed:
            self._unsent += more
            self._changed.notify_all()

    def wait_up(self, patience_s: float) -> None:
        """Return once the link is up.

        Raises:
            LinkFault: nobody answers, or one of us will not have the other.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._final, patience_s)
            if not self._ready:
                raise (RefusedFault if self._final else LinkFault)(self._trouble)

    def wait_down(self, patience_s: float) -> None:
        """Return once the link is down, or patience is at its end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._ready, patience_s)

    def wait_sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when patience ended before or it is down."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._unsent and self._ready), patience_s)
            return not self._unsent

    def _silent(self, why: str) -> None:
        self._trouble = (
            f"no MQTT broker at {self._place} ({why}); one must listen there, for it carries "
            "every reading. Start it, or mend host and port under [mqtt]"
        )
