"""A budget for any window of so many hours: never more within one, and it comes back."""

import re
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from edge.board.power import Nap
from edge.core import window
from edge.core.budget import COUNT, EXHAUSTED, SIZE, Budget, Limits, Lost, Record, pack, unpack
from edge.core.compat import Uptime, hmac_sha256
from edge.core.node import Node
from edge.core.window import BYTES, Hours, WindowBudget, open_budget, pack_first, step_of
from edge.host import rootkeys
from edge.host.enrol import Ram, provision
from gateway.audit.attacks.windows import Clock

ROOT = bytes(range(32))
KEY = rootkeys.state_key(ROOT)
DAY_S = 86_400
STEP_S = step_of(DAY_S)
LIMITS = Limits(1, 8, 400, 10_000, 1000, 0)
TRUE = Fraction(1)


def enrolled(length_s: int = DAY_S, slots: Any = None) -> Any:
    slots = slots or Ram()
    kept = pack_first(length_s, LIMITS.budget)
    provision(slots, KEY, rootkeys.first_chain(ROOT), LIMITS, kept)
    return slots


def started(slots: Any, clock: Any, lease: int = 8, nap: Any = None) -> Any:
    budget = open_budget(slots, KEY, lease, clock)
    budget.boot(nap)
    return budget


def lost(fault: object) -> None:
    raise AssertionError(fault)


def kept(slots: Any) -> Hours:
    """Return the window as the newest slot has it."""
    found = [unpack(slots.read(i), KEY) for i in range(COUNT)]
    return Hours(max(found).window, None)  # type: ignore[type-var, union-attr]


