"""From releases to what an estimator is given: readings of equal blur, and what is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.core.records import Release
from edge.mechanisms.thermal import NAME, PARAMS, Params, params_of
from physics.places import cell_places, length_m, sensor_places

from ..estimators.convex import compute_chi_radius
from ..estimators.record import Near, Prior, Seen, list_coolest
from ..estimators.verdict import FALSE_ALARMS
from ..packed import PackedNumbers
from ..sequence import uniforms
from .noise import bound_level, make_operator
from .query import Query, find_standing_room

# The room's own warmth, found after the veil: it costs no privacy, and the map its error.
#
# Whatever is made of what was published promises what was promised of that, so levels may be
# looked for in releases as long as one likes: in hours in which nobody is there, by a schedule.
#
# A level learnt while somebody sat there after all takes him for the room: he is missing from
# every map, and where he has gone the room seems colder than it is. Nothing here can tell that;
# only who keeps the schedule can.


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Levels:
    """What each sensor shows of the room alone, and how far that may be off, in kelvin."""

    level_k: Floats  # (sensors,); NaN where a sensor was not heard
    error_k: Floats  # (sensors,), standard errors, infinite where it was not heard
    readings: int  # how many they were learnt from
    # (sensors, causes): what one deviation of each cause adds to all of them together.
    shared_k: Floats | None = None


def learn_empty_levels(releases: Sequence[Release], own_noise_k: float = 0.0) -> Levels:
    """Return the levels by readings of hours that are publicly known to be empty.

        level = mean of the readings
        error**2 = (noise**2 + own**2) / readings + step**2 / 12

    Args:
        releases: of one plan, numbered as they were taken.
        own_noise_k: of a sensor, beside that of the veil; standard deviation.

    Raises:
        ValueError: no release, or none with an answer.
    """
    seen, noise = _read(releases, own_noise_k)
    heard = np.count_nonzero(~np.isnan(seen), axis=0)
    if not heard.any():
        raise ValueError(
            f"{len(releases)} readings give no level to any sensor but one with answers is "
            "needed: a map would show the room's own warmth. Take more while nobody is there."
        )
    count = np.maximum(heard, 1)
    level = np.where(heard, np.nansum(seen, axis=0) / count, np.nan)
    error = np.where(
        heard, np.sqrt(noise**2 / count + _compute_rounding_k(releases) ** 2), math.inf
    )
    return Levels(level, error, len(releases))


def whiten_sensors(
    parts: Sequence[Floats], typical: float, deviations: Floats, shared: Floats | None
) -> list[Floats]:
    """Return what sensors feel and read, weighed so that each has one deviation, of its own alone.

    Args:
        parts: each (sensors,) or (sensors, cells).
        typical: the deviation that all are to have.
        deviations: (sensors,), of each alone.
        shared: (sensors, causes), what each cause adds to all of them together; taken apart by
            the Cholesky factor of both.
    """
    if shared is None:
        return [(part.T * (typical / deviations)).T for part in parts]
    lower = np.linalg.cholesky(np.diag(deviations**2) + shared @ shared.T)
    return [typical * scipy.linalg.solve_triangular(lower, part, lower=True) for part in parts]


def _read(releases: Sequence[Release], own_noise_k: float) -> tuple[Floats, float]:
    """Return the readings in kelvin, (readings, sensors), and the deviation of their noise."""
    if len({tuple(release.round.params) for release in releases}) != 1:
        raise ValueError(
            f"{len(releases)} readings were given but at least one is needed, and all of one "
            "plan: other noise makes another level. Learn each plan's levels by themselves."
        )
    params = params_of(releases[0].round)
    grain = math.ldexp(1.0, -params.exponent)
    values = np.array([release.values for release in releases], dtype=np.float64) * grain
    return values, math.sqrt(params.variance * grain**2 + own_noise_k**2)


def _compute_rounding_k(releases: Sequence[Release]) -> float:
    """Return what the converter rounds off, which in a still room does not average away."""
    params = params_of(releases[0].round)
    return math.ldexp(params.step / math.sqrt(12), -params.exponent)


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """What all releases of one plan say of each sensor, added up.

    Args:
        params: the whole numbers that they were made with.
        total: (sensors,), in grains.
        times: (sensors,), how often each was heard; 0 where it is left out, too.
        levels: of the room alone, which are to be taken away; None where there are none.
    """

    params: Params
    total: Floats
    times: NDArray[np.int64]
    levels: Levels | None

    @property
    def heard(self) -> NDArray[np.bool_]:
        """Which sensors a map can be made of."""
        return self.times > 0

    def leave_out(self, sensors: Sequence[int]) -> "Readings":
        """Return them as if these sensors had kept silent."""
        times = self.times.copy()
        times[list(sensors)] = 0
        return replace(self, times=times)

    def find_mean_k(self) -> Floats:
        """Return the mean of each sensor that was heard, above its level."""
        heard = self.heard
        mean = np.ldexp(self.total[heard] / self.times[heard], -self.params.exponent)
        return mean if self.levels is None else mean - self.levels.level_k[heard]

    def find_deviations(self, query: Query) -> Floats:
        """Return the standard deviation of each of these means."""
        found = _compute_deviations(query, self.params, self.times[self.heard])
        return found if self.levels is None else np.hypot(found, self.levels.error_k[self.heard])


def add_up(query: Query, releases: Sequence[Release], levels: Levels | None = None) -> Readings:
    """Return what the releases say of each sensor.

    Args:
        levels: of the room alone, to be taken away. Where the query leaves that to the gateway
            and none are given, they are learnt from its first readings, known to be of nobody.

    Raises:
        ValueError: no release, or one that does not belong to the query.
    """
    params = find_shared_params(query, releases)
    releases, levels = find_occupied(query, releases, levels)
    shape = len(releases), math.prod(query.sensors)
    blurred = np.array([release.values for release in releases], dtype=np.float64).reshape(shape)
    times = np.count_nonzero(~np.isnan(blurred), axis=0)
    if levels is not None:
        times[~np.isfinite(levels.error_k)] = 0
    return Readings(params, np.nansum(blurred, axis=0), times, levels)


def make_seen(query: Query, readings: Readings) -> Seen | None:
    """Return what the readings leave to an estimator; None where no sensor was heard.

    Sensors that were silent are left out, and one that was heard less often, so is blurred
    more, is weighed so that the noise is alike on all: see `whiten_sensors`.
    """
    heard, levels = readings.heard, readings.levels
    if not heard.any():
        return None
    deviations = readings.find_deviations(query)
    typical = _find_typical(deviations)
    shared = None if levels is None or levels.shared_k is None else levels.shared_k[heard]
    held = None if query.response is None else query.response.others
    parts = [
        readings.find_mean_k(),
        make_operator(query)[heard],
        *(() if held is None else held[:, heard]),
    ]
    warmth, felt, *longer = whiten_sensors(parts, typical, deviations, shared)
    columns, rows = query.grid.shape
    return Seen(
        operator=felt,
        readings=warmth,
        sigma=typical,
        places=np.asarray(cell_places(query.grid)).reshape(columns * rows, -1),
        shape=(rows, columns),
        prior=make_prior(query),
        upper=query.intensity_max,
        failure=query.failure,
        level=query.level,
        open=find_standing_room(query) if query.furniture or query.response is not None else None,
        near=None if shared is not None else _make_near(query, heard, typical / deviations),
        others=np.array(longer) if longer else None,
    )


def _find_typical(deviations: Floats) -> float:
    """Return their root mean square, exactly theirs where all are alike.

    Weights are exactly one then in each round, and what is kept of a room serves the next.
    """
    most = float(deviations.max())
    return most * float(np.sqrt(np.mean(np.square(deviations / most))))


def _make_near(query: Query, heard: NDArray[np.bool_], weights: Floats) -> Near | None:
    """Return what the sensors would feel in other rooms; None where the room has a response."""
    if query.response is not None:
        return None
    lengths = tuple(np.atleast_1d(length_m(query.grid)).tolist())
    places = locate_sensors(query).reshape(-1, len(lengths))[heard]
    return Near(places, weights, query.spread_m2, query.walls, lengths)


# A reading that stands at the device's clamp is no warmth: the true one may be anything beyond.
#
# The clamp leaves room for all sources at once, each at its warmest. A sensor can come there as
# stated only where all of them stand around it, and whether that is rare the prior says.

# A reading is at the clamp from so many deviations of the noise below it on.
_AT_CLAMP = 4.0
# And counts as a fault only where few of so many scenes of the prior bring any sensor there.
_SCENES = 4000
_CLAMP_STREAM = 7_300_000  # of the fixed sequence
_FAR = 8.0  # deviations that noise does not bridge, however many the sensors


def find_clamped(query: Query, readings: Readings) -> tuple[int, ...]:
    """Return the sensors that show the most or the least a device can, counted from 0.

    Empty where sources as stated come to the clamp, too: then nothing can be told from it.
    """
    params, levels, heard = readings.params, readings.levels, readings.heard
    if not heard.any():
        return ()
    shown = np.full(len(heard), np.nan)
    shown[heard] = readings.total[heard] / readings.times[heard]
    noise = np.full(len(heard), np.inf)
    noise[heard] = _compute_deviations(query, params, readings.times[heard]) * 2.0**params.exponent
    with np.errstate(invalid="ignore"):
        high = shown > params.high - _AT_CLAMP * noise
        low = shown < params.low + _AT_CLAMP * noise
    # Below the baseline no source brings a sensor, unless noise alone reaches that far.
    low &= params.low < -2 * _AT_CLAMP * noise
    if high.any():
        room = np.zeros(len(heard)) if levels is None else np.nan_to_num(levels.level_k)
        spread = noise[heard] * 2.0**-params.exponent
        edge = math.ldexp(params.high, -params.exponent) - _AT_CLAMP * spread - room[heard]
        # Sources only add to what noise alone does in an empty room, which is quick to say.
        alone = -np.expm1(scipy.special.log_ndtr(edge / spread).sum())
        felt = make_operator(query)[heard]
        if (
            alone > FALSE_ALARMS
            or _estimate_clamp_chance(query, edge, felt, spread) > FALSE_ALARMS
        ):
            high[:] = False
    return tuple(np.flatnonzero(high | low).tolist())


def _estimate_clamp_chance(query: Query, edge: Floats, felt: Floats, noise: Floats) -> float:
    """Return about the chance that sources as stated, and noise, bring any sensor to its edge."""
    held = make_prior(query)
    cells = np.flatnonzero(find_standing_room(query))
    even = uniforms(_SCENES * (2 * held.most + 1), _CLAMP_STREAM).reshape(_SCENES, -1)
    numbers = held.fewest + (even[:, -1] * (held.most + 1 - held.fewest)).astype(np.int64)
    # Two in one cell are no scene of the prior, but warmer than all that are.
    where = cells[(even[:, : held.most] * len(cells)).astype(np.int64)]
    least = np.resize(list_coolest(held), _SCENES)
    heats = least[:, None] + (held.warmest - least[:, None]) * even[:, held.most : 2 * held.most]
    heats *= np.arange(held.most) < numbers[:, None]
    by_cell = np.ascontiguousarray(felt.T)
    nobody = 0.0
    for first in range(0, _SCENES, 100):  # all at once do not fit into a cache
        block = slice(first, first + 100)
        shown = np.zeros((100, len(felt)))
        for slot in range(held.most):
            shown += by_cell[where[block, slot]] * heats[block, slot, None]
        short = (edge - shown) / noise  # in deviations of the noise
        near = short < _FAR
        stays = scipy.special.log_ndtr(short[near])
        nobody += np.exp(np.bincount(np.nonzero(near)[0], stays, 100)).sum()
    return 1 - nobody / _SCENES


def drop_weights(query: Query, readings: Readings, weighed: Seen) -> tuple[Seen, Floats]:
    """Return the same without weights, and where the sensors are that were heard.

    For who builds operators of his own: readings as they came, all taken for as blurred as the
    one that is blurred most.

    Args:
        weighed: what `make_seen` made of these readings.
    """
    deviations = readings.find_deviations(query)
    # As `make_seen` weighed them: what judged the readings may have raised the noise since.
    weights = _find_typical(deviations) / deviations
    plain = replace(
        weighed,
        operator=weighed.operator / weights[:, None],
        readings=weighed.readings / weights,
        sigma=weighed.sigma / float(weights.min()),
    )
    return plain, locate_sensors(query)[readings.heard]


def locate_sensors(query: Query) -> Floats:
    """Return where the sensors are, (sensors,) along a line or (sensors, 2) in a plane."""
    if query.response is not None:
        return query.response.places_m
    return np.asarray(sensor_places(query.sensors, query.grid))


def make_prior(query: Query) -> Prior:
    """Return what the query holds to be so of the sources before any reading."""
    most = query.sources or min(
        query.sources_max, int(np.count_nonzero(find_standing_room(query)))
    )
    return Prior(query.sources or 0, most, query.intensity_max, query.intensity_min)


def bound_residual(seen: Seen, failure: float) -> float:
    """Return how far readings lie from those of the true heat, but for this chance."""
    return seen.sigma * compute_chi_radius(len(seen.readings), failure)


def compute_deviation(query: Query, params: Params, times: int | None = None) -> float:
    """Return the deviation of a sensor's mean over so many readings, all of them without."""
    return float(_compute_deviations(query, params, np.array([times or query.readings]))[0])


