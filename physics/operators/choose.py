"""The forward operator that suits a task, and in one sentence why it was chosen."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import SWITCH, AnyWalls
from ..places import Floats
from .direct import Dense, Direct, count
from .layout import Axes, laid_out, room_lengths
from .lowrank import MOST_NODES, forward_thin
from .near import MOST_PAIRS, forward_near, reach_m
from .panels import MOST_PANELS, NODES, forward_panels, panels_of
from .separable import forward_separable
from .uniform import even_steps, forward_uniform

# What each way to the readings costs: operations, numbers kept, and whether it can be at all.
#
# An operation is one multiplication and addition on a number that comes from memory, about 1 ns.
# The weights of the others were timed on one core of a small server in 2026: they choose between
# ways whose costs are far apart, and near a tie either way is as good.

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
    """Return what one value of the kernel costs, as `physics.kernel` reckons it."""
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


# What every forward operator can do, whatever it is made of.


class Operator(Protocol):
    """The forward operator A, (sensors, sources), with readings = A @ heat.

    Sources and sensors of a grid are counted with x fastest, as in `physics.places`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""


# Each kind of forward operator made, and how far it is from direct sums.

# The stated error is measured on so many kernel values, and on at least four sensors.
_PROBED = 1 << 21


def made(method: str, direct: Direct) -> tuple[Operator, str]:
    """Return the operator by this method, and which transform where it is one.

    Raises:
        ValueError: it cannot be.
    """
    places = direct.sources_m, direct.sensors_m
    given = direct.spread_m2, direct.walls, direct.lengths_m
    if method == "dense":
        return Dense(direct.dense()), method
    if method == "direct":
        return direct, method
    if method in ("transform", "separable"):
        along = [part.arrays() for part in places if isinstance(part, Axes)]
        if method == "separable":
            return forward_separable(along[0], along[1], *given), method
        uniform = forward_uniform(along[0], along[1], *given)
        if uniform is None:
            raise ValueError("the places are not even")
        return uniform, uniform.method
    flat = [part.flat() if isinstance(part, Axes) else part for part in places]
    there, here = (part.reshape(len(part), -1) for part in flat)
    if method == "panels":
        return forward_panels(there[:, 0], here[:, 0], *given[:2], given[2][0]), method
    return (forward_thin if method == "low rank" else forward_near)(there, here, *given), method


def measured(operator: Operator, direct: Direct) -> float:
    """Return the operator's error as `Chosen` states it."""
    if isinstance(operator, Dense | Direct):
        return 0.0
    sensors, sources = direct.shape
    rows = min(sensors, max(4, min(64, _PROBED // sources)))
    some = np.unique(np.linspace(0, sensors - 1, rows).astype(np.intp))
    # Multiples of the golden section: heat that is nowhere alike, and the same at every run.
    heat = np.arange(1, sources + 1) * ((5**0.5 - 1) / 2) % 1.0
    readings, truth = operator.matvec(heat), direct.rows(some) @ heat
    largest = max(float(np.abs(readings).max()), float(np.abs(truth).max()))
    return float(np.abs(readings[some] - truth).max()) / largest if largest else 0.0


Method: TypeAlias = Literal[
    "dense", "direct", "transform", "separable", "low rank", "near", "panels"
]

# A way that errs by more is only taken when it is wanted: where all readings are next to nought,
# what near pairs leave out may be all there is.
_GOOD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A forward operator that says what it is.

    Args:
        operator: the operator itself.
        method: "dense", "direct", "fft", "dct", "dst", "separable", "low rank", "near" or
            "panels".
        why: one sentence with the sizes.
        error: the greatest difference from direct sums found on an even sample of the sensors,
            relative to the greatest reading, for heat in every source; 0 where they are it.
        cells: how many sources along each axis of their grid, x first; None where they are
            scattered in a plane or a room.
    """

    operator: Operator
    method: str
    why: str
    error: float
    cells: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return self.operator.shape

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        return self.operator.matvec(heat)

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        return self.operator.rmatvec(readings)

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        return self.operator.columns(sources)

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""
        return self.operator.dense()


def forward_operator(
    sources_m: ArrayLike | Axes,
    sensors_m: ArrayLike | Axes,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
    want: Method | None = None,
) -> Chosen:
    """Return the operator of `physics.kernel.forward` in the form that costs least.

    Args:
        sources_m, sensors_m: (k,) along a line, (k, 2) in a plane, (k, 3) in a room, or `Axes`
            of a grid; a grid that is told place by place, x fastest, is recognised.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", or "insulated" or "cold" for walls at 0 and `length_m` on every axis.
        length_m: between the walls; one for each axis of a room that is no cube.
        want: this method and no other; None for the cheapest by `physics.operators.choose`.

    Raises:
        ValueError: as `physics.kernel.forward`, or the method that is wanted cannot be.

    >>> places = np.arange(20000) / 20000
    >>> operator = forward_operator(places, places, spread_m2=0.05)
    >>> operator.method, operator.why, operator.error < 1e-12
    ('fft', '20000 sources, 20000 sensors: the places are even', True)
    """
    sources, sensors = laid_out("sources_m", sources_m), laid_out("sensors_m", sensors_m)
    lengths = _checked(sources, sensors, spread_m2, walls, length_m)
    if want is not None and want not in get_args(Method):
        raise ValueError(
            f"want is {want!r} but must be one of {', '.join(get_args(Method))}, for these are "
            "the operators there are. Leave it out to have the cheapest."
        )
    if not isinstance(sources, Axes) or not isinstance(sensors, Axes):
        # Beside scattered places the axes of a grid help with its rows alone.
        sensors = sensors.flat() if isinstance(sensors, Axes) else sensors
    direct = Direct(sources, sensors, spread_m2, walls, lengths)
    found = ways(sources, sensors, spread_m2, walls, lengths)
    fault = "its cost was not even reckoned"
    for way in [way for way in found if want in (None, way.method)]:
        try:
            chosen = _stated(way, direct)
        except ValueError as refused:  # what it takes was only estimated
            fault = str(refused)
            continue
        if want or chosen.error <= _GOOD:
            return chosen
    raise ValueError(
        f"want is {want!r} for {count(sources)} sources and {count(sensors)} sensors at a spread "
        f"of {spread_m2:g} but these can only have {_listed(found, want)}, for transforms need "
        "even places, panels a line, factors a grid of two axes or more, low rank heat that has "
        f"spread, near pairs heat that has not, and each must fit ({fault}). Leave `want` out."
    )


def _stated(way: Way, direct: Direct) -> Chosen:
    operator, method = made(way.method, direct)
    why = f"{direct.shape[1]} sources, {direct.shape[0]} sensors: {way.fact}"
    cells = direct.sources_m.counts if isinstance(direct.sources_m, Axes) else None
    return Chosen(operator, method, why, measured(operator, direct), cells)


def _listed(found: list[Way], want: str | None) -> str:
    return ", ".join(way.method for way in found if way.method != want)


def _checked(
    sources: Axes | Floats,
    sensors: Axes | Floats,
    spread_m2: float,
    walls: AnyWalls,
    length_m: float | Sequence[float],
) -> tuple[float, ...]:
    """Return the length of each axis, once the outermost places are known to be in order."""
    ends = []
    for places in (sources, sensors):
        lines = places.arrays() if isinstance(places, Axes) else tuple(places.T)
        ends.append(np.array([[line.min(), line.max()] for line in lines]).T)
    return room_lengths(
        ends[0], ends[1], spread_m2, walls, tuple(np.atleast_1d(length_m).tolist())
    )
