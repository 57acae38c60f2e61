"""Layer: whenever the power fails, no noise is used twice and nothing is forgotten.

Real devices with a real budget lie on a flash that loses its power in the middle of a write: at
every write of a scripted life, at every kind of place in it, and at random. What they answered is
remembered here, with prices in exact fractions and with every block of noise, and each start is
held to it: no block of randomness serves two answers, no Round is answered anew in one boot, and
after a start at most those of the last lease are, each of them paid for. What it cannot see: a
flash that puts two slots back to an older day and loses the third, which no device can know of.
"""

from collections.abc import Iterator
from typing import Any

from edge.board.nap import WAKES, Nap
from edge.budget import Budget, Lost
from edge.host import rootkeys
from edge.host.enrol import provision
from edge.keys import ratchet
from edge.limits import Limits
from edge.slots import Ram

from . import contradicted
from .bench import asked_of
from .claim import Claim, Effort, at_most, true
from .flash import Flash, PowerCut
from .lives import live
from .scenes import plans
from .watch import listening
from .witness import Witness

DAY = 20  # Rounds asked between two starts, at most
MOST = 200  # writes of one life; one that goes on writing is at fault itself
WRITES = 14  # before a power cut, at most


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what many power cuts bring out."""
    round = plans(mechanism)[-1].round
    cuts = effort.pick(600, 10_000)
    for spite in (0, 20):
        seen = live(cuts, f"lives {effort.seed}".encode(), spite=spite)
        how = "and slots are spoilt besides" if spite else "at a random byte of a random write"
        yield at_most(
            f"when the power fails {how}, a budget forgets nothing and repeats no epoch",
            0,
            len(seen.faults),
            unit="faults",
            samples=seen.cuts,
            detail=f"{seen.answers} answers; {'; '.join(sorted(set(seen.faults)))}",
        )
    root = effort.root("contradicted")
    yield from contradicted.claims(round, root)
    for mode, asked in asked_of(round).modes(round):
        yield from _everywhere(asked, mode, effort)
    yield _asleep(effort)
    for mode, asked in asked_of(round).modes(round):
        yield from _at_random(asked, mode, effort.pick(400, 10_000), effort)


def _asleep(effort: Effort) -> Claim:
    """Let boards sleep deeply so many times, lose the memory that outlives a sleep, and go on."""
    root, faults, starts = effort.root("asleep"), set(), 0
    key, limits = rootkeys.state_key(root), Limits(1, 4, 10, 1000, 10**6, 0)
    for wakes in (1, 2, WAKES):
        for sleeps in range(2 * wakes + 3):
            slots, memory, epoch, paid = Ram(), _Memory(), 0, 0
            provision(slots, key, chain := rootkeys.first_chain(root), limits)
            for start in range(3 * sleeps + 3):
                budget, nap = Budget(slots, key), Nap(memory, key, wakes)
                budget.boot(nap)
                if budget.epoch <= epoch:
                    faults.add("an epoch came again")
                for _ in range(max(epoch, 1), budget.epoch):
                    chain = ratchet(chain)
                if budget.chain != chain:
                    faults.add("the chain key is not that of its epoch")
                if budget.spent < paid:
                    faults.add("it counts less than it answered")
                epoch, paid, starts = budget.epoch, paid + budget.charge(7, start) * 7, starts + 1
                budget.sleep(nap)
                if start % (sleeps + 1) == sleeps:
                    memory(b"")
    return at_most(
        "however often a board sleeps before its memory is lost, no epoch comes twice",
        0,
        len(faults),
        unit="faults",
        samples=starts,
        detail="; ".join(sorted(faults)),
    )


class _Memory:
    """What outlives a deep sleep, as `machine.RTC().memory`."""

    def __init__(self) -> None:
        self._held = b""

    def __call__(self, *data: bytes) -> bytes:
        if data:
            self._held = bytes(data[0])
        return self._held


def _everywhere(round: Any, mode: str, effort: Effort) -> Iterator[Claim]:
    """Cut the power at every write of one life, at several places of the write."""
    faults, places, place, ended = [], 0, 0, False
    rng = effort.tape("everywhere", mode)
    while not ended and place < MOST:
        for _ in range(effort.pick(2, 24)):
            with listening(rng) as blocks:
                witness = Witness(round, rng.bits(256).to_bytes(32, "big"), Flash(rng), blocks)
                witness.flash.fuse = place
                ended = not _cut(witness, _script)
                witness.flash.fuse = -1
                _cut(witness, _again)
                faults += witness.faults + blocks.faults
                places += 1
        place += 1
    yield at_most(
        f"a {mode} device ends its life, with power cuts or without",
        MOST - 1,
        place,
        unit="writes",
        samples=places,
    )
    yield at_most(
        f"a {mode} device survives a power cut at each of its {place - 1} writes",
        0,
        len(faults),
        unit="faults",
        samples=places,
        detail="; ".join(sorted(set(faults))),
    )


def _script(witness: Witness) -> None:
    for turn in range(2):
        for number in range(10):
            witness.ask()
            witness.ask(again=number % 3 == 0)
        witness.tighten()
        if turn == 0:
            witness.start()
    witness.start()
    witness.ask()


def _again(witness: Witness) -> None:
    witness.start()
    _script(witness)


def _cut(witness: Witness, life: Any) -> bool:
    """Return whether the power failed while the device lived so."""
    try:
        life(witness)
    except PowerCut:
        return True
    except Lost as why:
        witness.faults.append(f"a power cut alone lost the key: {why}")
    return False


def _at_random(round: Any, mode: str, cuts: int, effort: Effort) -> Iterator[Claim]:
    """Cut the power at random, again and again, until each device's budget is out."""
    rng, seen, faults, frames = effort.tape("at random", mode), 0, [], 0
    devices = 0
    while seen < cuts and devices < cuts:
        devices += 1
        with listening(rng) as blocks:
            witness = Witness(round, rng.bits(256).to_bytes(32, "big"), Flash(rng), blocks)
            for _ in range(40):
                witness.flash.fuse = rng.below(WRITES)
                seen += _cut(witness, lambda one: _day(one, rng))
            faults += witness.faults + blocks.faults
            frames += len(blocks.frames)
    yield at_most(
        f"no power cut makes a {mode} device use noise twice or count less than it answered",
        0,
        len(faults),
        unit="faults",
        samples=seen,
        detail=f"{frames} frames; {'; '.join(sorted(set(faults)))}",
    )
    yield true(f"a {mode} device answers between power cuts", frames > devices * 5, samples=frames)


def _day(witness: Witness, rng: Any) -> None:
    witness.start()
    for _ in range(rng.below(DAY)):
        if rng.below(12) == 0:
            witness.tighten()
        witness.ask(again=rng.below(5) == 0)
