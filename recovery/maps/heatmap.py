"""What recovery returns: a map of where the heat was, or the reason why there is none."""

import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.core.records import Grid, Guarantee

from .guarantee import from_json, to_json
from .sentence import Wording

# How sure a map is: bands around its cumulative shares, and the chance of every cell.

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Between what the cumulative share of heat lies, along a line.

    Args:
        level: the chance that it does, 0.9 for nine in ten; what chance is over is said by
            who made the band.
        low, high: (cells,), of the share of all heat in this cell and those before it; both
            rise from 0 towards 1.

    Raises:
        ValueError: the bounds have other shapes, fall somewhere, or change sides.
    """

    level: float
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        same = self.low.ndim == 1 and self.low.shape == self.high.shape
        rising = same and all(
            (np.diff(bound) >= -1e-9).all() and bound.min() >= -1e-9 and bound.max() <= 1 + 1e-9
            for bound in (self.low, self.high)
        )
        for good, needed in (
            (0 < self.level < 1, f"a level between 0 and 1, and has {self.level}"),
            (same, f"two lines of one shape, and has {self.low.shape} and {self.high.shape}"),
            (rising, "bounds that rise from 0 to 1, as a cumulative share does"),
            (same and (self.low <= self.high + 1e-9).all(), "a lower bound below the upper one"),
        ):
            if not good:
                raise ValueError(
                    f"a band needs {needed}: nothing else can hold a cumulative share. Correct "
                    "whatever made it."
                )


@dataclass(frozen=True, slots=True, eq=False)
class Credible:
    """What a posterior says: right as often as it says, if the prior is right.

    Args:
        level: of the band, and of what is made of the other numbers.
        present: (rows, columns), the chance that at least one source stands in the cell.
        numbers: (most + 1,), the chance of each number of sources, from none upwards.
        band: around the whole cumulative share at once, if there is a source at all; None in a
            plane. Where few shares are possible no band has just this chance, and the nearest
            is taken, below it or above. Sampled at low noise, with many sources of
            unknown warmth, it may hold less often than it says.
        expected_error: the distance that the map has from the truth, on average over the
            posterior, or over worlds that may not be as stated, too; in the unit of the places,
            NaN where it was not computed.
        blind_error: the same of an even map, which is what a guess without readings comes to.
    """

    level: float
    present: Floats
    numbers: Floats
    band: Band | None = None
    expected_error: float = float("nan")
    blind_error: float = float("nan")

    @property
    def likely_range(self) -> tuple[int, int, float]:
        """The least and the most sources, and how likely that is: at the level or above.

        What is left when the less likely end goes as long as that much of the chance remains.
        """
        low, high, chance = 0, len(self.numbers) - 1, float(self.numbers.sum())
        while low < high:
            end = low if self.numbers[low] < self.numbers[high] else high
            if chance - self.numbers[end] < self.level:
                break
            chance -= float(self.numbers[end])
            low, high = (low + 1, high) if end == low else (low, high - 1)
        return low, high, chance

    @property
    def median(self) -> int:
        return find_median_count(self.numbers)

    @property
    def may_be_empty(self) -> bool:
        """Whether the readings speak against an empty room by less than three to one.

        Every number was as likely before them.
        """
        nobody, before = float(self.numbers[0]), 1 / len(self.numbers)
        return 3 * nobody * (1 - before) > before * (1 - nobody)

    @property
    def sentence(self) -> str:
        """Between what the number of sources lies, and how likely that is, a sentence.

        >>> Credible(0.9, np.ones((1, 2)), np.array([0.02, 0.18, 0.8])).sentence
        'Number of sources: 1 to 2 (98 %), about 2.'
        >>> "an empty room" in Credible(0.9, np.ones((1, 2)), np.array([0.2, 0.4, 0.4])).sentence
        True
        """
        low, high, chance = self.likely_range
        about = f", about {self.median}" if low < high else ""
        listed = f"{low} to {high}" if low < high else f"{low}"
        told = f"Number of sources: {listed} ({100 * chance:.0f} %){about}."
        return told + " These readings cannot be told from an empty room's." * self.may_be_empty


def find_median_count(numbers: Floats) -> int:
    """Return the number of sources that is off by least on average; none if that is likelier.

    Where heat is all that tells, the likeliest number is often the most that there may be.

    Args:
        numbers: the chance of each, from none upwards.

    >>> find_median_count(np.array([0.0, 0.0, 0.0, 0.3, 0.3, 0.4]))
    4
    """
    return int(np.argmax(np.cumsum(numbers) > 0.5))


BLANK, HATCHED, SOLID = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """What a map of shares may claim: blocks that tile it, and between what each one's share lies.

    Args:
        level: the chance that all intervals hold their shares at once, so that the block that is
            picked for its share holds it too (Bonferroni).
        boxes: (blocks, 4), the first row and column of each, and how many it has.
        shares: (blocks,), what is drawn, within the interval.
        low, high: (blocks,), the interval.

    Raises:
        ValueError: the blocks are not one to an interval, or a share lies outside its own.
    """

    level: float
    boxes: NDArray[np.int_]
    shares: Floats
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        count = len(self.shares)
        shapes = self.boxes.shape == (count, 4) and self.low.shape == self.high.shape == (count,)
        if not (shapes and (self.low <= self.shares).all() and (self.shares <= self.high).all()):
            raise ValueError(
                f"{count} shares came with boxes of shape {self.boxes.shape} but each needs a "
                "block and an interval that holds it: what is drawn must be what is claimed. "
                "Clip the shares."
            )

    @property
    def styles(self) -> NDArray[np.int_]:
        """How each block is drawn, (blocks,).

        SOLID where somebody is for sure and the interval's half is at most the share; BLANK where
        there are fewer than an even map would have; HATCHED where the share is mostly noise.
        """
        cells = self.boxes[:, 2] * self.boxes[:, 3]
        sure = (self.low > 0) & ((self.high - self.low) / 2 <= self.shares)
        few = self.high < cells / cells.sum()
        return np.where(sure, SOLID, np.where(few, BLANK, HATCHED))

    @property
    def claims(self) -> NDArray[np.int_]:
        """Which blocks may be named, the densest first: solid, surely above an even share."""
        cells = self.boxes[:, 2] * self.boxes[:, 3]
        sure = np.flatnonzero(
            find_significant(self.shares, self.low, self.high, cells / cells.sum())
        )
        return sure[np.argsort(-(self.shares / cells)[sure], kind="stable")]

    @property
    def sd(self) -> Floats:
        """Of each block's share so much that its interval is that of a normal law, (blocks,)."""
        return np.maximum(self.high - self.shares, self.shares - self.low) / self._reach

    @property
    def _reach(self) -> float:
        return NormalDist().inv_cdf((1 + self.level) / 2)  # rather too much: all hold at once

    def fill_cells(self, values: ArrayLike) -> Floats:
        """Return a value of each block in each of its cells, (rows, columns)."""
        rows, columns = (self.boxes[:, :2] + self.boxes[:, 2:]).max(axis=0)
        found = np.zeros((rows, columns))
        for (top, left, high, wide), value in zip(self.boxes, np.asarray(values), strict=True):
            found[top : top + high, left : left + wide] = value
        return found

    @property
    def flat_mass(self) -> Floats:
        """The share of each cell were those of its block alike, (rows, columns)."""
        return self.fill_cells(self.shares / (self.boxes[:, 2] * self.boxes[:, 3]))

    def compute_deviations(self, mass: Floats) -> Floats:
        """Return of each cell's share so much that its interval is that of a normal law.

        A cell of a larger block may have nothing of it, or all, so there it is mostly more than a
        standard deviation; but never more than a share of that mean, or of an even one, can have.
        """
        by_itself = (self.boxes[:, 2] * self.boxes[:, 3]) == 1
        low, high = self.fill_cells(np.where(by_itself, self.low, 0)), self.fill_cells(self.high)
        far = np.maximum(np.maximum(high - mass, mass - low), 0)
        mean = np.maximum(mass, 1 / mass.size)
        most = np.where(self.fill_cells(by_itself) > 0, np.inf, np.sqrt(mean * (1 - mean)))
        return np.asarray(np.minimum(far / self._reach, most))


