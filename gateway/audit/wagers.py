"""Layer `spoken`, second part: how often real devices answer near by, against the exact chance.

What is counted is whether an answer is one that the reading makes likelier than another reading
does: how often that is so is a binomial, whose tails are exact. It sees a device that draws with
other weights than the Round's by a tenth. Exact laws are the business of `weighed`; this is the
whole way, from keys to frames.
"""

from collections.abc import Iterator
from typing import Any

from scipy.stats import binom

from .bench import Device, message
from .claim import Claim, Effort

TRIES = 600


def wagered(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room with more than one answer, how often devices answered near by."""
    subject, tries = mechanism.subject, effort.pick(TRIES, 20 * TRIES)
    for name, query in subject.rooms():
        round = mechanism.plan(query, ())
        inputs, stated = subject.inputs(round), subject.stated(round)
        here, there = stated(inputs[0]), stated(inputs[len(inputs) // 2])
        likelier = {answer for answer, weight in here.items() if weight > there[answer]}
        if not likelier:
            continue  # everybody is in the same place
        chance = sum(here[one] for one in likelier) / sum(here.values())
        root = effort.root("wagers", name)
        device = Device(round, root, held=subject.limits(round, tries))
        near = 0
        for number in range(1, tries + 1):
            frame = device.answer(message(round, number)[1], inputs[0].values)
            near += frame is not None and tuple(device.opened(frame).payload) in likelier
        # Both tails, so half of what may be for each.
        rare = min(binom.cdf(near, tries, chance), binom.sf(near - 1, tries, chance))
        yield Claim(
            f"{name}: devices answer near by as often as the Round's weights say",
            chance,
            near / tries,
            bool(rare > effort.alpha / 2),
            unit="chance",
            samples=tries,
            alpha=effort.alpha,
            detail=f"{near} of {tries}",
        )
