"""Thermal, device half: how readings are blurred, one by one and an array's many at once."""

import builtins
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import entropy, table, wire
from edge.core.budget import Budget, Limits
from edge.core.entropy import Tape, keyed
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.core.table import WIDEST, Sampler
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal, thermal_half
from tests import processes

# Noise from tables is for devices that may, for Rounds that ask, and is taken off bit for bit.

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
TOPIC, DATA = wire.round_topic("lab", "thermal"), wire.topic("lab", "n007", "data")
LIMITS = Limits(1, 8, 500, 250000, 10**9, 0)
SEEN = tuple(range(100, 164))
TABLES = (table.BITS,)


class Array:
    """A device with 64 readings, or fewer, and how often it was read."""

    def __init__(self, mode: str = "keyholder", sensors: int = 64, tables: bool = True) -> None:
        self.slots = Ram()
        provision(self.slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), LIMITS)
        self.who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 0, mode, sensors)
        self.tables, self.holder = tables, int(mode == "keyholder")
        self.boot()

    def boot(self) -> None:
        self.budget = Budget(self.slots, self.who.state_key)
        self.budget.boot()
        self.node, self.reads = Node(self.who, self.budget, tables=self.tables), 0

    def round(self, number: int, more: tuple[int, ...] = TABLES, variance: int = 250000) -> Round:
        params = tuple(thermal.Params(64, 8, -4000, 4000, variance, 1, self.holder)) + more
        promise = Guarantee((1, 1), (1, 100000), (1, 1), "n", "local", "u", "p")
        return Round(number, "thermal", Grid((8, 8), 100), params, promise)

    def answer(self, round: Round, fails: bool = False) -> bytes | None:
        def read(params: Any) -> tuple[int, ...]:
            self.reads += 1
            if fails:
                raise OSError
            return SEEN[: self.who.sensors]

        return self.node.answer(bytes(post.pack_round(round, SITE_KEY, TOPIC)), read)

    def opened(self, round: Round, frame: bytes | None) -> tuple[int, ...]:
        """Return the readings that a key holder, who draws anew, takes out of a frame."""
        report = post.unpack_report(frame, self.who.mac_key, DATA, "n007")
        assert report.round == wire.name_of(round)
        chain = rootkeys.chain_at(ROOT, report.epoch)
        rng = entropy.keyed(chain, "n007", report.epoch, report.seq, 0)
        return tuple(thermal.unveil(round, report.payload, rng).values)


@pytest.mark.parametrize("variance", [250000, 250001, 10**8, WIDEST])
def test_the_key_holder_takes_noise_from_tables_off(variance: int) -> None:
    """Tables and exact noise by turns, over two boots, other variances lying ready."""
    device = Array()
    for number in range(1, 9):
        if number == 5:
            device.boot()
        device.node.prepare()
        more = TABLES if number % 3 else ()
        round = device.round(number, more, variance if number % 2 else 640000)

        assert device.opened(round, device.answer(round)) == SEEN, device.node.refusal


def test_the_noise_is_that_of_the_tables_and_no_other() -> None:
    """Or the key holder and the device could be wrong together."""
    round, drawn = Array().round(1), [0] * 64
    Sampler(250000, 1, table.BITS).fill(drawn, Tape(b"same"))
    held = thermal.Reading(0, SEEN)

    payload = thermal.report(round, held, Tape(b"same"))
    assert [y - z for y, z in zip(payload[1:], drawn, strict=True)] == list(SEEN)
    exact = thermal.report(round._replace(params=round.params[:7]), held, Tape(b"same"))
    assert exact != payload


@pytest.mark.parametrize(
    ("number", "more", "variance", "tables", "words"),
    [
        (1, TABLES, 250000, False, "from tables, which this device was not set up for"),
        (1, (56,), 250000, True, "tables are of 56 bits, and this device makes them of 84"),
        (1, (0,), 250000, True, "tables are of 0 bits"),
        (1, (-84,), 250000, True, "tables are of -84 bits"),
        (0, TABLES, 250000, True, "no Round but number 1 to 1048576"),
        (table.ROUNDS + 1, TABLES, 250000, True, "no Round but number 1 to 1048576"),
        (1, TABLES, WIDEST + 1, True, "a variance of 1099511627777 grains squared has not"),
        (1, (84, 84), 250000, True, "it has 9 params instead of 7"),
        (1, TABLES, 249999, True, "less noise than this device's limit"),
    ],
)
def test_a_round_that_asks_for_what_was_not_paid_is_refused(
    number: int, more: tuple[int, ...], variance: int, tables: bool, words: str
) -> None:
    """Whoever has the site key may write any Round; what delta pays for is on the device."""
    device = Array(tables=tables)

    assert device.answer(device.round(number, more, variance)) is None
    assert words in device.node.refusal
    assert (device.budget.spent, device.reads) == (0, 0)
    exact = device.round(table.ROUNDS + 2, ())
    assert device.opened(exact, device.answer(exact)) == SEEN


