"""Layers `keys`, `holders` and `streams`: what a key is for, and which noise is made of it."""

import gc
import hmac
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations, product
from typing import Any

from edge.core import entropy
from edge.core.budget import COUNT
from edge.core.entropy import epoch_key
from edge.host import rootkeys

from ..bench import SITE, SITE_KEY, Blocks, Device, list_plans, record_blocks, replace_attribute
from ..claim import Claim, Effort, claim_fact, claim_none, is_refused


def keys_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of the keys of one device.

    Every key does one job, comes from the root as documented, and is forgotten in time. All
    derivations are done here anew with Python's own hmac, so a label, an order or a width that
    changed in edge shows at once: as a stream that the key holder cannot repeat, or that two
    readings share. What it cannot see: that HMAC-SHA256 is as good as random, which is assumed.
    """
    root, other = (effort.root("keys", i) for i in range(2))
    room = list_plans(mechanism)[0]
    yield _check_document(root)
    yield _claim_own(root, other)
    yield _claim_short_refused(root)
    yield from _claim_forgotten(room.round, root)


def make_mac(key: bytes, *parts: bytes) -> bytes:
    """Return the 32 bytes of HMAC-SHA256 over the parts as one, by Python's own module."""
    return hmac.digest(key, b"".join(parts), "sha256")


def _check_document(root: bytes) -> Claim:
    device = rootkeys.identity(SITE, "n", root, SITE_KEY, 0)
    chain = make_mac(root, b"heatveil-chain-v1")
    third = make_mac(make_mac(chain, b"heatveil-ratchet-v1"), b"heatveil-ratchet-v1")
    noise = make_mac(third, b"heatveil-noise-v1")
    wanted = {
        "mac": (device.mac_key, make_mac(root, b"heatveil-mac-v1")),
        "config": (device.config_key, make_mac(root, b"heatveil-config-v1")),
        "state": (device.state_key, make_mac(root, b"heatveil-state-v1")),
        "link": (rootkeys.link_key(root), make_mac(root, b"heatveil-link-v1")),
        "id": (device.key_id, make_mac(root, b"heatveil-id-v1")[:4]),
        "first chain": (rootkeys.first_chain(root), chain),
        "third chain": (rootkeys.chain_at(root, 3), third),
        "epoch": (epoch_key(third, 3), make_mac(noise, (3).to_bytes(8, "big"))),
    }
    wrong = [name for name, (found, right) in wanted.items() if found != right]
    sentence = "every key is HMAC-SHA256 of the root, or of the key before, and its own label"
    return claim_none(sentence, wrong, samples=len(wanted))


def _claim_own(root: bytes, other: bytes) -> Claim:
    made_of = [
        one
        for start in (root, other)
        for one in (
            rootkeys.mac_key(start),
            rootkeys.config_key(start),
            rootkeys.state_key(start),
            rootkeys.link_key(start),
            *(rootkeys.chain_at(start, epoch) for epoch in range(1, 6)),
            *(epoch_key(rootkeys.chain_at(start, epoch), epoch) for epoch in range(1, 6)),
            *(epoch_key(rootkeys.chain_at(start, 1), epoch) for epoch in range(2, 6)),
            start,
        )
    ]
    alike = sum(one == two for one, two in combinations(made_of, 2))
    return claim_fact(
        "no key does two jobs", not alike, samples=len(made_of), detail=f"{alike} alike"
    )


def _claim_short_refused(root: bytes) -> Claim:
    """Keys that are too short to be safe must be refused everywhere."""
    short = root[:31]
    uses: dict[str, Callable[[], Any]] = {
        "mac key": lambda: rootkeys.mac_key(short),
        "first chain": lambda: rootkeys.first_chain(short),
        "noise": lambda: entropy.keyed(short, "n", 1, 1, 0),
        "epoch": lambda: entropy.open_epoch(short, "n", 1, 1, 0),
        "sealed": lambda: entropy.sealed(short),
        "site key": lambda: rootkeys.identity(SITE, "n", root, short, 0),
    }
    taken = [name for name, use in uses.items() if not is_refused(use)]
    return claim_none("a short key is refused", taken, samples=len(uses))


