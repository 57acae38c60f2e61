"""What plays the parts in tests of faults; and how long and how large each of them is."""

import os
from collections.abc import Callable
from typing import TypeVar

FULL = os.environ.get("HEATVEIL_FAULTS") == "1"
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


def sized(short: T, full: T) -> T:
    """Return the size for `make test`, or the one for `make faults`."""
    return full if FULL else short


def takes_long(test: F) -> F:
    """Leave this test to `make faults`."""
    test.takes_long = True  # type: ignore[attr-defined]
    return test
