"""A device that tells its place: one answer a Round, paid by epsilon, drawn before it is read."""

import dataclasses
import json
import re
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import entropy, tightening, wire
from edge.core.budget import Budget, Limits, objection, price
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.core.tightening import topic
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import disk, disk_half, disk_limits
from edge.mechanisms.footprint import exp_floor
from tests.edge.mechanisms.disk_law import PROMISE, disc

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
TOPIC, DATA = wire.round_topic("lab", "disk"), wire.topic("lab", "n007", "data")
LIMITS = disk_limits.make_limits(1, 1, 10)
SHAPE = (6, 4)


@dataclasses.dataclass
class Position:
    """Counts how often it is asked, and fails where it is told to."""

    cell: tuple[object, ...] = (2, 1)
    asks: int = 0
    grids: list[object] = dataclasses.field(default_factory=list)

    def __call__(self, grid: object) -> tuple[object, ...]:
        self.asks += 1
        self.grids.append(grid)
        if not self.cell:
            raise OSError("no fix at 2, 1")
        return self.cell


def a_round(number: int = 1, params: tuple[int, ...] = disc(2), promise: Guarantee = PROMISE):
    return Round(number, "disk", Grid(SHAPE, 500), params, promise)


def message(number: int = 1, params: tuple[int, ...] = disc(2), **more: Guarantee) -> bytes:
    return bytes(post.pack_round(a_round(number, params, **more), SITE_KEY, TOPIC))


def booted(limits: Limits = LIMITS, slots: Ram | None = None) -> Budget:
    slots = slots or Ram()
    if not slots.read(0):
        provision(slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), limits)
    budget = Budget(slots, rootkeys.state_key(ROOT))
    budget.boot()
    return budget


def node(budget: Budget | None = None, mode: str = "sealed", **more: object) -> Node:
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7, mode)
    return Node(who, budget or booted(), **{"mechanism": "disk", **more})


