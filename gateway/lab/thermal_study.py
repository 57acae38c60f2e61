"""Estimators beside each other on the same scenes: errors with intervals, and a picture.

Each scene is blurred as devices do it, once for every epsilon, and each estimator gets the same
readings through `recover`, as a gateway would draw the map.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release
from edge.mechanisms import thermal
from physics.sensors import to_grains
from recovery.distance import earth_movers
from recovery.estimators.table import ESTIMATORS, Own, register_on_trial
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query, make_operator, plan, recover
from recovery.thermal.query import find_standing_room

Floats = NDArray[np.float64]
# From a generator the heat of each cell, and what each sensor feels where that is not what the
# query's operator makes of it; or so many sources, as warm as the query allows, in random cells.
Scene = Callable[[np.random.Generator], Floats | tuple[Floats, Floats]] | int
UP = "earth mover's distance, in parts of the longer side"
USUAL = Query(Grid((100, 1), 0), (50,), 0.05, (4, 1))


class Trial(NamedTuple):
    """One map of one scene, in parts of the longer side; NaN where the map does not say it."""

    error: float  # earth mover's distance from the truth; of a uniform map where there is none
    said: float  # what the map expects of it
    covered: float  # 1 where the truth is within the band all along the line, 0 where not
    beyond: float  # 1 where the error is more than twice what was said
    blind: float  # the error of a uniform map
    worse: float  # 1 where it is less than this map's
    told: float  # 1 where there is no map, or it says that something is not as stated
    seconds: float  # of processor time


class Row(NamedTuple):
    """What became of all the trials of one estimator, scene and epsilon: means of `Trial`.

    half_width: of the 95 % interval of the mean error, by Student's law; NaN for one trial. Every
    other number is the mean of that field over the trials that know it.
    """

    estimator: str
    scene: str
    epsilon: float
    trials: int
    error: float
    half_width: float
    said: float
    covered: float
    beyond: float
    blind: float
    worse: float
    told: float
    seconds: float


def study(
    estimators: Sequence[str | Own],
    scenes: Mapping[str, Scene],
    epsilons: Sequence[float | str | Fraction],
    *,
    query: Query = USUAL,
    trials: int = 20,
    seed: int = 1,
    plot: Path | str | None = None,
) -> list[Row]:
    """Return a row for each scene, epsilon and estimator, in this order.

    Args:
        estimators: names, or functions, which are registered by their own names.
        scenes: by name; each an int, so many of the query's warmest sources in random cells, or
            a function. It gets a `numpy.random.Generator` and returns the heat of each cell,
            (cells,), row by row, not negative; or that and the warmth at each sensor in kelvin,
            (sensors,), where it is not what the query's room makes of the heat.
        epsilons: numbers, or ratios such as "1/2".
        query: what else is asked, and held to be so of the sources.
        trials: scenes of a kind.
        seed: equal seeds give equal scenes, whoever else is tried.
        plot: where to draw it, as PNG.

    Raises:
        ValueError: an estimator, a scene or an epsilon is none, or the estimator's heat is none.

    >>> rows = study(["entropy", "l1"], {"two": 2}, [4], trials=3)
    >>> [(row.estimator, row.scene, row.epsilon, row.trials) for row in rows]
    [('entropy', 'two', 4.0, 3), ('l1', 'two', 4.0, 3)]
    >>> rows[0].error < rows[0].blind
    True
    """
    if isinstance(estimators, str) or isinstance(epsilons, str):
        raise ValueError(
            f"estimators are {estimators!r} and epsilons {epsilons!r} but each must be a list, or "
            'its letters would be taken one by one. Write ["auto"] for one, and ["1/2"].'
        )
    if trials < 1 or not (estimators and scenes and epsilons):
        raise ValueError(
            f"{len(estimators)} estimators, {len(scenes)} scenes, {len(epsilons)} epsilons and "
            f"{trials} trials came but each must be one at least: there is nothing to compare. "
            "Add what is missing."
        )
    names = [_name_of(one) for one in estimators]
    for name, scene in scenes.items():
        if isinstance(scene, bool) or not (isinstance(scene, int) or callable(scene)):
            raise ValueError(
                f"the scene {name} is {scene!r} but must be a number of sources, or a function of "
                "a numpy Generator that returns the heat of each cell: no other says where it is "
                "warm. Give `lambda world: heat` for heat that you have."
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"two estimators are called {twice} but each needs a name of its own: both rows would "
            "be of the last one. Register each under a name of its own."
        )
    if plot is not None and not (Path(plot).suffix == ".png" and Path(plot).parent.is_dir()):
        raise ValueError(
            f"plot is {plot} but must be a file ending in .png in a folder that is there, or the "
            "picture would be lost after all trials. Give another name."
        )
    ratios, rows = [_read_epsilon(one) for one in epsilons], list[Row]()
    own = {_name_of(one): one for one in estimators if not isinstance(one, str)}
    with register_on_trial(own):
        for name, scene in scenes.items():
            for ratio in ratios:
                asked = replace(query, epsilon=ratio)
                tried = run_trials(asked, names, name, scene, trials, seed)
                rows += [
                    summarise(who, name, ratio[0] / ratio[1], tried[:, at])
                    for at, who in enumerate(names)
                ]
    if plot is not None:
        draw_study(rows, Path(plot))
    return rows


def run_trials(
    query: Query, names: Sequence[str], kind: str, scene: Scene, trials: int, seed: int
) -> Floats:
    """Return the `Trial`s of each estimator on so many scenes, (trials, estimators, fields)."""
    found = []
    for trial in range(trials):
        world = np.random.default_rng([seed, trial, *kind.encode()])
        heat, felt = _make_scene(query, kind, scene, world)
        # The same bits whatever epsilon is, so that only the noise's size differs.
        rng = Tape(f"{kind} {seed} {trial}".encode())
        found.append(_try_scene(query, names, heat, _blur(query, felt, rng)))
    return np.array(found)


def summarise(estimator: str, scene: str, epsilon: float, tried: Floats) -> Row:
    """Return the row of so many `Trial`s, (trials, fields): means of what there is."""
    known = ~np.isnan(tried)
    with np.errstate(invalid="ignore"):
        means = np.where(known, tried, 0).sum(axis=0) / known.sum(axis=0)
    of, count = dict(zip(Trial._fields, means.tolist(), strict=True)), len(tried)
    half = np.nan
    if count > 1:
        half = float(stdtrit(count - 1, 0.975) * tried[:, 0].std(ddof=1) / count**0.5)
    return Row(estimator, scene, epsilon, count, half_width=half, **of)


def draw_study(rows: Sequence[Row], path: Path) -> None:
    """Write the picture: a panel for each scene, error by epsilon, a line for each estimator."""
    # Loaded here alone: it takes a third of a second.
    from .reproduce.picture import UNIFORM, Interval, Panel
    from .reproduce.picture import draw_panels as draw_panels

    panels = []
    for scene in dict.fromkeys(row.scene for row in rows):
        of = [row for row in rows if row.scene == scene]
        lines = {
            name: tuple(
                Interval(row.epsilon, row.error, row.half_width, row.trials)
                for row in of
                if row.estimator == name
            )
            for name in dict.fromkeys(row.estimator for row in of)
        }
        blind = {row.epsilon: row.blind for row in of}
        lines[UNIFORM] = tuple(Interval(at, mean, np.nan, 1) for at, mean in blind.items())
        panels.append(Panel(scene, "epsilon", UP, lines))
    trials = rows[0].trials
    draw_panels(f"mean error of {trials} scenes, with its 95 % interval", panels, path)


def _read_epsilon(epsilon: float | str | Fraction) -> tuple[int, int]:
    try:
        found = Fraction(epsilon).limit_denominator(10**6)
    except (ValueError, ZeroDivisionError, OverflowError):
        found = Fraction(0)
    if found <= 0:
        raise ValueError(
            f"epsilon {epsilon!r} is no positive number and no ratio; nothing can be blurred for "
            'it. Write 4, 0.5 or "1/2".'
        )
    return found.as_integer_ratio()


def _name_of(estimator: str | Own) -> str:
    if not isinstance(estimator, str):
        return str(getattr(estimator, "__name__", type(estimator).__name__))
    if estimator not in ESTIMATORS:
        raise ValueError(
            f"the estimator is {estimator!r} but must be one of {', '.join(ESTIMATORS)}, or a "
            "function: nothing else draws a map. Register it first, or give the function."
        )
    return estimator


def _make_scene(
    query: Query, kind: str, scene: Scene, world: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the heat of each cell, and the warmth at each sensor."""
    felt = make_operator(query)
    if isinstance(scene, int):
        heat = np.zeros(felt.shape[1])
        cells = np.flatnonzero(find_standing_room(query))
        if not 1 <= scene <= len(cells):
            raise ValueError(
                f"the scene {kind} has {scene} sources but must have 1 to {len(cells)}, one in a "
                "cell where something can stand. Give another number."
            )
        heat[world.choice(cells, scene, replace=False)] = query.intensity_max
        return heat, felt @ heat
    made = scene(world)
    heat, warmth = made if isinstance(made, tuple) else (made, None)
    heat = np.asarray(heat, dtype=float)
    good = heat.shape == felt.shape[1:] and np.isfinite(heat).all() and heat.min() >= 0
    if not good or not heat.any():
        raise ValueError(
            f"the scene {kind} has heat of shape {heat.shape} but must have that of each of the "
            f"{felt.shape[1]} cells, finite, not negative, and some: a map is held against it. "
            "Correct the scene."
        )
    warmth = felt @ heat if warmth is None else np.asarray(warmth, dtype=float)
    if warmth.shape != felt.shape[:1]:
        raise ValueError(
            f"the scene {kind} has warmth of shape {warmth.shape} but must have that at each of "
            f"the {len(felt)} sensors: each reads one number. Correct the scene."
        )
    return heat, warmth


