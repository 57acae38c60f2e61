"""The one link of a gateway to its broker: what it hears, what it announces, how it leaves."""

from collections.abc import Callable, Sequence

from .deployment import Deployment
from .homeassistant.announcer import Announcer
from .mqtt.pump import Pump
from .mqtt.service import Link, Taker
from .mqtt.session import Message
from .storage.store import Store


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
        self._store = store
        # The name is the session's: with another site's filters it must be another session.
        self._client = f"heatveil-{site}"
        self._announcer = Announcer(deployment, self._announce)
        wanted, unwanted = topics
        self._wanted = {*wanted, *self._announcer.births}
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

    def _announce(self, topic: str, payload: bytes, retain: bool) -> None:
        self.link.publish(topic, payload, retain=retain)

    def _came(self, link: Link, message: Message) -> None:
        if message.topic in self._announcer.births:
            self._announcer.heard(message.topic, message.payload)
            link.ack(message)
        else:
            self._take(link, message)

    def _linked(self, up: bool, why: str) -> None:
        self._up = up
        self._on_state(up, why)
        if up:
            self._announcer.online()