def told(frame: bytes | None) -> list[int]:
    assert frame is not None
    return list(post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n007").payload)


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the sealed stream one that a test can repeat."""
    monkeypatch.setattr(entropy, "sealed", lambda *_: entropy.Tape(b"sealed"))


@pytest.mark.usefixtures("tape")
def test_a_frame_holds_what_the_rounds_law_draws_and_no_more() -> None:
    """The device's number, and a place of the outer array from its own stream."""
    stream, device = entropy.Tape(b"sealed"), node()
    for number in range(1, 9):
        drawn = disk.draw(disk.Table(a_round()), stream)

        assert told(device.answer(message(number), Position())) == disk.veil(
            a_round(), Reading(7, (2, 1)), drawn
        )


def test_what_lies_ready_is_used_for_the_next_round_alike_and_for_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a frame the next draw is over before a Round comes; other weights are drawn anew."""
    tables, draw = [], disk_half.draw
    monkeypatch.setattr(disk_half, "draw", lambda t, rng: tables.append(t.of[1]) or draw(t, rng))
    device = node()
    device.prepare()

    assert tables == [], "nobody knows the weights before the first Round"
    for number, params in enumerate([disc(2), disc(2), disc(1), disc(1)], start=1):
        device.answer(message(number, params), Position())
        device.prepare()
        device.prepare()

    assert tables == [disc(2)] * 3 + [disc(1)] * 3


@pytest.mark.usefixtures("tape")
def test_a_round_that_comes_again_after_another_was_looked_at_has_its_own_law() -> None:
    """Its sensor failed, and the weights of a Round that was refused since are not its own."""
    one = disk_limits.make_limits(1, 1, 1)
    device, position = node(booted(one._replace(budget=one.budget + 1))), Position(())

    assert device.answer(message(1), position) is None
    assert device.answer(message(2, disc(0)), position) is None
    assert "budget is spent" in device.refusal
    position.cell = (0, 0)
    stream = entropy.Tape(b"sealed")
    disk.draw(disk.Table(a_round()), stream)  # of the answer that failed

    assert told(device.answer(message(1), position)) == disk.report(
        a_round(), Reading(7, (0, 0)), stream
    )


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (message(params=disc(2, 1 << 32, (1001, 1000))), "less noise than this device's limit"),
        (message(promise=PROMISE._replace(epsilon=(1, 2))), "promise states less"),
        (message(promise=PROMISE._replace(epsilon=None)), "promise states less"),
        (message(promise=PROMISE._replace(epsilon=(1, 0))), "promise states less"),
        (message(params=(0, 10, 28, 1, 1, 1, 0)), "more than epsilon allows"),
        (message(params=(1, 10, 27, 1, 1, 1, 0)), "ends at 0 with reach 1"),
        (message(params=(1, 10, 27, 1, 1, 1, 1, 9)), "weight 9"),
        (message(params=(0, 10, 27, 1, 1)), "no footprint"),
        (message(params=(0, 10, 27, 0, 1, 1, 0)), "epsilon of 0/1 is none"),
        (message(params=(0, 10, 27, 1, -1, 1, 0)), "epsilon of 1/-1 is none"),
        (message(params=(1 << 40, 10, 27, 1, 1, (1 << 40) + 1, 0)), "2\\*\\*31 apart"),
        (message()[:-1] + b"x", "MAC"),
        (message(params=disc(200)), "a message of"),
        (message(promise=PROMISE._replace(rho=(499, 1000))), "promise states less than the price"),
        (message(promise=PROMISE._replace(rho=(0, 1))), "promise states less than the price"),
        (message(promise=PROMISE._replace(rho=(-1, -1))), "promise states less than the price"),
    ],
)
def test_a_round_beyond_the_limits_is_refused_and_costs_nothing(asked: bytes, why: str) -> None:
    """Refused before anything is charged, drawn or read."""
    budget, position = booted(), Position()
    device = node(budget)

    assert device.answer(asked, position) is None
    assert re.search(why, device.refusal)
    assert (budget.spent, position.asks, device.ahead.drawn) == (0, 0, 0)


def test_an_old_round_is_refused() -> None:
    """Played back, it would get a second answer to one question."""
    device = node()
    device.answer(message(5), Position())

    assert device.answer(message(4), Position()) is None
    assert "round 5 is already answered" in device.refusal


def test_a_device_whose_key_somebody_holds_tells_no_place() -> None:
    """Who can repeat the draw knows which answers are near the place, and then the place."""
    position = Position()
    device = node(mode="keyholder")

    assert device.answer(message(), position) is None
    assert "not sealed" in device.refusal
    assert position.asks == 0


def test_a_device_answers_one_mechanism_all_its_life() -> None:
    """A Round of the other one is nothing that it has, whichever topic it came on."""
    thermal = wire.round_topic("lab", "thermal")
    other = Round(1, "thermal", Grid((9, 1), 0), (9, 8, 0, 4000, 250000, 1, 0), PROMISE)
    device = node()

    assert device.answer(post.pack_round(other, SITE_KEY, thermal), Position()) is None
    assert device.answer(post.pack_round(other, SITE_KEY, TOPIC), Position()) is None
    assert device.answer(post.pack_round(other, SITE_KEY, thermal), Position(), "thermal") is None
    assert "does not have" in device.refusal
    thermometer = node(mechanism="thermal")

    assert thermometer.answer(message(), Position()) is None
    assert thermometer.answer(message(), Position(), "disk") is None
    assert "asks for disk, which this device does not have" in thermometer.refusal


@pytest.mark.parametrize(
    "more", [{"step": (1, 16)}, {"tables": True}, {"follower": object()}, {"mechanism": "count"}]
)
def test_what_is_for_temperatures_is_not_for_places(more: dict[str, object]) -> None:
    """Left in silence, somebody would count on it."""
    with pytest.raises(
        ValueError, match=r"n007 (is to answer with its place|was to answer count)"
    ):
        node(**more)


def cheap(count: int) -> Iterator[bytes]:
    """Yield Rounds of small epsilons, all of them in order."""
    for number in range(1, count):
        num, den = 1 + number % 3, 10 + number % 7
        near = exp_floor(num, den, 1 << 20)
        yield message(number, (0, 1 << 20, near, num, den, 1, 0))


def test_cheap_answers_never_add_up_to_more_epsilon_than_was_promised() -> None:
    """Until the device has had enough, and through power cuts, which only cost."""
    slots, total, answers = Ram(), Fraction(0), 0
    device = node(booted(disk_limits.make_limits(1, 1, 5), slots))
    for number, asked in enumerate(cheap(200), start=1):
        if number % 40 == 0:
            device = node(booted(slots=slots))
        if device.answer(asked, Position()):
            answers += 1
            total += Fraction(1 + number % 3, 10 + number % 7)

    assert device.state() == "exhausted"
    assert 10 < answers < 199
    assert Fraction(3) < total <= 5


def limits_message(limits: Limits) -> bytes:
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7)
    return bytes(post.pack_limits(limits, who.config_key, topic("lab", "n007")))


def test_limits_that_would_let_epsilons_add_up_to_more_are_not_taken() -> None:
    """A thermometer takes them: more noise, and the same budget."""
    device, wider = node(), Limits(2, 0, 1, 4, LIMITS.budget, 0)
    ack = device.tighten(limits_message(wider))

    assert not ack["taken"]
    assert "add up to more" in ack["why"]
    assert node(mechanism="thermal").tighten(limits_message(wider))["taken"]
    assert device.tighten(limits_message(Limits(2, 0, 1, 4, LIMITS.budget // 2, 0)))["taken"]
    assert device.answer(message(), Position()) is None
    assert "less noise" in device.refusal
    assert device.answer(message(2, disc(2, 1 << 32, (1, 2))), Position())


@pytest.mark.parametrize("cell", [(), (1.5, 2), (2,), (1, 2, 3), ("a", 1), (None, 1)])
def test_a_sensor_that_fails_is_asked_again_for_the_same_price(cell: tuple[object, ...]) -> None:
    """What is paid for is answered when it can be; and what it gave is said to nobody."""
    budget, position = booted(), Position(cell)
    device = node(budget)
    for _ in range(3):
        assert device.answer(message(), position) is None
        assert device.refusal == "the sensor did not give 2 whole numbers"
    position.cell = (2, 1)

    assert device.faults == 3
    assert device.answer(message(), position)
    assert (device.faults, budget.spent) == (0, disk_limits.price(LIMITS, 1, 1))


def test_what_a_device_says_of_itself_is_the_same_wherever_it_is() -> None:
    """Its unit, its limits and what is left: nothing of its place."""
    said = []
    for cell in ((0, 0), (5, 3)):
        device = node()
        device.answer(message(), Position(cell))
        said.append(json.dumps(device.meta(), sort_keys=True))
    meta = json.loads(said[0])

    assert said[0] == said[1]
    assert (meta["mechanism"], meta["unit"]) == ("disk", "cell")
    assert meta["limits"]["left"] == LIMITS.budget - disk_limits.price(LIMITS, 1, 1)
    assert meta["calibration"] == wire.name_of(a_round()).hex()


# What answers of a disk device cost: in proportion to epsilon, whose sum is promised.

CAPS = st.tuples(st.integers(1, 200), st.integers(1, 60))


@given(CAPS, st.integers(1, 10**4))
def test_the_enrolled_answers_are_paid_for_and_no_further_one(
    cap: tuple[int, int], answers: int
) -> None:
    """Neither one answer fewer by a rounding, nor one more."""
    limits = disk_limits.make_limits(*cap, answers)

    assert objection(limits) == ""
    assert limits.budget // disk_limits.price(limits, *cap) == answers
    assert disk_limits.price(limits, *cap) == price(limits, 0, limits.variance)


@given(CAPS, st.integers(1, 50), st.lists(CAPS, min_size=1, max_size=80))
def test_many_cheap_answers_never_exceed_the_promised_sum(
    cap: tuple[int, int], answers: int, asked: list[tuple[int, int]]
) -> None:
    """Charged by the square, a hundred answers of a tenth would cost what one of one costs."""
    limits = disk_limits.make_limits(*cap, answers)
    left, total = limits.budget, Fraction(0)
    for num, den in asked:
        cost = disk_limits.price(limits, num, den)
        if cost <= left and not disk_limits.exceeds(limits, num, den):
            left, total = left - cost, total + Fraction(num, den)

    assert total <= Fraction(*disk_limits.total_epsilon(limits))
    assert Fraction(*disk_limits.total_epsilon(limits)) <= answers * Fraction(*cap) * Fraction(
        10**9 + 2 * cap[1] ** 2 + 1, 10**9
    )


@given(CAPS, CAPS)
def test_an_answer_costs_at_least_its_rho(cap: tuple[int, int], asked: tuple[int, int]) -> None:
    """The ledger counts rho for all mechanisms; a pure epsilon is at most epsilon**2 / 2 of it."""
    limits = disk_limits.make_limits(*cap, 1)
    if not disk_limits.exceeds(limits, *asked):
        epsilon = Fraction(*asked)

        assert disk_limits.price(limits, *asked) >= 10**9 * epsilon * epsilon / 2


@pytest.mark.parametrize(
    ("asked", "more"), [((7, 2), False), ((3501, 1000), True), ((14, 4), False), ((4, 1), True)]
)
def test_the_largest_epsilon_is_exact(asked: tuple[int, int], more: bool) -> None:
    """In whole numbers, whatever the ratio looks like."""
    assert disk_limits.exceeds(disk_limits.make_limits(7, 2, 1), *asked) == more


def test_limits_that_are_no_squares_are_taken_to_the_safe_side() -> None:
    """Somebody's limits of a thermometer, say: no larger epsilon, and no smaller price."""
    odd, above = Limits(1, 0, 2, 1, 10**9, 0), Limits(1, 0, 4, 1, 10**9, 0)

    assert disk_limits.exceeds(odd, 3, 2)
    assert not disk_limits.exceeds(odd, 7, 5)
    assert disk_limits.price(odd, 1, 1) == disk_limits.price(above, 1, 1)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (Limits(2, 0, 1, 4, 5 * 10**9, 0), "add up to more"),
        (Limits(2, 0, 1, 4, 25 * 10**8 + 1, 0), "add up to more"),
        (Limits(2, 0, 4, 1, 5 * 10**9, 0), "larger epsilon"),
        (Limits(2, 0, 5, 4, 10**9, 0), "larger epsilon"),
        (Limits(2, 0, 1, 4, 25 * 10**8, 0), ""),
        (Limits(2, 0, 9, 36, 25 * 10**8, 0), ""),
        (Limits(2, 0, 1, 1, 4 * 10**9, 60000), ""),
    ],
)
def test_limits_only_become_tighter_for_epsilon_too(new: Limits, why: str) -> None:
    """A smaller epsilon for each answer makes it cheaper: the sum must not grow by that."""
    held = disk_limits.make_limits(1, 1, 10)

    assert held.budget == 5 * 10**9
    assert tightening.explain_loosening(held, new) == ""
    found = disk_limits.explain_loosening(held, new)

    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(("square", "variance"), [(8, 4), (17, 5)])
