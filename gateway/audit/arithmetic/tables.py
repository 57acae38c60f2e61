"""Layer: noise from tables is of the law that is planned, and delta pays for what it is off.

It looks at the thresholds in eighty digits, at the search for every number beside a threshold,
at how many instructions it runs, at what a device adds to its readings and at what it refuses
(`arrays`); that all this takes no more than a hundredth of the delta that Rounds promise, and that
no more keys are made than that is for.
What it cannot see: how long an instruction takes on a board, and the machine code that a board
makes itself (tests/interpreters compares what that finds).
"""

import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, SimpleNamespace
from typing import Any

from edge.core import entropy, table
from edge.core.table import BATCH, WIDEST, Sampler, look_up_noise
from edge.host import rootkeys

from ...devices.enrol import enrol, keycount
from ...faults import OperatorFault
from ...mechanisms import find_serving
from ...service.rounds import Place
from ..bench import Device, record_blocks, sign_round_as
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused
from . import accountant

# What noise from tables should be, by another path: eighty digits, and one look at a time.
#
# The shape of a sampler, which tables and which factors, is taken from the device's own, and held
# against the variance that was planned; each table against the chances of its law. What is drawn
# from a stream is then said anew: a number of so many bits, one threshold after the other.

DIGITS = 80
NEAR = Decimal("1.5")  # digits of a threshold: half of rounding, and what lies beyond the last


def compute_thresholds(num: int, den: int, bits: int, count: int) -> list[Decimal]:
    """Return the chances that |z| is at most k, in units of 2**-bits, for k below count."""
    with localcontext(Context(prec=DIGITS)):
        step = Decimal(-den) / (2 * num)
        weights = [(step * k * k).exp() for k in range(2 * count + 8)]
        whole = 2 * sum(weights) - 1
        found, upto = [], Decimal(0)
        for k in range(count):
            upto += weights[k] * (2 if k else 1)
            found.append(upto / whole * 2**bits)
        return found


def count_wrong_digits(sampler: Sampler) -> Decimal:
    """Return by how many digits the worst threshold of a sampler is off."""
    worst = Decimal(0)
    for _, part in sampler.parts:
        law = compute_thresholds(*part.variance, part.bits, len(part))
        for k, meant in enumerate(law):
            worst = max(worst, abs(part.threshold(k) - meant))
    return worst


def sampler_variance(sampler: Sampler) -> Fraction:
    """Return the variance of the sum that a sampler draws."""
    return sum((f * f * Fraction(*part.variance) for f, part in sampler.parts), Fraction(0))


def draw_samples(sampler: Sampler, count: int, rng: Any) -> list[int]:
    """Return so many samples from a stream, by thresholds in order and the sign above them."""
    noise = [0] * count
    for factor, part in sampler.parts:
        law = [part.threshold(k) for k in range(len(part))]
        for first in range(0, count, BATCH):
            for at in range(first, min(first + BATCH, count)):
                value = rng.bits(part.bits + 1)
                size = sum(value % (1 << part.bits) >= one for one in law)
                noise[at] += factor * (-size if value >> part.bits else size)
    return noise


