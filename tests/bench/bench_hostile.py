"""Ten million bad messages among good ones: none raises, none stops a good one, each has a reason.

Run it: `python tests/bench/bench_hostile.py [payloads] [seed]`; ten million take about ten
minutes of one core. Half of them are signed, as a device can that somebody has opened: mutations
of real frames, random CBOR, deep nesting, lengths that lie, indefinite lengths, tags, floats,
bignums, text that is none, numbers that go back or leap; the others are sent by who has no key at
all, on any topic. The door, the judge and what the store is asked are the gateway's own; the
store is one that remembers everything in memory. Every ten seconds it says on standard error how
far it is.
"""

import random
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

SITE, DEVICES, BAD, BATCH = "bench", 8, 7, 100


class Found(NamedTuple):
    """What became of the messages."""

    payloads: int
    seconds: float  # of processor time in door, judge and store
    kinds: Counter[str]
    raised: int
    good: int
    kept: int
    absorbed: int
    unexplained: int  # refused without a sentence, or of no known kind


class Memory:
    """A store that remembers what it was given."""

    def __init__(self) -> None:
        self.seen: dict[Any, dict[bytes, bool]] = {}
        self.pairs: set[tuple[bytes, str]] = set()

    def read_known(self, keys: Any, answers: Any) -> Any:
        """Return what came before."""
        from gateway.service.intake.outcomes import KnownFacts

        seen = {key: self.seen[key] for key in keys if key in self.seen}
        return KnownFacts(seen, {}, self.pairs.intersection(answers))

    def keep_batch(self, verdict: Any) -> None:
        """Remember a verdict."""
        from gateway.service.intake.outcomes import hash_frame

        for rows, counts in ((verdict.kept, True), (verdict.heard, False)):
            for one in rows:
                key = one.device, one.key_id, one.epoch, one.seq
                self.seen.setdefault(key, {})[hash_frame(one.frame)] = counts
                self.pairs.add((one.round, one.device))


def run(payloads: int, seed: int) -> Found:
    """Return what a gateway made of so many bad messages and the good ones between them."""
    from rich.progress import Progress

    from edge.core import wire
    from edge.core.records import Grid, Guarantee, Report, Round
    from gateway.devices.enrol import enrol
    from gateway.service.intake.door import Door
    from gateway.service.intake.judge import judge_reports, read_known
    from gateway.service.intake.outcomes import KINDS
    from gateway.service.mqtt.connection import Message
    from gateway.service.rounds import OpenRound

    world = random.Random(seed)
    known = enrol.derive_gateway_half(
        enrol.enrol_fleet(SITE, DEVICES, fresh=world.randbytes).secrets
    )
    places = {name: one.place for name, one in known.by_name.items()}
    promise = Guarantee((1, 1), (1, 1000), (1, 50), "one moves", "local", "a day", "presence")
    door, memory = Door(known), Memory()
    newest: dict[Any, tuple[int, int]] = {}
    kinds: Counter[str] = Counter()
    raised = good = kept = absorbed = unexplained = sent = 0
    seconds = 0.0
    progress = Progress(transient=True)
    bar = progress.add_task("refused", total=payloads)
    progress.start()
    while sent < payloads:
        progress.update(bar, completed=sent)
        number = 1 + good // BAD
        plan = Round(number, "thermal", Grid((10, 1), 0), (4, 8, 0, 4096, 10_000, 1, 0), promise)
        round = OpenRound(plan, wire.name_of(plan), 100.0, places)
        batch, frames = [], []
        for index, device in enumerate(list(known.by_name.values())[:BAD]):
            topic = wire.topic(SITE, device.name, "data")
            report = Report(round.name, device.name, 1, number, [index, world.randrange(1000)])
            frames.append(bytes(wire.pack_report(report, device.mac_key, topic, 16)))
            batch.append(Message(topic, frames[-1], (1, 1)))
        good += BAD
        while len(batch) < BATCH:
            batch.append(Message(*_hostile(world, known, round, frames), (1, 1)))
            sent += 1
        world.shuffle(batch)
        began_s = time.thread_time()
        try:
            sifted = door.sift_messages(batch, 1.0)
            asked = read_known(memory, sifted.arrivals, round, newest, 1.0)
            verdict = judge_reports(sifted.arrivals, round, newest, asked, 1.0)
            memory.keep_batch(verdict)
            verdict.apply(newest)
        except Exception as fault:
            raised += 1
            print(f"raised: {fault!r}", file=sys.stderr)
            continue
        finally:
            seconds += time.thread_time() - began_s
        letters = [*sifted.letters, *verdict.letters]
        kinds.update(one.kind for one in letters)
        unexplained += sum(not one.why or one.kind not in KINDS for one in letters)
        kept += sum(one.device != f"node-{BAD}" for one in verdict.kept)
        absorbed += len(verdict.again)
        if len(memory.seen) > 200_000:  # as the store forgets what is old
            memory.seen.clear()
            memory.pairs.clear()
    progress.stop()
    return Found(sent, seconds, kinds, raised, good, kept, absorbed, unexplained)