def test_a_cap_that_is_no_square_is_not_raised_within_its_rounding(
    square: int, variance: int
) -> None:
    """An answer is priced by the cap rounded up, and refused beyond the cap itself."""
    held = Limits(1, 0, 5 if variance == 4 else 16, 4, 10**9, 0)

    new = held._replace(version=2, square=square, variance=variance, budget=10**6)

    assert "larger epsilon" in disk_limits.explain_loosening(held, new)


@given(CAPS, st.integers(1, 30), CAPS, st.integers(1, 10**11), st.integers(0, 10**11))
def test_what_is_left_after_a_tightening_is_never_more_epsilon(
    cap: tuple[int, int], answers: int, other: tuple[int, int], budget: int, spent: int
) -> None:
    """However much was spent before it."""
    held = disk_limits.make_limits(*cap, answers)
    new = Limits(2, 0, other[0] ** 2, other[1] ** 2, min(budget, held.budget), 0)
    spent %= held.budget + 1
    if disk_limits.explain_loosening(held, new) == "":
        before = Fraction(*disk_limits.total_epsilon(held)) * (held.budget - spent) / held.budget
        left = max(new.budget - spent, 0)
        after = Fraction(*disk_limits.total_epsilon(new)) * left / new.budget

        assert after <= before


@pytest.mark.parametrize("given_", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_limits_that_allow_nothing_are_not_made(given_: tuple[int, int, int]) -> None:
    """A device that is enrolled for nothing is a mistake."""
    with pytest.raises(ValueError, match="are no limits"):
        disk_limits.make_limits(*given_)
