"""What this deployment has spent of its privacy, in exact fractions of rho.

rho is the price of a release under zero-concentrated differential privacy; it adds up
without loss. A round is charged before it is published: once the devices have seen it
they answer, and what they said cannot be unsaid, even if the gateway dies the next moment.
The exception, of mechanisms whose noise the gateway draws, is `paid_at_release`.

A device that answers one round twice has told more about its own sensor. The fleet's loss
is at most the loss of its most talkative device (each pair of places is seen by all sensors
together, and no sensor counts for more than its own number of answers), so the extra
charges add up device by device and only the greatest of them counts.

Source: Canonne, Kamath and Steinke 2020, Theorem 14 (composition of discrete Gaussians).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from recovery.noise.gaussian import zcdp_epsilon

from .currency import RHO, Unit


class Charge(NamedTuple):
    """rho spent by one round; device is empty when the whole fleet was asked."""

    rho: Fraction
    device: str = ""


def price(guarantee: Any) -> Fraction:
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


def paid_at_release(guarantee: Any) -> bool:
    """Return whether a round is paid for when its result is released, and not when it is asked.

    Where devices blur what they say, asking is what costs: whoever has seen the Round answers it,
    the answers are public, and they cannot be unsaid, whatever becomes of us. So that is charged
    before a Round goes out. Where the gateway draws the noise, answers go no further than here,
    and what costs is the one result: it is charged in the transaction that keeps it, so that a
    round that dies on the way costs nothing, and none is released unpaid. Trust that is neither
    plainly the one nor the other is charged as early as it may be needed.

    >>> from edge.records import Guarantee
    >>> [paid_at_release(Guarantee(*[None] * 4, trust, "", "")) for trust in ("central", "local")]
    [True, False]
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
        for charge in self.charges:
            extra[charge.device] += charge.rho
        fleet = extra.pop("", Fraction(0))
        return fleet + max(extra.values(), default=Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; never below nothing."""
        return max(self.budget - self.spent, Fraction(0))

    def charged(self, more: Iterable[Charge]) -> "Ledger":
        """Return the ledger with these charges added."""
        return Ledger(self.budget, (*self.charges, *more))

    def refusal(self, number: int, rho: Fraction, unit: Unit = RHO) -> str:
        """Return why a round at this price must not be opened, or nothing when it may.

        Args:
            unit: what the promise is told in.
        """
        if rho <= self.left:
            return ""
        left, whole = (float(unit.of(one)) for one in (self.left, self.budget))
        has = f"has {left:.4g} left of its {whole:.4g} and"
        stands = (
            f"each device {has} it is not opened"
            if unit.is_epsilon
            else f"the site {has} will not open it"
        )
        way_out = (
            f"Ask for {unit.said(self.left)} or less"
            if self.left
            else "Nothing can be asked any more"
        )
        return (
            f"round {number} asks for {unit.said(rho)}, but {stands}: "
            f"the promise to the people in the room would be broken. {way_out}; to ask for "
            "more is a new promise: enrol again, in a new folder"
        )

    def epsilon(
        self, delta: float | None, promised: float, whole: Fraction | None = None
    ) -> float:
        """Return the epsilon that all charges together amount to at this delta.

        Within the budget it is at most the promised one, which the exact curve of the
        Gaussian gives for the whole budget and which is a little less than what rho alone
        implies. Of a pure promise, with no delta, it is the share that is spent: each round has
        the same price, and epsilons add up.

        Args:
            delta: none of a pure promise.
            promised: the epsilon of the whole.
            whole: the rho that is promised that epsilon, where a smaller budget was set since.

        Source: Canonne, Kamath and Steinke 2020, Corollary 13.
        """
        if delta is None:
            return promised * float(self.spent / (whole or self.budget))
        spent = zcdp_epsilon(float(self.spent), delta)
        return min(spent, promised) if self.spent <= self.budget else spent
