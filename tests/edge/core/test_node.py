"""A device answers each Round once, within its limits, paid for first, its noise drawn ahead."""

import dataclasses
import json
import math
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from edge.core import entropy, wire
from edge.core.background import Follower
from edge.core.budget import EXHAUSTED, Budget, Limits, price
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.core.tightening import topic
from edge.core.window import WindowBudget, pack_first, step_of
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.host.post import pack_limits
from edge.mechanisms import thermal, thermal_half

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
TOPIC = wire.round_topic("lab", "thermal")
DATA = wire.topic("lab", "n007", "data")
# 250000 grains squared of 2**-8 K are 3.8 K**2; an answer with that costs 0.001 in rho.
LIMITS = Limits(1, 8, 500, 250000, 10**9, 0)


@dataclasses.dataclass
class Thermometer:
    """Counts how often it is read."""

    value: int = 2000
    reads: int = 0

    def __call__(self, params: object) -> tuple[int, ...]:
        self.reads += 1
        return (self.value,)


class Slots(Ram):
    """Notes every write, and fails where it is told to."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log
        self.broken = False

    def write(self, i: int, data: bytes) -> None:
        self.log.append("write")
        if self.broken:
            raise OSError(28, "No space left on device")
        super().write(i, data)


def message(
    number: int = 1,
    exponent: int = 8,
    variance: int = 250000,
    keyholder: int = 0,
    rho: tuple[int, int] | None = (1, 1),
    step: int = 1,
) -> bytes:
    params = tuple(thermal.Params(50, exponent, 0, 4000, variance, step, keyholder))
    promise = Guarantee((1, 1), (1, 100000), rho, "n", "local", "u", "p")
    round = Round(number, "thermal", Grid((100, 1), 0), params, promise)
    return bytes(post.pack_round(round, SITE_KEY, TOPIC))


def booted(limits: Limits = LIMITS, slots: Ram | None = None) -> Budget:
    """Return a budget in its first boot, or in the next one of slots that were used before."""
    if slots is None or not slots.read(0):
        slots = slots or Ram()
        provision(slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), limits)
    budget = Budget(slots, rootkeys.state_key(ROOT))
    budget.boot()
    return budget


def node(
    mode: str = "sealed", sensor: int = 7, budget: Budget | None = None, **more: object
) -> Node:
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, sensor, mode)
    return Node(who, budget or booted(), **more)


def readings(frame: bytes | None) -> list[int]:
    return list(post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n007").payload)


@pytest.mark.parametrize("mode", ["sealed", "keyholder"])
def test_the_same_round_gets_the_same_bytes_one_reading_and_one_charge(mode: str) -> None:
    """Fresh noise at each retry would let a listener average it away."""
    budget = booted()
    device, thermometer = node(mode, budget=budget), Thermometer()
    asked = message(keyholder=int(mode == "keyholder"))
    frames = [device.answer(asked, thermometer) for _ in range(5)]

    assert frames[0] is not None
    assert len(set(frames)) == 1
    assert thermometer.reads == 1
    assert budget.spent == price(LIMITS, 8, 250000)


def test_it_pays_then_draws_then_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is spent must be on the medium, and the noise there, before there is a reading."""
    order: list[str] = []
    slots, draw = Slots(order), thermal.draw
    device = node(budget=booted(slots=slots))
    order.clear()

    def noted(*args: object) -> list[int]:
        order.append("noise")
        return draw(*args)

    def read(params: object) -> tuple[int, ...]:
        order.append("sensor")
        return (5,)

    monkeypatch.setattr(thermal_half, "draw", noted)
    device.answer(message(), read)

    assert order == ["write", "write", "write", "noise", "sensor"]


