"""Layer: a stream of noise belongs to one reading, and no two readings share one.

The stream of a reading is computed anew here, by Python's own hmac, and each of the things that
name a reading is changed by itself: another device, boot, message, sensor or key must be another
stream. The blocks that real devices draw are listened to, over reboots and repeated Rounds. What
it cannot see: what happens when power fails in the middle, for which there is the layer `crash`.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from edge import entropy

from .bench import Device, message
from .claim import Claim, Effort, at_most, true
from .keying import made
from .scenes import plans
from .watch import Blocks, listening, replaced

NAMES = ("a", "b", "ab", "a" * 255, "a\0", "room-1", "room-11")
COUNTERS = (0, 1, 2, 255, 256, 257, 65535, 65536, 1 << 32, (1 << 48) - 1)
CHANNELS = (0, 1, 2, 255, 256, 65535)
ROUNDS = 24
LEAST_BITS = 16  # that a draw of a hundred grains and more takes, far below its mean
# Devices of one root that differ by name, or by name and sensors.
TWINS = (("twin-1", 0), ("twin-2", 0), ("twin-3", 2))


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of streams, first by name and then as devices draw them."""
    chain, other = (effort.root("stream", i) for i in range(2))
    yield _as_documented(chain, effort)
    yield _complete(chain, other)
    yield _continues(chain)
    yield _uniform(effort)
    asked = mechanism.subject.asked
    for mode, round in asked.modes(plans(mechanism)[0].round):
        yield from _devices(round, mode, asked.SENSORS, chain)
        if mode == "sealed":
            yield from _devices(round, mode, asked.SENSORS, chain, " without a system's entropy")


def _as_documented(chain: bytes, effort: Effort) -> Claim:
    rng, wrong, cases = effort.tape("documented"), 0, 40
    for _ in range(cases):
        name = NAMES[rng.below(len(NAMES))]
        epoch, seq = (COUNTERS[rng.below(len(COUNTERS))] for _ in range(2))
        channel = CHANNELS[rng.below(len(CHANNELS))]
        label, stamp = b"heatveil-noise-v1", epoch.to_bytes(8, "big")
        key = made(made(chain, label), stamp)
        prefix = bytes([len(name)]) + name.encode() + stamp + seq.to_bytes(8, "big")
        prefix += channel.to_bytes(2, "big")
        blocks = [made(key, label, prefix, i.to_bytes(4, "big")) for i in range(3)]
        stream = entropy.keyed(chain, name, epoch, seq, channel)
        found = b"".join(stream.bits(8).to_bytes(1, "big") for _ in range(96))
        again = entropy.opened(key, name, epoch, seq, channel).bits(768).to_bytes(96, "big")
        wrong += found != b"".join(blocks) or again != found
    return true(
        "a stream is HMAC-SHA256 of its key, its reading's full name and a counter, bit by bit",
        not wrong,
        samples=cases,
    )


def _complete(chain: bytes, other: bytes) -> Claim:
    """All that names a reading must be in its stream, and no two names run into one."""
    heads: dict[int, tuple[Any, ...]] = {}
    alike = []
    readings = [
        (key, name, epoch, seq, channel)
        for key in (chain, other)
        for name in NAMES
        for epoch in COUNTERS
        for seq in COUNTERS
        for channel in CHANNELS[:2]
    ] + [(chain, "a", 1, 1, channel) for channel in CHANNELS[2:]]
    for reading in readings:
        head = entropy.keyed(*reading).bits(128)
        if head in heads:
            alike.append(f"{heads[head][1:]} and {reading[1:]}")
        heads[head] = reading
    return at_most(
        "another key, device, boot, message or sensor is another stream",
        0,
        len(alike),
        unit="streams shared",
        samples=len(readings),
        detail="; ".join(alike[:2]),
    )


def _continues(chain: bytes) -> Claim:
    """A stream must never come back to where it was: its own counter goes on."""
    blocks = 3000
    stream = entropy.keyed(chain, "a", 1, 1, 0)
    found = {stream.bits(256) for _ in range(blocks)}
    return true("no block of a stream comes again", len(found) == blocks, samples=blocks)


def _uniform(effort: Effort) -> Claim:
    """A remainder in place of a rejection would favour small numbers: exact, bit by bit."""
    wrong, cases = 0, 2000
    rng, bits = (entropy.Tape(b"uniform") for _ in range(2))
    sizes = effort.tape("sizes")
    for _ in range(cases):
        n = 1 + sizes.bits(1 + sizes.bits(5) + sizes.bits(5))  # of up to 63 bits
        width = (n - 1).bit_length()
        while (value := bits.bits(width)) >= n:
            pass
        wrong += rng.below(n) != value
    return true(
        "below(n) rejects what is too large, and never folds it over", not wrong, samples=cases
    )


def _devices(
    asked: Any, mode: str, sensors: int, root: bytes, system: str = ""
) -> Iterator[Claim]:
    """Yield what devices of one root draw, over two boots and Rounds asked thrice."""
    twins = TWINS[:1] if system else TWINS  # a dead system and one root are one sealed device
    dead = replaced(entropy, "os_entropy", bytes) if system else nullcontext()
    with listening() as blocks, dead:
        devices = [Device(asked, root, name=name, sensors=sensors, first=at) for name, at in twins]
        for boot in range(2):
            for device in devices if boot else ():
                device.boot()
            _asked(devices, asked, boot, blocks)
    of = f"a {mode} device{system}"
    yield at_most(
        f"no block of noise of {of} serves two frames, two boots or two devices",
        0,
        blocks.twice,
        unit="blocks",
        samples=len(blocks.published),
    )
    frames = len(twins) * 2 * ROUNDS
    yield true(
        f"every frame of {of} is made of noise of its own",
        len(blocks.frames) == frames
        and not blocks.bare
        and 256 * blocks.count >= LEAST_BITS * sensors * frames,
        samples=blocks.count,
        detail=f"{blocks.bare} of {len(blocks.frames)} frames had no number drawn for them",
    )


def _asked(devices: list[Device], round: Any, boot: int, blocks: Blocks) -> None:
    for number in range(1, ROUNDS + 1):
        _, signed = message(round, boot * ROUNDS + number)
        for device in devices:
            for reading in range(3):
                frame = device.answer(signed, device.seen(number + reading))
                if frame is not None:
                    blocks.publish(frame)