def find_significant(shares: Floats, low: Floats, high: Floats, even: Floats) -> NDArray[np.bool_]:
    """Return which shares may be told: not mostly noise, and surely above what is even."""
    return (low > even) & ((high - low) / 2 <= shares)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the readings of a map can be, if what its query says is so.

    Args:
        level: "fits"; "sensors" where some of them are at odds with the others, and the map is
            drawn without them; "clamp" where some showed the most that they can; "assumptions"
            where the readings contradict what the query assumes; "other" where they do, and the
            map counts on sources or a room that are not as stated; "weak" where nothing is wrong,
            but the map tells hardly more than a guess.
        why: what is wrong, a sentence without its full stop; empty where nothing is.
        dropped: sensors, counted from 0, that are left out for being at odds with the others,
            and by how many deviations of the noise each of them is.
        clamped: sensors that are left out because they showed the most, or least, they can.
    """

    level: str
    why: str = ""
    dropped: tuple[tuple[int, float], ...] = ()
    clamped: tuple[int, ...] = ()

    @property
    def fits(self) -> bool:
        return self.level == "fits"

    @property
    def contradicts(self) -> bool:
        """Whether what the query says is wrong, and with it all that a map says of itself."""
        return self.level in ("assumptions", "clamp")

    @property
    def sentence(self) -> str:
        """What whoever looks at the map has to be told, a sentence; empty where nothing is.

        >>> Verdict("assumptions", "it cannot be").sentence
        'Do not trust this map: it cannot be; how far off it is cannot be said.'
        """
        if self.contradicts:
            return f"Do not trust this map: {self.why}; how far off it is cannot be said."
        return f"{self.why[:1].upper()}{self.why[1:]}." if self.why else ""


def to_arrays(
    credible: Credible | None, certified: Band | None, verdict: Verdict | None
) -> dict[str, Any]:
    """Return what there is of all three, by the names that a map's archive gives them."""
    found: dict[str, Any] = {}
    if verdict is not None:
        found["verdict"] = np.array([verdict.level, verdict.why])
        found["dropped"] = np.array(verdict.dropped, dtype=np.float64).reshape(-1, 2)
        found["clamped"] = np.array(verdict.clamped, dtype=np.int64)
    if credible is not None:
        found["present"], found["numbers"] = credible.present, credible.numbers
        found["credible_level"] = np.array(credible.level)
        found["expected_error"] = np.array(credible.expected_error)
        if math.isfinite(credible.blind_error):
            found["blind_error"] = np.array(credible.blind_error)
        if credible.band is not None:
            found["credible"] = np.stack([credible.band.low, credible.band.high])
    if certified is not None:
        found["certified"] = np.stack([certified.low, certified.high])
        found["certified_level"] = np.array(certified.level)
    return found