@pytest.mark.parametrize("mode", ["sealed", "keyholder"])
def test_noise_that_lies_ready_is_used_for_one_frame_and_no_second(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prepared again after each frame, the draw is over before a Round comes."""
    drawn: list[int] = []
    draw, holder = thermal.draw, int(mode == "keyholder")

    def noted(variance: int, count: int, rng: object) -> list[int]:
        drawn.append(variance)
        return draw(variance, count, rng)

    monkeypatch.setattr(thermal_half, "draw", noted)
    monkeypatch.setattr(entropy, "os_entropy", lambda size: bytes(size))  # the same three draws
    device, sent = node(mode), []
    for number in (1, 2, 3):
        device.prepare()
        device.prepare()
        ready = len(drawn)
        sent.append(readings(device.answer(message(number, keyholder=holder), Thermometer()))[1])

        assert len(drawn) == ready == number
    assert len(set(sent)) == 3


def test_noise_of_another_variance_is_thrown_away_unused() -> None:
    """And the key holder, who knows nothing of it, still gets the reading."""
    device = node("keyholder")
    device.prepare()
    asked = message(variance=640000, keyholder=1)
    frame = device.answer(asked, Thermometer(value=1234))
    round = wire.unpack_round(asked, SITE_KEY, TOPIC)
    rng = entropy.keyed(rootkeys.first_chain(ROOT), "n007", 1, 1, 7)

    assert thermal.unveil(round, readings(frame), rng).values == (1234,)


@pytest.mark.parametrize(
    ("asked", "device", "words"),
    [
        (message(variance=249999), node(), "less noise than this device's limit of 250000"),
        (message(exponent=9), node(), "less noise"),
        (message(exponent=9, variance=999999), node(), "less noise"),
        (message(exponent=7, variance=10**6), node(), "coarser than this device's limit of 2**-8"),
        (message(exponent=-65, variance=10**9), node(), "are none that a sensor has"),
        (message(exponent=65, variance=10**9), node(), "are none that a sensor has"),
        (message(keyholder=1), node(), "not that of a sealed device"),
        (message(), node("keyholder"), "not that of a keyholder device"),
        (message(), node(sensor=50), "sensor 50 is not in round 1"),
        (message(rho=(999, 10**6)), node(), "states less than the 1000000 nano-rho"),
        (message(rho=None), node(), "states less"),
        (message(rho=(1, 0)), node(), "states less"),
        (message(step=3), node(step=(1, 128)), "this device's step of 1/128 K"),
        (message(step=0), node(step=(1, 128)), "this device's step of 1/128 K"),
        (message()[:-1], node(), "the MAC is not that of this message"),
        (b"", node(), "0 bytes"),
    ],
)
def test_a_round_that_must_not_be_answered_costs_nothing_and_reads_nothing(
    asked: bytes, device: Node, words: str
) -> None:
    """The device says why, and goes on."""
    thermometer = Thermometer()

    assert device.answer(asked, thermometer) is None
    assert words in device.refusal
    assert thermometer.reads == 0
    assert device.meta()["limits"]["left"] == 10**9
    assert node().answer(message(), thermometer) is not None


@pytest.mark.parametrize(
    ("exponent", "variance", "answered"),
    [(8, 250000, True), (9, 1000000, True), (9, 999999, False), (10, 4000000, True)],
)
def test_the_least_noise_is_held_to_in_kelvin(
    exponent: int, variance: int, answered: bool
) -> None:
    """Finer grains are smaller units: the same noise is four times as many of them squared."""
    frame = node().answer(message(exponent=exponent, variance=variance), Thermometer())

    assert (frame is not None) == answered


def test_grains_coarser_than_a_kelvin_work_too() -> None:
    """A grain of 4 K (exponent -2): limits and price shift the other way."""
    device = node(budget=booted(LIMITS._replace(exponent=-2, square=1, variance=10000)))

    assert device.answer(message(exponent=-2, variance=9999), Thermometer()) is None
    assert device.answer(message(exponent=-2, variance=10000), Thermometer()) is not None
    assert device.meta()["limits"]["left"] == 10**9 - 50000


@pytest.mark.parametrize("step", [(1, 256), (1, 512), (3, 1024), (1, 300)])
def test_a_converter_as_fine_as_planned_or_finer_answers(step: tuple[int, int]) -> None:
    """A step that divides the planned one, or that the planned one is the rounding of."""
    assert node(step=step).answer(message(), Thermometer()) is not None


def test_a_step_of_kelvins_is_held_against_coarse_grains() -> None:
    """Grains of 4 K: a step of 8 K is two of them, and is not hidden by noise for three."""
    limits = LIMITS._replace(exponent=-2, square=1, variance=10000)
    for planned, answered in ((2, True), (1, False), (3, False), (4, True)):
        device = node(budget=booted(limits), step=(8, 1))
        asked = message(exponent=-2, variance=10000, step=planned)

        assert (device.answer(asked, Thermometer()) is not None) == answered


def test_old_rounds_and_second_rounds_of_one_number_are_refused() -> None:
    """A replayed Round would buy a second reading for the price of none."""
    device = node()
    device.answer(message(5), Thermometer())

    for asked in (message(4), message(5, variance=260000)):
        assert device.answer(asked, Thermometer()) is None
        assert "already answered" in device.refusal


def test_a_round_of_an_earlier_boot_is_refused() -> None:
    """Answered again after a power cut it would show the same reading under other noise."""
    slots = Ram()
    node(budget=booted(slots=slots)).answer(message(5), Thermometer())
    after = node(budget=booted(slots=slots))

    assert after.answer(message(5), Thermometer()) is None
    assert "round 5 is already answered" in after.refusal
    assert after.answer(message(6), Thermometer()) is not None


def test_a_spent_budget_ends_all_answers_for_ever_with_the_same_words() -> None:
    """Whatever is asked and whatever the sensor shows: nothing in the end depends on it."""
    slots, thermometer, said = Ram(), Thermometer(), set()
    device = node(budget=booted(LIMITS._replace(budget=2_000_000), slots))
    answered = [device.answer(message(n), thermometer) is not None for n in (1, 2, 3, 4)]
    said.add(device.refusal)
    states = [device.state()]
    for value in (0, 3999):
        device = node(budget=booted(slots=slots))
        thermometer.value = value

        assert device.answer(message(9, variance=10**6), thermometer) is None
        said.add(device.refusal)
        states.append(device.state())

    assert answered == [True, True, False, False]
    assert states == ["exhausted"] * 3
    assert len(said) == 1
    assert thermometer.reads == 2


def test_exhausted_it_still_sends_the_last_frame_again() -> None:
    """The last answer may have been lost on the way like any other."""
    device = node(budget=booted(LIMITS._replace(budget=1_000_000)))
    frame = device.answer(message(), Thermometer())

    assert device.state() == "exhausted"
    assert device.answer(message(), Thermometer()) == frame is not None


class Hours:
    """An uptime that is what the test says."""

    now = 0

    def now_ms(self) -> int:
        return self.now


def windowed(clock: Hours, slots: Ram, budget: int = 3_000_000) -> Node:
    held = LIMITS._replace(budget=budget)
    own = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 0, "sealed", 1)
    chain = rootkeys.first_chain(ROOT)
    provision(slots, own.state_key, chain, held, pack_first(86_400, budget))
    ledger = WindowBudget(slots, own.state_key, 1, clock)
    ledger.boot()
    return Node(own, ledger)


@pytest.mark.parametrize("how", ["late", "slow"])
def test_what_was_paid_for_in_an_earlier_bucket_is_not_read_for(how: str) -> None:
    """It would count as older than it is: in one window there could be more than a budget."""
    clock = Hours()
    device, hour = windowed(clock, Ram()), 1000 * step_of(86_400)

    def read(params: object) -> tuple[int, ...]:
        if how == "late" and not clock.now:
            raise OSError
        clock.now += hour if how == "slow" else 0
        return (2000,)

    assert device.answer(message(1), read) is None
    if how == "late":
        clock.now = hour
    assert device.answer(message(1), read) is None
    assert device.refusal == "it is round 1, and round 1 is already answered"


def test_a_second_node_on_the_budget_does_not_renew_what_the_first_has_paid_for() -> None:
    """It pays in a later bucket, and the first one's sensor works again only then."""
    clock = Hours()
    device = windowed(clock, Ram())
    other = Node(device.identity, device.budget)
    assert device.answer(message(1), lambda _: None) is None
    assert device.faults == 1
    clock.now = 1000 * step_of(86_400)
    assert other.answer(message(2), Thermometer()) is not None

    assert device.answer(message(1), Thermometer()) is None
    assert "already answered" in device.refusal


def test_a_budget_tightened_below_one_answer_never_returns() -> None:
    """And what is said of it is what is said of a budget for life."""
    device = windowed(Hours(), Ram())
    device.budget.tighten(device.budget.limits._replace(version=2, budget=1))
    assert device.answer(message(1), Thermometer()) is None
    assert device.refusal == EXHAUSTED


def test_with_a_window_a_spent_budget_says_when_it_returns_and_does() -> None:
    """Hours of its own uptime: the same words whatever was seen."""
    clock = Hours()
    device = windowed(clock, Ram())
    for number in (1, 2, 3):
        assert device.answer(message(number), Thermometer()) is not None
    assert device.answer(message(4), Thermometer()) is None
    assert (device.refusal, device.state()) == (
        "its budget for this window is spent; enough returns after 91800 s of its own uptime",
        "exhausted",
    )
    assert device.meta()["limits"]["returns_s"] == 91_800

    clock.now = 91_800_000
    device.budget.age(device.fail)
    assert device.state() == "ready"
    assert device.meta()["limits"] == {
        **LIMITS._replace(budget=3_000_000)._asdict(), "left": 3_000_000, "window_s": 86_400,
        "returns_s": 0,
    }  # fmt: skip
    assert device.answer(message(5), Thermometer()) is not None


def test_hours_that_cannot_be_written_end_in_an_alert() -> None:
    """A device without slots never renews."""
    clock, slots = Hours(), Slots([])
    device = windowed(clock, slots)
    assert device.answer(message(1), Thermometer()) is not None
    slots.broken = True
    clock.now = 1000 * step_of(86_400)
    device.budget.age(device.fail)

    assert device.state() == "alert"
    clock.now = 10**10
    device.budget.age(device.fail)
    assert device.answer(message(2), Thermometer()) is None


def test_a_budget_that_cannot_be_written_ends_in_an_alert() -> None:
    """No write, no answer, no reading; and no second try that might go better."""
    slots, thermometer = Slots([]), Thermometer()
    device = node(budget=booted(slots=slots))
    slots.broken = True
    refused = device.answer(message(1), thermometer)
    slots.broken = False

    assert refused is None
    assert device.answer(message(2), thermometer) is None
    assert device.state() == "alert"
    assert "its budget cannot be kept" in device.refusal
    assert "No space left" in device.refusal
    assert thermometer.reads == 0


def test_answers_keep_the_pace_of_the_limits() -> None:
    """A gateway that asks faster is told so; what it asked may be asked again later."""
    device = node(budget=booted(LIMITS._replace(pace_ms=1000)))
    first = device.answer(message(1), Thermometer(), now_ms=50)
    early = device.answer(message(2), Thermometer(), now_ms=1049)
    refusal = device.refusal

    assert early is None
    assert "before the 1000 ms between two answers are over" in refusal
    assert device.answer(message(1), Thermometer(), now_ms=60) == first
    assert device.answer(message(2), Thermometer(), now_ms=1050) is not None


def tightening(new: Limits, root: bytes = ROOT) -> bytes:
    where = topic("lab", "n007")
    return bytes(pack_limits(new, rootkeys.config_key(root), where))


def test_limits_are_tightened_by_a_signed_message_and_stay_so() -> None:
    """They are on the medium before the device says yes."""
    slots = Ram()
    device = node(budget=booted(slots=slots))
    ack = device.tighten(tightening(LIMITS._replace(version=2, variance=500000)))

    assert ack == {"verb": "limits", "version": 2, "taken": True, "why": ""}
    for now in (device, node(budget=booted(slots=slots))):
        assert now.answer(message(), Thermometer()) is None
        assert "limit of 500000" in now.refusal
        assert now.meta()["limits"]["version"] == 2


@pytest.mark.parametrize(
    ("sent", "version", "words"),
    [
        (tightening(LIMITS._replace(version=2, variance=249999)), 2, "less noise"),
        (tightening(LIMITS._replace(version=2, budget=2 * 10**9)), 2, "a larger budget"),
        (tightening(LIMITS._replace(version=1, budget=1)), 1, "version 1"),
        (tightening(LIMITS._replace(version=2), root=SITE_KEY), None, "MAC"),
        (b"\x00" * 40, None, "MAC"),
        (b"", None, "0 bytes"),
    ],
)
def test_limits_that_protect_less_or_are_forged_are_not_taken(
    sent: bytes, version: int | None, words: str
) -> None:
    """Over the air, privacy can only go up."""
    device = node()
    ack = device.tighten(sent)

    assert (ack["taken"], ack["version"]) == (False, version)
    assert words in ack["why"]
    assert device.meta()["limits"]["variance"] == 250000
    assert json.loads(json.dumps(ack)) == ack


def test_replayed_limits_change_nothing() -> None:
    """An older message is refused; the newest, which stays retained, is simply still in force."""
    device = node()
    second, third = (tightening(LIMITS._replace(version=v, pace_ms=v)) for v in (2, 3))
    taken = [device.tighten(sent)["taken"] for sent in (second, third, second, third)]

    assert taken == [True, True, False, True]
    assert device.meta()["limits"]["pace_ms"] == 3


def test_limits_that_cannot_be_written_are_not_acknowledged() -> None:
    """The old ones might be back after a power cut, and somebody relies on the new ones."""
    slots = Slots([])
    device = node(budget=booted(slots=slots))
    slots.broken = True
    ack = device.tighten(tightening(LIMITS._replace(version=2, variance=500000)))

    assert not ack["taken"]
    assert "cannot be kept" in ack["why"]
    assert device.state() == "alert"


def test_meta_tells_mode_key_and_limits_and_nothing_secret_or_seen() -> None:
    """Anybody may read it; whether somebody holds a key must be plain there."""
    device = node("keyholder")
    before = device.meta()
    device.answer(message(keyholder=1), Thermometer(value=3999))
    after = device.meta()
    text = json.dumps([before, after])
    secrets = [ROOT, SITE_KEY, rootkeys.first_chain(ROOT), *device.identity[5:9]]

    assert before["mode"] == "keyholder"
    assert before["key"] == rootkeys.key_id(ROOT).hex()
    assert before["boot"] == 1
    assert after["variance"] == 250000
    assert after["limits"] == {**LIMITS._asdict(), "left": 999_000_000}
    assert "3999" not in text
    assert not [key for key in secrets if key.hex() in text]


def test_meta_does_not_depend_on_what_is_seen() -> None:
    """Two rooms, one device: the same words."""
    metas = []
    for value in (0, 4000):
        device = node("keyholder")
        device.answer(message(keyholder=1), Thermometer(value))
        metas.append(device.meta())

    assert metas[0] == metas[1]


def test_a_device_is_not_made_without_a_booted_budget() -> None:
    """An epoch that is not on the medium could come again, and with it the noise."""
    slots = Ram()
    provision(slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), LIMITS)
    with pytest.raises(ValueError, match="the budget of n007 cannot be used"):
        node(budget=Budget(slots, rootkeys.state_key(ROOT)))


