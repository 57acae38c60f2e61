"""Layer: whenever the power fails, no noise is used twice and nothing is forgotten.

Real devices with a real budget lie on a flash that loses its power in the middle of a write: at
every write of a scripted life, at every kind of place in it, and at random. What they answered is
remembered here, with prices in exact fractions and with every block of noise, and each start is
held to it: no block of randomness serves two answers, no Round is answered anew in one boot, and
after a start at most those of the last lease are, each of them paid for. What it cannot see: a
flash that puts two slots back to an older day and loses the third, which no device can know of.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from edge.board.power import WAKES, Nap
from edge.core import budget as budgets
from edge.core.budget import COUNT, Budget, Limits, Lost
from edge.core.entropy import ratchet
from edge.host import rootkeys
from edge.host.enrol import Ram, provision

from ..bench import Blocks, Device, list_plans, record_blocks, subject_of
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused
from .power import Flash, Memory, PowerCut, WatchedDevice

SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda kept: b"",
    "erased": lambda kept: b"\xff" * len(kept),
    "junk": lambda kept: kept[::-1],
    "cut short": lambda kept: kept[:-1],
}
BACK: dict[str, Callable[[Any], Any]] = {
    "with a counter that jumps": lambda new: new._replace(counter=new.counter + 7),
    "with the same counter": lambda new: new._replace(counter=new.counter - 1),
    "with an earlier boot": lambda new: new._replace(epoch=new.epoch - 1),
    "with less spent": lambda new: new._replace(spent=new.spent - 1),
    "with an earlier round": lambda new: new._replace(round=new.round - 1),
    "with older limits": lambda new: new._replace(limits=new.limits._replace(version=1)),
}


def contradiction_claims(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield which contradictions are believed, and whether what was found is left as it was.

    Slots that cannot both be true are not believed, and are kept. Somebody who has the flash in
    hand, or a flash that is worn, can leave anything there. A device that finds its slots cut
    short, forged, of another device, or telling two stories must give up its key and leave them as
    they are; so must one that finds a single slot, which may be an old copy. What it cannot see:
    two slots put back together to one true day, with the third one lost.
    """
    yield _claim_kept(round, root)
    believed, touched, looked = [], [], 0
    device = Device(round, root)
    for name, slots in _yield_spoilt_slots(round, root):
        looked += 1
        for i in range(COUNT):
            device.slots.write(i, slots[i])
        if not is_refused(device.boot, Lost):
            believed.append(name)
        elif [device.slots.read(i) for i in range(COUNT)] != slots:
            touched.append(name)
    sentence = (
        "no device believes stored copies of its budget that are forged, or that contradict each "
        "other"
    )
    yield claim_none(sentence, believed, "stories", samples=looked)
    sentence = "copies that are not believed are left as they were found, as evidence"
    yield claim_none(sentence, touched, "stories", samples=looked)


def _claim_kept(round: Any, root: bytes) -> Claim:
    """Enrolling over what a device remembers would forget it: it must be refused."""
    device = Device(round, root)
    before = [device.slots.read(i) for i in range(COUNT)]
    taken = 0
    for full in (*range(COUNT), None):
        for i in range(COUNT):
            device.slots.write(i, b"" if full not in (None, i) else before[i])
        taken += not is_refused(lambda: Device(round, root, slots=device.slots))
    sentence = "no device is enrolled over records of what it has spent"
    return claim_none(sentence, taken, "enrolments", samples=COUNT + 1)


