"""The promise that travels with every map: to JSON and back, and in plain words."""

import json
import math
import re
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from edge.core.records import Guarantee as Guarantee

from ..noise import Ratio, epsilon_of_report, reduce_ratio
from .sentence import Sentence, Wording, join_sentences

# Said here and not beside the record, for a board has no room for it.
Guarantee.__doc__ = """What a release promises.

Ratios are pairs (num, den). `epsilon` and `delta` hold for all that `unit` names together; `delta`
is None for a promise of epsilon alone. `rho` is what one round costs a device, in zCDP. The rest
are sentences: `neighbours` says what is hidden, `trust` from whom, `unprotected` what is not.
"""

_RATIOS = ("epsilon", "delta", "rho")


def make_pure(epsilon: Ratio, one: Fraction, **words: str) -> Guarantee:
    """Return a promise of epsilon alone, that never fails.

    A pure epsilon is at most epsilon**2 / 2 of zCDP: Bun and Steinke 2016, Proposition 1.4.

    Args:
        epsilon: of all answers together.
        one: the epsilon of one answer, which is what a device prices.
        words: neighbours, trust, unit and unprotected.
    """
    return Guarantee(reduce_ratio(epsilon), None, (one * one / 2).as_integer_ratio(), **words)


# In a window of hours, of a device whose receiver may tell a place that it had before.
LAST_PLACE = Wording(
    "guarantee.last",
    "; the place that a receiver told last counts as one where the device still is",
)()
REPORTS = Wording("guarantee.reports", "{n} report{s} of one device")
OVER = Wording("guarantee.over", "over {share}")
TOGETHER = Wording("guarantee.together", "{window} together")
_LIFE = Wording("guarantee.life", "the window of {answers}")
_WINDOW = Wording(
    "guarantee.window", "any {hours} hours (k times as long costs k times {unit}), {answers}"
)


def describe_window(hours: int, answers: str, unit: str) -> str:
    """Return for what a promise holds: for so many answers, or for any window of hours.

    Args:
        unit: what adds up.

    >>> describe_window(0, "24 readings", "rho"), describe_window(24, "26 readings", "rho")
    ('the window of 24 readings', 'any 24 hours (k times as long costs k times rho), 26 readings')
    """
    if not hours:
        return _LIFE(answers=answers)
    return _WINDOW(hours=hours, unit=unit, answers=answers)


def promise_reports(query: Any, neighbours: str, trust: str, unprotected: str) -> Guarantee:
    """Return the promise of a query whose epsilon all reports of a device share evenly."""
    reports = REPORTS(n=query.readings, s="s" * (query.readings > 1))
    return make_pure(
        query.epsilon,
        epsilon_of_report(query),
        neighbours=neighbours,
        trust=trust,
        unit=TOGETHER(window=describe_window(query.window_h, reports, "epsilon")),
        unprotected=join_sentences((unprotected, LAST_PLACE if query.window_h else ""), by=""),
    )


def get_window_h(guarantee: Guarantee) -> int:
    """Return the hours of the window that a promise holds for, 0 where it is for a life.

    >>> unit = describe_window(36, "9 reports", "rho")
    >>> get_window_h(Guarantee(None, None, None, "", "", unit, ""))
    36
    """
    hours = re.match(r"any (\d+) hours ", guarantee.unit)
    return int(hours[1]) if hours else 0


def to_json(guarantee: Guarantee) -> str:
    """Return the promise as a JSON object, each ratio a list of two whole numbers or null.

    >>> promise = Guarantee((1, 2), None, None, "one", "local", "one reading", "presence")
    >>> from_json(to_json(promise)) == promise
    True
    """
    return json.dumps(guarantee._asdict())


def from_json(text: str) -> Guarantee:
    """Return the promise that `to_json` wrote.

    Raises:
        ValueError: the text is not such an object, or a ratio is not a pair.
    """
    try:
        fields = json.loads(text)
        ratios = {name: _parse_ratio(fields[name]) for name in _RATIOS}
        return Guarantee(**{**fields, **ratios})
    except (ValueError, TypeError, KeyError) as fault:
        raise ValueError(
            f"the guarantee reads {text[:80]!r} but must be a JSON object with "
            f"{', '.join(Guarantee._fields)}: a map without its promise is not shown. "
            "Take the file from heatveil itself."
        ) from fault


