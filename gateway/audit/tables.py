"""Layer: noise from tables is of the law that is planned, and delta pays for what it is off.

It looks at the thresholds in eighty digits, at the search for every number beside a threshold,
at how many instructions it runs, at what a device adds to its readings and at what it refuses
(`arrays`); and that all this takes no more than a hundredth of the delta that Rounds promise.
What it cannot see: how long an instruction takes on a board, and the machine code that a board
makes itself (tests/interpreters compares what that finds).
"""

from array import array
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from edge import bulk, table
from edge.limbs import search
from edge.records import Grid
from edge.sampler import WIDEST, Sampler
from recovery.thermal import Query, plan

from . import arrays, price, tabling
from .arrays import ANSWERS
from .claim import Claim, Effort, at_most, true

OFF = Fraction(1, 2**74)  # of one sample, in total variation
KEYS = 16  # of a device, in one window
AGAIN = 8  # times at most that a number is answered, however often the power is cut
ASIDE = Fraction(1, 100)
ROOMS = (
    Query(Grid((8, 8), 500), (4, 4), 0.3, (1, 1), sampler="table"),
    Query(Grid((8, 8), 500), (8, 8), 0.3, (8, 1), readings=24, sampler="table"),
)


def claims(_: None, effort: Effort) -> Iterator[Claim]:
    """Yield what tables hold, find, take and are used for."""
    rng = effort.tape("tables")
    widths = [1, 2500, 1_618_796, WIDEST, 1 + rng.below(10**7)]
    for variance in widths:
        yield from _law(variance)
    yield from _searched()
    yield _steady(effort)
    for query in (effort.own.query,) if effort.own else ROOMS:
        yield from _promised(query)
    yield _refused()
    yield from arrays.claims(plan(replace(ROOMS[0], keyholder=True), ()), effort)


def _law(variance: int) -> Iterator[Claim]:
    made = Sampler(variance, 1, bulk.BITS)
    digits, count = tabling.off(made), sum(len(part) for _, part in made.parts)
    yield true(
        f"tables for a variance of {variance} add up to it",
        tabling.variance(made) == variance,
        samples=len(made.parts),
    )
    yield at_most(
        f"thresholds of variance {variance} are its law's, in eighty digits",
        float(tabling.NEAR),
        float(digits),
        unit="last digits",
        samples=count,
    )
    yield at_most(
        f"a sample of variance {variance} is no further off its law than is paid for",
        float(OFF),
        # One that is off by e moves e from a value to the next; what lies beyond the last is less
        # than a digit, and so is what a sum of two is off.
        float((digits * count + 2 * len(made.parts)) / 2**bulk.BITS),
        unit="total variation",
        samples=count,
    )


def _searched() -> Iterator[Claim]:
    for variance in (3, 600):
        part, wrong, looked = table.Table(variance, 1, bulk.BITS), 0, 0
        for value, size in tabling.ends(part):
            for sign in (0, 1):
                out = [0]
                part.fill(out, _Given((sign << part.bits) + value))
                wrong += out[0] != (-size if sign else size)
                looked += 1
        yield at_most(
            f"of variance {variance}, each number about a threshold finds the noise it stands for",
            0,
            wrong,
            unit="numbers",
            samples=looked,
        )


def _steady(effort: Effort) -> Claim:
    part, rng = table.Table(600, 1, bulk.BITS), effort.tape("steady")
    sizes, seen = array("I", (1, len(part), 3)), set()
    limbs = [(0, 0, 0), (2**28 - 1, 2**28 - 1, 2**29 - 1)]
    limbs += [(rng.bits(28), rng.bits(28), rng.bits(29)) for _ in range(effort.pick(60, 600))]
    for limb in limbs:
        given, out = array("I", limb), array("i", (0,))
        work = tabling.works(
            lambda given=given, out=out: search(out, given, part.thresholds, sizes),  # type: ignore[misc]
            search.__code__,
        )
        seen.add(work)
    return true(
        "a search in a table runs as many instructions whatever was drawn",
        len(seen) == 1,
        samples=len(limbs),
        detail=f"{sorted(seen)[:4]} instructions",
    )


def _promised(query: Query) -> Iterator[Claim]:
    asked: Any = plan(query, ())
    sensors = query.sensors[0] * query.sensors[1]
    name = f"{sensors} readings from tables at epsilon {query.epsilon[0]}"
    delta = Fraction(*asked.guarantee.delta)
    yield true(
        f"{name}: delta is promised as it was asked for",
        asked.guarantee.delta == query.delta and asked.params[7:] == (bulk.BITS,),
        samples=1,
    )
    yield at_most(
        f"{name}: all that devices may ever draw takes no more of delta than is set aside",
        float(ASIDE * delta),
        float(_taken(query)),
        unit="delta",
        samples=KEYS * ANSWERS * AGAIN * sensors,
    )
    rest = (1 - ASIDE) * delta
    promise = asked.guarantee._replace(delta=rest.as_integer_ratio())
    num, den = asked.guarantee.rho
    square = Fraction(2 * num * asked.params[4], den)
    variance = Fraction(asked.params[4])
    yield from price.enough(f"{name}, of what is left", promise, square, variance, query.readings)


def _taken(query: Query) -> Decimal:
    """Return what all that devices may ever draw takes of delta."""
    samples = KEYS * ANSWERS * AGAIN * query.sensors[0] * query.sensors[1]
    with localcontext(Context(prec=tabling.DIGITS)):
        grows = 1 + (Decimal(query.epsilon[0]) / query.epsilon[1]).exp()
        return samples * grows * OFF.numerator / OFF.denominator


def _refused() -> Claim:
    """Return the claim that tables are planned just where what is set aside pays for them."""
    wrong, looked, planned = [], 0, 0
    for side in (2, 4, 8):
        for down in range(4, 13):
            for epsilon in ((1, 2), (1, 1), (2, 1), (4, 1), (8, 1)):
                query = Query(
                    Grid((8, 8), 500), (side, side), 0.3, epsilon, (1, 10**down), sampler="table"
                )
                pays = _taken(query) * 10**down <= Decimal(ASIDE.numerator) / ASIDE.denominator
                try:
                    planned += plan(query, ()) is not None
                    given = True
                except ValueError:
                    given = False
                looked += 1
                if given != pays:
                    wrong.append(f"{side * side} sensors at epsilon {epsilon}, delta 1e-{down}")
    return true(
        "tables are planned for just those promises whose delta pays for them",
        not wrong and 0 < planned < looked,
        samples=looked,
        detail="; ".join(wrong[:4]),
    )


class _Given:
    """A stream of one number."""

    def __init__(self, value: int) -> None:
        self._value = value

    def bits(self, _: int) -> int:
        return self._value