def test_what_was_spent_comes_back_when_it_is_a_window_old() -> None:
    """And not a bucket earlier, whatever is asked in between."""
    clock = Clock(TRUE)
    budget = started(enrolled(), clock)
    assert budget.charge(1000, 1)
    assert not budget.charge(1, 2)
    assert budget.exhausted
    waited_s = budget.returns_s
    for back_s in (DAY_S * 51 // 50, 3600, 60, 1):
        clock.true_ms = 1000 * (waited_s - back_s)
        assert not budget.charge(1, 3)
        assert budget.returns_s == back_s

    clock.true_ms = 1000 * waited_s
    budget.age(lost)
    assert not budget.exhausted
    assert budget.left == 1000
    assert budget.charge(1000, 4)


def test_the_two_buckets_at_the_ends_of_a_window_are_both_counted() -> None:
    """A budget at the end of one bucket is not there again at the beginning of the last."""
    clock = Clock(window_rate := Fraction(51, 50))
    budget = started(enrolled(), clock)
    clock.true_ms = int(1000 * STEP_S / window_rate) - 1500  # the first bucket is about to end
    assert budget.charge(1000, 1)
    spent_ms = clock.true_ms
    while clock.true_ms <= spent_ms + 1000 * DAY_S:
        assert not budget.charge(1, 2), (clock.true_ms - spent_ms) / 3_600_000
        clock.true_ms += 500_000


LONG_S = 100
# Of true time, of two buckets, by a clock that is as fast as it may
STEP_MS = 1000 * 51 * 50 // 51
GAPS = (0, STEP_MS // 2, STEP_MS - 600, STEP_MS + 600, 2 * STEP_MS - 600, 2 * STEP_MS + 600)
GAPS_MS = (*GAPS, 1000 * LONG_S, 1000 * LONG_S + 1001)
SOME, ALL, ALL_AND_CUT = range(3)


def small(patch: pytest.MonkeyPatch) -> None:
    """Let a window have two buckets, so that all that may happen in it can be tried."""
    size = window.HEAD + 3 * window.WIDTH
    for name, value in {"BUCKETS": 2, "RING": 3, "BYTES": size, "LEAST_S": 1}.items():
        patch.setattr(window, name, value)


def led(acts: tuple[tuple[int, int], ...], phase_ms: int) -> list[int]:
    """Return when a device answered, of a life in which no window held more than the budget."""
    clock, slots = Clock(), enrolled(LONG_S)
    clock.true_ms = phase_ms
    budget, answers, number = started(slots, clock, 2), [], 0
    for act, gap_ms in acts:
        clock.true_ms += gap_ms
        for _ in range(1 if act == SOME else 4):
            number += 1
            if not budget.charge(300, number):
                break
            answers.append(clock.true_ms)
            since_ms = clock.true_ms - 1000 * LONG_S  # both ends are in the window
            assert 300 * sum(at >= since_ms for at in answers) <= 1000, (acts, answers)
        if act == ALL_AND_CUT:
            budget = started(slots, clock, 2)
    return answers


@pytest.mark.parametrize("phase_ms", [0, STEP_MS - 1500])
@pytest.mark.parametrize("acts", [2, pytest.param(3, marks=pytest.mark.long)])
def test_every_short_life_keeps_to_its_budget(
    monkeypatch: pytest.MonkeyPatch, acts: int, phase_ms: int
) -> None:
    """All orders of waiting, answering and power cuts, on two buckets, by the fastest clock."""
    small(monkeypatch)
    kinds = [(act, gap) for act in (SOME, ALL, ALL_AND_CUT) for gap in GAPS_MS]
    lives = [led(order, phase_ms) for order in product(kinds, repeat=acts)]

    assert max(map(len, lives)) >= 6, "budget comes back"


def test_a_device_is_exhausted_until_it_can_pay_what_was_asked_last() -> None:
    """The last nano-rho is not, and it says after how long enough is there again."""
    clock = Clock(TRUE)
    budget = WindowBudget(slots := enrolled(), KEY, 1, clock)
    assert budget.left == 0, "it has not booted"
    budget.boot()
    assert budget.charge(600, 1)
    clock.true_ms = 1000 * STEP_S
    assert budget.charge(300, 2)
    assert budget.returns_s == 0
    assert not budget.charge(700, 3)
    assert budget.exhausted
    assert budget.why == window.WAITS % (24 * STEP_S), "what the first answer cost is enough"

    clock.true_ms += 1000 * STEP_S
    budget.age(lost)
    assert not budget.exhausted, "less may be asked for"
    assert budget.charge(99, 4)
    assert not budget.exhausted
    clock.true_ms += 1000 * STEP_S
    budget.age(lost)
    assert not budget.exhausted
    budget = started(slots, clock)
    assert not budget.exhausted, "nor after a cut"
    assert budget.charge(1, 5)
    assert budget.exhausted


def test_a_price_above_the_budget_never_comes_back() -> None:
    """No answer is counted twice in how long that takes, in any bucket."""
    clock = Clock(TRUE)
    budget = started(enrolled(), clock)
    assert budget.charge(600, 1)
    for bucket in range(25):
        clock.true_ms = 1000 * STEP_S * bucket
        assert not budget.charge(1001, 2)
        assert budget.returns_s is None
    assert budget.why == EXHAUSTED


@pytest.mark.parametrize("clock", [None, Clock(TRUE)])
def test_a_lease_lasts_while_no_time_goes_by(clock: Any) -> None:
    """It is looked at before each answer, and given up only where a bucket has ended."""
    budget = started(slots := enrolled(), clock)
    assert budget.charge(100, 1)
    assert budget.charge(100, 2)

    assert kept(slots).spent == 800


def test_a_window_can_be_used_up_to_its_last_answer() -> None:
    """A law that is never touched would hold of a device that gives nothing."""
    clock = Clock()
    budget, answers = started(enrolled(), clock, 1), 0
    for minute in range(3 * 24 * 60):
        clock.true_ms = 60_000 * minute
        answers += budget.charge(100, minute)

    assert answers == 30


def test_a_lease_ends_with_its_bucket_and_costs_nothing() -> None:
    """What was paid for ahead and not used is there again; till then the medium counts it."""
    clock = Clock(TRUE)
    budget = started(slots := enrolled(), clock)
    assert budget.charge(100, 1)
    assert kept(slots).spent == 800
    clock.true_ms = 1000 * STEP_S
    budget.age(lost)

    assert kept(slots).spent == 100
    assert budget.left == 900
    assert budget.charge(100, 2)
    assert started(slots, Clock(TRUE)).left == 100, "after a cut the running lease counts"


def test_a_number_that_is_for_once_is_written_with_a_window_too() -> None:
    """Else a report of central trust would come again after a cut, sealed to another key."""
    budget = started(slots := enrolled(), Clock(TRUE))
    assert budget.charge(100, 1)
    assert budget.charge(100, 3, once=True)

    assert started(slots, Clock(TRUE)).round == 3


def test_hours_are_written_once_a_bucket_and_only_while_something_is_to_come_back() -> None:
    """A year of looks would wear the flash out."""
    writes = []

    class Counted(Ram):
        def write(self, i: int, data: bytes) -> None:
            writes.append(i)
            super().write(i, data)

    clock = Clock(TRUE)
    budget = started(enrolled(slots=Counted()), clock)
    budget.charge(1, 1)
    writes.clear()
    for minute in range(72 * 60):
        clock.true_ms = 60_000 * minute
        budget.age(lost)

    assert len(writes) == 24 * COUNT, "the 25th finds nothing left in the ring"


def test_a_cut_loses_time_and_never_gains_any() -> None:
    """Counted on from what was written; what the clock shows at a start is not time gone by."""
    clock = Clock(TRUE)
    budget = started(slots := enrolled(), clock)
    budget.charge(1000, 1)
    clock.true_ms = 1000 * (STEP_S * 3 // 2)
    budget.age(lost)
    clock.true_ms += 1000 * (STEP_S // 3)
    budget = started(slots, clock)

    assert budget.window.counted_s == STEP_S * 3 // 2
    budget = started(slots, None)
    clock.true_ms += 10**12
    budget.age(lost)
    assert not budget.charge(1, 2), "without a clock nothing ages"


def test_a_device_whose_slots_do_not_keep_its_hours_never_renews(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has stopped for good, however many windows go by, and though they could write again."""
    clock, faults = Clock(TRUE), list[Any]()
    budget = started(slots := enrolled(), clock)
    budget.charge(1000, 1)
    with monkeypatch.context() as patch:
        patch.setattr(slots, "write", lambda i, data: None)
        clock.true_ms = 1000 * STEP_S
        budget.age(faults.append)
    assert len(faults) == 1
    clock.true_ms = 10**12
    budget.age(lost)

    with pytest.raises(Lost):
        budget.charge(1, 2)


def test_a_clock_that_went_backwards_ages_nothing() -> None:
    """Nor does it, when it is back where it was."""
    clock = Clock(TRUE)
    clock.true_ms = 1000 * STEP_S
    budget = started(enrolled(), clock)
    budget.charge(1000, 1)
    for at_s in (STEP_S, 0, STEP_S, 1):
        clock.true_ms = 1000 * at_s
        budget.age(lost)

    assert budget.window.counted_s == 0


@pytest.mark.parametrize("change", ["tighten", "rounds", "clock"])
def test_nothing_that_is_said_to_a_device_ages_a_bucket(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """No Round's number, no signature, no limits and no time server: only hours."""
    budget = started(enrolled(), Uptime())
    budget.charge(400, 1)
    before = budget.window.pack()
    for number in range(2, 40):
        if change == "tighten":
            budget.tighten(LIMITS._replace(version=number))
        elif change == "clock":
            at_s = 2 * 10**9 + DAY_S * number
            for name, later in (("time", at_s), ("time_ns", 10**9 * at_s)):
                monkeypatch.setattr(time, name, lambda at=later: at)
            budget.age(lost)
        else:
            budget.charge(1001, 1000 * number)

    assert budget.window.pack() == before


def test_no_receipt_moves_hours_nor_anything_else_beside_them() -> None:
    """Of all that runs on a device, only the end of a sleep is told to them from outside."""
    moves = re.compile(r"_count\(|\bcounted_s|\.wake\(|\._since_ms")
    found = [
        (path.name, moves.findall(text))
        for path in Path(window.__file__).parents[1].rglob("*.py")
        if path.name != "window.py" and moves.search(text := path.read_text("utf-8"))
    ]

    assert found == [("power.py", [".wake("])]


def nap(memory: Any, rtc_s: Callable[[], int], asleep_s: int = 600) -> Nap:
    return Nap(memory, KEY, rtc_s=rtc_s, asleep_s=asleep_s)


class Memory:
    held = b""

    def __call__(self, *data: bytes) -> Any:
        if data:
            self.held = bytes(data[0])
        return self.held


@pytest.mark.parametrize(
    ("rtc", "counted_s"),
    [(600, 544), (660, 544), (661, 0), (550, 499), (86_400, 0), (-5, 0), (0, 0), (1, 0)],
)
def test_a_sleep_counts_as_the_rtc_says_and_never_longer_than_it_was_to_last(
    rtc: int, counted_s: int
) -> None:
    """A tenth is charged for the oscillator of the sleep; an RTC that was set counts nothing."""
    memory, clock, now = Memory(), Clock(TRUE), 10**9
    slots = enrolled()
    budget = started(slots, clock, nap=nap(memory, lambda: now))
    budget.charge(100, 1)
    budget.sleep(nap(memory, lambda: now))
    budget = started(slots, clock, nap=nap(memory, lambda: now + rtc))

    assert budget.window.counted_s == counted_s
    assert ("clock" in budget.describe()) == (rtc > 660 or rtc < 1), "who waits longer is told why"
    assert budget.window.spent == 100, "the lease goes on over the sleep"
    assert budget.charge(100, 2)
    assert kept(slots).spent == 800


def test_a_lease_ends_with_its_bucket_in_a_sleep_too() -> None:
    """Else an answer after it, paid for before it, would count as older than it is after a cut."""
    memory, clock, slots, asleep_s = Memory(), Clock(TRUE, TRUE), enrolled(), 2 * STEP_S
    budget = started(slots, clock, nap=nap(memory, clock.read_rtc_s, asleep_s))
    assert budget.charge(100, 1)
    budget.sleep(nap(memory, clock.read_rtc_s, asleep_s))
    clock.true_ms += 1000 * asleep_s
    budget = started(slots, clock, nap=nap(memory, clock.read_rtc_s, asleep_s))
    assert budget.window.bucket == 1
    assert budget.charge(100, 2)

    assert kept(slots).spent == 900, "100 of the first bucket, and a lease of the second"


def test_a_sleep_whose_memory_is_lost_counts_as_nothing() -> None:
    """And so does one of a board whose RTC is not asked."""
    clock, slots = Clock(TRUE), enrolled()
    for memory, rtc_s in ((Memory(), None), (Memory(), lambda: 10**9)):
        budget = started(slots, clock, nap=nap(memory, rtc_s))
        budget.sleep(nap(memory, rtc_s))
        if rtc_s:
            memory.held = b""
        budget = started(slots, clock, nap=nap(memory, lambda: 10**9 + 600))
        assert budget.window.counted_s == 0


def test_counted_hours_that_go_backwards_end_the_key() -> None:
    """An older slot beside two newer ones, with a counter that fits, was written by hand."""
    slots = enrolled()
    budget = started(slots, Clock(TRUE))
    budget.charge(1, 1)
    old = max(unpack(slots.read(i), KEY) for i in range(COUNT))  # type: ignore[type-var]
    later = (10**6).to_bytes(4, "big")
    for i, counter in enumerate((0, 1, 2)):
        kept = old.window[:4] + (later if i == 0 else old.window[4:8]) + old.window[8:]
        slots.write(i, pack(old._replace(counter=old.counter + counter, window=kept), KEY))

    with pytest.raises(Lost, match="went backwards"):
        WindowBudget(slots, KEY).boot()


def test_a_ring_that_was_changed_does_not_verify() -> None:
    """It stands under the MAC like all that a device goes by."""
    data = pack(Record(1, 1, 0, 0, ROOT, LIMITS, pack_first(DAY_S, 1000, 700)), KEY)

    assert len(data) == SIZE + BYTES == 254
    assert data[-16:] == hmac_sha256(KEY, data[:-16])[:16]
    for at in range(117 - 16, 254 - 16):
        assert unpack(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], KEY) is None


OLD = (  # written by the version before windows; the last two are of one start
    "68766231000000000000000d00000000000000020000000000000678000000000000000aedd1233d5eeb06c51c"
    "8e8ad218b6a13ccf6128e4acc0600f010f59a60c044ecc000000034800000000000001900000000000002710"
    "00000000000f4240001b7740a75769d00ba7d61c72307568b8a7aaf2",
    "68766231000000000000000e00000000000000020000000000000678000000000000000aedd1233d5eeb06c51c"
    "8e8ad218b6a13ccf6128e4acc0600f010f59a60c044ecc000000034800000000000001900000000000002710"
    "00000000000f4240001b7740a55ccd5cca0bfdf360fdd1cfeed5e8cd",
    "68766231000000000000000f00000000000000020000000000000678000000000000000aedd1233d5eeb06c51c"
    "8e8ad218b6a13ccf6128e4acc0600f010f59a60c044ecc000000034800000000000001900000000000002710"
    "00000000000f4240001b77403e0cca49c168023b3c97c627b11efd8b",
)


def test_slots_of_the_version_before_open_as_they_were_and_never_renew() -> None:
    """A device that is upgraded goes on with what it was promised: for the life of its key."""
    slots = Ram()
    for i, held in enumerate(OLD):
        slots.write(i, bytes.fromhex(held))
    clock = Clock(TRUE)
    budget = started(slots, clock)

    assert (budget.epoch, budget.spent, budget.round, budget.window) == (3, 1656, 9, None)
    assert budget.charge(budget.left, 10)
    clock.true_ms = 10**12
    assert not budget.charge(1, 11)
    assert [len(slots.read(i)) for i in range(COUNT)] == [117] * COUNT


def test_a_budget_that_does_not_count_hours_does_not_open_one_that_does() -> None:
    """It would answer, and the ring would not know."""
    with pytest.raises(Lost, match="it has a window: open_budget opens it"):
        Budget(enrolled(), KEY).boot()


@pytest.mark.parametrize(
    ("length_s", "budget"), [(0, 1000), (3599, 1000), (367 * DAY_S, 1000), (DAY_S, 1 << 40)]
)
def test_a_window_that_no_slot_holds_is_refused(length_s: int, budget: int) -> None:
    """Its buckets would be no time; or its budget cut short there, which gives budget back."""
    with pytest.raises(ValueError, match="from an hour to a year|at most 1099511627775"):
        pack_first(length_s, budget)


def test_what_an_earlier_key_gave_away_comes_back_a_window_later() -> None:
    """A new key within the window is no new budget."""
    slots, clock = Ram(), Clock(TRUE)
    given = pack_first(DAY_S, 1000, 600)
    provision(slots, KEY, rootkeys.first_chain(ROOT), LIMITS, given)
    budget = started(slots, clock)
    assert budget.left == 400
    clock.true_ms = 1000 * 24 * STEP_S
    assert not budget.charge(401, 1)
    clock.true_ms = 1000 * 25 * STEP_S
    assert budget.charge(1000, 2)


def test_a_level_that_follows_is_refused() -> None:
    """It carries a reading on for longer than a window, at a price that was reckoned for one."""
    budget = started(enrolled(), Clock(TRUE))
    who = rootkeys.identity("lab", "n", ROOT, bytes(range(32, 64)), 0, "sealed", 1)
    with pytest.raises(ValueError, match="window"):
        Node(who, budget, follower=object())  # type: ignore[arg-type]
