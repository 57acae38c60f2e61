"""A fleet's devices, what they say, and one who asks them and may thank them."""

from pathlib import Path
from typing import Any

from edge.core import cbor, wire
from edge.core.limits import Limits
from edge.core.slots import Files
from edge.host import post
from gateway.devices.enrol import budgets, enrol
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt

LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


class Asker:
    """Enrolled devices of a folder, what they say, and one who asks them and may thank them."""

    def __init__(
        self,
        mqtt: Mqtt,
        folder: Path,
        pump: Pump,
        count: int,
        *,
        limits: Limits = LIMITS,
        thanks: bool = False,
    ) -> None:
        self.mqtt, self.folder, self.thanks = mqtt, folder, thanks
        self.name = f"fleet-{folder.name[-24:]}"
        self.made = enrol.enrol_fleet(self.name, count)
        enrol.save_secrets(self.made.secrets, folder / "secrets.json")
        self.keys = {who.name: who.config_key for who, _ in self.made.secrets.devices}
        self.place = lambda one: Files(str(folder), one)
        budgets.provision(self.made, limits, self.place)
        self.said: list[tuple[str, str, bytes]] = []
        heard = {"subscribe": [f"heatveil/1/{self.name}/+/+"], "on_message": self._came}
        self.link = Link(mqtt, f"asks-{self.name}", pump, **heard).wait()

    def _came(self, link: Link, message: Message) -> None:
        link.ack(message)
        name, leaf = message.topic.split("/")[3:]
        if message.payload:
            self.said.append((name, leaf, message.payload))
        if leaf == "data" and self.thanks:
            body = cbor.decode(message.payload[: -wire.MAC_BYTES])
            self.thank(name, body[2], body[1])

    def of(self, leaf: str, name: str = "") -> list[bytes]:
        """Return what was said on this leaf, by this device or by any."""
        return [what for who, on, what in list(self.said) if on == leaf and who in (name or who)]

    def ask(self, home: Any, number: int) -> None:
        """Ask all of them a round."""
        where = wire.round_topic(self.name, "thermal")
        key = self.made.secrets.site_key
        self.link.publish(where, bytes(post.pack_round(home.round(number), key, where)))

    def thank(self, name: str, epoch: int, seq: int) -> None:
        """Receipt a frame."""
        where = wire.topic(self.name, name, "receipt")
        said = post.pack_receipt(epoch, seq, True, self.keys[name], where)
        self.link.publish(where, bytes(said))