def _claim_forgotten(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what is left of old keys after some boots: in the slots, and in the memory."""
    device, boots, left = Device(round, root, name="bench-1"), 5, []
    for boot in range(1, boots + 1):
        if boot > 1:
            device.boot()
        kept = b"".join(device.slots.read(i) for i in range(COUNT))
        held = _find_reachable_bytes(device.node) | _find_reachable_bytes(device.budget)
        secrets: dict[str, tuple[bytes, ...]] = {"the root": (root,)}
        for epoch in range(1, boot):
            chain = rootkeys.chain_at(root, epoch)
            secrets[f"a key of boot {epoch}"] = (chain, epoch_key(chain, epoch))
        for where, bytes_held in (("slot", [kept]), ("memory", held)):
            for name, keys in secrets.items():
                if any(key in one for key in keys for one in bytes_held):
                    left.append(f"{name} in its {where} at boot {boot}")
    sentence = "after each boot the keys of earlier boots, and the root, are nowhere on the device"
    yield claim_none(sentence, left, samples=boots)
    as_named = device.budget.epoch == boots
    as_named &= device.budget.chain == rootkeys.chain_at(root, boots)
    yield claim_fact("each boot has the chain key of its number", as_named, samples=boots)


def _find_reachable_bytes(thing: Any, depth: int = 6) -> set[bytes]:
    """Return every bytes object that can be reached from a device, modules left out."""
    found, edge_of_it, seen = set(), [thing], set()
    for _ in range(depth):
        nearby = [one for one in gc.get_referents(*edge_of_it) if id(one) not in seen]
        seen |= {id(one) for one in nearby}
        found |= {bytes(one) for one in nearby if isinstance(one, bytes | bytearray)}
        edge_of_it = [one for one in nearby if not isinstance(one, type | type(gc))]
    return found


FRAMES = 12


def holders_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what a host can repeat of what devices of each kind draw.

    Who holds the root opens a keyholder device, and no sealed one. What it cannot see: whether the
    host that enrolled a sealed device has really forgotten its root, and whether a board's own
    entropy is any good.
    """
    root, asked = effort.root("holders"), mechanism.subject.asked
    modes = dict(asked.list_modes(list_plans(mechanism)[0].round))
    yield from _attack_sealed(root)
    yield _claim_system_entropy(modes["sealed"], root)
    if "keyholder" not in modes:
        yield _refuse_held(modes["sealed"], root)
        return
    sentence = "no frame of a sealed device opens with its root key"
    yield claim_none(sentence, _count_opened(modes["sealed"], root), "frames", samples=FRAMES)
    sentence = "every frame of a keyholder device opens with its root key, to the exact readings"
    yield claim_fact(sentence, _count_opened(modes["keyholder"], root) == FRAMES, samples=FRAMES)


def _claim_system_entropy(round: Any, root: bytes) -> Claim:
    """Who has a sealed device's root, readings and Rounds must still not know what it drew.

    All of these are the same here, and the system's entropy alone differs: from one system to
    another nothing of the answers may follow, and with the same one all of it must.
    """

    def said(system: bytes) -> list[Any]:
        with _replace_system_entropy(system):
            device = Device(round, root)
            frames = [
                device.ask(number, device.make_readings(1)) for number in range(1, FRAMES + 1)
            ]
            return [device.open_frame(frame).payload for frame in frames]

    one, again, other = said(b"one"), said(b"one"), said(b"other")
    return claim_fact(
        "what a sealed device draws follows from its system's entropy, and not from its root key",
        one == again and one != other,
        samples=FRAMES,
    )


def _replace_system_entropy(system: bytes) -> AbstractContextManager[None]:
    """Let the system give these bytes, over and over, for its entropy."""
    return replace_attribute(entropy, "os_entropy", lambda size: (system * size)[:size])


def _refuse_held(round: Any, root: bytes) -> Claim:
    """Answers that a key holder could tell the true ones by are not given at all."""
    device = Device(round, root, mode="keyholder")
    silent = all(device.ask(number) is None for number in range(1, FRAMES + 1))
    sentence = "a device whose key somebody holds answers nothing, and is charged nothing"
    return claim_fact(sentence, silent and not device.budget.spent, samples=FRAMES)


def _attack_sealed(root: bytes) -> Iterator[Claim]:
    """Yield what a host could repeat of a sealed device's noise: nothing."""

    def drawn(chain: bytes, boot: bytes, system: bytes) -> int:
        with _replace_system_entropy(system):
            bits: int = entropy.sealed(chain, boot).bits(128)
        return bits

    other = make_mac(root, b"another")
    boots, systems = (bytes(7) + b"\1", bytes(7) + b"\2"), (b"\0", b"\1", b"system")
    streams = [drawn(*given) for given in product((root, other), boots, systems)]
    sentence = (
        "a sealed device's noise depends on its key, its boot and the system's entropy, each"
    )
    yield claim_fact(sentence, len(set(streams)) == len(streams), samples=len(streams))
    with _replace_system_entropy(b""):
        refused = is_refused(lambda: entropy.sealed(root))
    yield claim_fact("a sealed device without a system's entropy is refused", refused, samples=1)


def _count_opened(asked: Any, root: bytes) -> int:
    """Return how many of some frames open with all that a host could have kept: the root."""
    sensors, opened = asked.params[0], 0
    device = Device(asked, root, sensors=sensors)
    for number in range(1, FRAMES + 1):
        readings = [number * sensor % 7 for sensor in range(sensors)]
        report = device.open_frame(device.ask(number, readings))
        chain = rootkeys.chain_at(root, report.epoch)
        for stream in (
            entropy.keyed(chain, device.identity.name, report.epoch, report.seq, 0),
            entropy.Stream(chain, b""),
            entropy.Tape(chain),
        ):
            found = device.asked.unveil(asked._replace(number=number), report.payload, stream)
            opened += list(found.values) == readings
    return opened


NAMES = ("a", "b", "ab", "a" * 255, "a\0", "room-1", "room-11")
COUNTERS = (0, 1, 2, 255, 256, 257, 65535, 65536, 1 << 32, (1 << 48) - 1)
CHANNELS = (0, 1, 2, 255, 256, 65535)
ROUNDS = 24
LEAST_BITS = 16  # that a draw of a hundred grains and more takes, far below its mean
# Devices of one root that differ by name, or by name and sensors.
TWINS = (("twin-1", 0), ("twin-2", 0), ("twin-3", 2))


def streams_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of streams, first by name and then as devices draw them.

    A stream of noise belongs to one reading, and no two readings share one. The stream of a
    reading is computed anew here, by Python's own hmac, and each of the things that name a reading
    is changed by itself: another device, boot, message, sensor or key must be another stream. The
    blocks that real devices draw are listened to, over reboots and repeated Rounds. What it cannot
    see: what happens when power fails in the middle, for which there is the layer `crash`.
    """
    chain, other = (effort.root("stream", i) for i in range(2))
    yield _claim_documented_stream(chain, effort)
    yield _claim_distinct_streams(chain, other)
    yield _claim_no_repeat(chain)
    yield _claim_uniform(effort)
    asked = mechanism.subject.asked
    for mode, round in asked.list_modes(list_plans(mechanism)[0].round):
        yield from _claim_fresh_noise(round, mode, asked.SENSORS, chain)
        if mode == "sealed":
            yield from _claim_fresh_noise(
                round, mode, asked.SENSORS, chain, " without a system's entropy"
            )


def _claim_documented_stream(chain: bytes, effort: Effort) -> Claim:
    rng, wrong, cases = effort.tape("documented"), 0, 40
    for _ in range(cases):
        name = NAMES[rng.below(len(NAMES))]
        epoch, seq = (COUNTERS[rng.below(len(COUNTERS))] for _ in range(2))
        channel = CHANNELS[rng.below(len(CHANNELS))]
        label, stamp = b"heatveil-noise-v1", epoch.to_bytes(8, "big")
        key = make_mac(make_mac(chain, label), stamp)
        prefix = bytes([len(name)]) + name.encode() + stamp + seq.to_bytes(8, "big")
        prefix += channel.to_bytes(2, "big")
        blocks = [make_mac(key, label, prefix, i.to_bytes(4, "big")) for i in range(3)]
        stream = entropy.keyed(chain, name, epoch, seq, channel)
        found = b"".join(stream.bits(8).to_bytes(1, "big") for _ in range(96))
        again = entropy.open_epoch(key, name, epoch, seq, channel).bits(768).to_bytes(96, "big")
        wrong += found != b"".join(blocks) or again != found
    return claim_fact(
        "a stream is HMAC-SHA256 of its key, its reading's full name and a counter, bit by bit",
        not wrong,
        samples=cases,
    )


def _claim_distinct_streams(chain: bytes, other: bytes) -> Claim:
    """All that names a reading must be in its stream, and no two names run into one."""
    heads: dict[int, tuple[Any, ...]] = {}
    alike = []
    readings = [
        *product((chain, other), NAMES, COUNTERS, COUNTERS, CHANNELS[:2]),
        *((chain, "a", 1, 1, channel) for channel in CHANNELS[2:]),
    ]
    for reading in readings:
        head = entropy.keyed(*reading).bits(128)
        if head in heads:
            alike.append(f"{heads[head][1:]} and {reading[1:]}")
        heads[head] = reading
    sentence = "another key, device, boot, message or sensor is another stream"
    return claim_none(sentence, alike, "streams shared", samples=len(readings))


def _claim_no_repeat(chain: bytes) -> Claim:
    """A stream must never come back to where it was: its own counter goes on."""
    blocks = 3000
    stream = entropy.keyed(chain, "a", 1, 1, 0)
    found = {stream.bits(256) for _ in range(blocks)}
    return claim_fact("no block of a stream comes again", len(found) == blocks, samples=blocks)


def _claim_uniform(effort: Effort) -> Claim:
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
    return claim_fact(
        "below(n) rejects what is too large, and never folds it over", not wrong, samples=cases
    )


def _claim_fresh_noise(
    asked: Any, mode: str, sensors: int, root: bytes, system: str = ""
) -> Iterator[Claim]:
    """Yield what devices of one root draw, over two boots and Rounds asked thrice."""
    twins = TWINS[:1] if system else TWINS  # a dead system and one root are one sealed device
    dead = _replace_system_entropy(b"\0") if system else nullcontext()
    with record_blocks() as blocks, dead:
        devices = [Device(asked, root, name=name, sensors=sensors, first=at) for name, at in twins]
        for boot in range(2):
            for device in devices if boot else ():
                device.boot()
            _ask(devices, boot, blocks)
    of = f"a {mode} device{system}"
    sentence = f"no block of noise of {of} serves two frames, two boots or two devices"
    yield claim_none(sentence, blocks.twice, "blocks", samples=len(blocks.published))
    frames = len(twins) * 2 * ROUNDS
    yield claim_fact(
        f"every frame of {of} is made of noise of its own",
        len(blocks.frames) == frames
        and not blocks.bare
        and 256 * blocks.count >= LEAST_BITS * sensors * frames,
        samples=blocks.count,
        detail=f"{blocks.bare} of {len(blocks.frames)} frames had no number drawn for them",
    )


def _ask(devices: list[Device], boot: int, blocks: Blocks) -> None:
    for number in range(1, ROUNDS + 1):
        for device in devices:
            for reading in range(3):
                frame = device.ask(boot * ROUNDS + number, device.make_readings(number + reading))
                if frame is not None:
                    blocks.publish(frame)