def test_a_name_too_long_for_a_stream_is_refused_when_the_device_is_made() -> None:
    """Not at its first round, in the field."""
    who = rootkeys.identity("lab", "n" * 256, ROOT, SITE_KEY, 0, "keyholder")
    with pytest.raises(ValueError, match="256 bytes"):
        Node(who, booted())


def test_a_keyholder_s_frame_opens_with_the_root_key_in_every_boot() -> None:
    """The whole way: Round in, frame out, exact reading back, also after the chain moved on."""
    slots = Ram()
    for boot in (1, 2, 3):
        device = node("keyholder", budget=booted(slots=slots))
        asked = message(boot, keyholder=1)
        frame = device.answer(asked, Thermometer(value=1234))
        report = post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n007")
        chain = rootkeys.chain_at(ROOT, report.epoch)
        rng = entropy.keyed(chain, "n007", report.epoch, report.seq, report.payload[0])

        assert report.epoch == boot
        round = wire.unpack_round(asked, SITE_KEY, TOPIC)
        assert thermal.unveil(round, report.payload, rng).values == (1234,)


def failing(params: object) -> tuple[int, ...]:
    raise OSError(5, "the bus says 2112")


@pytest.mark.parametrize("value", [(None,), (1.5,), ("21",), (1, 2), 7, failing])
def test_a_sensor_that_gives_rubbish_makes_no_frame(value: object) -> None:
    """What it gave is not in the reason; asked again, the Round is not paid for again."""
    budget = booted()
    device, drawn = node("keyholder", budget=budget), []
    read = value if callable(value) else lambda params: value
    refused = device.answer(message(keyholder=1), read)
    reason, spent = device.refusal, budget.spent
    drawn = readings(device.answer(message(keyholder=1), Thermometer()))

    assert refused is None
    assert reason == "the sensor did not give 1 whole numbers"
    assert budget.spent == spent == 1_000_000
    # The noise of the frame that never was is not used for another one.
    stream = entropy.keyed(rootkeys.first_chain(ROOT), "n007", 1, 2, 7)
    assert drawn[1] - 2000 == thermal.draw(250000, 1, stream)[0]