def describe_guarantee(guarantee: Guarantee) -> list[str]:
    """Return the promise in sentences for somebody who manages a building."""
    return [
        _PROTECTED(neighbours=guarantee.neighbours),
        *_describe_strength(guarantee.epsilon, guarantee.delta),
        _HOLDS(span=_describe_span(guarantee.unit)),
        _TRUST(trust=guarantee.trust),
        _NOT(unprotected=guarantee.unprotected),
    ]


_PROTECTED = Wording("guarantee.protected", "Protected: {neighbours}.")
_HOLDS = Wording("guarantee.holds", "This holds for {span}.")
_TRUST = Wording("guarantee.trust", "Trust needed: {trust}.")
_NOT = Wording("guarantee.not", "Not protected: {unprotected}.")
_ODDS = Wording(
    "guarantee.odds",
    "What is published moves the odds of a guess between two such cases by a factor of at most "
    "{factor} (epsilon {epsilon}).",
)
_LIKELY = Wording(
    "guarantee.likely",
    "Whatever one looks for in what is published is at most {factor} times as likely in one of "
    "two such cases as in the other (epsilon {epsilon}), plus {delta} (delta).",
)


def restore_codes(guarantee: Guarantee, made: Guarantee) -> Guarantee:
    """Return a promise that came as text with the codes of one that was made, where both agree."""
    fields = ("neighbours", "trust", "unit", "unprotected")
    alike = {name: getattr(made, name) for name in fields}
    return guarantee._replace(
        **{name: one for name, one in alike.items() if one == getattr(guarantee, name)}
    )


def _describe_span(unit: str) -> str:
    """Return for what a promise holds, a window in more words than `describe_window` sends.

    >>> print(_describe_span(describe_window(1, "9 reports", "rho")).partition("; ")[0])
    any hour, wherever it begins, and at most 9 reports in it
    """
    parts = re.fullmatch(r"any (\d+) hours \(k times as long costs k times (\w+)\), (.*)", unit)
    if parts is None:
        return unit
    hours, price, answers = parts.groups()
    window, there = (
        ("hour, wherever it begins", "it")
        if hours == "1"
        else (f"{hours} hours, wherever they begin", "them")
    )
    text = (
        f"any {window}, and at most {answers} in {there}; "
        f"a stay k times as long costs k times the {price}"
    )
    return Sentence(text, unit.code, unit.fields) if isinstance(unit, Sentence) else text


def _describe_strength(epsilon: Ratio | None, delta: Ratio | None) -> list[str]:
    """Return what epsilon and delta mean for somebody who guesses."""
    if epsilon is None:
        return []
    factor = format_factor(epsilon[0] / epsilon[1])
    if delta:
        return [_LIKELY(factor=factor, epsilon=format_ratio(epsilon), delta=format_ratio(delta))]
    return [_ODDS(factor=factor, epsilon=format_ratio(epsilon))]


def format_factor(epsilon: float, digits: int = 3) -> str:
    """Return e to the power of epsilon, by which odds move at most, never too small.

    >>> format_factor(1.0), format_factor(53.0)
    ('2.72', '10^24')
    """
    if epsilon < 50:
        return round_up(math.exp(epsilon), digits)
    # The promise is empty, and so would be a number with fifty digits.
    power = math.ceil(epsilon / math.log(10))
    return f"10^{power}"


def format_ratio(ratio: Ratio) -> str:
    """Return a ratio as one writes it.

    >>> format_ratio((1, 2)), format_ratio((4, 1))
    ('1/2', '4')
    """
    return str(ratio[0]) if ratio[1] == 1 else f"{ratio[0]}/{ratio[1]}"


def round_up(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, never one that is too small.

    What is priced or promised is printed so. A billionth is let go of: the answers of
    `recovery.noise.gaussian` are that much above the truth.

    >>> round_up(0.13341), round_up(8.0), round_up(1.3e-8, 2), round_up(0.0)
    ('0.134', '8', '1.3e-08', '0')
    """
    if not 0 < value < math.inf:
        return f"{value:g}"
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(context.create_decimal(Decimal(value * (1 - 1e-9)))):.{digits}g}"


def _parse_ratio(value: list[int] | None) -> Ratio | None:
    if value is None:
        return None
    num, den = value
    if type(num) is not int or type(den) is not int:
        raise TypeError("a ratio is two whole numbers")
    return num, den
