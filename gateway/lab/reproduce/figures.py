"""What a figure of a paper is: its claim in words, runs that give values, a check of the claim.

A figure is data. Whatever it measures becomes rows (panel, line, place on the axis, run, value),
and all rows are kept, averaged, printed, drawn and held against the claim in one way.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ...faults import OperatorFault
from ...mechanisms import TABLE
from .picture import Interval, Panel

Floats: TypeAlias = NDArray[np.float64]
Place: TypeAlias = tuple[str | int | float, ...]

# Of so many comparisons at 95 % one in twenty is wrong by chance alone.
_CHANCE = 0.05
_SHOWN = 8  # places of an axis that are printed
# Each paper is one mechanism's, and its figures are in a module of that name.
PAPERS = tuple(name for name in TABLE if find_spec(f"{__package__}.{name}"))
# Numbered figures of the papers that are none here, and where what they show is.
ELSEWHERE = {
    "pyramid-2": "it repeats one distance of two others: ask for pyramid-4 and pyramid-5",
    "pyramid-3": "it is a picture of maps; notebooks/50_heatmaps.py draws such maps",
    "pyramid-9": "it is a picture of maps; notebooks/50_heatmaps.py draws such maps",
    "ranks-6": "it is a picture of densities; notebooks/55_ranks.py draws what ranks gives",
    "ranks-7": "it is a part of the picture ranks-6; notebooks/55_ranks.py draws what ranks gives",
    "quadtree-3": "it is a picture of squares; notebooks/60_crowds.py draws them round by round",
    "quadtree-6": "it is a picture of maps; their errors are in quadtree-table1",
}


class Task(NamedTuple):
    """One run of a figure at one place: what it gives follows from this alone, chance included."""

    figure: str
    place: Place
    run: int
    seed: int
    scale: float = 1.0  # the part of the paper's people that is drawn
    points: str = ""  # a file of people in the place of the made city

    def make_generator(self, *more: int) -> np.random.Generator:
        """Return the chance of this run; equal at all places, so that they are compared alike."""
        return np.random.default_rng([self.seed, self.run, *more])

    def make_tape(self, *words: object) -> bytes:
        """Return the bytes that the mechanism's own noise of this run is drawn from."""
        return repr((self.place, self.run, self.seed, *words)).encode()

    def scale_users(self, users: int) -> int:
        """Return how many people stand for so many of the paper's."""
        return max(200, round(users * self.scale))


class Value(NamedTuple):
    """One number that a run gave."""

    panel: str
    line: str
    at: float
    value: float


class Finding(NamedTuple):
    """What became of a claim: confirmed, refuted or not decided, and why."""

    verdict: str
    why: str


class Results:
    """The values of a figure, by panel, line, place on the axis and run."""

    def __init__(self, rows: Iterable[tuple[int, Value]]) -> None:
        """Sort rows of (run, value)."""
        self._found: dict[str, dict[str, dict[float, dict[int, float]]]] = {}
        for run, one in rows:
            lines = self._found.setdefault(one.panel, {})
            lines.setdefault(one.line, {}).setdefault(one.at, {})[run] = one.value

    def list_panels(self) -> list[str]:
        """Return the names of the panels."""
        return list(self._found)

    def list_lines(self, panel: str) -> list[str]:
        """Return the names of a panel's lines."""
        return list(self._found[panel])

    def list_places(self, panel: str, line: str) -> list[float]:
        """Return where a line has values, in order."""
        return sorted(self._found[panel][line])

    def compute_interval(self, panel: str, line: str, at: float) -> Interval:
        """Return the mean over runs and the half width of its 95 % interval, by Student's law."""
        values = np.array(list(self._found[panel][line][at].values()))
        return Interval(at, float(values.mean()), _compute_half_width(values), len(values))

    def compute_mean(self, panel: str, line: str, at: float) -> float:
        """Return the mean over runs."""
        return self.compute_interval(panel, line, at).mean

    def compare_lines(self, panel: str, first: tuple[str, float], other: tuple[str, float]) -> int:
        """Return 1 where a line at a place is surely below another, -1 where above, else 0.

        By the 95 % interval of the mean difference of equal runs; one run is taken as it is.
        """
        a, b = (self._found[panel][line][at] for line, at in (first, other))
        runs = a.keys() & b.keys()
        apart = np.array([b[run] - a[run] for run in runs])
        half = _compute_half_width(apart)
        mean = float(apart.mean())
        return 0 if abs(mean) <= (0 if math.isnan(half) else half) else int(math.copysign(1, mean))

    def fit_power(self, panel: str, line: str) -> tuple[float, float]:
        """Return the power of the axis that a line goes by, and its half width by the jackknife.

        The slope of a straight line through the logarithms of the means.
        """
        found = self._found[panel][line]
        places = self.list_places(panel, line)
        runs = sorted(set.intersection(*(set(found[at]) for at in places)))
        table = np.array([[found[at][run] for at in places] for run in runs])

        def fit(some: Floats) -> float:
            means = np.maximum(some.mean(axis=0), 1e-12)
            return float(np.polyfit(np.log(places), np.log(means), 1)[0])

        if len(runs) == 1:
            return fit(table), 0.0
        left = np.array([fit(np.delete(table, at, axis=0)) for at in range(len(runs))])
        error = math.sqrt((len(runs) - 1) * left.var())
        return fit(table), float(stdtrit(len(runs) - 1, 0.975)) * error

    def make_panels(self, across: str, up: str = "") -> list[Panel]:
        """Return the panels as they are printed and drawn."""
        return [
            Panel(
                panel,
                across,
                up,
                {
                    line: tuple(
                        self.compute_interval(panel, line, at)
                        for at in self.list_places(panel, line)
                    )
                    for line in lines
                },
            )
            for panel, lines in self._found.items()
        ]


