"""What this deployment has spent of its privacy, in exact fractions of rho.

The ledger counts rho, whatever was promised, because that adds up over all mechanisms. Of a pure
promise every round has the same price and the epsilons themselves add up (`make_terms` sees to
both), so there an amount of rho is a number of rounds, and that many times the epsilon of one
round is what each device has given away. Nothing is reckoned with this: it is how prices are told.

Source: Dwork and Roth 2014, Theorem 3.16 (epsilons add up); Bun and Steinke 2016, Proposition 1.4
(a pure epsilon costs epsilon**2 / 2).

Only prices of one promise add up (`make_terms`).

rho is the price of a release under zero-concentrated differential privacy; it adds up
without loss. A round is charged before it is published: once the devices have seen it
they answer, and what they said cannot be unsaid, even if the gateway dies the next moment.
The exception, of mechanisms whose noise the gateway draws, is `is_paid_at_release`.

A device that answers one round twice has told more about its own sensor. The fleet's loss
is at most the loss of its most talkative device (each pair of places is seen by all sensors
together, and no sensor counts for more than its own number of answers), so the extra
charges add up device by device and only the greatest of them counts.

Source: Canonne, Kamath and Steinke 2020, Theorem 14 (composition of discrete Gaussians).
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import isqrt
from typing import Any, NamedTuple

from recovery.maps.guarantee import get_window_h
from recovery.noise.gaussian import zcdp_epsilon

from ..faults import VARIABLES, OperatorFault
from ..settings.windows import bound_span_s


class Unit(NamedTuple):
    """What prices are told in: its name, and how much of it one rho is."""

    name: str
    of_one: Fraction

    def convert(self, rho: Fraction) -> Fraction:
        """Return an amount of rho in this unit, exactly."""
        return rho * self.of_one

    def format_rho(self, rho: Fraction, digits: int = 4) -> str:
        """Return an amount of rho as one says it.

        >>> unit = make_pure_unit(Fraction(1, 8))
        >>> RHO.format_rho(Fraction(1, 3)), unit.format_rho(Fraction(3, 8))
        ('rho 0.3333', 'epsilon 1.5')
        """
        return f"{self.name} {float(self.convert(rho)):.{digits}g}"

    def format_rho_exactly(self, rho: Fraction) -> str:
        """Return an amount of rho as one writes it without loss.

        >>> unit = make_pure_unit(Fraction(1, 8))
        >>> RHO.format_rho_exactly(Fraction(3, 8)), unit.format_rho_exactly(Fraction(3, 8))
        ('rho 3/8', 'epsilon 3/2')
        """
        return f"{self.name} {self.convert(rho)}"

    @property
    def is_epsilon(self) -> bool:
        """Whether this is the unit of a pure promise."""
        return self.name == EPSILON


EPSILON = "epsilon"
RHO = Unit("rho", Fraction(1))


def make_pure_unit(each: Fraction) -> Unit:
    """Return the unit of a pure promise whose rounds cost so much rho each.

    Rounds whose price is not half of a square have no epsilon of their own: those stay in rho.

    >>> make_pure_unit(Fraction(49, 8)), make_pure_unit(Fraction(1, 3)).name
    (Unit(name='epsilon', of_one=Fraction(4, 7)), 'rho')
    """
    epsilon = _find_exact_root(2 * each)
    return RHO if epsilon is None else Unit(EPSILON, epsilon / each)


def _find_exact_root(square: Fraction) -> Fraction | None:
    found = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return found if found > 0 and found * found == square else None


_EACH = "rho ", " a round and no delta"  # around the price of one, as it is stored


def make_terms(guarantee: Any) -> str:
    """Return what a price is the price of, as JSON: neighbours, trust, delta and window.

    Epsilon and the number of readings are not among it: a smaller budget for the same promise
    takes what was spent along, and a larger one `check_budget` refuses. A pure promise adds up
    in epsilon, and rho is its square: there one round's price stands among it, so that all rounds
    have the same, and the share of rho that is spent is the share of epsilon.
    """
    held: dict[str, Any] = {"neighbours": guarantee.neighbours, "trust": guarantee.trust}
    if is_pure(guarantee):
        held["each"] = f"{_EACH[0]}{compute_reading_rho(guarantee)}{_EACH[1]}"
    if hours := get_window_h(guarantee):
        held["window"] = f"for any {hours} hours"
    return json.dumps({**held, "delta": list(guarantee.delta or ())}, sort_keys=True)


def find_unit(guarantee: Any) -> Unit:
    """Return what a promise is told in: rho, or of a pure one the epsilon of each device."""
    return make_pure_unit(compute_reading_rho(guarantee)) if is_pure(guarantee) else RHO


def find_stored_unit(promised: str | None) -> Unit:
    """Return what a promise that was stored is told in; see `find_unit`.

    >>> unit = find_stored_unit('{"each": "rho 49/8 a round and no delta", "delta": []}')
    >>> unit.format_rho(Fraction(49, 4))
    'epsilon 7'
    """
    return _parse_unit(json.loads(promised).get("each", "")) if promised else RHO


def is_pure(guarantee: Any) -> bool:
    """Return whether a promise is epsilon alone, which adds up by itself."""
    return guarantee.epsilon is not None and guarantee.delta in (None, (0, 1))


# A promise that an earlier version put in other words, and the words it has now.
_FORMER = re.compile(
    "one source moves by (.+?), everything else the same, if no source is stronger than (.+?), "
    "sources stand at cells' places, "
)
_LATTER = (
    r"whether one source stands in one place or in another \1 away, all else the same, if no "
    r"source is stronger than \2, all stand at points of the map's grid, "
)


def check_terms(paid: str | None, asked: str) -> None:
    """Check that prices paid under the first terms may be added to one under the second.

    Terms that differ only in how an earlier version put them are the same.

    Raises:
        OperatorFault: they are the prices of different promises.
    """
    if paid is None or (paid := _FORMER.sub(_LATTER, paid)) == asked:
        return
    was, now = _split_terms(paid), _split_terms(asked)
    more = ", ".join(part for part in now if part not in was)
    what = more or "the same in another order"
    if less := ", ".join(part for part in was if part not in now):
        what = f"{more}, and not {less}" if more else f"no longer {less}"
    raise OperatorFault(
        "the deployment promises something else than its database was charged for: "
        f"{what}; only prices of one promise add up, and a sum of two would promise nothing. Go "
        f"back to the former settings{VARIABLES}, or end the former promise with heatveil ledger "
        "--end-promise in the folder where it was made, which keeps what was released, enrol "
        "again, in a new folder, and tell the people in the room that the costs of both add up"
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
        f"the deployment would spend {unit.format_rho(asked, 9)} in all, but {unit.name} "
        f"{float(unit.convert(least)):.9g} was promised for its database, and the people in the "
        "room were told that it would not be exceeded. Go back to the epsilon and "
        f"readings under [privacy] that promised it{VARIABLES}, or make the larger "
        "promise as a new one: enrol again, in a new folder, with a new database or after "
        "heatveil ledger --end-promise"
    )


def describe_terms(promised: str) -> str:
    """Return the terms of a promise as people read them.

    >>> describe_terms('{"delta": [1, 9], "neighbours": "a, b", "window": "for any 24 hours"}')
    'delta 1/9, a, b, for any 24 hours'
    """
    return ", ".join(_split_terms(promised))


def _split_terms(promised: str) -> list[str]:
    """Return a promise in parts, so that only what differs need be read."""
    parts = json.loads(promised)
    delta = "/".join(map(str, parts.pop("delta"))) or "0"
    if "each" in parts:
        parts["each"] = _tell(parts["each"])
    return [f"delta {delta}", *(clause for one in parts.values() for clause in one.split(", "))]


def _tell(each: str) -> str:
    """Return a stored clause about one round as people read it."""
    unit = _parse_unit(each)
    return f"{unit.format_rho_exactly(_parse_price(each))}{_EACH[1]}" if unit.is_epsilon else each


def _parse_unit(each: str) -> Unit:
    found = each.startswith(_EACH[0]) and each.endswith(_EACH[1])
    return make_pure_unit(_parse_price(each)) if found else RHO


def _parse_price(each: str) -> Fraction:
    return Fraction(each.removeprefix(_EACH[0]).removesuffix(_EACH[1]))


class Charge(NamedTuple):
    """rho spent by one round; device is empty when the whole fleet was asked."""

    rho: Fraction
    device: str = ""


def compute_round_rho(guarantee: Any) -> Fraction:
    """Return the rho of one round from its `Guarantee`.

    A promise in rho is taken as it stands; a pure promise of epsilon costs epsilon**2 / 2.

    Raises:
        ValueError: the round promises neither, so nothing can be charged.

    Source: Bun and Steinke 2016, Proposition 1.4.
    """
    if guarantee.rho is not None:
        return Fraction(*guarantee.rho)
    if guarantee.epsilon is None or guarantee.delta not in (None, (0, 1)):
        raise ValueError(
            f"the guarantee has rho {guarantee.rho}, epsilon {guarantee.epsilon} and delta "
            f"{guarantee.delta}; it needs a rho, or an epsilon with no delta, because only "
            "those add up exactly. Let the mechanism's plan state its rho"
        )
    return Fraction(*guarantee.epsilon) ** 2 / 2


def compute_budget_rho(guarantee: Any, readings: int) -> Fraction:
    """Return the rho of all readings together that a promise is for."""
    return compute_reading_rho(guarantee) * (1 if is_distributed(guarantee) else readings)


def compute_reading_rho(guarantee: Any) -> Fraction:
    """Return the rho of one of the readings that a promise counts.

    That is one Round; but a promise of distributed trust is for the Rounds of all its maps
    together, each at its share of the whole.

    >>> from edge.core.records import Guarantee
    >>> one = Guarantee((2, 1), None, (1, 2), "", "distributed: in sums", "", "")
    >>> compute_round_rho(one), compute_reading_rho(one)
    (Fraction(1, 2), Fraction(2, 1))
    """
    if is_distributed(guarantee):
        return Fraction(*guarantee.epsilon) ** 2 / 2
    return compute_round_rho(guarantee)


def is_distributed(guarantee: Any) -> bool:
    """Return whether nobody but a secure sum sees what devices say."""
    place: str = guarantee.trust.partition(":")[0]
    return place.strip() == "distributed"


def find_counted_s(promised: str | None) -> float | None:
    """Return for how many seconds a charge under these terms is counted; None for ever.

    For as long as devices count it at most, by clocks that are right.

    >>> find_counted_s('{"delta": [], "window": "for any 24 hours"}'), find_counted_s("{}")
    (91800, None)
    """
    window = json.loads(promised or "{}").get("window")  # as `make_terms` wrote it
    return bound_span_s(int(window.split()[2])) if window else None


def is_paid_at_release(guarantee: Any) -> bool:
    """Return whether a round is paid for when its result is released, and not when it is asked.

    Where devices blur what they say, asking is what costs: whoever has seen the Round answers it,
    the answers are public, and they cannot be unsaid, whatever becomes of us. So that is charged
    before a Round goes out. Where the gateway draws the noise, answers go no further than here,
    and what costs is the one result: it is charged in the transaction that keeps it, so that a
    round costs once, however often we die on the way, and none is released unpaid. One that is
    given up because its key is lost is charged then, for a store that was put back may lack its
    release. Trust that is neither plainly the one nor the other is charged as early as it may be
    needed.

    >>> from edge.core.records import Guarantee
    >>> trusts = "central", "distributed: in sums", "local"
    >>> [is_paid_at_release(Guarantee(*[None] * 4, trust, "", "")) for trust in trusts]
    [True, False, False]
    """
    place: str = guarantee.trust.partition(":")[0]
    return place.strip() == "central"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The budget of a deployment in rho, and what has been charged to it."""

    budget: Fraction
    charges: tuple[Charge, ...] = ()

    @property
    def spent(self) -> Fraction:
        """What has been spent: every round, and the most talkative device's extra answers."""
        extra: dict[str, Fraction] = defaultdict(Fraction)
        for charge, alike in groupby(self.charges):
            extra[charge.device] += charge.rho * len(list(alike))
        fleet = extra.pop("", Fraction(0))
        return fleet + max(extra.values(), default=Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; never below nothing."""
        return max(self.budget - self.spent, Fraction(0))

    def add_charges(self, more: Iterable[Charge]) -> "Ledger":
        """Return the ledger with these charges added."""
        return Ledger(self.budget, (*self.charges, *more))

    def explain_refusal(self, number: int, rho: Fraction, unit: Unit = RHO) -> str:
        """Return why a round at this price must not be opened, or nothing when it may.

        Args:
            unit: what the promise is told in.
        """
        if rho <= self.left:
            return ""
        left, whole = (float(unit.convert(one)) for one in (self.left, self.budget))
        has = f"has {left:.4g} left of its {whole:.4g} and"
        stands = (
            f"each device {has} it is not opened"
            if unit.is_epsilon
            else f"the site {has} will not open it"
        )
        way_out = (
            f"Ask for {unit.format_rho(self.left)} or less"
            if self.left
            else "Nothing can be asked any more"
        )
        return (
            f"round {number} asks for {unit.format_rho(rho)}, but {stands}: "
            f"the promise to the people in the room would be broken. {way_out}; to ask for "
            "more is a new promise: enrol again, in a new folder"
        )

    def compute_epsilon(self, delta: float | None, promised: float) -> float:
        """Return the epsilon that all charges together amount to at this delta.

        Within the budget it is at most the promised one, which the exact curve of the
        Gaussian gives for the whole budget and which is a little less than what rho alone
        implies. Of a pure promise, with no delta, it is the share that is spent: each round has
        the same price, and epsilons add up.

        Args:
            delta: none of a pure promise.
            promised: the epsilon of the whole.

        Source: Canonne, Kamath and Steinke 2020, Corollary 13.
        """
        if delta is None:
            return promised * float(self.spent / self.budget)
        spent = zcdp_epsilon(float(self.spent), delta)
        return min(spent, promised) if self.spent <= self.budget else spent