FINER = LIMITS._replace(version=2, exponent=9, square=4 * LIMITS.square, variance=10**6)


@pytest.mark.parametrize(
    ("tighter", "why"),
    [
        (LIMITS._replace(version=2, variance=500000), "limit of 500000"),
        (FINER, "coarser than this device's limit"),
        (LIMITS._replace(version=2, budget=1_000_000), "its budget is spent"),
    ],
)
def test_a_round_that_was_paid_for_is_not_answered_below_limits_that_came_since(
    tighter: Limits, why: str
) -> None:
    """Its sensor failed, limits were tightened, it comes again: the new ones hold for it too."""
    budget = booted()
    device, thermometer = node(budget=budget), Thermometer()
    device.answer(message(1), failing)
    device.tighten(tightening(tighter))

    assert device.answer(message(1), thermometer) is None
    assert device.answer(message(2), thermometer) is None
    assert why in device.refusal
    assert thermometer.reads == 0


def test_limits_that_are_refused_or_known_leave_a_round_that_was_paid_for_as_it_is() -> None:
    """Or whoever replays an old message could cost the device its answers."""
    budget = booted()
    device = node(budget=budget)
    device.answer(message(1), failing)
    for sent in (tightening(LIMITS), tightening(LIMITS._replace(version=2, variance=9)), b""):
        device.tighten(sent)

    assert device.answer(message(1), Thermometer()) is not None
    assert budget.spent == 1_000_000


