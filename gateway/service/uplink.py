"""The one link of a gateway to its broker: what it hears, what it announces, how it leaves."""

import json
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import structlog

from edge import wire

from ..devices.enrol.enrol import Devices
from ..faults import LinkFault, RefusedFault
from ..settings.deployment import Deployment
from ..store.store import Store
from .asking import met
from .homeassistant.announcer import Announcer
from .mqtt.connection import Message
from .mqtt.pump import Pump
from .mqtt.service import Link, Taker

_META, _DEVICES = 4096, 100_000  # bytes of a message that is looked at; how many are kept
LOOK_S = 1.0  # for a broker that has us already to let us read
BEHIND_S = 0.2  # what is retained comes with the word that we are subscribed, or right behind it

UNREAD = (
    "the broker does not let the gateway read which round it retains, so that a ledger which is "
    "older than that round is not found out by it; let the gateway's user read "
    "heatveil/1/<site>/round/#, as gateway/README says under The broker"
)

log = structlog.get_logger()


class Uplink:
    """The link, and who tells Home Assistant over it. `close` says goodbye."""

    def __init__(
        self,
        deployment: Deployment,
        store: Store,
        pump: Pump,
        take: Taker,
        on_state: Callable[[bool, str], None],
        topics: tuple[Sequence[str], Sequence[str]],
    ) -> None:
        """Begin to connect.

        Args:
            take: is given each report, on the pump's thread.
            on_state: hears whether the link is up and why it is not, on the pump's thread.
            topics: where reports come that are to be taken, and that are not, or no longer.
        """
        site = deployment.site.name
        self._take, self._on_state, self._up = take, on_state, False
        self._store, self._deployment, self._pump = store, deployment, pump
        # The name is the session's: with another site's filters it must be another session.
        self._client = f"heatveil-{site}"
        self._announcer = Announcer(deployment, self._announce)
        wanted, unwanted = topics
        # When devices say that their levels were recorded, in seconds of the epoch, by name.
        self.recorded_s: dict[str, float] = {}
        self._metas = wire.topic(site, "+", "meta") if deployment.room.plan else ""
        self._wanted = {*wanted, *self._announcer.births, *([self._metas] if self._metas else ())}
        # A session that lasts keeps filters that nobody wants any more. Until they are gone from
        # there the store remembers both.
        kept = store.filters(self._client)
        self._tidied = kept == self._wanted
        if not self._tidied:
            store.keep_filters(self._client, kept | self._wanted)
        self.link = Link(
            deployment.mqtt,
            self._client,
            pump,
            subscribe=sorted(self._wanted),
            unsubscribe=sorted({*kept, *unwanted} - self._wanted),
            on_message=self._came,
            will=self._announcer.will,
            on_state=self._linked,
        )

    def tell(self, event: dict[str, object]) -> None:
        """Pass an event on to Home Assistant, as far as it is for there."""
        self._announcer.event(event)

    def tidy(self) -> None:
        """Remember what the session is subscribed to, once it is; not on the pump's thread."""
        if self._up and not self._tidied:
            self._store.keep_filters(self._client, self._wanted)
            self._tidied = True

    def renew(self, deployment: Deployment) -> None:
        """Announce what another deployment says is to be seen."""
        self._announcer = Announcer(deployment, self._announce)
        if self._up:
            self._announcer.online()

    def close(self) -> None:
        """Say goodbye; the session stays, and the broker keeps what comes."""
        self._announcer.offline()
        self.link.close()

    def remembered(self, devices: Devices) -> bool:
        """Hold the ledger against the round that the broker retains; return whether that is done.

        Raises:
            ForgottenFault: we have asked it, and the ledger does not know of it.
        """
        try:
            message = self._retained()
        except RefusedFault as fault:
            log.warning(UNREAD, why=str(fault))
            return True
        except LinkFault:
            return False  # the link was lost just now: when it is back
        asked = met(message, self._deployment.rounds.mechanism, devices) if message else None
        if asked is not None:
            number = asked.plan.number
            found = f"the broker retains round {number}, signed with this site's key"
            self._store.witness(asked, found)
        elif message:
            log.warning(
                "the broker retains a round that this site has not signed", until="the next"
            )
        return True

    def _retained(self) -> bytes:
        """Return the round that the broker retains for us, b"" where there is none.

        On a connection of its own: on the session that lasts it would wait behind what has come
        for us, and a broker that lets us read no rounds would refuse that session as a whole.

        Raises:
            LinkFault: there is no answer, or a no: a `RefusedFault`.
        """
        site, came = self._deployment.site.name, SimpleQueue[bytes]()

        def take(link: Link, message: Message) -> None:
            link.ack(message)
            came.put(message.payload)

        topic = wire.round_topic(site, self._deployment.rounds.mechanism)
        told: dict[str, Any] = {"subscribe": [topic], "lasting": False, "on_message": take}
        broker = self._deployment.mqtt.model_copy(update={"version": str(self.link.version)})
        link = Link(broker, f"heatveil-{site}-reads", self._pump, **told).wait(LOOK_S)
        try:
            return came.get(timeout=BEHIND_S)
        except Empty:
            return b""
        finally:
            link.close()

    def _announce(self, topic: str, payload: bytes, retain: bool) -> None:
        self.link.publish(topic, payload, retain=retain)

    def _came(self, link: Link, message: Message) -> None:
        if message.topic in self._announcer.births:
            self._announcer.heard(message.topic, message.payload)
            link.ack(message)
        elif self._metas and message.topic.endswith("/meta"):
            self._level(message)
            link.ack(message)
        else:
            self._take(link, message)

    def _level(self, message: Message) -> None:
        """Note when a device says that its level was recorded; whoever lies spoils a map alone."""
        self.recorded_s.pop(name := message.topic.split("/")[-2], None)
        if (at_s := level_s(message.payload)) and len(self.recorded_s) < _DEVICES:
            self.recorded_s[name] = at_s

    def _linked(self, up: bool, why: str) -> None:
        self._up = up
        self._on_state(up, why)
        if up:
            self._announcer.online()


def level_s(meta: bytes) -> float | None:
    """Return when a device's level was recorded, by its `meta`; None where it does not say."""
    try:
        said = json.loads(meta) if len(meta) < _META else None
    except (ValueError, RecursionError):
        return None
    at_ms = said.get("recorded_ms") if isinstance(said, dict) else None
    return at_ms / 1000 if type(at_ms) is int and 0 < at_ms < 1 << 48 else None
