"""The three ways to take the room's own warmth from the readings, and what each one needs.

recorded   on the device, a level recorded once in the empty room: public, so it costs nothing
following  on the device, a level that follows the readings: private, so the noise must hide
           what it gives away as well; see `edge.background`
gateway    after the veil, from readings of hours that are publicly known to be empty: costs
           no privacy either, but room in the clamp, and the map what the level is off by
"""

import math
from fractions import Fraction
from typing import Protocol

WAYS = ("recorded", "following", "gateway")


class Asked(Protocol):
    """What of a thermal query has to do with the room's own warmth."""

    @property
    def background(self) -> str:
        """One of `WAYS`."""

    @property
    def slew(self) -> Fraction | None:
        """What a level that follows moves by at the most, in kelvin an answer."""

    @property
    def background_k(self) -> float:
        """How far the room may leave what was recorded, in kelvin."""

    @property
    def empty_readings(self) -> int:
        """How many of the first readings are publicly known to be of nobody."""

    @property
    def readings(self) -> int:
        """How many share the promise."""


def check_background(asked: Asked) -> None:
    """Refuse what does not go together with a ValueError."""
    follows, slew = asked.background == "following", asked.slew
    gateway, empty = asked.background == "gateway", asked.empty_readings
    for name, good, needed in (
        ("background", asked.background in WAYS, f"one of {', '.join(WAYS)}"),
        (
            "slew",
            isinstance(slew, Fraction) and slew > 0 if follows else slew is None,
            "a positive Fraction of a kelvin where the background is following, and left out else",
        ),
        (
            "background_k",
            0 <= asked.background_k < math.inf and (asked.background_k > 0 or not gateway),
            "0 or more, and above 0 where the gateway takes the background away",
        ),
        (
            "empty_readings",
            type(empty) is int and (0 < empty < asked.readings if gateway else empty == 0),
            f"from 1 to below readings, {asked.readings}, where the gateway takes the background "
            "away, and 0 else",
        ),
    ):
        if not good:
            raise ValueError(
                f"{name} is {getattr(asked, name)!r} but must be {needed}: a room's own warmth "
                "would be taken for somebody's, or somebody's for the room's. Correct it in the "
                "query."
            )