def _compute_half_width(values: Floats) -> float:
    if len(values) < 2:
        return math.nan
    deviation = float(values.std(ddof=1))
    return float(stdtrit(len(values) - 1, 0.975)) * deviation / math.sqrt(len(values))


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper, or a statement of it that can be held against numbers.

    Args:
        claim: what the paper says of it, in words.
        settings: as printed, and where it is something else here.
        across: what the axis is.
        places: what is run; each so often as there are trials.
        work: gives the values of a run.
        check: holds the claim against all values.
        trials: of the real thing; 1 where there is no chance in it.
        few: trials, part of the people and places of a quick look.
        up: what the values are, where the panels' titles do not say it.
    """

    name: str
    claim: str
    settings: str
    across: str
    places: tuple[Place, ...]
    work: Callable[[Task], Iterable[Value]]
    check: Callable[[Results], Finding]
    trials: int = 20
    few: tuple[int, float, tuple[Place, ...]] = (5, 0.1, ())
    up: str = ""

    def list_tasks(self, trials: int | None, seed: int, quick: bool, points: str) -> list[Task]:
        """Return all runs of the figure."""
        fewer, scale, places = self.few if quick else (self.trials, 1.0, ())
        runs = 1 if self.trials == 1 else trials or fewer
        return [
            Task(self.name, place, run, seed, scale, points)
            for run in range(runs)
            for place in (places or self.places)
        ]


def make_places(name: str, *values: float) -> tuple[Place, ...]:
    """Return a place for each value of what is varied."""
    return tuple((name, value) for value in values)


# Checks of claims.


def judge_claim(asked: Mapping[str, int], what: str = "") -> Finding:
    """Return what comparisons say of a claim that is to hold at every place.

    Args:
        asked: by place, 1 where the claim surely holds, -1 where surely the reverse does.
        what: is compared.
    """
    against = [where for where, sure in asked.items() if sure < 0]
    held = sum(sure > 0 for sure in asked.values())
    if len(against) > _CHANCE * len(asked):
        listed = ", ".join(against[:3]) + ", ..." * (len(against) > 3)
        return Finding("refuted", f"{what}the reverse at {len(against)} of {len(asked)}: {listed}")
    said = f"{what}sure at {held} of {len(asked)}, the reverse at {len(against)}"
    return Finding("confirmed" if 2 * held >= len(asked) else "not decided", said)


def check_lowest(results: Results, better: str, worse: Sequence[str], panels: str = "") -> Finding:
    """Return whether one line is below others at every place of every panel of such a name."""
    asked = {
        f"{worse_one} at {panel} {at:g}": results.compare_lines(
            panel, (better, at), (worse_one, at)
        )
        for panel in results.list_panels()
        if panels in panel
        for worse_one in worse
        if worse_one in results.list_lines(panel)
        for at in results.list_places(panel, better)
        if at in results.list_places(panel, worse_one)
        and results.compute_mean(panel, worse_one, at) > 0
    }
    return judge_claim(asked, f"{better} below {' and '.join(worse)}: ")


def check_falling(results: Results, line: str, panels: str = "", rises: bool = False) -> Finding:
    """Return whether a line falls from its first place to its last, or rises."""
    asked = {}
    for panel in results.list_panels():
        if panels in panel and line in results.list_lines(panel):
            first, *_, last = results.list_places(panel, line)
            ends = (line, first), (line, last)
            asked[panel] = results.compare_lines(panel, *(ends if rises else ends[::-1]))
    return judge_claim(asked, f"{line} {'rises' if rises else 'falls'} from end to end: ")


def check_power(results: Results, panel: str, line: str, printed: float, within: float) -> Finding:
    """Return whether a line goes by such a power of its axis, give or take."""
    slope, half = results.fit_power(panel, line)
    said = f"{line} goes by the power {slope:.2f} +- {half:.2f}; the claim is {printed:g}"
    off = abs(slope - printed)
    if off + half <= within:
        return Finding("confirmed", said)
    return Finding("refuted" if off - half > within else "not decided", said)


def combine_findings(*found: Finding) -> Finding:
    """Return what several parts of a claim come to: one refuted part refutes it."""
    for verdict in ("refuted", "not decided", "confirmed"):
        why = "; ".join(one.why for one in found if one.verdict == verdict)
        if why:
            return Finding(verdict, why)
    raise ValueError(
        "combine_findings was given no finding with a reason, and needs at least one. Pass it "
        "those of the claim's parts"
    )


# The table of all figures.


@lru_cache(maxsize=1)
def load_figures() -> dict[str, Figure]:
    """Return every figure by its name."""
    modules = (import_module(f".{paper}", __package__) for paper in PAPERS)
    return {figure.name: figure for module in modules for figure in module.FIGURES}


def find_figures(names: Sequence[str]) -> list[Figure]:
    """Return the figures of these names; a beginning such as disk or thermal-3 means all of it.

    Raises:
        OperatorFault: nothing has such a name; the nearest are told, or where it is.
    """
    known, found = load_figures(), dict[str, Figure]()
    for name in names:
        fits = [name] if name in known else [one for one in known if _has_prefix(one, name)]
        if name in ELSEWHERE:
            raise OperatorFault(f"{name} has no numbers of its own: {ELSEWHERE[name]}")
        if not fits:
            near = difflib.get_close_matches(name, known, 3, 0.4) or PAPERS
            raise OperatorFault(
                f"{name} is not a figure that can be made again, so nothing was computed. "
                f"The nearest are {', '.join(near)}; "
                "`heatveil reproduce` lists them"
            )
        found |= {one: known[one] for one in fits}
    return list(found.values())


def _has_prefix(name: str, start: str) -> bool:
    rest = name[len(start) :]
    return start == "all" or (name.startswith(start) and not rest[:1].isdigit())


# A figure in words.


def format_figure(figure: Figure, results: Results, finding: Finding) -> Iterator[str]:
    """Yield what is printed: each panel as a table, the claim, and what became of it."""
    yield f"{figure.name}, {figure.settings}"
    for panel in results.make_panels(figure.across):
        yield from _format_panel(panel)
    yield f"claim: {figure.claim}"
    yield f"{finding.verdict}: {finding.why}"


def format_claims(found: Sequence[tuple[Figure, Finding]]) -> Iterator[str]:
    """Yield the table of all claims, why those fell that did, and how many there are of each."""
    yield from format_table(
        ("figure", "verdict", "claim"),
        ((figure.name, finding.verdict, figure.claim) for figure, finding in found),
    )
    for figure, finding in found:
        if finding.verdict != "confirmed":
            yield f"{figure.name}: {finding.why}"
    counts = {
        verdict: sum(finding.verdict == verdict for _, finding in found)
        for verdict in ("confirmed", "refuted", "not decided")
    }
    yield ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def format_table(columns: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield lines of a table whose columns are aligned to the left."""
    listed = [list(columns), *map(list, body)]
    widths = [max(len(row[at]) for row in listed) for at in range(len(columns))]
    for row in listed:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(cells)).rstrip()


def _format_panel(panel: Panel) -> Iterator[str]:
    places = sorted({one.at for line in panel.lines.values() for one in line})
    if len(places) > _SHOWN:  # all of them are in the table of values
        places = [places[round(at)] for at in np.linspace(0, len(places) - 1, _SHOWN)]
    body = []
    for name, line in panel.lines.items():
        at = {one.at: one for one in line}
        body.append([name, *(_score(at.get(place)) for place in places)])
    yield f"{panel.title}, by {panel.across}"
    yield from format_table(["", *(f"{place:g}" for place in places)], body)


def _score(one: Interval | None) -> str:
    if one is None:
        return "-"
    exact = math.isnan(one.half_width) or one.half_width <= 1e-9 * abs(one.mean)
    half = "" if exact else f" +-{one.half_width:.1g}"
    return f"{one.mean:.3g}{half}"
