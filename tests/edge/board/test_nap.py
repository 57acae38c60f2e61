"""Deep sleep: what a board remembers over it, and power that fails before, in and after it."""

import random
from typing import Any

import pytest

from edge.board.power import WAKES, Nap, nap_of
from edge.core.budget import ASLEEP, COUNT, Budget, Limits, Lost
from edge.core.entropy import ratchet
from edge.host.enrol import Ram, provision
from edge.host.rootkeys import chain_at, first_chain, state_key

# A device that sleeps deeply keeps its epochs and its lease in memory that outlives a sleep.

ROOT = bytes(range(32))
KEY = state_key(ROOT)
PRICE, BUDGET = 10, 10**9
LIMITS = Limits(1, 8, 400, 10_000, BUDGET, 0)


class Rtc:
    """`machine.RTC().memory`: bytes that outlive a deep sleep, and counts of what was asked."""

    def __init__(self) -> None:
        self.held = b""

    def __call__(self, *data: bytes) -> Any:
        if not data:
            return self.held
        self.held = bytes(data[0])
        return None


class Slots(Ram):
    """Slots that count how often they are written."""

    writes = 0

    def write(self, i: int, data: bytes) -> None:
        self.writes += 1
        super().write(i, data)


def enrolled() -> Slots:
    slots = Slots()
    provision(slots, KEY, first_chain(ROOT), LIMITS)
    slots.writes = 0
    return slots