@pytest.mark.parametrize(
    "write",
    [
        lambda device: device.tighten(tightening(LIMITS._replace(version=2, variance=500000))),
        lambda device: [device.answer(message(number), failing) for number in range(2, 10)],
    ],
)
def test_an_alert_ends_the_round_that_was_paid_for_too(write: Callable[[Node], object]) -> None:
    """What the slots hold is not known any more, so nothing is answered."""
    slots, thermometer = Slots([]), Thermometer()
    device = node(budget=booted(slots=slots))
    for number in range(1, 9):  # a whole lease
        device.answer(message(number), failing)
    slots.broken = True
    write(device)

    assert device.answer(message(8), thermometer) is None
    assert "its budget cannot be kept" in device.refusal
    assert thermometer.reads == 0


def test_a_round_of_the_number_that_is_paid_for_is_looked_at_by_itself() -> None:
    """Else who has the site key waits for a sensor to fail, and asks for less noise for free."""
    forged = (message(variance=249999), message(exponent=7), message(rho=(1, 2)))
    device, thermometer = node(), Thermometer()
    assert device.answer(message(), failing) is None
    for asked in forged:
        assert device.answer(asked, thermometer) is None
    assert thermometer.reads == 0

    assert device.answer(message(), thermometer) is not None


def test_a_round_whose_short_name_is_that_of_one_paid_for_is_looked_at_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four bytes are matched in 2**32 tries by who has the site key, a thief of any board."""
    monkeypatch.setattr(wire, "name_of", lambda round: b"same")
    budget = booted()
    device, thermometer = node(budget=budget), Thermometer()
    device.answer(message(1), failing)

    assert device.answer(message(2, variance=1), thermometer) is None
    assert "less noise" in device.refusal
    assert thermometer.reads == 0
    assert device.answer(message(2), thermometer) is not None
    assert budget.spent == 2_000_000


@pytest.mark.parametrize("mode", ["sealed", "keyholder"])
def test_a_draw_that_breaks_off_leaves_no_noise_of_another_variance(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory runs out while a Round's own noise is drawn, with less of it lying ready."""
    device, draw, drawn = node(mode), thermal.draw, []
    asked = message(variance=10**10, keyholder=int(mode == "keyholder"))
    device.prepare()

    def noted(variance: int, count: int, rng: object) -> list[int]:
        drawn.append(variance)
        return draw(variance, count, rng)

    monkeypatch.setattr(thermal_half, "draw", Mock(side_effect=MemoryError))
    assert device.answer(asked, Thermometer()) is None
    monkeypatch.setattr(thermal_half, "draw", noted)

    assert device.answer(asked, Thermometer()) is not None
    assert drawn == [10**10]


