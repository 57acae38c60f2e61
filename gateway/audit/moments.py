"""Layer: neither the time, the length nor the words of a device tell of its noise or reading.

How long a draw takes tells how large the noise is. So noise must be there before the reading is
taken, and a frame must leave at a tick fixed when its Round came. On a clock of our own, draws
here take as long as their noise is large, longer than a tick even. What it cannot see: what the
time on a real board, its radio or its power line gives away.
"""

from collections.abc import Iterator
from typing import Any

from edge import thermal
from edge.ticker import Ticker

from .bench import Device, message
from .claim import Claim, Effort, true
from .scenes import scenes
from .watch import listening, replaced

TICK_MS = 100
ROUNDS = 40
RUBBISH = (None, 1.5, "21", (1, 2), (1.5,), ("21",), (None,), (), "7")


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of a device's moments, lengths and words."""
    round = scenes(mechanism)[0].round._replace(number=1)
    root = effort.tape("moments").bits(256).to_bytes(32, "big")
    for mode in ("sealed", "keyholder"):
        params = list(round.params)
        params[6] = int(mode == "keyholder")
        asked = round._replace(params=tuple(params))
        yield from _ordered(asked, root, mode)
        yield _on_the_tick(asked, root, mode)
    yield from _alike(asked, root)
    yield _silent(asked, root)


def _ordered(round: Any, root: bytes, mode: str) -> Iterator[Claim]:
    """Yield whether blocks of noise are drawn at any time between a Round and its frame."""
    device = Device(round, root, sensors=2)
    late, unready = 0, 0
    with listening() as blocks:
        for number in range(1, ROUNDS + 1):
            _, signed = message(round, number)
            ready = number % 2 == 0
            if ready:
                device.node.prepare()
            before: list[int] = [blocks.count]

            def read(params: Any, before: list[int] = before) -> tuple[int, ...]:
                before.append(blocks.count)
                return (3, 4)

            frame = device.node.answer(signed, read)
            late += frame is None or len(before) != 2 or blocks.count != before[1]
            unready += ready and before[1:] != before[:1]
    sentence = f"a {mode} device draws no noise once its sensor has been read"
    yield true(sentence, not late, samples=ROUNDS)
    sentence = f"a {mode} device has its noise before a Round comes"
    yield true(sentence, not unready, samples=ROUNDS // 2)


def _on_the_tick(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether each frame leaves one tick after its Round, however slow its noise was."""
    device, waits = Device(round, root), []
    now_ms = [0]
    ticker = Ticker(device.node, TICK_MS)
    draw: Any = thermal.draw
    sigma = round.params[4] ** 0.5

    def slow(*given: Any) -> list[int]:
        noise: list[int] = draw(*given)
        now_ms[0] += 5 + int(100 * abs(noise[0]) / sigma)
        return noise

    with replaced(thermal, "draw", slow):
        for number in range(1, ROUNDS + 1):
            for _ in range(3):  # nothing is due: time to draw ahead
                ticker.due(now_ms[0])
                now_ms[0] += 7
            came, frame = now_ms[0], None
            ticker.came(message(round, number)[1], lambda params: (5,), now_ms[0])
            while frame is None and now_ms[0] < came + 20 * TICK_MS:
                frame = ticker.due(now_ms[0])
                now_ms[0] += frame is None
            waits.append(now_ms[0] - came)
    return true(
        f"a {mode} device's frame leaves one tick after its Round, however large its noise",
        set(waits) == {TICK_MS},
        samples=len(waits),
        detail=f"after {min(waits)} to {max(waits)} ms, the tick is {TICK_MS}",
    )


def _alike(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what differs between devices of one key that see different things: the sum alone."""
    low, high = round.params[2:4]
    rooms = ((low, high), (0, 0), (high, low))
    # Enough for some Rounds, and then it is exhausted: the words of that are compared as well.
    cost = -(-(10**9) * round.guarantee.rho[0] // round.guarantee.rho[1])
    devices = [Device(round, root, sensors=2, budget=ROUNDS // 2 * cost) for _ in rooms]
    lengths, noises, words, silent = [], [], [], 0
    for number in range(1, ROUNDS + 1):
        _, signed = message(round, number)
        frames = [device.answer(signed, room) for device, room in zip(devices, rooms, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append(
            {
                str((device.node.refusal, device.node.state(), device.node.meta()))
                for device in devices
            }
        )
        silent += frames[0] is None
        if None not in frames:
            reports = [device.opened(frame) for device, frame in zip(devices, frames, strict=True)]
            noises.append(
                {
                    tuple(y - x for y, x in zip(report.payload[1:], room, strict=True))
                    for report, room in zip(reports, rooms, strict=True)
                }
            )
    yield true(
        "the noise of a frame is the same whatever is read",
        bool(noises) and all(len(noise) == 1 for noise in noises),
        samples=len(noises),
    )
    yield true(
        "the length of a frame is the same whatever is read",
        all(len(length) == 1 for length in lengths),
        samples=len(lengths),
    )
    yield true(
        "what a device says of itself is the same whatever is read, and when its budget is out",
        all(len(said) == 1 for said in words),
        samples=len(words),
    )
    yield true(
        "a device whose budget is out stays silent, and says that it is exhausted",
        0 < silent < ROUNDS and all(device.node.state() == "exhausted" for device in devices),
        samples=silent,
    )


def _silent(round: Any, root: bytes) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    refusals = set()
    _, signed = message(round, 1)
    for rubbish in RUBBISH:
        device = Device(round, root)
        frame = device.node.answer(signed, lambda params, given=rubbish: given)
        refusals.add((frame, device.node.refusal, device.node.state(), str(device.node.meta())))
    return true(
        "a broken sensor makes no frame, and nothing that it gave is said",
        len(refusals) == 1,
        samples=len(RUBBISH),
        detail="" if len(refusals) == 1 else f"{len(refusals)} different answers",
    )
