"""How a connection to a broker stands: up, refused or lost, in which version of MQTT.

Callbacks of the client run on the pump's thread and note here what came of it, for whoever waits,
asks or listens (`on_state`). Version 5 is tried first, and 3.1.1 with a broker that has no 5: such
a broker says so, or closes the connection without a word, or says nothing at all. The latter may
be a network's doing as well, so both are tried in turn until one of them has been let in.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recovery.maps.sentence import Wording

from ...faults import LinkFault, RefusedFault
from ...logs import log
from ...settings.deployment import Mqtt
from . import access
from .pump import Rider

LOOK_S = 0.1  # between two looks of who waits for a link
OFTEN, OFTEN_S = 3, 5.0  # losses within so many seconds: a network does not fail like that


class Message(NamedTuple):
    """What came: `token` is (connection, packet id) and is good for one acknowledgement.

    retained: the broker had kept it, and gives it to everybody who subscribes.
    """

    topic: str
    payload: bytes
    token: tuple[int, int]
    retained: bool = False


SILENT = Wording(
    "broker.silent",
    "no MQTT broker at {place} ({why}); one must listen there, for it carries every reading. "
    "Start it (after heatveil broker init: mosquitto -c broker/mosquitto.conf), or mend host and "
    "port under [mqtt]",
)
REFUSES = Wording(
    "broker.refuses",
    "the broker at {place} will not have {name} ({why}); it must let it in, or no "
    "reading arrives. Mend the gateway's username and password_file under [mqtt], a device's key "
    "in secrets.json (heatveil broker init tells a broker of it), or the broker's rights",
)


class LinkState:
    """The state of one link; place and name are for people."""

    def __init__(self, place: str, name: str) -> None:
        self._place, self._name = place, name
        self._changed = threading.Condition()
        self._ready = False
        self._note_silence("it does not answer")
        self._final = False
        self._unsent = 0
        self._lost: deque[float] = deque(maxlen=OFTEN)
        self._counted, self._told = 0, False
        self.connection = 0  # how many there have been: packet ids come back on the next one

    def note_up(self) -> None:
        """The link is connected and subscribed."""
        with self._changed:
            self._ready, self._final = True, False
            self._changed.notify_all()

    @property
    def ready(self) -> bool:
        """Whether the link is up."""
        return self._ready

    def note_down(self, now_s: float, why: str = "the connection is lost") -> bool:
        """The connection is lost, or was ended; return whether that is too often, once alone."""
        with self._changed:
            if self._ready:
                self._note_silence(why)
            self._ready = False
            self._changed.notify_all()
            if self._counted < self.connection:  # else there was none to be lost
                self._counted = self.connection
                self._lost.append(now_s)
            often = len(self._lost) == OFTEN and now_s - self._lost[0] <= OFTEN_S
            first, self._told = often and not self._told, often or self._told
            return first

    def note_failure(self, why: str) -> None:
        """An attempt was in vain; the next one may not be."""
        with self._changed:
            self._note_silence(why)
            self._changed.notify_all()

    def note_refusal(self, why: str) -> None:
        """The broker answered and said no."""
        self.note_unwilling(REFUSES(place=self._place, name=self._name, why=why), final=True)

    def note_unwilling(self, sentence: str, *, final: bool) -> None:
        """One of us will not have the other; final when another attempt would end alike."""
        with self._changed:
            self._trouble, self._final = sentence, final
            self._changed.notify_all()

    @property
    def trouble(self) -> str:
        """Why the link is not up, as a sentence."""
        with self._changed:
            return self._trouble

    def count_sending(self, more: int) -> None:
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
            self._wait(lambda: self._ready or self._final, patience_s)
            if not self._ready:
                raise (RefusedFault if self._final else LinkFault)(self._trouble)

    def wait_down(self, patience_s: float) -> None:
        """Return once the link is down, or patience is at its end."""
        with self._changed:
            self._wait(lambda: not self._ready, patience_s)

    def wait_sent(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when patience ended before or it is down."""
        with self._changed:
            self._wait(lambda: not (self._unsent and self._ready), patience_s)
            return not self._unsent

    def _wait(self, true: Callable[[], bool], patience_s: float) -> None:
        """Wait until it is true, or for so many looks: while a machine is frozen nobody waits."""
        for _ in range(round(patience_s / LOOK_S)):
            if self._changed.wait_for(true, LOOK_S):
                return

    def _note_silence(self, why: str) -> None:
        self._trouble = SILENT(place=self._place, why=why)