def _hostile(world: random.Random, known: Any, round: Any, frames: list[bytes]) -> Any:
    """Return the topic and the payload of a bad message."""
    from edge.core import wire
    from edge.host import post

    bad = known.by_name[f"node-{BAD}"]
    topic = wire.topic(SITE, bad.name, "data")
    if world.random() < 0.5:
        return topic, bytes(wire.sign(_body(world, round), bad.mac_key, topic))
    way = world.randrange(8)
    if way == 0:  # another's frame, on a topic that is not its own
        return topic, world.choice(frames)
    if way == 1:  # bits of an honest frame, on its own topic
        index = world.randrange(BAD)
        frame = bytearray(frames[index])
        for _ in range(world.randrange(1, 4)):
            frame[world.randrange(len(frame))] ^= 1 << world.randrange(8)
        same = bytes(frame) == frames[index]
        return wire.topic(SITE, f"node-{index}", "data"), bytes(frame) + b"\0" * same
    if way == 2:
        return topic, world.randbytes(world.choice((0, 1, 16, 17, 100)))
    if way == 3:
        return topic, bytes(post.REPORT_BYTES + 1 + world.randrange(1000))
    if way == 4:
        return "/".join(world.choices(("heatveil", "1", SITE, "", "data", "\ufffd"), k=9)), b"x"
    if way == 5:
        return wire.topic(SITE, "x" * world.choice((0, 1, 60_000)), "data"), frames[0]
    if way == 6:
        return wire.topic("elsewhere", bad.name, "data"), frames[0]
    return topic.replace("/data", world.choice(("/DATA", "", "/data/", "/receipt"))), frames[0]


def _body(world: random.Random, round: Any) -> bytes:
    """Return the body of a message that a device signs which somebody has opened."""
    import cbor2

    near = world.choice((0, 1, 2, 3, (1 << 48) - 1, 1 << 48, (1 << 64) - 1))
    name = world.choice((round.name, b"gone", b"", b"12345"))
    typed = cbor2.CBORTag(77, b"\1\0" * world.choice((0, 1, 1, 64)))
    values = world.choice((typed, [1], [], b"x", None))
    boot = world.choice((1, 1, 2, 1 << 30, (1 << 64) - 1))
    parts: dict[int, Any] = {0: world.choice((1, 1, 1, 2, None)), 1: near, 2: boot}
    parts |= {3: name, 4: values, 5: world.choice((BAD, BAD, 0, 1 << 40))}
    if world.random() < 0.1:
        del parts[world.randrange(6)]
    way = world.randrange(8)
    body = bytearray(cbor2.dumps(parts))
    if way == 0:
        return bytes(body)
    if way <= 4:
        for _ in range(world.randrange(1, 4)):
            at = world.randrange(len(body))
            body[at : at + world.randrange(2)] = world.randbytes(world.randrange(3))
            body = body or bytearray(b"\xa0")
        return bytes(body)
    if way == 5:
        return _soup(world, 0)
    if way == 6:
        deep = world.choice((b"\x81", b"\xa1\x00", b"\x9f", b"\xd8\x4d", b"\xc2", b"\xbf\x00"))
        return deep * world.choice((5, 100, 5000))
    head = world.choice((b"\x5b", b"\x7b", b"\x9b", b"\xbb", b"\xdb", b"\xfb", b"\x1b"))
    return b"\xa6\x00\x01\x01" + head + world.choice((b"\xff" * 8, bytes(7) + b"\x01"))


def _soup(world: random.Random, depth: int) -> bytes:
    """Return some CBOR, well formed or nearly."""
    major, more = world.randrange(8), world.randrange(33)
    if major in (4, 5) and depth < 6:
        count = world.randrange(4)
        items = [_soup(world, depth + 1) for _ in range(count * (major - 3))]
        return bytes((major << 5 | count,)) + b"".join(items)
    if major in (2, 3):
        size = world.randrange(20)
        return bytes((major << 5 | size,)) + world.randbytes(size)
    return bytes((major << 5 | (more & 31),)) + world.randbytes(min(more, 8))


def main() -> None:
    """Print what came of it."""
    payloads = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    found = run(payloads, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    whole = found.payloads + found.good
    print(f"{found.payloads} hostile payloads, {found.good} good ones between them")
    print(f"  raised {found.raised}, refused without a reason {found.unexplained}")
    print(f"  good ones kept {found.kept} of {found.good}; absorbed {found.absorbed}")
    print(f"  {whole / found.seconds:.0f} messages a second of one core, without making them")
    print("  " + ", ".join(f"{kind} {count}" for kind, count in found.kinds.most_common()))


if __name__ == "__main__":
    main()