def test_the_last_number_is_answered() -> None:
    """The bound is what was counted, not one less."""
    device = Array()
    round = device.round(table.ROUNDS)

    assert device.opened(round, device.answer(round)) == SEEN


@pytest.mark.parametrize("tables", [False, True])
def test_few_readings_get_exact_noise_whatever_is_asked(tables: bool) -> None:
    """Tables for seven readings would cost memory and win nothing; exact noise is never worse."""
    device = Array(sensors=table.ARRAY - 1, tables=tables)
    round = device.round(1)
    frame = device.answer(round)
    plain = device.round(1, ())._replace(number=round.number)
    report = post.unpack_report(frame, device.who.mac_key, DATA, "n007")
    rng = entropy.keyed(rootkeys.chain_at(ROOT, 1), "n007", 1, 1, 0)

    assert device.opened(round, frame) == SEEN[: table.ARRAY - 1]
    assert thermal.unveil(plain, report.payload, rng).values == SEEN[: table.ARRAY - 1]


def test_a_round_that_was_paid_gets_its_own_tables_after_another_was_refused() -> None:
    """The sensor fails, a wider Round comes and has no budget: the first goes on as it was."""
    device = Array()
    first = device.round(1)
    assert device.answer(first, fails=True) is None
    spent = device.budget.spent
    for other in (device.round(2, TABLES, 250000 * 9), device.round(2, ())):
        charge, device.budget.charge = device.budget.charge, lambda *_: False
        assert device.answer(other) is None
        device.budget.charge = charge

    assert device.opened(first, device.answer(first)) == SEEN
    assert device.budget.spent == spent