def test_two_nodes_on_one_budget_never_read_one_stream() -> None:
    """Whoever makes a device anew when its link fails, without a boot, gives no reading away."""
    budget = booted()
    pair, seen = [node("keyholder", budget=budget) for _ in range(2)], []
    for number in range(1, 7):
        for device in pair:
            device.prepare()
        frame = pair[number % 3 == 0].answer(message(number, keyholder=1), Thermometer())
        report = post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n007")
        stream = entropy.keyed(rootkeys.first_chain(ROOT), "n007", 1, report.seq, 7)
        seen.append(report.seq)

        assert report.payload[1] - 2000 == thermal.draw(250000, 1, stream)[0]
    assert seen == [1, 2, 3, 4, 5, 6]


def test_two_sealed_nodes_on_one_budget_share_their_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the system's entropy is dead, a second stream would be the first one again."""
    monkeypatch.setattr(entropy, "os_entropy", lambda size: bytes(size))
    budget = booted()
    pair = [node(budget=budget) for _ in range(2)]
    frames = [pair[n % 2].answer(message(n), Thermometer()) for n in range(6)]

    assert len({readings(frame)[1] for frame in frames}) == 6


class Counted:
    """Counts how often it is to move, and stays where it is."""

    moved = 0

    def subtract(self, values: tuple[int, ...], exponent: int) -> tuple[int, ...]:
        return values

    def follow(self) -> None:
        self.moved += 1


