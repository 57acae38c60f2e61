"""What the room has paid already, and so is not in the budget of a device that comes later."""

import math
from collections.abc import Iterable
from contextlib import closing
from fractions import Fraction

from edge.limits import NANO

from ..deployment import Deployment
from ..ledger import Charge
from ..storage.places import place_of
from ..storage.reader import Reader
from .device_standing import has_store


def spent(deployment: Deployment, name: str) -> int:
    """Return the nano-rho that every round so far has cost, and this device's own extra answers.

    Each price is rounded up by itself, as devices do.
    """
    if not has_store(deployment):
        return 0
    with closing(Reader(place_of(deployment))) as reader:
        charges = reader.ledger(Fraction(0)).charges
    return counted(one for one in charges if one.device in ("", name))


def counted(charges: Iterable[Charge]) -> int:
    """Return charges in nano-rho.

    >>> counted((Charge(Fraction(1, 3)), Charge(Fraction(1, 2), "attic")))
    833333334
    """
    return sum(math.ceil(NANO * one.rho) for one in charges)
