"""Virtual devices on a real broker: each one its own client, its own session, its own will.

They run the code of `edge`; nothing here knows what they read. `dialogue` says what they hear and
say, `crew` who does their work; here is how the messages get in and out.
"""

from collections.abc import Callable, Mapping
from functools import partial

from edge import wire

from ...mqtt import access
from ...mqtt.pump import Pump
from ...mqtt.service import Link
from ...mqtt.session import Message
from ...operating import Mqtt
from .crew import Crew
from .dialogue import LEAVES, Dialogue, Fleet
from .spool import Spool, in_memory

RESEND_S = 5.0


class Nodes:
    """A fleet on MQTT; a context manager."""

    def __init__(
        self,
        broker: Mqtt,
        site: str,
        mechanism: str,
        fleet: Fleet,
        passwords: Mapping[str, str] | None = None,
        spools: Callable[[str, bytes], Spool] = in_memory,
    ) -> None:
        """Connect every device and announce it.

        Args:
            passwords: of each device at the broker; without any, all come as [mqtt] says.
            spools: gives the spool of a device by its name and key id.

        Raises:
            LinkFault: the broker does not answer or will not have them.
        """
        self._site = site
        self._round_topic = wire.round_topic(site, mechanism)
        self._pump = Pump("nodes")
        self._links: dict[str, Link] = {}
        self._devices: dict[str, Dialogue] = {}
        self._crew = Crew(self._devices, RESEND_S)
        try:
            for name in fleet.names:
                own = access.as_device(broker, name, passwords[name]) if passwords else broker
                self._links[name] = self._link(own, name)
                spool = spools(name, fleet.node(name).identity.key_id)
                self._devices[name] = Dialogue(fleet, name, partial(self._say, name), spool)
            for name, link in self._links.items():
                link.wait()
                self._devices[name].hello()
                self._devices[name].resend()  # what an earlier process left
        except BaseException:
            self._crew.stop()
            self._disconnect()
            raise
        self._crew.start()

    def __enter__(self) -> "Nodes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye for every device, and disconnect."""
        self._crew.stop()
        for name in self._links:
            self._say(name, "state", b"disconnected", True)
        self._disconnect()

    @property
    def unreceipted(self) -> int:
        """How many devices wait for a receipt."""
        return sum(len(device.spool) > 0 for device in self._devices.values())

    def _disconnect(self) -> None:
        for link in self._links.values():
            link.close()
        self._pump.close()

    def _link(self, broker: Mqtt, name: str) -> Link:
        own = [wire.topic(self._site, name, leaf) for leaf in LEAVES]
        will = (wire.topic(self._site, name, "state"), b"lost")
        return Link(
            broker,
            f"heatveil-{self._site}-{name}",
            self._pump,
            subscribe=[self._round_topic, *own],
            on_message=partial(self._came, name),
            will=will,
        )

    def _say(self, name: str, leaf: str, payload: bytes, retain: bool) -> None:
        self._links[name].publish(wire.topic(self._site, name, leaf), payload, retain=retain)

    def _came(self, name: str, link: Link, message: Message) -> None:
        """Note a message and its moment; on the pump's thread, so the work is left to ours."""
        link.ack(message)
        leaf = message.topic.removeprefix(wire.topic(self._site, name, ""))
        if message.topic == self._round_topic:
            leaf = "round"
        self._crew.hear(name, leaf, message.payload)
