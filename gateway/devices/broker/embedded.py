"""A broker of our own for a demonstration or a test: loopback only, gone without a trace.

mosquitto as a child process where it is on the machine, else amqtt in this process, on an event
loop and a thread of its own. Both forget everything when they stop. In production the broker is
the operator's own.
"""

import asyncio
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...faults import OperatorFault

AMQTT_START_S = 10.0
CLOSE_S = 2.0


@contextmanager
def run_amqtt(host: str, port: int) -> Iterator[None]:
    """Run amqtt on this address for as long as the block lasts.

    Raises:
        OperatorFault: amqtt is not installed.
    """
    try:
        from amqtt.broker import Broker  # a second to import, and only needed here
    except ImportError as fault:
        raise OperatorFault(
            "there is neither mosquitto nor amqtt on this machine, and the messages between "
            "sensors and gateway need a broker. Install one: apt install mosquitto, or "
            "pip install -e '.[demo]' in heatveil's checkout"
        ) from fault
    for noisy in ("amqtt", "transitions"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_complain)
    thread = threading.Thread(target=loop.run_forever, name="amqtt", daemon=True)
    thread.start()
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    listeners = {"default": {"type": "tcp", "bind": f"{host}:{port}"}}

    async def start() -> Broker:
        broker = Broker({"listeners": listeners, "plugins": plugins})
        await broker.start()
        return broker

    try:
        broker = asyncio.run_coroutine_threadsafe(start(), loop).result(AMQTT_START_S)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_end(broker), loop).result(AMQTT_START_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(AMQTT_START_S)
        loop.close()


def _complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong, but for a client that is gone already.

    amqtt refuses MQTT 5 and then closes a socket that the client may have closed before it.
    """
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


async def _end(broker: Any) -> None:
    """Shut amqtt down, and close what its shutdown leaves open or waits for in vain.

    It never ends while a client is connected, and where one is just leaving it forgets the
    socket, whose complaint would then come from wherever Python next collects its garbage.
    """
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: None)  # clients cut off are no news now
    with suppress(TimeoutError):
        await asyncio.wait_for(broker.shutdown(), CLOSE_S)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=CLOSE_S)
    for transport in list(getattr(loop, "_transports", {}).values()):
        transport.abort()
    await asyncio.sleep(0)  # abort closes the sockets in the loop's next turn


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
max_packet_size 4200000
set_tcp_nodelay true
log_type information
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


class BrokerAddress(NamedTuple):
    """Where a broker listens, and what it is."""

    host: str
    port: int
    kind: str = "the operator's"


def find_free_port() -> int:
    """Return a loopback port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def find_mosquitto() -> str | None:
    """Return the path of mosquitto, which Debian puts where only root looks, or None."""
    places = os.environ.get("PATH", "") + os.pathsep + "/usr/local/sbin:/usr/sbin"
    return shutil.which("mosquitto", path=places)


@contextmanager
def run_broker(kind: str = "auto") -> Iterator[BrokerAddress]:
    """Run a broker on a free loopback port for as long as the block lasts.

    Args:
        kind: "mosquitto", "amqtt", or "auto" for the first of them that is here.

    Raises:
        OperatorFault: that broker is not installed, or would not start.
    """
    program = find_mosquitto()
    if kind == "auto":
        kind = "mosquitto" if program else "amqtt"
    if kind == "mosquitto" and program is None:
        raise OperatorFault(
            "mosquitto was asked for and is not on this machine; it carries the messages between "
            "sensors and gateway. Install it (apt install mosquitto) or use amqtt"
        )
    with _run_mosquitto(program) if kind == "mosquitto" and program else _run_amqtt() as port:
        yield BrokerAddress(LOOPBACK, port, kind)


@contextmanager
def _run_mosquitto(program: str) -> Iterator[int]:
    for _ in range(5):  # between finding the port and using it another may take it
        port = find_free_port()
        folder = tempfile.mkdtemp(prefix="heatveil-broker-")
        Path(folder, "mosquitto.conf").write_text(CONFIGURATION.format(port=port))
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(
                ["/bin/sh", "-c", WATCHED, "sh", program, folder],
                stdin=subprocess.PIPE,
                stderr=said,
                start_new_session=True,  # a Ctrl-C is for us, not for the broker
            )
            try:
                if _wait_until_listening(port, child, said.fileno()):
                    yield port
                    return
            finally:
                child.communicate(timeout=START_S)  # closes its standard input and waits
                shutil.rmtree(folder, ignore_errors=True)
    raise OperatorFault(
        f"{program} did not start on a free loopback port in {START_S:.0f} s, and without it "
        "no reading arrives. Run `mosquitto -v` by hand to see why, or name your own under [mqtt]"
    )


def _wait_until_listening(port: int, child: subprocess.Popen[bytes], said: int) -> bool:
    """Return True once our broker listens on the port, False when it gives up.

    What it says itself counts: another program may have taken the port, and would answer.
    """
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s and child.poll() is None:
        if b" running\n" in os.pread(said, 4096, 0):
            socket.create_connection((LOOPBACK, port), timeout=1).close()
            return True
        time.sleep(0.01)
    return False


@contextmanager
def _run_amqtt() -> Iterator[int]:
    port = find_free_port()
    with run_amqtt(LOOPBACK, port):
        yield port