def test_it_moves_once_for_each_round_that_is_answered() -> None:
    """Or whoever asks moves it at will, and further than the noise is made for."""
    level, thermometer = Counted(), Thermometer()
    device = node(budget=booted(), follower=level)
    moved = []
    for asked in (
        b"noise",
        message(1),
        message(1),  # again: the same bytes
        message(2, variance=1),  # refused: too little noise
        message(2, exponent=2),  # refused: too coarse
        message(2),
        message(1),  # refused: long answered
    ):
        device.answer(asked, thermometer)
        moved.append(level.moved)

    assert moved == [0, 1, 1, 1, 1, 2, 2]


def test_a_sensor_that_fails_moves_nothing_until_it_answers() -> None:
    """The Round is paid for and comes again; the reading that counts is the one that was sent."""
    level, reads = Follower((1, 256), 9), []

    def broken(params: object) -> tuple[int, ...]:
        reads.append(1)
        if len(reads) < 4:
            return (500,) * len(reads) if len(reads) > 1 else (None,)  # type: ignore[return-value]
        return (500,)

    device = node(budget=booted(), follower=level)
    answered = [device.answer(message(1), broken) is not None for _ in range(5)]

    assert answered == [False, False, False, True, True]
    assert len(reads) == 4
    assert level.subtract((500,), 8) == (499,)


