"""Figures 3, 4 and 6 and Lemmas 3 and 7 of paper 002: heat sources found from noisy readings.

Cells are at j/n and sensors at i/m of a line of length one. The paper always puts its one source
at 1/2, where a guess without any data does best; here it stands anywhere, too.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import chi2

from physics.kernel import heat_kernel, sensitivity
from recovery.noise.gaussian import gaussian_delta, gaussian_sigma, paper_sigma
from recovery.sparse import minimise_l1

from .figures import (
    Figure,
    Finding,
    Floats,
    Results,
    Task,
    Value,
    check_falling,
    check_power,
    combine_findings,
    judge_claim,
    make_places,
)
from .picture import UNIFORM

MIDDLE, ANYWHERE = "EMD, source at 1/2", "EMD, source anywhere"
PRINTED, WIDER, BAYES = "l1 as printed", "l1, 95 % radius", "posterior"
PRIVATE, EXACT = "l1, printed noise", "l1, exact noise, 95 % radius"
BAYES_EXACT = "posterior, exact noise"
_SOURCES = "the source is at 1/2 as printed, and anywhere beside it; 200 trials, the paper has 10"


def make_operator(n: int, m: int, spread: float) -> Floats:
    """Return what each of m sensors feels of a unit source in each of n cells, (m, n)."""
    # Cells at 1/n to 1, as sensors at 1/m to 1.
    return heat_kernel(np.arange(1, m + 1)[:, None] / m - np.arange(1, n + 1) / n, spread)


def compute_radius(sigma: float, m: int, sure: float | None = None) -> float:
    """Return the paper's sigma sqrt(m), or the one within which the truth is so surely."""
    return sigma * math.sqrt(m if sure is None else float(chi2.ppf(sure, m)))


def measure_distance(found: Floats, cell: int) -> float:
    """Return the earth mover's distance from one source; no heat at all is a uniform map."""
    total = found.sum()
    mass = found / total if total > 0 else np.full(len(found), 1 / len(found))
    ahead = np.cumsum(mass)
    ahead[cell:] -= 1
    return float(np.abs(ahead).sum() / len(found))


def recover_by_l1(felt: Floats, readings: Floats, within: float) -> Floats:
    """Return the least heat that explains the readings, (n,)."""
    return minimise_l1(felt, readings, within).heat


def recover_by_posterior(felt: Floats, readings: Floats, sigma: float) -> Floats:
    """Return one source where the posterior has its median, every cell being as likely before."""
    log = -np.square(readings[:, None] - felt).sum(axis=0) / (2 * sigma**2)
    chance = np.cumsum(np.exp(log - log.max()))
    found = np.zeros(felt.shape[1])
    found[np.searchsorted(chance, chance[-1] / 2)] = 1
    return found


_NOISY = {"n": 100, "m": 50, "T": 0.5, "sigma": 0.1}
_OWN = {"thermal-3c": {"sigma": 0.2}, "thermal-3d": {"T": 0.05, "sigma": 0.2}}


