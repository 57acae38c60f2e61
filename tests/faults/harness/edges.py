"""Virtual devices in a process of their own: edge's own nodes, budgets and spools on the disk.

    python edges.py DEPLOYMENT.toml OPTIONS

What a device has put into its spool it also writes into spool.log, for the judge. OPTIONS is JSON:

    frees    "receipt", or "puback" for devices that trust the broker's acknowledgement
    resend_s seconds after which what has no receipt is sent again
"""

import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.core import wire
from edge.net import device as devices
from gateway import logs
from gateway.cli.serve import call_on_signals
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import spool
from gateway.devices.fleet.crowd import Crowd
from gateway.devices.fleet.member import Line
from gateway.settings import config
from harness.switches import mend_sleep
from physics.fleet import Member


class Still:
    """Devices that always see the same."""

    def __init__(self, devices: list[Any]) -> None:
        self._members = {who.name: Member(who, budget, None, None) for who, budget in devices}
        self.names = tuple(self._members)

    def find_member(self, name: str) -> Member:
        return self._members[name]

    def restart(self, name: str, budget: Any) -> None:
        """Nobody dies here but with the process."""

    def read(self, name: str, params: Any) -> tuple[int, ...]:
        return (100,) * self._members[name].identity.sensors


class Logged(spool.Shelf):
    """A spool that tells the judge what is in it, after it is there and before it is sent."""

    of: ClassVar[dict[str, "Logged"]] = {}  # by the name of its device

    def __init__(self, name: str, path: Path, log: int) -> None:
        super().__init__(name, path)
        self.of[name] = self
        self._log, self._told = log, b""

    def put(self, frame: bytes) -> None:
        super().put(frame)
        self._tell(frame)

    def oldest(self) -> bytes | None:
        frame: bytes | None = super().oldest()
        if frame is not None and frame != self._told:  # killed between spool and log
            self._told = frame
            self._tell(frame)
        return frame

    def _tell(self, frame: bytes) -> None:
        body = wire.decode(frame[: -wire.MAC_BYTES])
        digest = hashlib.sha256(frame).hexdigest()
        os.write(
            self._log, f"+ {self._name} {body[2]} {body[1]} {digest} {body[3].hex()}\n".encode()
        )


def trusting() -> None:
    """Let every device free its spool as soon as the broker acknowledges: the control."""
    publish = Line.publish

    async def said(self: Any, topic: str, payload: bytes, *how: Any) -> bool:
        taken = await publish(self, topic, payload, *how)
        if taken and topic.endswith("/data"):
            Logged.of[topic.split("/")[3]].drop_oldest()
        return taken

    Line.publish = said  # type: ignore[method-assign]


def main(path: Path, options: dict[str, Any]) -> None:
    logs.log_to_stderr()
    deployment = config.load_deployment(path)
    secrets = enrol.load_secrets(path.with_name("secrets.json"), deployment.site.name)
    folder = path.with_name("state")
    devices.AGAIN_MS = round(1000 * options.get("resend_s", 1.0))
    if options.get("frees") == "puback":
        trusting()
    log = os.open(path.with_name("spool.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, f"day {time.time():.0f}\n".encode())  # as these devices would have it
    over = threading.Event()

    def spooled(name: str, key_id: bytes) -> Logged:
        return Logged(name, folder / f"{name}.{key_id.hex()}.spool", log)

    with budgets.open_slot_folder(folder) as place, call_on_signals(over.set):
        there = Still(budgets.boot_devices(secrets, place).devices)
        with Crowd(deployment.mqtt, there, None, spooled) as fleet:
            fleet.wait_connected(over=over)
            over.wait()


if __name__ == "__main__":
    mend_sleep()
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