def count_instructions(do: Callable[[], object], code: Any) -> int:
    """Return how many instructions of a function's code one call runs."""
    count = 0

    def looked(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return looked

    before = sys.gettrace()
    sys.settrace(looked)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def probe_thresholds(part: Any) -> Iterator[tuple[int, int]]:
    """Yield numbers about every threshold of a table, and how many it is that they are not below.

    One below, on, and one above: where a search that is off by one place, or by one digit, shows.
    """
    known = [part.threshold(k) for k in range(len(part))]
    whole = 1 << part.bits
    for value in sorted({v for t in (0, *known, whole) for v in (t - 1, t, t + 1)}):
        if 0 <= value < whole:
            yield value, sum(value >= one for one in known)


ANSWERS = 2**20  # of a key, with noise from tables
ROUNDS, SENSORS = 6, 16


def array_claims(round: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what an array that is asked this Round adds to its readings, and what it refuses."""
    yield from _claim_answers(round, effort)
    yield _claim_allowed(round, effort)


def _claim_answers(round: Any, effort: Effort) -> Iterator[Claim]:
    root = effort.root("arrays")
    device = Device(round, root, sensors=SENSORS, tables=True)
    opened = other = late = 0
    with record_blocks() as blocks:
        for number in range(1, ROUNDS + 1):
            if number == ROUNDS // 2:
                device.boot()
            made = round.params[4] * (1 + number % 2)  # more noise than the least, by turns
            params = (*round.params[:4], made, *round.params[5:])
            asked, signed = sign_round_as(round._replace(params=params), number)
            seen, before = tuple(range(number, number + SENSORS)), [0]

            def read(_: Any, seen: Any = seen, before: Any = before) -> Any:
                before[0] = blocks.count
                return seen

            report = device.open_frame(device.node.answer(signed, read))
            late += before[0] != blocks.count
            key = rootkeys.chain_at(root, report.epoch), device.identity.name, report.epoch
            rng = entropy.keyed(*key, report.seq, 0)
            meant = draw_samples(Sampler(made, 1, table.BITS), SENSORS, rng)
            other += [y - z for y, z in zip(report.payload[1:], meant, strict=True)] != [*seen]
            rng = entropy.keyed(*key, report.seq, 0)
            opened += tuple(device.asked.unveil(asked, report.payload, rng).values) == seen
    sentence = "what an array adds to its readings is what the tables of its Round's variance say"
    yield claim_none(sentence, other, "frames", samples=ROUNDS)
    sentence = "every frame of a keyholder's array opens with its root key, to the exact readings"
    yield claim_fact(sentence, opened == ROUNDS, samples=ROUNDS)
    yield claim_fact("an array draws no noise once it has been read", not late, samples=ROUNDS)


def _claim_allowed(round: Any, effort: Effort) -> Claim:
    """Return whether devices answer with tables only where they may, and where delta pays."""
    root, wrong = effort.root("held"), []
    for tables, params, number, answers in (
        (True, round.params, 1, True),
        (True, round.params, ANSWERS, True),
        (True, round.params, ANSWERS + 1, False),
        (False, round.params, 1, False),
        (False, round.params[:7], 1, True),
        (True, (*round.params[:7], 56), 1, False),
        (True, (*round.params[:7], 112), 1, False),
        (True, (*round.params, 84), 1, False),
        (True, (*round.params[:4], WIDEST + 1, *round.params[5:]), 1, False),
    ):
        device = Device(round, root, sensors=SENSORS, tables=tables)
        frame = device.ask(number, [0] * SENSORS, round._replace(params=params))
        if (frame is not None, device.budget.spent > 0) != (answers, answers):
            wrong.append(f"{params[4:]} under number {number}")
    return claim_none(
        "an array draws from tables only if it was set up for them, of the width and as often as "
        "delta pays for",
        wrong,
        samples=9,
    )


OFF = Fraction(1, 2**74)  # of one sample, in total variation
KEYS = 16  # of a device, in one window
AGAIN = 8  # times at most that a number is answered, however often the power is cut
ASIDE = Fraction(1, 100)


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what tables hold, find, take and are used for."""
    rng = effort.tape("tables")
    widths = [1, 2500, 1_618_796, WIDEST, 1 + rng.below(10**7)]
    for variance in widths:
        yield from _claim_law(variance)
    yield from _search()
    yield _claim_constant_time(effort)
    tabled = mechanism.subject.list_tabled()
    for query in (effort.own.query,) if effort.own else tabled:
        yield from _plan_promise(query, mechanism.plan(query, ()))
    yield _claim_refused(mechanism, tabled[0])
    yield _claim_counted(mechanism)
    held = replace(tabled[0], keyholder=True)
    yield from array_claims(mechanism.plan(held, ()), effort)


def _claim_law(variance: int) -> Iterator[Claim]:
    made = Sampler(variance, 1, table.BITS)
    digits, count = count_wrong_digits(made), sum(len(part) for _, part in made.parts)
    sentence = f"tables for a variance of {variance} add up to it"
    yield claim_fact(sentence, sampler_variance(made) == variance, samples=len(made.parts))
    sentence = f"thresholds of variance {variance} are its law's, in eighty digits"
    yield claim_at_most(sentence, float(NEAR), float(digits), unit="last digits", samples=count)
    yield claim_at_most(
        f"a sample of variance {variance} is no further off its law than is paid for",
        float(OFF),
        # One that is off by e moves e from a value to the next; what lies beyond the last is less
        # than a digit, and so is what a sum of two is off.
        float((digits * count + 2 * len(made.parts)) / 2**table.BITS),
        unit="total variation",
        samples=count,
    )


def _search() -> Iterator[Claim]:
    for variance in (3, 600):
        part, wrong, looked = table.Table(variance, 1, table.BITS), 0, 0
        for value, size in probe_thresholds(part):
            for sign in (0, 1):
                out = [0]
                part.fill(out, _Given((sign << part.bits) + value))
                wrong += out[0] != (-size if sign else size)
                looked += 1
        yield claim_none(
            f"of variance {variance}, each number about a threshold finds the noise it stands for",
            wrong,
            "numbers",
            samples=looked,
        )


def _claim_constant_time(effort: Effort) -> Claim:
    part, rng = table.Table(600, 1, table.BITS), effort.tape("steady")
    sizes, seen = array("I", (1, len(part), 3)), set()
    limbs = [(0, 0, 0), (2**28 - 1, 2**28 - 1, 2**29 - 1)]
    limbs += [(rng.bits(28), rng.bits(28), rng.bits(29)) for _ in range(effort.pick(60, 600))]
    for limb in limbs:
        given, out = array("I", limb), array("i", (0,))
        work = count_instructions(
            lambda given=given, out=out: look_up_noise(out, given, part.thresholds, sizes),  # type: ignore[misc]
            look_up_noise.__code__,
        )
        seen.add(work)
    return claim_fact(
        "a search in a table runs as many instructions whatever was drawn",
        len(seen) == 1,
        samples=len(limbs),
        detail=f"{sorted(seen)[:4]} instructions",
    )


def _plan_promise(query: Any, asked: Any) -> Iterator[Claim]:
    sensors = query.sensors[0] * query.sensors[1]
    name = f"{sensors} readings from tables at epsilon {query.epsilon[0]}"
    delta = Fraction(*asked.guarantee.delta)
    yield claim_fact(
        f"{name}: delta is promised as it was asked for",
        asked.guarantee.delta == query.delta and asked.params[7:] == (table.BITS,),
        samples=1,
    )
    yield claim_at_most(
        f"{name}: all that devices may ever draw takes no more of delta than is set aside",
        float(ASIDE * delta),
        float(_compute_delta_cost(query)),
        unit="delta",
        samples=KEYS * ANSWERS * AGAIN * sensors,
    )
    rest = (1 - ASIDE) * delta
    promise = asked.guarantee._replace(delta=rest.as_integer_ratio())
    num, den = asked.guarantee.rho
    square = Fraction(2 * num * asked.params[4], den)
    variance = Fraction(asked.params[4])
    yield from accountant.claim_variance(
        f"{name}, of what is left", promise, square, variance, query.readings
    )


def _compute_delta_cost(query: Any) -> Decimal:
    """Return what all that devices may ever draw takes of delta."""
    samples = KEYS * ANSWERS * AGAIN * query.sensors[0] * query.sensors[1]
    with localcontext(Context(prec=DIGITS)):
        grows = 1 + (Decimal(query.epsilon[0]) / query.epsilon[1]).exp()
        return samples * grows * OFF.numerator / OFF.denominator


def _claim_refused(mechanism: Any, tabled: Any) -> Claim:
    """Return the claim that tables are planned just where what is set aside pays for them."""
    wrong, planned, set_aside = [], 0, Decimal(ASIDE.numerator) / ASIDE.denominator
    epsilons = ((1, 2), (1, 1), (2, 1), (4, 1), (8, 1))
    cases = list(product((2, 4, 8), range(4, 13), epsilons))
    for side, down, epsilon in cases:
        query = replace(tabled, sensors=(side, side), epsilon=epsilon, delta=(1, 10**down))
        given = not is_refused(partial(mechanism.plan, query, ()))
        planned += given
        if given != (_compute_delta_cost(query) * 10**down <= set_aside):
            wrong.append(f"{side * side} sensors at epsilon {epsilon}, delta 1e-{down}")
    return claim_fact(
        "tables are planned for just those promises whose delta pays for them",
        not wrong and 0 < planned < len(cases),
        samples=len(cases),
        detail="; ".join(wrong[:4]),
    )


def _claim_counted(mechanism: Any) -> Claim:
    """Return whether a sensor gets as many keys as delta pays for, and not one more."""
    place, made = Place(3, 2), []
    nobody = enrol.Devices("audit", bytes(32), {})
    array = enrol.Device("array", place, "sealed", bytes(4), bytes(32), bytes(32))
    fleet = nobody._replace(by_name={array.name: array})
    asked = SimpleNamespace(rounds=SimpleNamespace(sampler="table"))
    most = find_serving(mechanism.name).key_limit(asked) or 0

    def single(path: Path) -> None:
        keycount.count_new_key(path, nobody, place, {}, most)

    def whole(path: Path) -> None:
        keycount.count_fleet_keys(path, fleet, most)

    for ways in ((single,), (whole,), (whole, single)):
        made.append(0)
        with TemporaryDirectory() as folder, suppress(OperatorFault):
            for way in islice(cycle(ways), 2 * KEYS):
                way(Path(folder) / "devices.json")
                made[-1] += 1
    return claim_fact(
        "a sensor gets as many keys as delta pays for and no more, by itself or with its fleet",
        made == [KEYS] * 3,
        samples=sum(made),
        detail=f"{made} keys",
    )


class _Given:
    """A stream of one number."""

    def __init__(self, value: int) -> None:
        self._value = value

    def bits(self, _: int) -> int:
        return self._value