def measure_noisy_errors(task: Task) -> Iterator[Value]:
    """Yield the errors of Algorithm 1 where one number is another than usual."""
    name, at = str(task.place[0]), float(task.place[1])
    asked = {**_NOISY, **_OWN.get(task.figure, {}), name: at}
    n, m, sigma = int(asked["n"]), int(asked["m"]), asked["sigma"]
    world, felt = task.make_generator(), make_operator(n, m, asked["T"])
    noise, anywhere = sigma * world.normal(size=500)[:m], int(world.random() * n)
    for panel, cell in ((MIDDLE, n // 2 - 1), (ANYWHERE, anywhere)):
        readings = felt[:, cell] + noise
        for line, found in (
            (PRINTED, recover_by_l1(felt, readings, compute_radius(sigma, m))),
            (WIDER, recover_by_l1(felt, readings, compute_radius(sigma, m, 0.95))),
            (BAYES, recover_by_posterior(felt, readings, sigma)),
            (UNIFORM, np.ones(n)),
        ):
            yield Value(panel, line, at, measure_distance(found, cell))


_PRIVATE = {"n": 100, "m": 50, "T": 0.05}
EPSILON, DELTA = 1.0, 0.1


def measure_private_errors(task: Task) -> Iterator[Value]:
    """Yield the errors under noise that hides the source, printed and exact at one label."""
    name, at = str(task.place[0]), float(task.place[1])
    asked = {**_PRIVATE, name: at}
    n, m = int(asked["n"]), int(asked["m"])
    world, felt = task.make_generator(), make_operator(n, m, asked["T"])
    noise, anywhere = world.normal(size=1000)[:m], int(world.random() * n)
    changed = sensitivity(felt)
    printed = paper_sigma(EPSILON, DELTA, changed)
    exact = gaussian_sigma(EPSILON, DELTA, changed)
    for panel, cell in ((MIDDLE, n // 2 - 1), (ANYWHERE, anywhere)):
        wide, narrow = (felt[:, cell] + sigma * noise for sigma in (printed, exact))
        for line, found in (
            (PRIVATE, recover_by_l1(felt, wide, compute_radius(printed, m))),
            (EXACT, recover_by_l1(felt, narrow, compute_radius(exact, m, 0.95))),
            (BAYES_EXACT, recover_by_posterior(felt, narrow, exact)),
            (UNIFORM, np.ones(n)),
        ):
            yield Value(panel, line, at, measure_distance(found, cell))


def check_inner_minimum(results: Results, panel: str, line: str) -> Finding:
    """Return whether a line is least somewhere between its ends, and rises to both of them."""
    places = results.list_places(panel, line)
    least = min(places, key=lambda at: results.compute_mean(panel, line, at))
    ends = {
        f"{line} at {end:g}": results.compare_lines(panel, (line, least), (line, end))
        for end in (places[0], places[-1])
        if end != least
    }
    if least in (places[0], places[-1]):
        end = "first" if least == places[0] else "last"
        return Finding("refuted", f"{line}, {panel}: least at the {end} place, {least:g}")
    return judge_claim(ends, f"{line} is least at {least:g} and rises to the ends: ")


MEASURED, LAW, MENDED = "measured", "Proposition 4", "small spreads, corrected"


def measure_sensitivity(task: Task) -> Iterator[Value]:
    """Yield what one move changes at most, beside the printed law and the one of small spreads."""
    name, at = str(task.place[0]), float(task.place[1])
    asked = {"n": 1000 if name == "T" else 500, "m": 500, "T": 0.05, name: at}
    n, m, spread = int(asked["n"]), int(asked["m"]), asked["T"]
    root = math.sqrt(m) / n
    for line, value in (
        (MEASURED, sensitivity(make_operator(n, m, spread))),
        (LAW, root / spread**1.5),
        (MENDED, root * math.sqrt(math.sqrt(2 * math.pi) / (16 * math.pi)) * spread**-0.75),
    ):
        yield Value("what one move changes", line, at, value)


def measure_delta(task: Task) -> Iterator[Value]:
    """Yield the delta that noise of a label really gives."""
    epsilon = float(task.place[0])
    for delta in (0.1, 0.01):
        panel = f"delta that is given where {delta:g} is promised"
        for line, sigma in (
            ("Lemma 3 as printed", paper_sigma(epsilon, delta)),
            ("exact", gaussian_sigma(epsilon, delta)),
            ("promised", 0.0),
        ):
            given = gaussian_delta(epsilon, sigma) if sigma else delta
            yield Value(panel, line, epsilon, given)


def check_printed_delta(results: Results) -> Finding:
    """Return whether printed noise gives the delta that is promised, or less, everywhere."""
    line = "Lemma 3 as printed"
    asked = {
        f"{panel} at epsilon {at:g}": results.compare_lines(panel, (line, at), ("promised", at))
        for panel in results.list_panels()
        for at in results.list_places(panel, "promised")
    }
    wide = paper_sigma(1, 0.1) / gaussian_sigma(1, 0.1)
    said = f"the root is lost: {wide:.1f} times too wide at epsilon 1; below what is promised: "
    return judge_claim(asked, said)


def measure_feasibility(task: Task) -> Iterator[Value]:
    """Yield how often the true heat is within the radius of Algorithm 1."""
    m = int(task.place[0])
    noise = np.linalg.norm(task.make_generator(m).normal(size=(400, m)), axis=1)
    panel = "share of trials in which the truth is allowed"
    for line, within in ((PRINTED, compute_radius(1, m)), (WIDER, compute_radius(1, m, 0.95))):
        yield Value(panel, line, m, (noise <= within).mean())
    yield Value(panel, "0.9", m, 0.9)


def check_feasibility(results: Results) -> Finding:
    """Return whether nine in ten truths are allowed, at each number of sensors."""
    panel = results.list_panels()[0]
    places = results.list_places(panel, PRINTED)
    asked = {
        f"m = {at:g}": results.compare_lines(panel, ("0.9", at), (PRINTED, at)) for at in places
    }
    share = results.compute_mean(panel, PRINTED, places[-1])
    return judge_claim(asked, f"with {places[-1]:g} sensors {share:.0%} are allowed; above 90 %: ")


_SIZES = (25, 50, 100, 200, 400)
_SENSORS = (10, 20, 50, 100, 200, 400)
_SPREADS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_FEW: tuple[int, float, tuple[tuple[str, float], ...]] = (100, 1.0, ())
_NOISE = "Algorithm 1 on readings with Gaussian noise, n = 100, m = 50, T = 0.5, sigma = 0.1"
_VEIL = "private readings, n = 100, m = 50, t = 0.1 (T = 0.05), delta = 0.1, epsilon = 1"

FIGURES = (
    Figure(
        "thermal-3a", "the error grows with the noise, in proportion (Theorem 9 is tight)",
        f"{_NOISE}; {_SOURCES}", "sigma",
        make_places("sigma", 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), measure_noisy_errors,
        lambda found: check_power(found, MIDDLE, PRINTED, 1, 0.35), 200, _FEW,
    ),
    Figure(
        "thermal-3b", "the error falls with more sensors, though not to nought",
        f"{_NOISE}; {_SOURCES}", "m, sensors", make_places("m", *_SENSORS), measure_noisy_errors,
        lambda found: check_falling(found, PRINTED), 200, _FEW,
    ),
    Figure(
        "thermal-3c", "the error grows with the time that heat has to spread",
        f"{_NOISE}, but sigma = 0.2; {_SOURCES}", "T", make_places("T", *_SPREADS),
        measure_noisy_errors,
        lambda found: check_falling(found, PRINTED, rises=True), 200, _FEW,
    ),
    Figure(
        "thermal-3d", "the error does not depend on how fine the cells are",
        f"{_NOISE}, but T = 0.05, sigma = 0.2; {_SOURCES}", "n, cells", make_places("n", *_SIZES),
        measure_noisy_errors, lambda found: check_power(found, ANYWHERE, PRINTED, 0, 0.25), 200,
        _FEW,
    ),
    Figure(
        "thermal-4a", "what one move changes goes by the root of m (Proposition 4)",
        "exact, n = 500, t = 0.1 (T = 0.05)", "m, sensors",
        make_places("m", 50, 100, 200, 500, 1000),
        measure_sensitivity,
        lambda found: check_power(found, found.list_panels()[0], MEASURED, 0.5, 0.05),
        1,
    ),
    Figure(
        "thermal-4b", "what one move changes goes by 1 / n (Proposition 4)",
        "exact, m = 500, t = 0.1 (T = 0.05)", "n, cells",
        make_places("n", 50, 100, 200, 500, 1000),
        measure_sensitivity,
        lambda found: check_power(found, found.list_panels()[0], MEASURED, -1, 0.05),
        1,
    ),
    Figure(
        "thermal-4c", "what one move changes goes by T to the power -1.5 (Proposition 4)",
        "exact, n = 1000, m = 500", "T", make_places("T", *_SPREADS),
        measure_sensitivity,
        lambda found: check_power(found, found.list_panels()[0], MEASURED, -1.5, 0.2),
        1,
    ),
    Figure(
        "thermal-6a", "under privacy the error falls as cells become finer",
        f"{_VEIL}; {_SOURCES}", "n, cells", make_places("n", *_SIZES), measure_private_errors,
        lambda found: check_falling(found, PRIVATE), 200, _FEW,
    ),
    Figure(
        "thermal-6b", "under privacy the error does not depend on how many sensors there are",
        f"{_VEIL}; {_SOURCES}", "m, sensors", make_places("m", *_SENSORS), measure_private_errors,
        lambda found: check_power(found, ANYWHERE, PRIVATE, 0, 0.2), 200, _FEW,
    ),
    Figure(
        "thermal-6c", "under privacy the error grows both as T goes to nought and as it grows",
        f"{_VEIL}; {_SOURCES}", "T", make_places("T", *_SPREADS), measure_private_errors,
        lambda found: combine_findings(
            *(check_inner_minimum(found, panel, PRIVATE) for panel in (MIDDLE, ANYWHERE))
        ),
        200, _FEW,
    ),
    Figure(
        "thermal-lemma3", "noise of 2 ln(1.25 / delta) / epsilon gives epsilon and delta",
        "exact, sensitivity one", "epsilon",
        tuple((one,) for one in (0.5, 1, 2, 5, 10, 20, 50, 200)), measure_delta,
        check_printed_delta, 1,
    ),
    Figure(
        "thermal-lemma7", "with many sensors the true heat is nearly always feasible",
        "radius sigma sqrt(m); 400 draws a trial", "m, sensors",
        tuple((one,) for one in (10, 50, 100, 500)), measure_feasibility, check_feasibility, 20,
        (10, 1.0, ()),
    ),
)  # fmt: skip
