"""From epsilon and delta to whole-number noise; here, what both may be.

They are ratios of whole numbers, so that every device reads the same ones.
"""

import math
import re
from fractions import Fraction
from typing import Any

Ratio = tuple[int, int]

# A message to a device holds whole numbers of 64 bits.
_PART_MAX = 2**63

_LONG = re.compile(r"0*[1-9][0-9]*(/0*[1-9][0-9]*)?", re.ASCII)
_WRITTEN = re.compile(r"([0-9]{1,19})(?: */ *([0-9]{1,19}))?")
# Short enough that both parts of the ratio that is meant fit into 64 bits.
_DECIMAL = re.compile(r"[0-9]{0,6}\.[0-9]{1,12}|[0-9](\.[0-9]{1,5})?[eE]-[0-9]", re.ASCII)


def parse_ratio(text: str, name: str = "epsilon") -> Ratio:
    """Return the ratio that the text writes, in lowest terms.

    Args:
        text: two positive whole numbers with a stroke between, in spaces or not, or one alone.
        name: what the ratio is for, to be named in the error.

    Raises:
        ValueError: anything else, above all a decimal fraction; it offers the ratio meant. Or a
            ratio of numbers that are too long for a message to a device.

    >>> parse_ratio("1/2"), parse_ratio("10/4"), parse_ratio("3")
    ((1, 2), (5, 2), (3, 1))
    """
    match = _WRITTEN.fullmatch(text.strip())
    num, den = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not (0 < num < _PART_MAX and 0 < den < _PART_MAX):
        if _LONG.fullmatch(text.strip()):
            raise ValueError(
                f"{name} {text!r} is a ratio of a number from 2**63 on, which no message to a "
                "device holds; write one of smaller numbers"
            )
        raise ValueError(
            f"{name} {text!r} is not a ratio of positive whole numbers; write "
            f"{_find_meant(text, name)}, so that every device computes the same noise"
        )
    return reduce_ratio((num, den))


def _find_meant(text: str, name: str) -> str:
    """Return the ratio that a decimal means, or what ratios of that name look like.

    >>> _find_meant("0.001", "delta"), _find_meant("half", "epsilon")
    ('1/1000', '1/2 for a half')
    """
    decimal = _DECIMAL.fullmatch(text.strip())
    meant = Fraction(text.strip()) if decimal else Fraction(0)
    if meant > 0:
        return f"{meant.numerator}/{meant.denominator}"
    return "1/100000 for one in a hundred thousand" if "delta" in name else "1/2 for a half"


def reduce_ratio(ratio: Ratio) -> Ratio:
    """Return the same ratio in lowest terms.

    >>> reduce_ratio((10, 4))
    (5, 2)
    """
    shared = math.gcd(*ratio)
    return ratio[0] // shared, ratio[1] // shared


def find_shard_limits(devices: int, colluding: Fraction, missing: Fraction) -> tuple[int, int]:
    """Return a shard's threshold and its colluders: the fewest who stay, the most who collude.

    Of 15 devices a tenth is one: so the threshold is rounded up, and the colluders down.

    >>> find_shard_limits(15, Fraction(1, 10), Fraction(1, 10))
    (14, 1)
    """
    return devices - math.floor(missing * devices), math.floor(colluding * devices)


def check_ratio(ratio: object, name: str) -> float:
    """Return the value of a ratio of positive whole numbers.

    Raises:
        ValueError: it is a float, has another shape, or is not positive.

    >>> check_ratio((1, 2), "epsilon")
    0.5
    """
    if (
        not isinstance(ratio, tuple)
        or len(ratio) != 2
        or not all(type(part) is int and 0 < part < _PART_MAX for part in ratio)
    ):
        raise ValueError(
            f"{name} is {ratio!r} but must be a pair (num, den) of positive whole numbers below "
            "2**63: a float has no one value on every device. Write (1, 2) for a half and (4, 1) "
            "for 4."
        )
    return ratio[0] / ratio[1]


def epsilon_of_report(query: Any) -> Fraction:
    """Return the epsilon of one report of a query: all of them share its epsilon evenly."""
    return Fraction(*query.epsilon) / query.readings


def check_epsilon_of_report(query: Any, low: Fraction, high: int) -> None:
    """Refuse a query whose reports have less epsilon each than low, or more than high.

    Raises:
        ValueError: they have, or its epsilon is no ratio.
    """
    check_ratio(query.epsilon, "epsilon")
    one = epsilon_of_report(query)
    if not low <= one <= high:
        raise ValueError(
            f"epsilon of one report is {float(one):g} but must be {low} to {high}: below, no map "
            "is left, and above, nothing is hidden. Correct epsilon, or readings, by which it is "
            "divided."
        )
    if max((one * one / 2).as_integer_ratio()) >= _PART_MAX:
        num, den = query.epsilon
        raise ValueError(
            f"epsilon is {num}/{den}, in {query.readings} readings, but half of one report's "
            "epsilon squared must be a ratio of numbers below 2**63, which a message to a device "
            "holds. Write epsilon with fewer digits."
        )


def check_delta(delta: float) -> None:
    """Refuse a delta outside (0, 1) with a ValueError."""
    if not 0 < delta < 1:
        raise ValueError(
            f"delta is {delta:g} but must lie between 0 and 1, both excluded: so much any event "
            "may be likelier than epsilon alone allows. 1/100000 is customary."
        )


def check_epsilon(epsilon: float, lowest: float) -> None:
    """Refuse an epsilon below the lowest, or none at all, with a ValueError."""
    if not lowest <= epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be {'positive' if lowest else 'at least 0'} and "
            "finite: it bounds how far the odds of a guess may move. 1/1 is customary."
        )
