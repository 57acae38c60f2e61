"""Layer: the time at which a frame leaves tells nothing of its noise or its reading.

How long a draw takes tells how large the noise is. So noise must be there before the reading is
taken, and a frame must leave at a tick fixed when its Round came. On a clock of our own, draws
here take as long as their noise is large, longer than a tick even. What it cannot see: what the
time on a real board, its radio or its power line gives away.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from structlog.testing import capture_logs

from edge.ticker import Ticker

from ..virtual.dialogue import Dialogue
from .bench import Device, asked_of, message
from .claim import Claim, Effort, true
from .scenes import plans
from .watch import listening, replaced

TICK_MS = 100
ROUNDS = 40


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield when devices draw, read and send."""
    round = plans(mechanism)[0].round._replace(number=1)
    root = effort.root("moments")
    for mode, asked in mechanism.subject.asked.modes(round):
        yield from _ordered(asked, root, mode)
        yield _on_the_tick(asked, root, mode)
        yield _said(asked, root, mode)


def _ordered(round: Any, root: bytes, mode: str) -> Iterator[Claim]:
    """Yield whether blocks of noise are drawn at any time between a Round and its frame."""
    device = Device(round, root, sensors=asked_of(round).SENSORS)
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
                return device.seen(3)

            frame = device.node.answer(signed, read)
            late += frame is None or len(before) != 2 or blocks.count != before[1]
            unready += ready and before[1:] != before[:1]
    sentence = f"a {mode} device draws no noise once its sensor has been read"
    yield true(sentence, not late, samples=ROUNDS)
    sentence = f"a {mode} device has its noise before a Round comes"
    yield true(sentence, not unready, samples=ROUNDS // 2)


def _on_the_tick(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether each frame leaves one tick after its Round, however slow its noise was.

    Every fourth Round asks for other noise than the one before, so that what was drawn ahead is
    of no use; then the tick, which is longer than that draw, must hide how long it took.
    """
    device, waits = Device(round, root), []
    now_ms, slowest, slowed = [0], [0], [0]
    ticker = Ticker(device.node, TICK_MS)
    asking = device.asked
    draw: Any = asking.DRAWS.draw

    def slow(*given: Any) -> Any:
        noise = draw(*given)
        now_ms[0] += 5 + min(int(TICK_MS * asking.size(round, noise)), slowest[0])
        slowed[0] += 1
        return noise

    with replaced(asking.DRAWS, "draw", slow):
        for number in range(1, ROUNDS + 1):
            for _ in range(3):  # nothing is due: time to draw ahead
                ticker.due(now_ms[0])
                now_ms[0] += 7
            came, frame = now_ms[0], None
            asked = asking.another(round, number // 4)
            # Nothing may lie ready for the first Round of a boot either: it brings the weights.
            slowest[0] = TICK_MS - 10 if number % 4 == 0 or number == 1 else 3 * TICK_MS
            ticker.came(message(asked, number)[1], lambda params: device.seen(5), now_ms[0])
            slowest[0] = 3 * TICK_MS
            while frame is None and now_ms[0] < came + 20 * TICK_MS:
                frame = ticker.due(now_ms[0])
                now_ms[0] += frame is None
            waits.append(now_ms[0] - came)
    return true(
        f"a {mode} device's frame leaves one tick after its Round, however large its noise",
        set(waits) == {TICK_MS} and slowed[0] > ROUNDS,
        samples=min(len(waits), slowed[0]),
        detail=f"after {min(waits)} to {max(waits)} ms, the tick is {TICK_MS}",
    )


def _said(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether a device on the broker says anything between a Round and its tick.

    Limits come right behind each Round: what is said of them would show when the frame was made.
    """
    device, now_ms, said, slowed = Device(round, root), [0], [], [0]
    fleet: Any = SimpleNamespace(
        node=lambda name: device.node, read=lambda name, params: device.seen(5)
    )
    dialogue = Dialogue(fleet, "bench-1", lambda *words: said.append((now_ms[0], *words)))
    asking = device.asked
    draw: Any = asking.DRAWS.draw

    def slow(*given: Any) -> Any:
        noise = draw(*given)
        now_ms[0] += 1 + int(TICK_MS * asking.size(round, noise)) % (TICK_MS - 10)
        slowed[0] += 1
        return noise

    wrong = []
    with replaced(asking.DRAWS, "draw", slow), capture_logs():
        for number in range(1, ROUNDS + 1):
            dialogue.look(now_ms[0])
            came, said[:] = now_ms[0], []
            limits = device.node._budget.limits
            dialogue.hear("round", message(round, number)[1], came)
            order = device.order(limits._replace(version=limits.version + 1))
            dialogue.hear("cmd/limits", order, now_ms[0])
            while now_ms[0] < came + 3 * TICK_MS:
                dialogue.look(now_ms[0])
                now_ms[0] += 1
            first = [(at_ms - came, leaf) for at_ms, leaf, _, _ in said]
            if not first or first[0] != (TICK_MS, "data") or first.count(first[0]) != 1:
                wrong.append(f"{first[:2]}")
            wrong += [
                f"{leaf} is retained" for _, leaf, _, kept in said if kept and leaf == "data"
            ]
    return true(
        f"a {mode} device on the broker says nothing between a Round and its frame's tick",
        not wrong and slowed[0] >= ROUNDS,
        samples=min(ROUNDS, slowed[0]),
        detail="; ".join(wrong[:3]),
    )