@pytest.mark.parametrize("fault", [MemoryError, ImportError])
def test_where_tables_find_no_room_the_round_is_refused_unpaid(
    fault: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board that is too small, or was given the files of a smaller kit."""
    device, load = Array(), builtins.__import__

    def missing(name: str, *args: Any, **more: Any) -> Any:
        if len(args) > 2 and "table" in (args[2] or ()):
            raise ImportError("no module named 'edge.core.table'")
        return load(name, *args, **more)

    if fault is MemoryError:
        monkeypatch.setattr(table, "Sampler", Mock(side_effect=MemoryError))
    else:
        monkeypatch.setattr(builtins, "__import__", missing)
    assert device.answer(device.round(1)) is None
    assert fault.__name__ in device.node.refusal
    assert (device.budget.spent, device.reads) == (0, 0)
    exact = device.round(2, ())
    assert device.opened(exact, device.answer(exact)) == SEEN


def test_no_room_for_tables_between_two_rounds_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They were given up for a Round that was refused; the next one tries again, or is told."""
    device = Array()
    assert device.answer(device.round(1)) is not None
    device.node.ahead.build(640000, table.BITS)
    with monkeypatch.context() as patch:
        patch.setattr(table, "Sampler", Mock(side_effect=MemoryError))
        device.node.prepare()
        assert device.answer(device.round(2)) is None
        assert "MemoryError" in device.node.refusal
    round = device.round(3)
    assert device.opened(round, device.answer(round)) == SEEN


def test_a_device_that_is_not_asked_loads_no_tables() -> None:
    """Memory is short on a board: a kilobyte of code that never runs is one too many."""
    script = (
        "import sys; from edge.core import node; from edge.net import ticker; "
        "print([n for n in sys.modules if 'edge' in n])"
    )
    ran = processes.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "edge.core.node" in ran.stdout
    for name in ("table", "viper"):
        assert f".{name}'" not in ran.stdout


def test_tables_of_another_variance_are_refused() -> None:
    """A caller's tables kept for the wrong Round would give other readings, and no sign of it."""
    device = Array()
    tables = thermal.find_tables(device.round(1), 64)

    assert thermal.draw_noise(device.round(2), 64, Tape(b"x"), tables)
    with pytest.raises(ValueError, match="other noise"):
        thermal.draw_noise(device.round(2, TABLES, 250001), 64, Tape(b"x"), tables)
    with pytest.raises(ValueError, match="only those of 84"):
        thermal.find_tables(device.round(1, (112,)), 64)


def test_no_tables_are_off_by_more_than_is_paid_for() -> None:
    """Every size of variance, narrowest and widest, and those around each change of shape."""
    edges = [1, 2, table.NARROW, table.NARROW + 1, 73204, 73205, WIDEST - 1, WIDEST]
    rng = Tape(b"widths")
    edges += [1 + rng.below(1 << width) for width in range(1, 41) for _ in range(3)]
    made = [Sampler(variance, 1, table.BITS) for variance in edges if variance <= WIDEST]

    assert max(len(one.parts) for one in made) <= 7
    for one in made:
        num, den = one.slack
        assert num * table.SLACK[1] <= table.SLACK[0] * den
    num, den = Sampler(250000, 1, 56).slack
    assert num * table.SLACK[1] > table.SLACK[0] * den  # narrower thresholds are not good enough


# The device half of thermal: what leaves the device, what a key holder gets back.

PROMISE = Guarantee((1, 1), (1, 100000), (1, 2), "n", "local", "u", "p")


def a_round(low: int = 0, high: int = 4000, variance: int = 250000, sensors: int = 50) -> Round:
    params = tuple(thermal.Params(sensors, 8, low, high, variance, 1, 1))
    return Round(1, "thermal", Grid((100, 1), 0), params, PROMISE)


@given(
    st.lists(st.integers(0, 4000), min_size=1, max_size=20),
    st.integers(0, 30),
    st.integers(1, 10**12),
)
def test_a_key_holder_gets_the_exact_readings_back(
    values: list[int], sensor: int, variance: int
) -> None:
    """Bit for bit, whatever the variance: the stream is rebuilt and subtracted."""
    round = a_round(variance=variance)
    reading = Reading(sensor, tuple(values))
    payload = thermal.report(round, reading, keyed(ROOT, "n", 1, 2, sensor))

    assert thermal.unveil(round, payload, keyed(ROOT, "n", 1, 2, sensor)) == reading
    if variance > 10**6:
        assert thermal.unveil(round, payload, keyed(ROOT, "n", 1, 3, sensor)) != reading


def test_readings_are_clamped_before_the_noise() -> None:
    """Outside the clamp the sensitivity would not hold; a clamp never raises it."""
    for wild in (-(10**9), 10**9):
        near = 0 if wild < 0 else 4000
        wild_payload = thermal.report(a_round(), Reading(0, (wild,)), Tape(b"x"))

        assert wild_payload == thermal.report(a_round(), Reading(0, (near,)), Tape(b"x"))


def test_every_reading_of_an_array_has_noise_of_its_own() -> None:
    """One draw for all pixels would cancel in their differences."""
    payload = thermal.report(a_round(), Reading(0, (1000,) * 40), Tape(b"array"))

    assert len(set(payload[1:])) > 30


@pytest.mark.parametrize(
    ("round", "bits"),
    [
        (a_round(), 16),
        (a_round(high=30000), 32),
        (a_round(variance=10**8), 32),
        (a_round(variance=1797**2 - 1), 16),  # 4000 + 16 * 1797 is below 2**15, 1798 is not
        (a_round(variance=1797**2), 32),
    ],
)
def test_frames_are_as_narrow_as_the_noise_allows(round: Round, bits: int) -> None:
    """Two bytes a reading where they suffice: that is radio time."""
    assert thermal.bits(round) == bits


def test_noise_too_wide_for_any_frame_is_refused_at_once() -> None:
    """Cutting it would be found out only in the field."""
    with pytest.raises(ValueError, match="coarser grain"):
        thermal.bits(a_round(variance=10**18))


def test_a_release_lines_readings_up_by_sensor_and_marks_the_missing() -> None:
    """Frames come in any order, and not all of them."""
    release = thermal.release(a_round(sensors=5), [[3, 30], [0, 1, 2]], None)

    assert release.values == [1, 2, None, 30, None]
    assert release.reports == 2


@pytest.mark.parametrize(
    ("payloads", "words"),
    [
        ([[5, 1]], "sensor 5 is not in round 1, which has sensors 0 to 4"),
        ([[3, 1, 1, 1]], "sensor 5 is not"),
        ([[-1, 1]], "sensor -1 is not"),
        ([[2, 1], [2, 9]], "sensor 2 answers round 1 twice"),
        ([[2, 1.5]], r"with a float but must .* kelvin times 2\*\*"),
    ],
)
def test_payloads_that_do_not_fit_are_refused(payloads: list[list[int]], words: str) -> None:
    """A second answer would average the noise away."""
    with pytest.raises(ValueError, match=words):
        thermal.release(a_round(sensors=5), payloads, None)


def test_a_sensor_outside_the_round_does_not_report() -> None:
    """The sensitivity was computed over the round's sensors alone."""
    for sensor in (-1, 50, 49):
        with pytest.raises(ValueError, match="is not in round 1"):
            thermal.report(a_round(), Reading(sensor, (1, 2)), Tape(b""))


def test_noise_is_never_stretched_over_more_readings() -> None:
    """A reading without noise of its own would go out bare."""
    with pytest.raises(ValueError, match="not give 1 whole number"):
        thermal.veil(a_round(), Reading(0, (1, 2)), [7])


def test_a_sum_that_would_not_fit_its_frame_is_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception would tell that the noise was large; the clip looks at public numbers only."""
    monkeypatch.setattr(thermal_half, "dgauss", lambda num, den, rng: 10**6)
    payload = thermal.report(a_round(), Reading(0, (4000,)), Tape(b""))

    assert payload == [0, (1 << 15) - 1]