def _compute_deviations(query: Query, params: Params, times: NDArray[np.int64]) -> Floats:
    """Return the standard deviation of each sensor's mean, as the estimator believes it."""
    grain = 2.0**-params.exponent
    noise = params.variance * grain**2 / times
    if query.estimator == "l1-printed":
        return np.sqrt(noise)
    # Rounding is the same in every reading of a still scene, so it does not average away.
    steps = math.hypot(query.step or 0.0, query.behind)
    # From the mean of who stood still a level that follows has taken up to so much.
    taken = 0.0 if query.slew is None else float(bound_level(query.slew, query.readings)) / 2
    rounded = (grain**2 + steps**2) / 12 + taken**2 / 3
    return np.sqrt(noise + query.sensor_noise**2 / times + rounded)


def find_occupied(
    query: Query, releases: Sequence[Release], levels: Levels | None
) -> tuple[Sequence[Release], Levels | None]:
    """Return the readings that the map is of, and the levels to be taken from them, if any.

    Silent ones must be given too: those of the empty room are counted from the first.
    """
    if query.background != "gateway" or levels is not None:
        return releases, levels
    first = min(release.round.number for release in releases)
    known = [one for one in releases if one.round.number < first + query.empty_readings]
    rest = [one for one in releases if one.round.number >= first + query.empty_readings]
    if not rest or not any(value is not None for one in known for value in one.values):
        return [], None
    return rest, learn_empty_levels(known, query.sensor_noise)