def from_arrays(
    found: Mapping[str, Any],
) -> tuple[Credible | None, Band | None, Verdict | None]:
    """Return what `to_arrays` was given; other names are left alone.

    Raises:
        ValueError: a band is none.
        KeyError: a part of one is missing.
    """
    credible, certified = None, None
    if "credible_level" in found:
        level = float(found["credible_level"])
        band = Band(level, *found["credible"]) if "credible" in found else None
        errors = float(found["expected_error"]), float(found.get("blind_error", math.nan))
        credible = Credible(level, found["present"], found["numbers"], band, *errors)
    if "certified_level" in found:
        certified = Band(float(found["certified_level"]), *found["certified"])
    verdict = None
    if "verdict" in found:
        # Older maps name no sensors.
        dropped = [(int(row[0]), float(row[1])) for row in found.get("dropped", ())]
        clamped = map(int, found.get("clamped", ()))
        kind, why = (str(part) for part in found["verdict"])
        verdict = Verdict(kind, why, tuple(dropped), tuple(clamped))
    return credible, certified, verdict


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """Where the heat was: shares of cells that add to one, and the promise they were had under.

    Args:
        estimator: by which name of `recovery.estimators` it was drawn, and `why` by that one
            where the choice was left open.
        credible: how sure the map is if sources are as the query says; None where the
            estimator has no opinion.
        certified: between what the cumulative share lies along a line, for any heat that the
            query allows and that is no less than one source's (`recovery.thermal.bound_totals`),
            at least as often as its level says; None where there is none.
        verdict: whether the readings can be, if the query is right; None where that was not
            looked at. A map whose readings contradict its query says nothing of how sure it is:
            then there is neither `credible` nor `certified`.
        sd: how far each cell's share is from the truth, as a standard deviation, where there
            are blocks as in `Blocks.compute_deviations`; None where that is not known.
        nobody: the chance that nobody is there; None where that was not asked.
        blocks: which cells the answers tell apart, and how much may be in each block of them; of
            nothing finer may be said anything. None where that is not known.

    Raises:
        ValueError: the mass has not the grid's shape, is negative or does not add to one; the
            deviations have another shape, or are negative; or it says how sure it is of what it
            contradicts.
    """

    grid: Grid
    mass: Floats  # (rows, columns), not negative, adds to one
    guarantee: Guarantee
    total: float  # all the heat of the map, in the unit of the sources; 0 for no estimate
    status: str  # how the map was had, in words; "optimal" when nothing needs saying
    estimator: str = ""
    why: str = ""
    credible: Credible | None = None
    certified: Band | None = None
    verdict: Verdict | None = None
    sd: Floats | None = None  # (rows, columns), not negative
    nobody: float | None = None
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        columns, rows = self.grid.shape
        good = self.mass.shape == (rows, columns) and bool((self.mass >= 0).all())
        if not (good and abs(float(self.mass.sum()) - 1) < 1e-9 and self.total >= 0):
            raise ValueError(
                f"the mass has shape {self.mass.shape} and adds to {float(self.mass.sum()):g} "
                f"but must be ({rows}, {columns}), nowhere negative, and add to 1: a map says "
                "where, and its total how much. Divide by the sum."
            )
        if self.sd is not None and not (self.sd.shape == self.mass.shape and (self.sd >= 0).all()):
            raise ValueError(
                f"the deviations have shape {self.sd.shape} but must be ({rows}, {columns}) and "
                "nowhere negative: each cell's share has one of its own. Give none where they are "
                "not known."
            )
        if self.contradicted and (self.credible is not None or self.certified is not None):
            raise ValueError(
                "the map says how sure it is but its verdict is that its query is wrong, and what "
                "it could say of itself stands on that query. Leave credible and certified out."
            )

    @property
    def contradicted(self) -> bool:
        """Whether the readings cannot be, if what the query says is so."""
        return self.verdict is not None and self.verdict.contradicts

    @property
    def expected_error(self) -> float | None:
        """How far the map expects to be from the truth; None where it cannot say."""
        error = math.nan if self.credible is None else self.credible.expected_error
        return error if math.isfinite(error) and self.total else None