def test_a_day_of_wakes_writes_the_flash_seldom() -> None:
    """An answer a minute: three writes a boot and three an answer would be 8640."""
    slots, rtc, epochs, chain = enrolled(), Rtc(), [], first_chain(ROOT)
    for wake in range(1440):
        budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
        budget.boot(nap)
        epochs.append(budget.epoch)
        assert budget.chain == chain  # what a key holder takes off
        chain = ratchet(chain)
        assert budget.charge(PRICE, wake)
        budget.sleep(nap)

    assert epochs == list(range(1, 1441))
    assert budget.spent == 1440 * PRICE  # no lease is lost in a sleep
    assert slots.writes == COUNT * (-(-1440 // (WAKES + 1)) + 1440 // 8)


def test_a_round_answered_before_a_sleep_is_not_answered_after_it() -> None:
    """Whatever the slots know of it, at every wake until epochs are reserved anew and after."""
    slots, rtc = enrolled(), Rtc()
    for answered in range(-1, WAKES + 3):
        budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
        budget.boot(nap)
        assert budget.round == answered
        budget.charge(PRICE, answered + 1)
        budget.sleep(nap)


def test_a_fresh_battery_costs_a_lease_and_the_epochs_reserved() -> None:
    """And nothing else: the next boot goes by the slots."""
    slots, rtc = enrolled(), Rtc()
    budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
    budget.boot(nap)
    budget.charge(PRICE, 1)
    budget.sleep(nap)
    rtc.held = b""
    again = Budget(slots, KEY)
    again.boot(nap)

    assert again.epoch == 1 + WAKES + 1
    assert again.spent == 8 * PRICE
    assert again.chain == chain_at(ROOT, again.epoch)


def test_a_board_whose_wakes_are_few_goes_on_without_the_memory() -> None:
    """As after new firmware that knows of none: what was reserved is passed over."""
    slots, rtc = enrolled(), Rtc()
    budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
    budget.boot(nap)
    budget.sleep(nap)
    plain = Budget(slots, KEY)
    plain.boot()
    late = Budget(slots, KEY)
    late.boot(Nap(rtc, KEY))  # what lies there is of before

    assert (plain.epoch, late.epoch) == (WAKES + 2, WAKES + 3)


def test_a_device_that_sleeps_answers_no_more() -> None:
    """What it would pay for then is the next boot's already."""
    slots, nap = enrolled(), Nap(Rtc(), KEY)
    budget = Budget(slots, KEY)
    budget.boot(nap)
    budget.sleep(nap)

    with pytest.raises(Lost, match=ASLEEP):
        budget.charge(PRICE, 1)
    with pytest.raises(Lost, match=ASLEEP):
        budget.sleep(nap)


def test_no_slot_can_be_made_of_what_lies_there() -> None:
    """Else two copies of it in the slots were an older budget, rightly signed."""
    slots, rtc = enrolled(), Rtc()
    budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
    budget.boot(nap)
    budget.sleep(nap)
    for i in range(COUNT):
        slots.write(i, rtc.held)

    with pytest.raises(Lost, match="fewer than two slots verify"):
        Budget(slots, KEY).boot()


def test_the_key_of_a_boot_that_is_over_lies_nowhere() -> None:
    """A board stolen in its sleep gives away boots to come, none that were."""
    slots, rtc = enrolled(), Rtc()
    nap = Nap(rtc, KEY)
    chains = []
    for _ in range(5):
        budget = Budget(slots, KEY)
        budget.boot(nap)
        chains.append(budget.chain)
        budget.sleep(nap)
        kept = b"".join([rtc.held, *slots._held])
        assert not any(chain in kept for chain in chains)


def test_a_torn_slot_is_written_again_and_not_slept_upon() -> None:
    """With one slot alone the next tear would be the end."""
    slots, rtc = enrolled(), Rtc()
    budget, nap = Budget(slots, KEY), Nap(rtc, KEY)
    budget.boot(nap)
    budget.sleep(nap)
    slots.write(0, b"torn")
    again = Budget(slots, KEY)
    again.boot(nap)

    assert again.mended
    assert again.epoch == WAKES + 2
    assert len(slots.read(0)) == len(slots.read(1)) > 100


def test_tighter_limits_are_kept_in_a_sleep() -> None:
    """They are in the slots by then; what lies in the memory is held against them."""
    slots, nap = enrolled(), Nap(Rtc(), KEY)
    budget = Budget(slots, KEY)
    budget.boot(nap)
    tight = LIMITS._replace(version=2, budget=900)
    budget.tighten(tight)
    budget.sleep(nap)
    again = Budget(slots, KEY)
    again.boot(nap)

    assert (again.epoch, again.limits) == (2, tight)


def test_a_board_without_such_a_memory_has_none() -> None:
    """An RP2040's clock keeps no bytes."""
    from types import SimpleNamespace

    rtc = Rtc()
    assert nap_of(SimpleNamespace(), KEY, 600) is None
    assert nap_of(SimpleNamespace(RTC=SimpleNamespace), KEY, 600) is None
    found = nap_of(SimpleNamespace(RTC=lambda: SimpleNamespace(memory=rtc)), KEY, 600)
    assert isinstance(found, Nap)


SCRIPT = """
from edge.board.power import Nap
from edge.core.budget import Budget
from edge.core.compat import sha256
from edge.host.enrol import provision
from edge.host.rootkeys import first_chain, state_key
from edge.core.budget import Limits
from edge.core.budget import COUNT
from edge.host.enrol import Ram
held = [b""]
def memory(*data):
    if not data:
        return held[0]
    held[0] = bytes(data[0])
slots, key = Ram(), state_key(bytes(range(32)))
provision(slots, key, first_chain(bytes(range(32))), Limits(1, 8, 400, 10000, 1000, 0))
for wake in range(40):
    budget, nap = Budget(slots, key), Nap(memory, key)
    budget.boot(nap)
    budget.charge(10, wake)
    budget.sleep(nap)
print(budget.epoch, budget.spent, sha256(held[0] + slots.read(0)))
"""


def test_every_interpreter_sleeps_alike(interpreter) -> None:
    """The bytes too."""
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(SCRIPT, {})

    assert said.getvalue().startswith("40 400 ")
    assert interpreter.run(SCRIPT) == said.getvalue()


def test_no_byte_of_a_chain_key_stays_once_a_board_is_awake() -> None:
    """An ESP32 keeps what lies behind the length that it was given last."""
    slots, chip = enrolled(), bytearray(2048)
    size = 0

    def memory(*data: bytes) -> Any:
        nonlocal size
        if not data:
            return bytes(chip[:size])
        size = len(data[0])
        chip[:size] = data[0]
        return None

    budget, nap = Budget(slots, KEY), Nap(memory, KEY)
    budget.boot(nap)
    budget.sleep(nap)
    assert any(chip)
    again = Budget(slots, KEY)
    again.boot(nap)

    assert again.epoch == budget.epoch + 1
    assert not any(chip)


# Power that fails in a deep sleep, before it and after it, ten thousand times: no epoch twice.


class Cut(Exception):
    """The power is gone."""


class Fading(Rtc):
    """A memory with a battery: at some of what is asked of it the power fails; noise is left."""

    def __init__(self, world: random.Random) -> None:
        super().__init__()
        self.world = world
        self.often = 0.0

    def __call__(self, *data: bytes) -> Any:
        if self.world.random() < self.often:
            if data and self.world.random() < 0.5:
                self.held = bytes(data[0])
            raise Cut
        return super().__call__(*data)

    def fade(self) -> None:
        kind = self.world.randrange(4)
        if kind == 0:
            self.held = b""
        elif kind == 1 and self.held:
            spoilt = bytearray(self.held)
            spoilt[self.world.randrange(len(spoilt))] ^= 1 << self.world.randrange(8)
            self.held = bytes(spoilt)
        elif kind == 2:
            self.held = self.world.randbytes(117)


class CutSlots(Ram):
    """Slots whose writes fail at times, with nothing, half or all of it done."""

    def __init__(self, world: random.Random) -> None:
        super().__init__()
        self.world, self.often = world, 0.0

    def write(self, i: int, data: bytes) -> None:
        if self.world.random() < self.often:
            super().write(i, self.world.choice([b"", data[:50], data]))
            raise Cut
        super().write(i, data)


def faults(made: Any, starts: int) -> set[str]:
    """Return what a witness saw go wrong over so many starts of a device with such a Nap."""
    world = random.Random(7)
    slots, rtc = CutSlots(world), Fading(world)
    provision(slots, KEY, first_chain(ROOT), LIMITS)
    slots.often = rtc.often = 0.05
    used: set[int] = set()
    paid, seen = 0, set()
    for number in range(starts):
        budget, nap = Budget(slots, KEY), made(rtc, KEY)
        try:
            budget.boot(nap)
            if budget.epoch in used:
                seen.add("an epoch again")
            used.add(budget.epoch)
            if budget.spent < paid:
                seen.add("answers forgotten")
            for _ in range(world.randrange(3)):
                if budget.charge(PRICE, number):
                    paid += PRICE
            if world.random() < 0.9:
                budget.sleep(nap)
        except Cut:
            pass
        except Lost:
            seen.add("lost")
            break
        if world.random() < 0.1:
            rtc.fade()
    return seen


@pytest.mark.long
def test_ten_thousand_starts_use_no_epoch_twice() -> None:
    """Whatever is cut: a write of the slots, of the memory, the sleep itself."""
    assert faults(Nap, 10_000) == set()


class NotErased(Nap):
    """Reads what was left and lets it lie."""

    def take(self, record: Any) -> Any:
        held = self._memory()
        found = super().take(record)
        self._memory(held)
        return found


class Unbound(Nap):
    """Believes what lies there, of whatever past it is."""

    def take(self, record: Any) -> Any:
        from edge.core.budget import unpack

        left = unpack(bytes(self._memory()), self._key)
        self._memory(b"")
        return left


class Again(Nap):
    """Leaves the epoch that was used in place of the next one."""

    def save(self, reserved: int, epoch: int, *rest: Any) -> None:
        super().save(reserved, epoch - 1, *rest)


@pytest.mark.parametrize("wrong", [NotErased, Again])
def test_the_witness_sees_a_wrong_memory(wrong: type[Nap]) -> None:
    """Each is a mistake that a test with an even temper would let pass."""
    assert "an epoch again" in faults(wrong, 2000)


def test_what_is_of_the_past_is_not_believed() -> None:
    """A copy of the memory from before a boot by the slots alone."""
    for made, epoch in ((Nap, 2 * WAKES + 3), (Unbound, 2)):
        slots, rtc = enrolled(), Rtc()
        budget, nap = Budget(slots, KEY), made(rtc, KEY)
        budget.boot(nap)
        budget.sleep(nap)
        copy, rtc.held = rtc.held, b""
        Budget(slots, KEY).boot(nap)
        rtc.held = copy
        late = Budget(slots, KEY)
        late.boot(nap)
        assert late.epoch == epoch  # the second is the epoch of a boot whose noise may be known
