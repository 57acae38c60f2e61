"""A fleet of virtual devices: edge's own nodes, which look at a world made here.

Everything between the reading and the frame is the code that runs on a board. Only what a
sensor sees is virtual: the truth that `set_temperatures` sets, the sensor's noise and its
converter. The world's generator serves physics alone; keys and the veil's noise never come from
it.

With `PointSensors` every reading is a fresh look at the truth. With `Instruments` time passes:
what is shown is read once, with lag, drift and drop-outs, and the empty room is taken off.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edge.core.entropy import Tape
from edge.core.node import Node
from edge.core.pixels import subtract_baseline
from edge.mechanisms import USUAL

from .instruments.chain import Instruments
from .sensors import PointSensors, to_grains

# Where the device has its privacy stage: after the converter, before anything leaves.
#
#     counts of the converter        `Instruments.measure`
#     less the empty room, in grains `edge.core.pixels.subtract_baseline`: whole numbers, and a
# public constant
#     clamped                        `edge.mechanisms.thermal.veil`
#     and blurred with exact noise   the same, from the device's own key
#
# The two functions below are these lines for somebody who has no radio; a real device, and a
# virtual one, run `edge.core.node` instead, which also verifies, pays and signs.
#
# The sensor's own noise comes before all this and is credited with nothing: the variance of the
# blur is planned from what heat and converter can change, and is the same for a sensor without
# any noise. Nobody has promised the law of that noise, and whoever cools the sensor lessens it.
# Nor does lag count: it averages what was there before, so that no reading moves further than the
# temperatures did, and that is all that is used.


def convert_counts(
    counts: Sequence[int | None], empty: Sequence[int], exponent: int, step: Fraction
) -> tuple[int, ...]:
    """Return counts less the empty room, in grains of 2**-exponent kelvin. Private.

    Args:
        counts: of the sensors of one device, as `Instruments.measure` gives them.
        empty: the same of the empty room, public.
        step: of the converter, in kelvin.

    Raises:
        ValueError: a reading did not come, so that there is nothing to answer with; or the
            empty room is of another device.
    """
    heard = [count for count in counts if count is not None]
    if len(heard) < len(counts):
        raise ValueError(
            f"{len(counts) - len(heard)} of {len(counts)} readings did not come but a device "
            "answers with all or not at all: a number in their place would be a guess. Ask again."
        )
    return tuple(subtract_baseline(heard, empty, exponent, step.as_integer_ratio()))


# What a fleet's devices look at: the truth anew each time, or what instruments have counted.
#
# Both are shown temperatures, and give a device's readings in grains; a fleet has one of them.


class Fresh:
    """Point sensors, which look anew at each reading; time does not pass for them."""

    def __init__(self, sensors: PointSensors, world: np.random.Generator) -> None:
        self._sensors, self._world = sensors, world
        self.count = len(sensors.places_m)
        self._truth = np.zeros(self.count)

    def find_step(self, own: slice) -> Fraction | None:
        """Return what the least move may show, in kelvin.

        See `recovery.noise.worst.find_least_shown`.
        """
        step = self._sensors.step
        return step if step is None else step * (self._sensors.behind // step + 1)

    def set_temperatures(self, temperatures: ArrayLike, at_s: float | None) -> None:
        """Set what there is to see.

        Raises:
            ValueError: as `PointSensors.check_temperatures`.
        """
        self._truth = self._sensors.check_temperatures(temperatures)

    def read(self, own: slice, params: Any) -> tuple[int, ...]:
        """Return the readings of these sensors now, in grains. Private."""
        truth = self._truth[own]  # was checked when it was shown
        seen = truth + self._world.normal(0, self._sensors.noise_sd, truth.shape)
        return to_grains(seen, params.exponent, self._sensors.step, self._sensors.behind)


class Lasting:
    """Instruments of one kind or several, which count once what they are shown.

    Args:
        kinds: one after the other, in the order of the sensors.
        empty: count of each sensor in the empty room; None lets them look at it first.

    Raises:
        ValueError: an empty room of other sensors.
    """

    def __init__(self, kinds: Sequence[Instruments], empty: Sequence[int] | None) -> None:
        self._kinds = tuple(kinds)
        self._ends = np.cumsum([kind.count for kind in self._kinds]).tolist()
        self.count = self._ends[-1] if self._ends else 0
        if empty is None:
            empty = [count for kind in self._kinds for count in kind.record_empty_room()]
        if len(empty) != self.count:
            raise ValueError(
                f"the empty room has {len(empty)} counts but there are {self.count} "
                "sensors, and each is held against its own. Record the empty room again."
            )
        self._empty = tuple(empty)
        self._counts: Sequence[int | None] = self._empty

    def find_step(self, own: slice) -> Fraction:
        """Return what the least move shows of these sensors' converters, in kelvin.

        Raises:
            ValueError: they are of two kinds, so no one Round is made for all of them.
        """
        kind = self._find_kind(own)
        return kind.step * (kind.preset.behind // kind.step + 1)

    def _find_kind(self, own: slice) -> Instruments:
        first, last = (
            int(np.searchsorted(self._ends, sensor, "right"))
            for sensor in (own.start, own.stop - 1)
        )
        if first != last:
            raise ValueError(
                f"a device with sensors {own.start} to {own.stop - 1} would have "
                f"{self._kinds[first].preset.name} and {self._kinds[last].preset.name}, but a "
                "device has one converter, for which its noise is made. Enrol them apart."
            )
        return self._kinds[first]

    def set_temperatures(self, temperatures: ArrayLike, at_s: float | None) -> None:
        """Let every instrument see its part; None for as soon as all can read again.

        Raises:
            ValueError: a wrong number of temperatures, or as `Instruments.measure`.
        """
        when = max((kind.next_s for kind in self._kinds), default=0.0) if at_s is None else at_s
        shown = np.asarray(temperatures, dtype=float)
        if shown.shape != (self.count,):
            raise ValueError(
                f"there are temperatures of shape {shown.shape} but {self.count} sensors, each "
                "of which sees exactly one. Is the view made for them?"
            )
        parts = np.split(shown, self._ends[:-1])
        counts: list[int | None] = []
        for kind, part in zip(self._kinds, parts, strict=True):
            counts += kind.measure(part, when)
        self._counts = tuple(counts)

    def read(self, own: slice, params: Any) -> tuple[int, ...]:
        """Return the readings of these sensors less the empty room, in grains. Private.

        Raises:
            ValueError: a reading did not come.
        """
        return convert_counts(
            self._counts[own], self._empty[own], params.exponent, self._find_kind(own).step
        )


# edge.core.entropy.Identity, and the edge.core.budget.Budget of this device, which has booted
Device: TypeAlias = tuple[Any, Any]


class Member(NamedTuple):
    """What a device of a fleet is made of."""

    identity: Any
    budget: Any
    step: tuple[int, int] | None  # of its converter, in kelvin
    follower: Any
    tables: bool = False  # whether it may draw noise from tables
    mechanism: str = USUAL


class Fleet:
    """Virtual devices by name, all in one world.

    Args:
        devices: who they are and what they may spend; `gateway.devices.enrol.budgets` starts
            them. An array is one device with all its pixels.
        sensors: all the sensors of the room, of which each device reads its own; instruments
            of several kinds one after the other; or, as places are, whatever has `count`,
            `find_step` and `read` as `Fresh` has.
        world: makes the noise of `PointSensors`; `Instruments` have theirs already.
        empty: count of each sensor in the empty room, public; for `Instruments` only. None
            lets them look at it for half an hour before they are shown anything.
        follower: makes each device a level of its own that follows its readings, as
            `recovery.thermal.noise.make_follower` does of a query planned for it; None for none.
        alone: so many readings of each device come first, before anything is there; for
            `PointSensors` only, for with instruments time passes by itself.
        tables: whether arrays may draw their noise from tables, if a Round asks for that.
        mechanism: what they answer.

    Raises:
        ValueError: a device of a sensor that is not there, or two devices of one name; of
            sensors of two kinds; an empty room of other sensors; point sensors without a world.
    """

    def __init__(
        self,
        devices: Iterable[Device],
        sensors: Any,
        world: np.random.Generator | None,
        empty: Sequence[int] | None = None,
        follower: Callable[[], Any] | None = None,
        alone: int = 0,
        tables: bool = False,
        mechanism: str = USUAL,
    ) -> None:
        self._sees = sensors
        if isinstance(sensors, PointSensors):
            if world is None:
                raise ValueError(
                    "the fleet has point sensors but no world, and their noise is drawn from it. "
                    "Give it numpy.random.default_rng(seed)."
                )
            self._sees, self._empty = Fresh(sensors, world), Fresh(sensors, world)
        elif isinstance(sensors, Instruments | list | tuple):
            self._sees = Lasting([sensors] if isinstance(sensors, Instruments) else sensors, empty)
        count = self._sees.count
        self._nodes: dict[str, Node] = {}
        self.recorded_ms: int | None = None  # when `empty` was counted, for what devices say
        self._members: dict[str, Member] = {}
        self._begin, self._first = follower, alone
        self._alone: dict[str, int] = {}
        for who, budget in devices:
            last = who.sensor + who.sensors - 1
            if who.name in self._members or not 0 <= who.sensor <= last < count:
                raise ValueError(
                    f"device {who.name!r} with sensors {who.sensor} to {last} is there twice or "
                    f"reads one that is not, for the room has 0 to {count - 1}; every "
                    "reading needs one place and one name. Enrol the fleet again."
                )
            step = self._sees.find_step(slice(who.sensor, last + 1))
            ratio = None if step is None else step.as_integer_ratio()
            level = follower and follower()
            self._members[who.name] = Member(who, budget, ratio, level, tables, mechanism)
            self._alone[who.name] = alone

    @property
    def names(self) -> tuple[str, ...]:
        """Who is in the fleet, in the order in which they came."""
        return tuple(self._members)

    def find_node(self, name: str) -> Any:
        """Return the device itself, an `edge.core.node.Node`."""
        if name not in self._nodes:
            self._nodes[name] = Node(*self._members[name])
            self._nodes[name].recorded_ms = self.recorded_ms
        return self._nodes[name]

    def find_member(self, name: str) -> "Member":
        """Return what a device is made of, for whoever runs it as an `edge.net.device.Device`."""
        return self._members[name]

    def restart(self, name: str, budget: Any) -> None:
        """Let a device begin anew with a budget that has booted, as after a power cut."""
        renewed = self._begin and self._begin()
        self._members[name] = self._members[name]._replace(budget=budget, follower=renewed)
        self._alone[name] = self._first
        self._nodes.pop(name, None)

    def set_temperatures(self, temperatures: ArrayLike, at_s: float | None = None) -> None:
        """Set what there is to see, (sensors,), in kelvin above the baseline.

        Args:
            at_s: when, for `Instruments`; None for as soon as they can read again.

        Raises:
            ValueError: a wrong number of temperatures, or one not finite; one that is negative,
                for `PointSensors`; a time that goes back, for `Instruments`.
        """
        self._sees.set_temperatures(temperatures, at_s)

    def answer(self, name: str, message: bytes) -> bytes | None:
        """Return a device's frame for the message of a Round, or None: see `find_refusal`."""
        found: bytes | None = self.find_node(name).answer(
            message, lambda params: self.read(name, params)
        )
        return found

    def find_refusal(self, name: str) -> str:
        """Return why a device did not answer the last Round; empty when it did."""
        return str(self.find_node(name).refusal)

    def read(self, name: str, params: Any) -> tuple[int, ...]:
        """Return what a device's sensors see now, in the Round's grains. Private.

        Raises:
            ValueError: a reading did not come. The device then makes no frame; the Round is paid
                for and is answered, at no further cost, when it is asked again and one comes.
        """
        who = self._members[name].identity
        own = slice(who.sensor, who.sensor + who.sensors)
        if self._alone[name] > 0:
            self._alone[name] -= 1
            return self._empty.read(own, params)
        found: tuple[int, ...] = self._sees.read(own, params)
        return found


def make_seeded_keys(seed: bytes) -> Callable[[int], bytes]:
    """Return a maker of key bytes that anyone with the seed repeats: for experiments only.

    Enrol the devices as keyholder with it: a sealed one mixes the system's entropy in, and
    its noise is another in each run.

    >>> make_seeded_keys(b"seven")(4) == make_seeded_keys(b"seven")(4)
    True
    """
    tape = Tape(seed)
    return lambda count: bytes(tape.below(256) for _ in range(count))
