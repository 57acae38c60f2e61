"""Layer: no sequence of attacks gets more out of a device than was promised, nor out of a gateway.

The other layers try one danger at a time; here they come one after the other, drawn at random and
as written down: sensors that fail, Rounds forged under a number that is paid for, power that is
cut at a write, a sleep whose memory is lost, a slot put back to an older day, a clock that is
turned, limits, messages that come again. Each life is led twice, by devices that read different
things: nothing that is seen of them may differ. What it cannot see: both slots, or the memory of
a sleep, put back to one true day, which no device can know of.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from edge import entropy

from .bench import Device, asked_of
from .besieged import Besieged
from .claim import Claim, Effort, at_most, true
from .flash import Flash
from .house import House
from .scenes import plans
from .siege import Siege
from .watch import listening, replaced

ANSWERS = 45  # that the budget of one device is for
ACTS = 45  # of one life drawn at random
# One act of these, each as likely; and lives led as written, each for a mistake once made.
DRAWN = (
    *("ask", "ask", "ask", "ask", "again", "again", "old", "fail", "fail", "rubbish", "forge"),
    *("twin", "twin", "stranger", "cut", "cut", "restart", "sleep", "lose", "back", "tighten"),
    *("tighten", "clock", "gather"),
)
WRITTEN = (
    "ask fail twin twin twin twin again ask",
    "fail tighten again ask fail tighten again",
    "rubbish ask rubbish ask rubbish ask rubbish ask rubbish ask rubbish ask rubbish ask rubbish",
    "ask " * 12 + "back back back back ask",
    "ask sleep " * 20 + "ask lose ask restart ask sleep lose ask",
    "ask restart " * 6 + "gather again gather restart old gather",
)


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is wrong of what devices did, and what could be told of what they had read."""
    plan = plans(mechanism)[0]
    for mode, asked in asked_of(plan.round).modes(plan.round):
        faults: list[str] = []
        unlike: list[str] = []
        answered = acts = 0
        count = effort.pick(16, 600)
        for number in range(count + 4 * len(WRITTEN)):
            script = WRITTEN[number % len(WRITTEN)].split() if number >= count else None
            lives = [
                _life(mechanism, asked, mode, effort, number, script, told) for told in (0, 1)
            ]
            faults += [fault for life in lives for fault in (*life.faults, *life.blocks.faults)]
            if lives[0].looks != lives[1].looks:
                unlike.append(f"in life {number}")
            answered += sum(len(life.frames) for life in lives)
            acts += sum(len(life.looks) for life in lives)
        yield at_most(
            f"{mode}: no sequence of attacks uses noise twice, is answered beyond the limits, is "
            "forgotten, counts twice, or costs more than its price",
            0,
            len(faults),
            unit="faults",
            samples=acts,
            detail="; ".join(sorted(set(faults)))[:300],
        )
        yield true(
            f"{mode}: two devices that read different things look alike, whatever is done to them",
            not unlike,
            samples=acts,
            detail="; ".join(unlike[:3]),
        )
        yield true(
            f"{mode}: devices under attack answer as long as they may",
            answered > 3 * count,
            samples=answered,
        )


def _life(
    mechanism: Any, asked: Any, mode: str, effort: Effort, number: int, script: Any, told: int
) -> Besieged:
    """Return what came of one device; two that differ in what they are told have one fate."""
    fate, torn, system = (effort.tape(what, mode, number) for what in ("fate", "torn", "system"))
    root = fate.bits(256).to_bytes(32, "big")
    flash = Flash(torn)
    with ExitStack() as stack:
        blocks = stack.enter_context(listening(fate, torn, system))
        given = lambda count: system.bits(8 * count).to_bytes(count, "big")  # noqa: E731
        stack.enter_context(replaced(entropy, "os_entropy", given))
        asking = asked_of(asked)
        budget = int(asking.cost(asked, asking.limits(asked, 0)) * ANSWERS) + 1
        device = Device(asked, root, slots=flash, mode=mode, budget=budget, sensors=asking.SENSORS)
        life = Besieged(device, flash, blocks, mechanism.subject, naps=number % 2 == 0)
        house = None
        if number % 4 == 3 or script:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            house = House(folder, asked, [device])
            stack.callback(lambda: house.store.close())
        siege = Siege(life, fate, told, house)
        for act in script or (DRAWN[fate.below(len(DRAWN))] for _ in range(ACTS)):
            if life.dead:
                break
            siege.act(act)
        return life
