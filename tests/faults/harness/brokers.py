"""A mosquitto of a test's own: on its own port, with its own memory, killed and frozen at will."""

import os
import socket
import time
from pathlib import Path

from gateway.devices.broker.embedded import CONFIGURATION
from tests.processes import find_free_port

from .children import Child

# As they are shipped.
LIMITS = "".join(
    line
    for line in CONFIGURATION.splitlines(keepends=True)
    if line.startswith(("max_inflight", "max_queued_messages", "max_packet", "set_tcp"))
)
OPEN = "allow_anonymous true\n"


class Broker(Child):
    """mosquitto; `start` returns once it listens."""

    def __init__(
        self, program: str, folder: Path, *, persistent: bool = True, more: str = OPEN + LIMITS
    ) -> None:
        """Write its files; persistent as `heatveil broker init` makes it."""
        self.port = find_free_port()
        folder.mkdir(exist_ok=True)
        kept = f"persistence true\npersistence_location {folder}/\nautosave_interval 60\n"
        user = "user root\n" if os.getuid() == 0 else ""  # else it could not read our folder
        settings = folder / "mosquitto.conf"
        settings.write_text(
            f"listener {self.port} 127.0.0.1\n{user}{kept if persistent else ''}{more}"
            "log_type error\nlog_type warning\nlog_type notice\nconnection_messages true\n"
        )
        super().__init__([program, "-c", settings], folder / "mosquitto.txt")

    def start(self, *words: str, **environment: str) -> "Broker":
        super().start(*words, **environment)
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s and self.alive:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"mosquitto did not start: {self.said()[-500:]}")

    def restart(self) -> None:
        """Stop it cleanly, so that it can save what it knows, and start it."""
        self.stop()
        self.start()
