"""How people warm a room: air that mixes, and walls and furniture that take heat from it.

Heat enters the air at one place, mixes through a box that lets nothing out, and passes at a
rate into a store (walls and furniture) that slowly warms as well:

    F c dT/dt = power + F c mixing laplace(T) - F c exchange (T - S) - F c open T
    G c dS/dt = F c exchange (mean T - S)

with c the capacity of the bare air, F the capacity_factor of what warms with it at once, and G
the store_factor. The store sees the mean of the air alone, so only the mode that is even all
through the room knows it; every other mode dies away at its own rate.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..air import AIR_J_PER_M3K
from ..places import Floats

# A person is no point, and nobody sits still: the heat starts as a cloud of this width.
PERSON_SD_M = 0.4
# Modes shorter than this many widths hold under two per cent of the cloud.
_FINEST = 2.8
_TREND_S = 1800.0


@dataclass(frozen=True, slots=True)
class Warming:
    """What a room does with the heat of people.

    Args:
        capacity_factor: F, how many times its bare air the air and what follows it at once
            store; positive, about 2.
        store_factor: G, how many times its bare air the walls and the furniture store.
        exchange_per_s: at which rate the air loses its warmth to them.
        open_loss_per_s: at which rate it loses warmth besides while the door is open.
        mixing_m2_per_s: how fast warmth spreads through the air. A room file means by mixing
            how fast the air itself is stirred; what stores heat slows the warmth, so there it is
            F times as much.
        place_m: where people are, on the mean: x, y, and the height at which they warm the air.
        trend: how much of a trend before they came lasts; 0 for nothing, 1 for half an hour.
    """

    capacity_factor: float
    store_factor: float
    exchange_per_s: float
    open_loss_per_s: float
    mixing_m2_per_s: float
    place_m: tuple[float, float, float]
    trend: float = 0.0


def step_response(
    warming: Warming, size_m: Floats, places_m: Floats, at_s: Floats, door_open: bool = False
) -> Floats:
    """Return kelvin per watt at each place, (places, times), that a steady source leaves.

    Args:
        warming: the room.
        size_m: (3,): x, y and height.
        places_m: (places, 3).
        at_s: times since the source was switched on, (times,).
        door_open: whether the door is.
    """
    leak = warming.open_loss_per_s if door_open else 0.0
    waves = _waves(size_m)
    rates = warming.exchange_per_s + leak + warming.mixing_m2_per_s * (waves**2).sum(axis=1)
    grown = -np.expm1(-np.outer(rates, at_s)) / rates[:, None]
    grown[0] = _even(warming, leak, at_s)
    here = _shapes(waves, np.array([warming.place_m]))[0]
    return np.asarray((_shapes(waves, places_m) * (_weights(waves) * here)) @ grown) / _joules(
        warming, size_m
    )


def effective_capacity(warming: Warming, after_s: float) -> float:
    """Return how many times its bare air a closed room seems to store, after so long.

    That is what a steady source has given, over what the air has warmed on the mean. It starts
    at the capacity factor and grows as the walls take their share.
    """
    even = float(_even(warming, 0.0, np.array([after_s]))[0])
    return warming.capacity_factor * after_s / even


def pulse_response(
    warming: Warming, size_m: Floats, places_m: Floats, step_s: float, steps: int, door_open: bool
) -> Floats:
    """Return what a watt in the first step alone leaves, (places, steps), at their middles."""
    at_s = np.asarray((np.arange(steps) + 0.5) * step_s, float)
    response = step_response(warming, size_m, places_m, at_s, door_open)
    return np.asarray(np.diff(response, axis=1, prepend=0.0))


def compute_warming(pulse: Floats, power_w: Floats) -> Floats:
    """Return kelvin at the middle of each step, (places, steps), from watts in each step."""
    steps = len(power_w)
    return np.array([np.convolve(power_w, row[:steps])[:steps] for row in pulse])


def compute_trend(warming: Warming, trend_k_per_s: float, since_s: Floats) -> Floats:
    """Return what remains of a trend: it dies away within half an hour."""
    faded = -np.expm1(-since_s / _TREND_S) * _TREND_S
    return np.asarray(warming.trend * trend_k_per_s * faded)


def _even(warming: Warming, leak: float, at_s: Floats) -> Floats:
    """Return the mean of the air, in seconds: kelvin times joules per kelvin, over watts."""
    exchange = warming.exchange_per_s
    back = exchange * warming.capacity_factor / warming.store_factor
    # Both rates are roots of r**2 - (exchange + leak + back) r + leak back = 0.
    total = exchange + leak + back
    fast = (total + math.sqrt(total**2 - 4 * leak * back)) / 2
    slow = leak * back / fast
    share = (fast - back) / (fast - slow)
    long = at_s if slow == 0 else -np.expm1(-slow * at_s) / slow
    return np.asarray(share * -np.expm1(-fast * at_s) / fast + (1 - share) * long)


def _waves(size_m: Floats) -> Floats:
    """Return the wave numbers of the modes, (modes, 3), the even one first."""
    counts = (1 + np.floor(_FINEST * size_m / (math.pi * PERSON_SD_M))).astype(int)
    grids = np.meshgrid(*(np.arange(count) for count in counts), indexing="ij")
    return np.stack(grids, axis=-1).reshape(-1, 3) * (math.pi / size_m)


def _shapes(waves: Floats, places_m: Floats) -> Floats:
    """Return the modes at the places, (places, modes)."""
    return np.asarray(np.cos(waves * places_m[:, None, :]).prod(axis=2))


def _weights(waves: Floats) -> Floats:
    """Return how strongly a person's cloud starts each mode."""
    twice = np.where(waves > 0, 2.0, 1.0).prod(axis=1)
    return np.asarray(twice * np.exp(-0.5 * PERSON_SD_M**2 * (waves**2).sum(axis=1)))


def _joules(warming: Warming, size_m: Floats) -> float:
    return float(warming.capacity_factor * AIR_J_PER_M3K * np.prod(size_m))