def test_a_level_is_never_on_the_medium() -> None:
    """After a power cut it begins again; kept, it would be readings for who takes the device."""
    kept = []
    for value in (-900, 2000):
        slots, level = Ram(), Follower((1, 256), 9)
        device = node(budget=booted(slots=slots), follower=level)
        for number in (1, 2, 3):
            device.answer(message(number), Thermometer(value))
        kept.append(list(slots._held))

        assert abs(value) - abs(level.subtract((value,), 8)[0]) == 3
    assert kept[0] == kept[1]


class Stops(BaseException):
    """What a driver raises that is no Exception, as `sys.exit` does."""


# Inside the clamp of 0 to 4000, beyond it, and what no converter gives.
NO_COUNTS = [12.5, 12.0, 1e9, -1e9, math.inf, math.nan, True, "12", None, b"1", (1,), [12]]
NO_COUNTS += [1 << 127, -(1 << 127), 1 << 400]


def looks(device: Node, asked: bytes, read: Callable[[object], object]) -> tuple[object, ...]:
    """Return all that can be seen of one answer, and of the next one, of a sensor that works."""
    frame = device.answer(asked, read)
    said = device.refusal, device.meta()["limits"]["left"], device.ahead.seq, device.faults
    again = device.answer(asked, lambda params: (7, 8)) is not None
    return frame, *said, again, device.meta()["limits"]["left"]


@pytest.mark.parametrize("followed", [False, True])
def test_what_is_no_whole_number_is_one_fault_whatever_it_is(followed: bool) -> None:
    """That a frame comes for a float beyond the clamp alone would tell how warm it is."""
    seen = set()
    for value in NO_COUNTS:
        for values in ((value, 8), (8, value)):
            device = array(Follower((1, 8), 9) if followed else None)
            seen.add(looks(device, message(), lambda params, given=values: given))
    for count in ((), (1,), (1, 2, 3), None, 7):
        seen.add(looks(array(), message(), lambda params, given=count: given))

    assert seen == {FAULT}
    right = looks(array(), message(), lambda params: (5000, -5000))
    assert right[0] is not None  # whole numbers beyond the clamp are readings like all others


LEFT = 10**9 - 10**6  # charged once, for the fault and for the answer after it
FAULT = None, "the sensor did not give 2 whole numbers", LEFT, 1, 1, True, LEFT


def array(follower: Follower | None = None) -> Node:
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7, sensors=2)
    return Node(who, booted(), follower=follower)


@pytest.mark.parametrize(
    "fault", [OSError, ValueError, MemoryError, StopIteration, SystemExit, Stops]
)
def test_a_driver_that_ends_in_whatever_way_is_the_same_fault(fault: type[BaseException]) -> None:
    """One that ends the program for some values would tell of them by its silence."""
    assert looks(array(), message(), Mock(side_effect=fault)) == FAULT
    with pytest.raises(KeyboardInterrupt):  # of somebody at a terminal, who wants it back
        array().answer(message(), lambda params: (_ for _ in ()).throw(KeyboardInterrupt))
