"""What prices are the price of: only those of one promise add up, and only within its sum."""

import json
from fractions import Fraction
from typing import Any

from .currency import RHO, Unit, pure
from .faults import OperatorFault
from .ledger import price

_EACH = "rho ", " a round and no delta"  # around the price of one, as it is stored


def terms(guarantee: Any) -> str:
    """Return what a price is the price of, as JSON: neighbours, trust and delta.

    Epsilon and the number of readings are not among it: a smaller budget for the same promise
    takes what was spent along, and a larger one `check_budget` refuses. A pure promise adds up
    in epsilon, and rho is its square: there one round's price stands among it, so that all rounds
    have the same, and the share of rho that is spent is the share of epsilon.
    """
    held: dict[str, Any] = {"neighbours": guarantee.neighbours, "trust": guarantee.trust}
    if is_pure(guarantee):
        held["each"] = f"{_EACH[0]}{price(guarantee)}{_EACH[1]}"
    return json.dumps({**held, "delta": list(guarantee.delta or ())}, sort_keys=True)


def unit_of(guarantee: Any) -> Unit:
    """Return what a promise is told in: rho, or of a pure one the epsilon of each device."""
    return pure(price(guarantee)) if is_pure(guarantee) else RHO


def unit_in(promised: str | None) -> Unit:
    """Return what a promise that was stored is told in; see `unit_of`.

    >>> unit_in('{"each": "rho 49/8 a round and no delta", "delta": []}').said(Fraction(49, 4))
    'epsilon 7'
    """
    return _unit(json.loads(promised).get("each", "")) if promised else RHO


def is_pure(guarantee: Any) -> bool:
    """Return whether a promise is epsilon alone, which adds up by itself."""
    return guarantee.epsilon is not None and guarantee.delta in (None, (0, 1))


def check_terms(paid: str | None, asked: str) -> None:
    """Check that prices paid under the first terms may be added to one under the second.

    Raises:
        OperatorFault: they are the prices of different promises.
    """
    if paid in (None, asked):
        return
    was, now = _clauses(str(paid)), _clauses(asked)
    raise OperatorFault(
        f"the deployment promises something else than its database was charged for: "
        f"{', '.join(part for part in now if part not in was) or 'less'}, and not "
        f"{', '.join(part for part in was if part not in now) or 'that alone'}; only prices of "
        "one promise add up, and a sum of two would promise nothing. Go back to what was "
        "promised, or name a new file under [site] database and tell the people in the room that "
        "they pay for both"
    )


def check_budget(least: Fraction | None, asked: Fraction, unit: Unit = RHO) -> None:
    """Check that no more is promised than was before, on what was spent already.

    Args:
        least: that was ever promised, in rho as what is asked.
        unit: what the promise is told in.

    Raises:
        OperatorFault: it is more.
    """
    if least is None or asked <= least:
        return
    raise OperatorFault(
        f"the deployment would spend {unit.said(asked, 9)} in all, and on its database "
        f"{float(unit.of(least)):.9g} was promised, which nothing may go beyond: whoever "
        "was told the smaller number would have been told too little. Go back to the epsilon and "
        "readings under [privacy] that promised it, or make the larger promise as a new one: "
        "enrol again, in a new folder"
    )


def _clauses(promised: str) -> list[str]:
    """Return a promise in parts, so that only what differs need be read."""
    parts = json.loads(promised)
    delta = "/".join(map(str, parts.pop("delta"))) or "0"
    if "each" in parts:
        parts["each"] = _told(parts["each"])
    return [f"delta {delta}", *(clause for one in parts.values() for clause in one.split(", "))]


def _told(each: str) -> str:
    """Return a stored clause about one round as people read it."""
    unit = _unit(each)
    return f"{unit.exactly(_price_in(each))}{_EACH[1]}" if unit.is_epsilon else each


def _unit(each: str) -> Unit:
    found = each.startswith(_EACH[0]) and each.endswith(_EACH[1])
    return pure(_price_in(each)) if found else RHO


def _price_in(each: str) -> Fraction:
    return Fraction(each.removeprefix(_EACH[0]).removesuffix(_EACH[1]))
