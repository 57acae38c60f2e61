"""A device in an interpreter of its own, MicroPython or another: `heatveil fleet --vm`.

Who it is comes as a line of JSON on its input: never in its arguments, which everybody can read.
After that it says words, a line each, and hears what it asked for:

    up, down, made, sent, acknowledged, received        as in `counts`
    found N, lost N                                      how many
    refused N   how many of the received do not count, in all
    why TEXT                                             what is wrong with the link
    read E      asks for its sensors' whole numbers, in grains of 2**-E kelvin: a line, or empty;
                where it answers its place, E is 0 and the line is its cell, x and y
    (heard) bye says goodbye and ends

What is read goes over a pipe between two processes of one person, and no further unblurred.
"""

import asyncio
import gc
import json
import sys
from binascii import unhexlify

from edge import loading

loading.load()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

from edge.core import wire  # noqa: E402
from edge.core.compat import Uptime  # noqa: E402
from edge.core.keys import Identity  # noqa: E402
from edge.core.slots import Files  # noqa: E402
from edge.core.window import open_budget  # noqa: E402
from edge.mechanisms import module_of  # noqa: E402
from edge.net.device import Device  # noqa: E402
from edge.net.link import Pauses  # noqa: E402
from edge.net.mqtt import Client  # noqa: E402
from edge.net.spill import File  # noqa: E402


def say(*words: object) -> None:
    """Tell the process that started us."""
    sys.stdout.write(" ".join([str(word) for word in words]) + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


class Kept:
    """Frames without a receipt, in a file before anybody else has them."""

    def __init__(self, path: str, size: int) -> None:
        self._file = File(path, size)
        self.overwritten, self.size, self.trouble = 0, size // 4, ""
        say("found", len(self._file))

    def __len__(self) -> int:
        return len(self._file)

    def put(self, frame: bytes) -> None:
        """Keep a frame; what it pushes out, or that it cannot be kept, is counted."""
        say("made")
        try:
            lost = self._file.put(frame)
        except OSError:
            lost = 1
        if lost:
            self.overwritten += lost
            say("lost", lost)

    def oldest(self) -> bytes | None:
        """Return the frame that waits longest, or None."""
        frame: bytes | None = self._file.oldest()
        return frame

    def free(self, frame: bytes | None = None) -> bool:
        """Forget the oldest, if it is this one where one is given; say whether it was."""
        held = self._file.oldest()
        if held is None or (frame is not None and frame != held):
            return False
        self._file.free()
        say("received")
        return True


class Line(Client):
    """A client that tells what it sends, and which of it the broker has."""

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True when the broker has it."""
        frame = topic.endswith("/data")
        if frame:
            say("sent", hash(bytes(payload)))
        taken = await super().publish(topic, payload, qos, retain)
        if frame and taken:
            say("acknowledged", hash(bytes(payload)))
        return bool(taken)


def read(params: "Any") -> list[int]:
    """Return what the sensors see, as our parent has it."""
    say("read", getattr(params, "exponent", 0))
    return [int(word) for word in sys.stdin.readline().split()]


def identity(words: "list[Any]") -> "Any":
    """Return who a device is, from JSON: its keys are in hexadecimal."""
    who = words[:5] + [unhexlify(word) for word in words[5:10]]
    if not words[10:]:
        return Identity(*who)
    if len(words) > 12:
        from edge.mechanisms.summing import Summed  # what few need

        return Summed(*(who + [unhexlify(word) for word in words[10:]]))
    who += [words[10], unhexlify(words[11])]
    from edge.mechanisms.central import Allowed

    return Allowed(*who)


async def complain(device: "Any", client: "Any") -> None:
    """Say why we are not on the broker, and what was refused, when that changes."""
    said, refused = "", 0
    while True:
        if device.refused != refused:
            refused = device.refused
            say("refused", refused)
        await asyncio.sleep(0.5)
        why = "" if client.connected else " ".join(client.trouble.split())
        if why != said:
            said = why
            say("why", why)


def make_device(told: "dict[str, Any]") -> "tuple[Any, Any, tuple[Any, ...]]":
    """Return the device that this is, its client and its will; what it was told may go then."""
    module_of(told["mechanism"])  # what it needs the most room for, while there is room
    gc.collect()
    who = identity(told["who"])
    budget = open_budget(Files(told["folder"], who.name), who.state_key, 1, Uptime())
    budget.boot()
    will = (wire.topic(who.site, who.name, "state"), b"lost", 1, True)
    door = follower = None
    if told["ca"]:
        from edge.net import tls  # memory is short, and what is not wanted takes none of it

        door = tls.context(told["host"], told["ca"].encode())
    if told["follower"]:
        from edge.core.background import Follower

        follower = Follower(told["follower"][:2], told["follower"][2])
    where = told["host"], told["port"], told["client_id"]
    user, password = told["user"], told["password"]
    client = Line(*where, user=user, password=password, door=door, will=will)
    client.pauses = Pauses(200, 2500)
    device = Device(
        who,
        budget,
        read,
        client,
        Kept(told["frames"], told["room"]),
        tick_ms=100,  # as `member.TICK_MS`
        step=told["step"] and tuple(told["step"]),
        follower=follower,
        tables=told["tables"],
        mechanism=told["mechanism"],
    )
    return device, client, will


async def live(device: "Any", client: "Any", will: "tuple[Any, ...]") -> None:
    """Run until our parent says goodbye, or is gone."""
    running = asyncio.create_task(device.run())
    await asyncio.sleep(0)  # it has said by then who hears of the link
    heard = client.on_state

    def turned(up: bool) -> None:
        say("up" if up else "down")
        heard(up)

    client.on_state = turned
    linked = asyncio.create_task(client.run())
    asyncio.create_task(complain(device, client))  # noqa: RUF006  # it ends with the process
    await asyncio.StreamReader(sys.stdin).readline()  # type: ignore[arg-type]
    running.cancel()
    if device.refused:
        say("refused", device.refused)
    if client.connected:
        await client.publish(will[0], b"disconnected", 1, True)
    await client.stop()
    linked.cancel()


def main() -> None:
    """Hear who this is, and be it."""
    parts = make_device(json.loads(sys.stdin.readline()))
    gc.collect()
    asyncio.run(live(*parts))


if __name__ == "__main__":
    main()