def find_shared_params(query: Query, releases: Sequence[Release]) -> Params:
    """Return the whole numbers that all releases were made with, or refuse them."""
    sensors = math.prod(query.sensors)
    given = {(r.round.mechanism, r.round.grid, tuple(r.round.params)) for r in releases}
    lengths = {len(release.values) for release in releases}
    if len(given) != 1 or lengths != {sensors}:
        raise ValueError(
            f"the releases come of {len(given)} different plans with {sorted(lengths)} sensors "
            f"but must share one plan with {sensors}: other noise or other sensors make another "
            "map. Recover each plan's releases by themselves."
        )
    ((mechanism, grid, params),) = given
    if (mechanism, grid, len(params)) != (NAME, query.grid, PARAMS + (query.sampler == "table")):
        raise ValueError(
            f"the releases are of {mechanism} on {grid} but the query is of {NAME} on "
            f"{query.grid}: the map would be of another room. Recover with their own query."
        )
    for release in releases:
        held = release.values  # of thousands of sensors a look at each takes longer than their map
        if isinstance(held, PackedNumbers) or set(map(type, held)) <= {int, type(None)}:
            continue
        for sensor, value in enumerate(release.values):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ValueError(
                    f"sensor {sensor} released {value!r} but must release a whole number of "
                    f"grains (kelvin times 2**{params_of(release.round).exponent}, rounded), or "
                    "None: nothing else passes the veil. Take the file as published."
                )
    return params_of(releases[0].round)