def _blur(query: Query, felt: Floats, rng: Any) -> list[Release]:
    """Return what devices release that feel this, once for each reading of the query."""
    releases: list[Release] = []
    while planned := plan(query, releases):
        exponent = thermal.params_of(planned).exponent
        payloads = [
            thermal.report(planned, Reading(sensor, (value,)), rng)
            for sensor, value in enumerate(to_grains(felt, exponent, query.step, query.behind))
        ]
        releases.append(thermal.release(planned, payloads, None))
    return releases


def _try_scene(
    query: Query, names: Sequence[str], heat: Floats, releases: Sequence[Release]
) -> list[Trial]:
    columns, rows = query.grid.shape
    truth = heat.reshape(rows, columns) / heat.sum()
    blind = earth_movers(np.full(truth.shape, 1 / truth.size), truth)
    tried = []
    for name in names:
        began = time.process_time()
        found = recover(replace(query, estimator=name), releases)
        seconds = time.process_time() - began
        if not isinstance(found, Heatmap):
            tried.append(Trial(blind, np.nan, np.nan, np.nan, blind, 0.0, 1.0, seconds))
            continue
        error = earth_movers(found.mass, truth)
        said = np.nan if found.expected_error is None else found.expected_error
        covered = np.nan
        if found.credible is not None and (band := found.credible.band) is not None:
            along = np.cumsum(truth.ravel())
            covered = float(((band.low <= along + 1e-9) & (along <= band.high + 1e-9)).all())
        beyond = np.nan if np.isnan(said) else float(error > 2 * said)
        told = found.verdict is not None and not found.verdict.fits
        worse = float(error > blind * (1 + 1e-9))  # an even map is no worse by its roundings
        tried.append(Trial(error, said, covered, beyond, blind, worse, float(told), seconds))
    return tried
