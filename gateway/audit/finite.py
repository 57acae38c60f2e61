"""Layer: every answer to every input, each with its exact probability.

For mechanisms that draw one of few answers. The mechanism's own `report` is run over its whole
decision tree for every input, and no answer may be likelier for one input than for another by
more than exp(epsilon), in whole numbers. It sees everything there is to see in the rounds that
it is given, which must draw from few enough; it cannot see what only larger ones would do. Where
one draw is from more than can be tried, `weighed` looks at it in runs.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from . import weighed
from .bounds import ONE, decay, number
from .claim import Claim, Effort, true
from .tree import Found, Walk, enumerated


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that no answer tells two inputs apart by more than is promised."""
    if hasattr(mechanism.subject, "drawing"):
        yield from weighed.claims(mechanism, effort)
        return
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())

        def law(reading: Any, round: Any = round) -> Found:
            def program(walk: Walk) -> tuple[int, ...]:
                return tuple(mechanism.report(round, reading, walk))

            return enumerated(program)

        found = {str(reading): law(reading) for reading in mechanism.subject.inputs(round)}
        yield from alike(name, found, Fraction(*round.guarantee.epsilon))
        payloads = [list(answer) for one in found.values() for answer in one.law]
        yield _counted(name, mechanism, round, payloads, effort)


def alike(name: str, found: Mapping[str, Found], epsilon: Fraction) -> Iterator[Claim]:
    """Yield that all is seen, and that the worst ratio of two probabilities is as promised."""
    left = max(one.leftover for one in found.values())
    runs = sum(one.runs for one in found.values())
    yield true(
        f"{name}: every answer to every input was followed to its end",
        left < ONE >> 64,
        samples=runs,
        detail=f"{number(left):.3g} of the probability was not" if left >= ONE >> 64 else "",
    )
    worst, where = max(_ratios(found))
    # exp(epsilon) from below, so that the comparison is a proof.
    most = Fraction(ONE, decay(epsilon.numerator, epsilon.denominator).high)
    yield Claim(
        f"{name}: no answer is likelier for one input than for another by more than exp(epsilon)",
        float(epsilon),
        math.log(worst) if 0 < worst < math.inf else float(worst),
        worst <= most,
        unit="epsilon",
        samples=runs,
        detail=where,
    )


def _ratios(found: Mapping[str, Found]) -> Iterator[tuple[Fraction | float, str]]:
    answers = {answer for one in found.values() for answer in one.law}
    for answer in answers:
        chances = {name: one.law.get(answer, 0) for name, one in found.items()}
        most, least = (
            max(chances, key=chances.__getitem__),
            min(chances, key=chances.__getitem__),
        )
        where = f"the answer {answer} to {most} and to {least}"
        # What one part in 2**256 was rounded off is given to the lesser.
        low = chances[least] + found[least].leftover
        yield (Fraction(chances[most], low) if low else math.inf), where


def _counted(
    name: str, mechanism: Any, round: Any, payloads: list[list[int]], effort: Effort
) -> Claim:
    """Return the claim that `release` draws nothing: the answers were private before it."""
    tape, untouched = effort.tape("release"), effort.tape("release")
    mechanism.release(round, payloads, tape)
    return true(
        f"{name}: a release of what devices answered draws nothing",
        tape.bits(64) == untouched.bits(64),
        samples=len(payloads),
    )
