"""What each way to the readings costs: operations, numbers kept, and whether it can be at all.

An operation is one multiplication and addition on a number that comes from memory, about 1 ns.
The weights of the others were timed on one core of a small server in 2026: they choose between
ways whose costs are far apart, and near a tie either way is as good.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernel import AnyWalls
from ..kernels.line import SWITCH
from ..places import Floats
from .even_steps import even_steps
from .layout import Axes
from .lowrank import MOST_NODES
from .near import MOST_PAIRS, reach_m
from .panels import MOST_PANELS, NODES, panels_of

_ENTRY, _IMAGED = 6.0, 45.0  # one value of a kernel along one axis; and by mirror images
_TRANSFORM = 2.0  # one number, times the logarithm of how many, there and back
_PAIR, _FOUND = 2.0, 150.0  # one near pair in a product; and when it is looked for
_HANDED, _PASSED = 15.0, 0.3  # one node at one place by panels; one node to one node
_NODE, _THIN = 25.0, 0.2  # one node at one place when factors are made, and each direction of it
# An estimator takes some dozens of products from one operator.
_PRODUCTS = 30
# A matrix or factor of a gigabyte is the most that is kept.
MOST_KEPT = 1 << 27


class Way(NamedTuple):
    """One way to the readings: what making it and each product cost, and what is kept."""

    method: str
    making: float
    product: float
    kept: float
    fact: str

    @property
    def cost(self) -> float:
        """Operations for making it and for some dozens of products."""
        return self.making + _PRODUCTS * self.product


def ways(
    sources: Axes | Floats,
    sensors: Axes | Floats,
    spread_m2: float,
    walls: AnyWalls,
    lengths_m: tuple[float, ...],
) -> list[Way]:
    """Return the ways that can be, the cheapest first; "direct" is always among them.

    Args:
        sources, sensors: as `physics.operators.layout.laid_out` gives them.
    """
    found = list(_anywhere(sources, sensors, spread_m2, walls, lengths_m))
    if isinstance(sources, Axes) and isinstance(sensors, Axes):
        found += _gridded(sources, sensors, spread_m2, _entry(spread_m2, walls, min(lengths_m)))
    return sorted((way for way in found if way.kept <= MOST_KEPT), key=lambda way: way.cost)


def _anywhere(
    sources: Axes | Floats,
    sensors: Axes | Floats,
    spread: float,
    walls: AnyWalls,
    lengths: tuple[float, ...],
) -> Iterator[Way]:
    spans = [_span(sources, axis, sensors) for axis in range(len(lengths))]
    many, few = _count(sources), _count(sensors)
    entries = float(many) * few
    making = entries * sum(_entry(spread, walls, length) for length in lengths)
    yield Way("dense", making, entries, entries, f"{entries:.3g} entries are few")
    yield Way("direct", 0.0, making + entries, 0.0, "no other way fits, rows are formed anew")
    nodes = [24 + 3.6 * span / math.sqrt(2 * spread) for span in spans]
    if max(nodes) <= MOST_NODES:
        # Of two directions that are each nearly lost the product is lost altogether.
        share = (1.0, 0.6, 0.3)[len(lengths) - 1]
        rank = share * math.prod(8 + 1.9 * span / math.sqrt(spread) for span in spans)
        kept = (many + few) * rank
        each = _NODE + _THIN * rank ** (1 / len(lengths))
        thin = (many + few) * sum(nodes) * each + kept + sum(nodes) ** 3
        yield Way("low rank", thin, kept, kept, f"{rank:.0f} directions carry all heat")
    reach = reach_m(spread)
    panels = panels_of(max(spans), spread)
    if len(lengths) == 1 and panels <= MOST_PANELS:
        handed = float(many + few) * NODES
        passed = _PASSED * panels * NODES**2 * (reach / max(spans[0], spread**0.5) * panels + 3)
        fact = f"{panels} panels hold places that are not even"
        yield Way("panels", _HANDED * handed, _PAIR * handed + passed, 1.5 * handed, fact)
    if walls == "none" or reach <= min(lengths):
        share = math.prod(min(1.0, 2 * reach / span) if span else 1.0 for span in spans)
        pairs = entries * share
        if pairs <= MOST_PAIRS:
            fact = f"heat reaches {reach:.3g} m, about {pairs:.3g} pairs"
            yield Way("near", _FOUND * (pairs + many + few), _PAIR * pairs, 1.5 * pairs, fact)


def _gridded(sources: Axes, sensors: Axes, spread: float, entry: float) -> Iterator[Way]:
    cells, seen = sources.counts, sensors.counts
    making, product, kept, left = 0.0, 0.0, 0.0, float(math.prod(cells))
    turning, even = 0.0, True
    for there, here in zip(sources.arrays(), sensors.arrays(), strict=True):
        many, few = len(there), len(here)
        span = max(float(np.ptp(there)), float(np.ptp(here))) / math.sqrt(spread)
        rank = min(8 + 1.9 * span, many * few / (many + few))
        making += entry * min(many * few, (many + few) * 2 * (24 + rank))
        each = min(many * few, (many + few) * rank) / many
        product, kept = product + left * each, kept + each * many
        steps = even_steps(there, here, spread)
        even = even and steps is not None
        if steps is not None:
            turned = many * steps.source_every + few * steps.sensor_every
            turning += left / many * _TRANSFORM * turned * math.log2(turned + 1)
        left *= few / many
    if even:
        fact = "the places are even"
        setting = 2 * entry * (sum(cells) + sum(seen))
        yield Way("transform", setting, turning, 6.0 * (sum(cells) + sum(seen)), fact)
    if len(cells) > 1:
        fact = f"one factor an axis, {kept:.3g} numbers in all"
        yield Way("separable", making, product, kept, fact)


def _entry(spread: float, walls: AnyWalls, length: float) -> float:
    """Return what one value of the kernel costs, as `physics.kernels.line` reckons it."""
    return _IMAGED if walls != "none" and spread / length**2 < SWITCH else _ENTRY


def _count(places: Axes | Floats) -> int:
    return math.prod(places.counts) if isinstance(places, Axes) else len(places)


def _span(sources: Axes | Floats, axis: int, sensors: Axes | Floats) -> float:
    """Return how far places stand apart along an axis, of sources or sensors, the larger."""
    lines = [
        places.arrays()[axis] if isinstance(places, Axes) else places[:, axis]
        for places in (sources, sensors)
    ]
    return max(float(np.ptp(line)) for line in lines)