def _yield_spoilt_slots(round: Any, root: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yield what may be found in the slots, none of it to be believed."""
    device = Device(round, root)
    old = [device.slots.read(i) for i in range(COUNT)]
    device.node.tighten(device.sign_limits(device.limits._replace(version=2, pace_ms=1)))
    device.boot()
    key = device.identity.state_key
    now = [device.slots.read(i) for i in range(COUNT)]
    yield "all empty", [b""] * COUNT
    yield "all cut short", [kept[:-1] for kept in now]
    yield "all longer", [kept + b"\0" for kept in now]
    for at in (0, 5, 20, 40, 70, 110):
        yield f"all with byte {at} turned", [_turn(kept, at) for kept in now]
    records = [budgets.unpack(kept, key) for kept in now]
    yield "all signed by another key", [budgets.pack(record, bytes(32)) for record in records]
    for i in range(COUNT):
        for day, kept in (("an old", old[i]), ("a true", now[i])):
            for name, other in SPOILT.items():
                slots = [kept if j == i else other(now[j]) for j in range(COUNT)]
                yield f"{day} slot {i} beside others that are {name}", slots
            yield f"{day} slot {i} over all others", [kept] * COUNT
        slots = [old[i] if j == i else now[j] for j in range(COUNT)]
        yield f"an old slot {i} among true ones", list(slots)
        slots[i - 1] = b""
        yield f"an old slot {i}, a true and an empty one", list(slots)
    newest = max(range(COUNT), key=lambda i: records[i].counter)
    for name, change in BACK.items():
        record = records[newest]._replace(spent=records[newest].spent + 5, round=9)
        slots = [budgets.pack(record._replace(counter=one.counter), key) for one in records]
        slots[newest] = budgets.pack(change(record), key)
        yield f"the newest one {name}", slots


def _turn(kept: bytes, at: int, bit: int = 1) -> bytes:
    return kept[:at] + bytes([kept[at] ^ bit]) + kept[at + 1 :]


ANSWERS = 45  # that the budget of one device is for


class Life(WatchedDevice):
    """One device on a flash, asked one Round after the other."""

    def __init__(self, round: Any, subject: Any, rng: Any, blocks: Blocks) -> None:
        root, flash = rng.bits(256).to_bytes(32, "big"), Flash(rng)
        cost = subject_of(round).compute_cost(round, Device(round, root).limits)
        device = Device(round, root, slots=flash, budget=int(cost * ANSWERS) + 1)
        self.root, self.number = root, 0
        super().__init__(device, flash, blocks, subject, naps=False)

    def start_and_check(self) -> None:
        """Start it, and hold its key to that of its boot."""
        super().start_and_check()
        budget = self.device.budget
        if not self.dead and budget.chain != rootkeys.chain_at(self.root, budget.epoch):
            self.faults.append("the chain key is not that of its epoch")

    def go_on(self, again: bool = False) -> None:
        """Ask the next Round, or the last one once more, no faster than it may answer."""
        self.number += not again
        self.now_ms += self.held.pace_ms
        values = self.device.make_readings(self.epoch + self.number)
        self.ask(self.device.round._replace(number=self.number), values)

    def tighten_a_little(self) -> None:
        """Send limits that are a little tighter."""
        held = self.held
        self.tighten(held._replace(version=held.version + 1, pace_ms=held.pace_ms + 1))


DAY = 20  # Rounds asked between two starts, at most
MOST = 200  # writes of one life; one that goes on writing is at fault itself
WRITES = 14  # before a power cut, at most


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what many power cuts bring out."""
    round = list_plans(mechanism)[-1].round
    for mode, asked in subject_of(round).list_modes(round):
        for spite in (0, 20):
            yield from _at_random(asked, mechanism.subject, mode, effort, spite)
    yield from contradiction_claims(round, effort.root("contradicted"))
    for mode, asked in subject_of(round).list_modes(round):
        yield from _claim_cut_at_each_write(asked, mechanism.subject, mode, effort)
    yield _claim_deep_sleep(effort)


def _claim_deep_sleep(effort: Effort) -> Claim:
    """Let boards sleep deeply so many times, lose the memory that outlives a sleep, and go on."""
    root, faults, starts = effort.root("asleep"), set(), 0
    key, limits = rootkeys.state_key(root), Limits(1, 4, 10, 1000, 10**6, 0)
    for wakes in (1, 2, WAKES):
        for sleeps in range(2 * wakes + 3):
            slots, memory, epoch, paid = Ram(), Memory(Flash(None)), 0, 0
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
    sentence = "however often a board sleeps before its memory is lost, no epoch comes twice"
    return claim_none(sentence, faults, "faults", samples=starts)


def _claim_cut_at_each_write(
    round: Any, subject: Any, mode: str, effort: Effort
) -> Iterator[Claim]:
    """Cut the power at every write of one life, at several places of the write."""
    faults, places, place, ended = list[str](), 0, 0, False
    rng = effort.tape("everywhere", mode)
    while not ended and place < MOST and not (effort.first and faults):
        for _ in range(effort.pick(2, 24)):
            with record_blocks(rng) as blocks:
                life = Life(round, subject, rng, blocks)
                life.flash.fuse = place
                ended = not _live_through(life, _play_script)
                life.flash.fuse = -1
                _live_through(life, _restart_and_play)
                faults += life.faults + blocks.faults
                places += 1
        place += 1
    sentence = f"a {mode} device ends its life, with power cuts or without"
    yield claim_at_most(sentence, MOST - 1, place, unit="writes", samples=places)
    sentence = f"a {mode} device survives a power cut at each of its {place - 1} writes"
    yield claim_none(sentence, faults, "faults", samples=places)


def _play_script(life: Life) -> None:
    for turn in range(2):
        for number in range(10):
            life.go_on()
            life.go_on(again=number % 3 == 0)
        life.tighten_a_little()
        if turn == 0:
            life.start_and_check()
    life.start_and_check()
    life.go_on()


def _restart_and_play(life: Life) -> None:
    life.start_and_check()
    _play_script(life)


def _live_through(life: Life, lived: Any) -> bool:
    """Return whether the power failed while the device lived so."""
    try:
        lived(life)
    except PowerCut:
        return True
    except Lost as why:
        life.faults.append(f"a power cut alone lost the key: {why}")
    return False


def _at_random(
    round: Any, subject: Any, mode: str, effort: Effort, spite: int = 0
) -> Iterator[Claim]:
    """Cut the power at random, again and again, until each device's budget is out.

    Args:
        spite: of a hundred starts so many find slots that are spoilt beyond what a power cut does,
            or a flash that soon takes no more; only then may a device be lost.
    """
    rng, cuts = effort.tape("at random", mode, spite), effort.pick(400, 10_000)
    faults, copies = list[str](), list[bytes]()
    seen = frames = devices = 0
    while seen < cuts and devices < cuts and not (effort.first and faults):
        devices += 1
        with record_blocks(rng) as blocks:
            try:
                life = Life(round, subject, rng, blocks)
            except Lost as why:
                faults.append(f"a device that was just enrolled is lost: {why}")
                continue
            copies.clear()
            for _ in range(40):
                if rng.below(100) < spite:
                    _spoil(life, copies, rng)
                copies += life.flash.kept
                wears = rng.below(100) < spite
                life.spoilt = life.spoilt or wears
                life.flash.fuse = rng.below(WRITES)
                life.flash.drops = rng.below(WRITES) if wears else -1
                seen += _live_through(life, lambda one: _play_random_day(one, rng))
                if life.dead:
                    break
            faults += life.faults + blocks.faults
            frames += len(blocks.frames)
    more = ", not even with spoilt records or a worn flash," * bool(spite)
    yield claim_at_most(
        f"no power cut{more} makes a {mode} device use noise twice or count less than it answered",
        0,
        len(faults),
        unit="faults",
        samples=seen or devices,
        detail=f"{frames} frames; {'; '.join(sorted(set(faults)))}",
    )
    if not spite:
        sentence = f"a {mode} device answers between power cuts"
        yield claim_fact(sentence, frames > devices * 5, samples=frames)


def _play_random_day(life: Life, rng: Any) -> None:
    life.start_and_check()
    for _ in range(0 if life.dead else rng.below(DAY)):
        if rng.below(12) == 0:
            life.tighten_a_little()
        life.go_on(again=rng.below(5) == 0)


def _spoil(life: Life, copies: Sequence[bytes], rng: Any) -> None:
    """Cut short, erase or forge some slots, and put back an old copy of one of them.

    Never old copies of two: that a whole flash was put back no device can know.
    """
    life.spoilt, kept = True, life.flash.kept
    alone = all(budgets.unpack(one, life.device.identity.state_key) for one in kept)
    for i, old in enumerate(kept):
        kind = rng.below(12)  # most are left as they are
        if kind == 0:
            kept[i] = old[: rng.below(len(old) + 1)]
        elif kind == 1:
            kept[i] = life.flash.tear(old, old[::-1])
        elif kind == 2 and old:
            kept[i] = _turn(old, rng.below(len(old)), 1 << rng.below(8))
        elif kind == 3 and copies and alone:
            kept[i], alone = copies[rng.below(len(copies))], False
