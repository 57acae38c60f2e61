"""What the room has paid already, and so is not in the budget of a device that comes later."""

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from fractions import Fraction

from edge.limits import NANO

from .. import config
from ..deployment import Deployment
from ..ledger import Charge, price
from ..mechanisms import named
from ..storage.places import place_of
from ..storage.reader import Reader
from ..terms import check_budget, check_terms, terms, unit_of
from .device_standing import has_store


def check_promise(deployment: Deployment) -> None:
    """Check that no device is given more than the store has promised, as the gateway does.

    Raises:
        OperatorFault: it would be, or it would be another promise.
    """
    if not has_store(deployment):
        return
    guarantee = named(deployment.rounds.mechanism).plan(config.query(deployment), []).guarantee
    with closing(Reader(place_of(deployment))) as reader:
        promised, least = reader.promise()
    check_terms(promised, terms(guarantee))
    check_budget(least, price(guarantee) * deployment.privacy.readings, unit_of(guarantee))


def spent(deployment: Deployment, others: Iterable[str]) -> int:
    """Return the nano-rho that every round so far has cost, and extra answers of its sensor.

    Each price is rounded up by itself, as devices do. Whose sensor a device read that is no more
    is not known, so what it told beside the rounds counts for every newcomer.

    Args:
        others: the devices that there are beside this one: what they told, they told.
    """
    if not has_store(deployment):
        return 0
    apart = frozenset(others)
    with closing(Reader(place_of(deployment))) as reader:
        charges = reader.ledger(Fraction(0)).charges
    return counted(one for one in charges if one.device not in apart)


def keys_heard(deployment: Deployment) -> Counter[str]:
    """Return of how many keys of each device the gateway has heard, by name."""
    if not has_store(deployment):
        return Counter()
    with closing(Reader(place_of(deployment))) as reader:
        return Counter(row.name for row in reader.devices())


def counted(charges: Iterable[Charge]) -> int:
    """Return charges in nano-rho.

    >>> counted((Charge(Fraction(1, 3)), Charge(Fraction(1, 2), "attic")))
    833333334
    """
    return sum(math.ceil(NANO * one.rho) for one in charges)