UNANSWERED = Wording(
    "map.unanswered", "no device answered; wait for reports, or look at the devices' link"
)()


@dataclass(frozen=True, slots=True)
class Unresolved:
    """No map: no heat at all within the bounds explains the readings as well as was asked."""

    grid: Grid
    guarantee: Guarantee
    least_residual: float  # how near the readings can be come, in their unit; inf if unknown
    radius: float  # how near was asked
    why: str  # a sentence: what is wrong and what would help


def to_npz(heatmap: Heatmap, path: str | Path) -> None:
    """Write the map as numpy's archive: `mass`, and `guarantee` as JSON; all or nothing.

    Source: the file that `heatveil play --out` promises.
    """
    half = Path(f"{path}.part")
    deviations: dict[str, Any] = {} if heatmap.sd is None else {"sd": heatmap.sd}
    if (blocks := heatmap.blocks) is not None:
        deviations["blocks"] = np.column_stack(
            [blocks.boxes, blocks.shares, blocks.low, blocks.high]
        )
        deviations["blocks_level"] = np.array(blocks.level)
    try:
        with half.open("wb") as file:
            np.savez_compressed(
                file,
                mass=heatmap.mass,
                guarantee=np.array(to_json(heatmap.guarantee)),
                cell_mm=np.array(heatmap.grid.cell_mm),
                total=np.array(heatmap.total),
                status=np.array(heatmap.status),
                estimator=np.array(heatmap.estimator),
                why=np.array(heatmap.why),
                **to_arrays(heatmap.credible, heatmap.certified, heatmap.verdict),
                **deviations,
            )
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def from_npz(path: str | Path) -> Heatmap:
    """Return the map that `to_npz` wrote.

    Raises:
        ValueError: the file is not such an archive.
        OSError: it cannot be read.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            mass = np.array(archive["mass"], dtype=np.float64)
            rows, columns = mass.shape
            return Heatmap(
                Grid((columns, rows), int(archive["cell_mm"])),
                mass,
                from_json(str(archive["guarantee"])),
                float(archive["total"]),
                str(archive["status"]),
                # What older maps had not.
                str(archive.get("estimator", "")),
                str(archive.get("why", "")),
                *from_arrays({name: archive[name] for name in archive.files}),
                sd=np.array(archive["sd"], dtype=np.float64) if "sd" in archive.files else None,
                blocks=_load_blocks(archive) if "blocks" in archive.files else None,
            )
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as fault:
        raise ValueError(
            f"{path} is no map of heatveil ({fault}) but must be an archive with mass and "
            "guarantee: anything else cannot say what it promises. Write it with "
            "heatveil play --out."
        ) from fault


def _load_blocks(archive: Mapping[str, Any]) -> Blocks:
    """Return the blocks that an archive holds."""
    found = np.array(archive["blocks"], dtype=np.float64).T
    return Blocks(float(archive["blocks_level"]), found[:4].T.astype(int), *found[4:])