class UnsentMessages:
    """The messages on their way, by packet id; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Callable[[], None] | None] = {}
        self._early: set[int] = set()

    def add(self, packet: int, on_sent: Callable[[], None] | None) -> None:
        """A message is on its way; not to be called under a lock that `remove` may wait for."""
        with self._lock:
            early = packet in self._early
            if early:  # the acknowledgement was quicker than we are
                self._early.discard(packet)
            else:
                self._waiting[packet] = on_sent
        if early and on_sent is not None:
            on_sent()

    def remove(self, packet: int, *, taken: bool) -> None:
        """The broker has answered; call who waits for it, if it took the message."""
        with self._lock:
            early = packet not in self._waiting
            if early and taken:
                self._early.add(packet)
            on_sent = self._waiting.pop(packet, None)
        if taken and on_sent is not None:
            on_sent()


UNSUPPORTED = 132  # CONNACK: Unsupported Protocol Version; paho says so for 3.1.1's code 1 too

ANSWER_S = 1.5  # how long a broker may take to say whether it speaks a version


class VersionChoice:
    """The version to speak next; asked for is "auto", "5" or "3.1.1"."""

    def __init__(self, asked: str) -> None:
        self._asked, self._settled = asked, False
        self._answered, self._opened_s = True, 0.0
        self.five = asked != "3.1.1"

    def __str__(self) -> str:
        return "5" if self.five else "3.1.1"

    def note_opening(self) -> None:
        """A connection is made; whoever is there has not answered yet."""
        self._answered, self._opened_s = False, time.monotonic()

    def is_overdue(self, now_s: float) -> bool:
        """Return whether to give the present attempt up, for the other version's sake."""
        waits = not (self._answered or self._settled) and self._asked == "auto"
        return waits and now_s - self._opened_s > ANSWER_S

    def note_welcome(self) -> None:
        """It was let in: this is the version from now on."""
        self._answered = self._settled = True

    def may_retry_refused(self, code: int) -> bool:
        """Return whether to come again with the other version, after this refusal."""
        self._answered = True
        return code == UNSUPPORTED and self.five and self._turn()

    def may_retry_closed(self) -> bool:
        """Return whether to come again with the other version, after the connection was lost."""
        silent, self._answered = not self._answered, True
        return silent and self._turn()

    def _turn(self) -> bool:
        if self._asked != "auto" or self._settled:
            return False
        self.five = not self.five
        if not self.five:
            log.info("the broker does not speak MQTT 5; trying 3.1.1")
        return True


WINDOW = 500  # messages on their way to the broker at once
TWICE = "somebody else may be using our name: a second gateway or fleet of this site?"


class ClientCallbacks:
    """What the client's callbacks do; attach it before the client is on the pump."""

    def __init__(
        self,
        broker: Mqtt,
        name: str,
        filters: tuple[Sequence[str], Sequence[str]],
        on_state: Callable[[bool, str], None] | None,
    ) -> None:
        """Begin, not connected; filters are those to subscribe and those to be rid of."""
        self.session = LinkState(f"{broker.host}:{broker.port}", name)
        self.version, self.sending = VersionChoice(broker.version), UnsentMessages()
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
        client.on_connect, client.on_disconnect = self._handle_connect, self._handle_disconnect
        client.on_subscribe, client.on_publish = self._handle_subscribe, self._handle_publish

    def note_opening(self) -> bool:
        """A connection is about to be made; return whether to speak MQTT 5 on it."""
        self.connections += 1
        self.version.note_opening()
        return self.version.five

    def note_failure(self, fault: OSError) -> None:
        """There is nobody, or nobody that is to be trusted."""
        why = access.explain_distrust(self._broker, fault)
        if why:
            self.session.note_unwilling(why, final=access.is_certificate_at_fault(fault))
            self._log_complaint_once("the broker is not trusted", why)
        else:
            self.session.note_failure(fault.strerror or str(fault))
        self._say(False)

    def _handle_connect(
        self, _client: Any, _data: Any, _flags: Any, reason: Any, said: Any
    ) -> None:
        if reason.is_failure:
            if self.version.may_retry_refused(reason.value):
                self._rider.forget_failures()  # with the other version, and at once
            else:
                self.session.note_refusal(str(reason))
                self._say(False)
            return
        self.version.note_welcome()
        # How much a broker can bear paho leaves to us, and would not have it changed now.
        self._client._max_inflight_messages = min(WINDOW, getattr(said, "ReceiveMaximum", WINDOW))
        self.session.connection += 1
        self._complaints.clear()
        if self.session.connection > 1:
            log.info("reconnected to the broker", connection=self.session.connection)
        self._rider.forget_failures()
        if self._stale:
            self._client.unsubscribe(self._stale)
        if self._filters:
            self._client.subscribe(self._filters)
        else:
            self._note_link_up()

    def _handle_subscribe(
        self, _client: Any, _data: Any, _packet: Any, reasons: Any, _more: Any
    ) -> None:
        if failures := sorted({str(one) for one in reasons if one.is_failure}):
            self.session.note_refusal(f"it may not subscribe: {', '.join(failures)}")
            self._say(False)
        else:
            self._note_link_up()

    def _note_link_up(self) -> None:
        self.session.note_up()
        self._say(True)

    def _handle_disconnect(
        self, _c: Any, _data: Any, _flags: Any, reason: Any, _more: Any
    ) -> None:
        turned = self.version.may_retry_closed()
        if turned:
            self._rider.forget_failures()
        often = self.session.note_down(time.monotonic(), f"the connection was lost: {reason}")
        if not self.closing and not turned:
            log.warning("the broker is lost; connecting again", why=str(reason))
            if often:
                log.warning(TWICE)
            self._say(False)

    def _handle_publish(self, _c: Any, _data: Any, packet: int, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._log_complaint_once("the broker does not take what we publish", str(reason))
        try:
            self.sending.remove(packet, taken=not reason.is_failure)
        finally:
            # Last: `sent` says so when whoever waits for one has heard
            self.session.count_sending(-1)

    def _log_complaint_once(self, trouble: str, why: str) -> None:
        """Log it once: what is wrong stays wrong for a while."""
        if why not in self._complaints:
            log.warning(trouble, why=why)
            self._complaints.add(why)

    def _say(self, up: bool) -> None:
        if self._on_state is not None:
            self._on_state(up, "" if up else self.session.trouble)
