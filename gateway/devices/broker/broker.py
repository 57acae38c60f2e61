"""A broker of our own for a demonstration or a test: loopback only, gone without a trace.

mosquitto as a child process where it is on the machine, else amqtt in this process. Both
forget everything when they stop. In production the broker is the operator's own.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...faults import OperatorFault
from . import fallback

LOOPBACK = "127.0.0.1"
START_S = 10.0

# The gateway acknowledges after its commit, so the window of unacknowledged messages must
# be wide, and the broker must not drop what waits for a slow or absent gateway.
CONFIGURATION = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_inflight_messages 500
max_queued_messages 100000
max_queued_bytes 67108864
message_size_limit 4194304
set_tcp_nodelay true
log_type error
log_dest stderr
"""

# mosquitto lives as long as this shell's standard input stays open, and that is ours: even
# after kill -9 of this process the pipe closes, the watcher wakes and takes the broker down.
WATCHED = """\
exec 3<&0
"$1" -c "$2/mosquitto.conf" & broker=$!
{ read -r _; kill $broker; } <&3 2>/dev/null & watcher=$!
wait $broker
kill $watcher 2>/dev/null
rm -rf "$2"
"""


class Address(NamedTuple):
    """Where a broker listens, and what it is."""

    host: str
    port: int
    kind: str = "the operator's"


def free_port() -> int:
    """Return a loopback port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def mosquitto() -> str | None:
    """Return the path of mosquitto, which Debian puts where only root looks, or None."""
    places = os.environ.get("PATH", "") + os.pathsep + "/usr/local/sbin:/usr/sbin"
    return shutil.which("mosquitto", path=places)


@contextmanager
def embedded(kind: str = "auto") -> Iterator[Address]:
    """Run a broker on a free loopback port for as long as the block lasts.

    Args:
        kind: "mosquitto", "amqtt", or "auto" for the first of them that is here.

    Raises:
        OperatorFault: that broker is not installed, or would not start.
    """
    program = mosquitto()
    if kind == "auto":
        kind = "mosquitto" if program else "amqtt"
    if kind == "mosquitto" and program is None:
        raise OperatorFault(
            "mosquitto was asked for and is not on this machine; it carries the messages between "
            "sensors and gateway. Install it (apt install mosquitto) or use amqtt"
        )
    with _mosquitto(program) if kind == "mosquitto" and program else _amqtt() as port:
        yield Address(LOOPBACK, port, kind)


@contextmanager
def _mosquitto(program: str) -> Iterator[int]:
    for _ in range(5):  # between finding the port and using it another may take it
        port = free_port()
        folder = tempfile.mkdtemp(prefix="heatveil-broker-")
        Path(folder, "mosquitto.conf").write_text(CONFIGURATION.format(port=port))
        child = subprocess.Popen(
            ["/bin/sh", "-c", WATCHED, "sh", program, folder],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for us, not for the broker
        )
        try:
            if _answers(port, child):
                yield port
                return
        finally:
            child.communicate(timeout=START_S)  # closes its standard input and waits
            shutil.rmtree(folder, ignore_errors=True)
    raise OperatorFault(
        f"{program} did not start on a free loopback port in {START_S:.0f} s, and without it "
        "no reading arrives. Run `mosquitto -v` by hand to see why, or name your own under [mqtt]"
    )


def _answers(port: int, child: subprocess.Popen[bytes]) -> bool:
    """Return True once somebody listens on the port, False when the child gives up."""
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s and child.poll() is None:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            # Another program may have taken the port: then our child is about to leave.
            time.sleep(0.05)
            return child.poll() is None
    return False


@contextmanager
def _amqtt() -> Iterator[int]:
    port = free_port()
    with fallback.amqtt(LOOPBACK, port):
        yield port
