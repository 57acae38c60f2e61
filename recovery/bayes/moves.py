"""How scenes are moved: one source, two sources, or all sources of a scene at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from .crowd import Crowd, draw_columns

# A normal law kept between two bounds, far out in its tails too.

Floats = NDArray[np.float64]
Bound = Floats | float

# Below this a precision is nothing: the law is flat between its bounds.
_FLAT = 1e-12
# Between bounds that differ by less than this in the logarithm of the CDF it is level.
_THIN = 1e-6


def compute_log_mass(slope: Floats, precision: Floats, low: Bound, high: Bound) -> Floats:
    """Return the log of the integral of exp(slope w - precision w**2 / 2) over low..high.

    Args:
        slope, precision, low, high: of one shape, or broadcast to one; precision not negative.

    >>> compute_log_mass(np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, np.e)).round(6)
    array([1.])
    """
    middle, deviation, below, above, _ = _standardise(slope, precision, low, high)
    thick = above + np.log(-np.expm1(np.minimum(below - above, -_THIN)))
    # Of bounds so near to each other the logarithms differ by their rounding: the law is level.
    wide = (np.asarray(high) - low) / deviation
    centre = (np.asarray(high) + low) / 2
    level = np.log(wide / np.sqrt(2 * np.pi)) - 0.5 * np.square((centre - middle) / deviation)
    share = np.where(below - above > -_THIN, level, thick)
    return np.asarray(
        share + np.log(deviation * np.sqrt(2 * np.pi)) + 0.5 * np.square(middle / deviation)
    )


def invert_cdf(slope: Floats, precision: Floats, low: Bound, high: Bound, share: Floats) -> Floats:
    """Return the value below which this share of the law lies: the inverse of its CDF.

    Args:
        slope, precision, low, high: as for `compute_log_mass`.
        share: between 0 and 1; even numbers there give draws of the law.
    """
    middle, deviation, below, above, turned = _standardise(slope, precision, low, high)
    part = np.where(turned, 1 - share, share)
    reached = ndtri_exp(above + np.log(part + (1 - part) * np.exp(below - above)))
    return np.asarray(np.clip(middle + deviation * np.where(turned, -reached, reached), low, high))


def approximate_mass(
    slope: Floats, precision: Floats, low: Bound, high: Bound
) -> tuple[Floats, Floats]:
    """Return about the same integral as (log of its peak, width), in ordinary arithmetic.

    Within a third of `compute_log_mass`, at a tenth of its cost: good enough to propose with. To
    each side of the peak the law falls by its slope there and as a normal does, until the bound.
    """
    stiff = np.maximum(precision, _FLAT)
    peak = np.clip(slope / stiff, low, high)
    fall = np.abs(slope - stiff * peak) + np.sqrt(stiff * (2 / np.pi))
    left, right = peak - low, high - peak
    # A peak on a bound slopes towards it, one inside is level: one fall serves both sides.
    width = left / (1 + left * fall) + right / (1 + right * fall)
    return peak * (slope - 0.5 * stiff * peak), width


def _standardise(
    slope: Floats, precision: Floats, low: Bound, high: Bound
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return mean, deviation, log-CDF at both bounds, and where the law was turned round.

    Turned round, whatever lies in the upper tail lies in the lower one, where a log-CDF keeps
    its digits.
    """
    stiff = np.maximum(precision, _FLAT)
    deviation = 1 / np.sqrt(stiff)
    middle = slope / stiff
    first, last = (low - middle) / deviation, (high - middle) / deviation
    turned = first > 0
    first, last = np.where(turned, -last, first), np.where(turned, -first, last)
    return middle, deviation, log_ndtr(first), log_ndtr(last), turned


# All sources of a scene at once, shifted as two other scenes differ.
#
# At low noise scenes fit only if their sources shift together, in ways that the readings alone
# decide. The difference of two other scenes is such a way: whatever joins the sources of all
# scenes joins those of the proposed one.

Whole = NDArray[np.int64]


def move_by_differential_evolution(crowd: Crowd, cool: float, scale: float) -> None:
    """Propose each scene plus the difference of two of as many sources, or leave it.

    Sources are told apart by their order along one direction, which must stay as it is: then
    the way back is as likely, with the two scenes exchanged. One half of the scenes is shifted
    as the other half differs, then the other, so that nobody steers by who moves.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.
        scale: by how much of the difference, up to 1, rounded to cells.

    Source: ter Braak 2006, differential evolution; Goodman and Weare 2010 for the halves.
    """
    rows, halves = crowd.rows, (crowd.rows[::2], crowd.rows[1::2])
    heading = _draw_heading(crowd)
    order = np.argsort(heading[crowd.cells], axis=1)
    crowd.cells = crowd.cells[rows[:, None], order]
    crowd.powers = crowd.powers[rows[:, None], order]
    # No source comes or goes here.
    even, numbers = crowd.draw_uniforms(3), crowd.numbers
    for moving, still in (halves, halves[::-1]):
        first, second, fits = _draw_two_scenes(numbers, moving, still, even[moving])
        _shift(crowd, heading, moving, first, second, fits, scale, cool, even[moving, 2])


def _shift(
    crowd: Crowd,
    heading: Floats,
    moving: Whole,
    first: Whole,
    second: Whole,
    fits: NDArray[np.bool_],
    scale: float,
    cool: float,
    even: Floats,
) -> None:
    """Shift the moving scenes as two others differ, where the likelihood takes it."""
    cells, powers, allowed = _propose_shift(crowd, moving, first, second, scale)
    apart = heading[cells[:, 1:]] > heading[cells[:, :-1]]
    fits = fits & allowed & (apart | (cells[:, 1:] == crowd.problem.cells)).all(axis=1)
    cells[~fits], powers[~fits] = crowd.cells[moving[~fits]], crowd.powers[moving[~fits]]
    left = crowd.compute_residual(cells, powers)
    worse = np.square(left).sum(axis=1) - np.square(crowd.residual[moving]).sum(axis=1)
    taken = fits & (np.log(even) < -0.5 * cool * worse)
    crowd.cells[moving[taken]], crowd.powers[moving[taken]] = cells[taken], powers[taken]
    crowd.residual[moving[taken]] = left[taken]


def _draw_heading(crowd: Crowd) -> Floats:
    """Return how far each cell is along one direction; infinitely far what is off.

    Along a line there is one direction. In a plane each call has its own.
    """
    grid = crowd.problem.grid
    angle = np.pi * crowd.draw_uniforms()[0]
    way = np.array([0.0, 1.0]) if len(crowd.problem.at) == 1 else [np.sin(angle), np.cos(angle)]
    return np.append(grid[:-1] @ way, np.inf)


def _draw_two_scenes(
    numbers: Whole, moving: Whole, still: Whole, even: Floats
) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """Return two scenes of the half that stands still, of as many sources, and where there are."""
    ranked = still[np.argsort(numbers[still], kind="stable")]
    start = np.searchsorted(numbers[ranked], numbers[moving], "left")
    count = np.searchsorted(numbers[ranked], numbers[moving], "right") - start
    first = (even[:, 0] * count).astype(np.int64)
    second = (even[:, 1] * np.maximum(count - 1, 0)).astype(np.int64)
    second += second >= first
    last = len(ranked) - 1
    first, second = (
        ranked[np.minimum(start + first, last)],
        ranked[np.minimum(start + second, last)],
    )
    return first, second, (count >= 2) & (numbers[moving] > 0)


def _propose_shift(
    crowd: Crowd, moving: Whole, first: Whole, second: Whole, scale: float
) -> tuple[Whole, Floats, NDArray[np.bool_]]:
    """Return the proposed cells and powers, and where they are in cells and within bounds."""
    problem, grid = crowd.problem, crowd.problem.grid
    before, heat = crowd.cells[moving], crowd.powers[moving]
    there = before < problem.cells
    apart = grid[crowd.cells[first]] - grid[crowd.cells[second]]
    apart = np.sign(apart) * np.floor(scale * np.abs(apart) + 0.5).astype(np.int64)
    place = grid[before] + np.where(there[:, :, None], apart, 0)
    size = np.array(problem.at.shape)
    inside = ((place >= 0) & (place < size)).all(axis=2) | ~there
    place = np.clip(place, 0, size - 1)
    cells = np.where(there, problem.at[place[:, :, 0], place[:, :, 1]], problem.cells)
    powers = heat
    if problem.low < problem.high:
        powers = heat + scale * np.where(there, crowd.powers[first] - crowd.powers[second], 0.0)
        inside &= ((powers >= problem.low) & (powers <= problem.high)) | ~there
    return cells, powers, (inside & (there == (cells < problem.cells))).all(axis=1)


# How two sources of fixed joint heat can share it.

# Of a power: sums of powers have lost no more digits than this.
_ROUNDING = 1e-9


class Share:
    """How two sources of fixed joint heat share it: w_1 = heat / 2 + d, w_2 = heat / 2 - d."""

    def __init__(self, crowd: Crowd, left: Floats, heat: Floats, cool: float) -> None:
        self._problem, self._rows = crowd.problem, crowd.rows[:, None]
        self._felt = cool * left @ crowd.problem.columns.T
        self._squares = cool * np.append(crowd.problem.squares, 0.0)
        self._heat, self._cool = heat, cool
        low, high = crowd.problem.low, crowd.problem.high
        even = np.minimum(heat / 2 - low, high - heat / 2)
        self._least = _ROUNDING * high
        # The most that d can be; two sources on their bounds leave nothing, and not less.
        self._even = np.where(even > -self._least, np.maximum(even, 0.0), even)

    def approximate_scores(
        self, ones: Whole, twos: Whole, like_one: Floats, like_two: Floats
    ) -> tuple[Floats, Floats]:
        """Return (scores, widths) of every pair, (scenes, ones, twos), about integrated over d.

        Args:
            like_one, like_two: log of how likely each cell is beforehand, like `ones` and `twos`.
        """
        like_one = np.where(self._even[:, None] >= 0, like_one, -np.inf)
        base, slope, stiff = self._expand_pairs(ones, twos, like_one, like_two)
        # Where two cannot share the heat d has no range: with one of less than nothing a width
        # could be infinite, and all weights of that scene none.
        most = np.maximum(self._even, 1e-30)[:, None, None].astype(slope.dtype)
        peak, width = approximate_mass(slope, stiff, -most, most)
        peak += base
        return peak, width

    def score_single(self, ones: Whole) -> Floats:
        """Return the score of one source that has all the heat, (scenes, ones)."""
        heat = self._heat[:, None]
        scores = heat * (self._felt[self._rows, ones] - 0.5 * heat * self._squares[ones])
        low, high = self._problem.low - self._least, self._problem.high + self._least
        return np.where((low <= heat) & (heat <= high), scores, -np.inf)

    def compute_log_correction(self, one: Whole, two: Whole) -> Floats:
        """Return log(exact / rough integral) of pairs, (any, scenes); 0 where one has it all."""
        slope, stiff = self._expand_pair(one, two)
        most = np.maximum(self._even, self._least)
        exact = compute_log_mass(slope, stiff, -most, most)
        peak, width = approximate_mass(slope, stiff, -most, most)
        return np.where(two < self._problem.cells, exact - peak - np.log(width), 0.0)

    def draw_power(self, one: Whole, two: Whole, share: Floats) -> Floats:
        """Return the first source's power."""
        slope, stiff = self._expand_pair(one, two)
        most = np.maximum(self._even, self._least)
        drawn = self._heat / 2 + invert_cdf(slope, stiff, -most, most, share)
        return np.where(two < self._problem.cells, drawn, self._heat)

    def _expand_pair(self, one: Whole, two: Whole) -> tuple[Floats, Floats]:
        """Return slope and curvature of the log-likelihood at d = 0, for pairs (..., scenes)."""
        rows, half, columns = self._rows[:, 0], self._heat / 2, self._problem.columns
        square_one, square_two = self._squares[one], self._squares[two]
        slope = self._felt[rows, one] - half * square_one
        slope -= self._felt[rows, two] - half * square_two
        cross = np.einsum("...i,...i->...", columns[one], columns[two])
        return slope, square_one + square_two - 2 * self._cool * cross

    def _expand_pairs(
        self, ones: Whole, twos: Whole, like_one: Floats, like_two: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return log-likelihood at d = 0, its slope and its curvature, (scenes, ones, twos).

        The first with what is likely beforehand. What is of one cell is joined before pairs are.
        """
        half, columns = self._heat[:, None] / 2, self._problem.columns
        digits = self._problem.digits
        worth, slopes, squares = [], [], []
        for cells, like in ((ones, like_one), (twos, like_two)):
            felt, square = self._felt[self._rows, cells], self._squares[cells]
            worth.append(half * (felt - half / 2 * square) + like)
            slopes.append((felt - half * square).astype(digits))
            squares.append(square.astype(digits))
        cross = (self._cool * columns[ones]) @ columns[twos].transpose(0, 2, 1)
        base = worth[0][:, :, None] + worth[1][:, None, :]
        base -= np.square(half)[:, :, None] * cross
        stiff = squares[0][:, :, None] + squares[1][:, None, :]
        cross *= 2
        stiff -= cross.astype(digits, copy=False)
        return base, slopes[0][:, :, None] - slopes[1][:, None, :], stiff


# Two sources at a time: they slide along each other, split and merge.
#
# Two sources can move apart, or heat go from one to the other, and the readings hardly change,
# where moving either by itself is forbidden. So both are drawn at once, from a few cells around
# a centre near each, with the heat of both together as it was and its share integrated out.


def redraw_pair(crowd: Crowd, cool: float, merge: bool) -> None:
    """Draw two sources' cells and powers given all others and the sum of the two powers.

    The centres are drawn evenly from the cells near each source, so a pair is weighed with
    the chance that it had of these centres. Merging takes one centre for both, and lets the
    second source be off; else each has its own, and the number of sources stays. Where powers
    are not known a rough integral proposes and the exact one accepts.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.
        merge: whether two may become one, and one two; only where powers are not known.

    Source: Green 1995, reversible jumps; the sum of powers is what a split conserves.
    """
    problem, rows, beyond = crowd.problem, crowd.rows, crowd.problem.cells
    first, second, fits = _draw_slots(crowd, merge)
    one, two = crowd.cells[rows, first], crowd.cells[rows, second]
    heat = crowd.powers[rows, first] + crowd.powers[rows, second]
    around_one = _draw_cells_around(crowd, one)
    around_two = around_one if merge else _draw_cells_around(crowd, two)
    if merge:
        # What a move leads to must lead back: a second source far off has no way to be off.
        fits &= (two == beyond) | (around_one == two[:, None]).any(axis=1)
    left = crowd.residual + crowd.powers[rows, first][:, None] * problem.columns[one]
    left = left + crowd.powers[rows, second][:, None] * problem.columns[two]
    others = crowd.cells.copy()
    others[rows, first] = others[rows, second] = beyond
    law = Share(crowd, left, heat, cool)
    even = crowd.draw_uniforms(3)
    within = around_one.shape[1]
    size = within + 1 if merge else within
    picked = _pick(crowd, law, others, around_one, around_two, merge, fits, even[:, 0])
    new_one = around_one[rows, picked // size]
    padded = np.concatenate([around_two, np.full((len(rows), 1), beyond)], axis=1)
    new_two = padded[rows, np.where(picked % size == within, -1, picked % size)]
    pairs = np.stack([new_one, one]), np.stack([new_two, two])
    found, lost = law.compute_log_correction(*pairs)
    moved = fits & (np.log(even[:, 1]) < found - lost)
    new_one, new_two = np.where(moved, new_one, one), np.where(moved, new_two, two)
    part = law.draw_power(new_one, new_two, even[:, 2])
    heat_one = np.where(fits, part, crowd.powers[rows, first])
    heat_two = np.where(fits, heat - part, crowd.powers[rows, second])
    crowd.put(first, new_one, heat_one, left - heat_two[:, None] * problem.columns[new_two])
    crowd.put(
        second, new_two, heat_two, crowd.residual + heat_two[:, None] * problem.columns[new_two]
    )


def _pick(
    crowd: Crowd,
    law: Share,
    others: Whole,
    around_one: Whole,
    around_two: Whole,
    merge: bool,
    fits: NDArray[np.bool_],
    even: Floats,
) -> Whole:
    """Return which pair of cells each scene's sources go to."""
    problem = crowd.problem
    number = (others < problem.cells).sum(axis=1)
    like_one = _weigh_cells(crowd, around_one, others)
    like_two = (
        like_one + problem.room[around_one] if merge else _weigh_cells(crowd, around_two, others)
    )
    if merge:
        fewer, more = (crowd.counted[number + i] - np.log(number + i) for i in (1, 2))
        alone = law.score_single(around_one) + like_one + fewer[:, None]
        like_one = like_one + (more - np.log(problem.high - problem.low))[:, None]
    scores, widths = law.approximate_scores(around_one, around_two, like_one, like_two)
    scores[around_one[:, :, None] == around_two[:, None, :]] = -np.inf
    if merge:
        scores = np.concatenate([scores, alone[:, :, None]], axis=2)
        widths = np.concatenate([widths, np.ones_like(alone)[:, :, None]], axis=2)
    # A scene that is left alone may have no pair at all to choose from.
    scores[~fits] = 0.0
    return draw_columns(scores.reshape(len(fits), -1), even, widths.reshape(len(fits), -1))


def _draw_slots(crowd: Crowd, merge: bool) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """Return two slots of each scene, and in which scenes there are any.

    The first is on, evenly chosen; the second too, or where sources merge any other slot.
    """
    number = crowd.numbers
    order = np.argsort(crowd.cells == crowd.problem.cells, axis=1, kind="stable")
    rank = (crowd.draw_uniforms() * number).astype(np.int64)
    others = np.maximum((crowd.cells.shape[1] if merge else number) - 1, 0)
    after = (crowd.draw_uniforms() * others).astype(np.int64)
    after = np.minimum(after + (after >= rank), crowd.cells.shape[1] - 1)
    first, second = order[crowd.rows, rank], order[crowd.rows, after]
    return first, second, (number >= (1 if merge else 2)) & (first != second)


def _draw_cells_around(crowd: Crowd, cells: Whole) -> Whole:
    """Return the cells around a centre that is evenly drawn from those near each cell."""
    near = crowd.problem.near
    sizes = (near[cells] < crowd.problem.cells).sum(axis=1)
    centre = near[cells, (crowd.draw_uniforms() * sizes).astype(np.int64)]
    return near[centre]


def _weigh_cells(crowd: Crowd, around: Whole, others: Whole) -> Floats:
    """Return log of how likely each cell around a centre is; not at all where others stand."""
    beyond, rows = crowd.problem.cells, crowd.rows[:, None]
    taken = np.zeros((len(rows), beyond + 1), dtype=bool)
    taken[rows, others] = taken[:, beyond:] = True
    return np.where(taken[rows, around], -np.inf, -crowd.problem.room[around])


# One source at a time, drawn from all the cells given the others: Gibbs sampling.


def redraw_one(crowd: Crowd, slot: int, cool: float) -> None:
    """Draw the slot's cell, or that it is off, and its power, given all other slots.

    With what is left of the readings once the slot is off, a source of power w in cell j adds
    cool (w h_j - w**2 g_j / 2) to the log-likelihood. Where the power is not known it is
    integrated out; the cell is proposed with the rough integral and accepted with the exact
    one, as Metropolis and Hastings do, and the power then drawn exactly.

    Args:
        cool: the power to which the likelihood is raised, 0 to 1.

    Source: Geman and Geman 1984; Liu 1996, "Metropolized independent sampling".
    """
    problem = crowd.problem
    which = np.full(len(crowd.rows), slot)
    left = crowd.compute_residual_without(which)
    slopes = cool * left @ problem.columns[:-1].T
    stiff = cool * problem.squares
    even = crowd.draw_uniforms(3)
    chosen = _draw(crowd, slot, slopes, stiff, even[:, 0])
    if problem.low < problem.high:
        before = crowd.cells[:, slot]
        found, lost = _compute_excess(crowd, slopes, stiff, np.stack([chosen, before]))
        chosen = np.where(np.log(even[:, 1]) < found - lost, chosen, before)
    crowd.put(which, chosen, _draw_powers(crowd, slopes, stiff, chosen, even[:, 2]), left)


def _draw(crowd: Crowd, slot: int, slopes: Floats, stiff: Floats, even: Floats) -> Whole:
    """Return each scene's cell for the slot."""
    problem = crowd.problem
    others = crowd.cells.copy()
    others[:, slot] = problem.cells
    number = (others < problem.cells).sum(axis=1)
    slopes, stiff = (one.astype(problem.digits, copy=False) for one in (slopes, stiff))
    scores = np.empty((len(number), problem.cells + 1), problem.digits)
    more, widths = crowd.counted[number + 1][:, None].astype(problem.digits), None
    if problem.low == problem.high:
        peak = problem.high * slopes - 0.5 * problem.high**2 * stiff
    else:
        widths = np.ones_like(scores)
        peak, widths[:, :-1] = approximate_mass(slopes, stiff, problem.low, problem.high)
        more -= np.log(problem.high - problem.low)
    np.add(peak, more, out=scores[:, :-1])
    scores[crowd.rows[:, None], others] = -np.inf
    scores[:, -1] = crowd.counted[number]
    return draw_columns(scores, even, widths)


def _draw_powers(
    crowd: Crowd, slopes: Floats, stiff: Floats, cells: Whole, even: Floats
) -> Floats:
    """Return a power for a source in each scene's cell; none where it is off."""
    problem = crowd.problem
    drawn = np.full(len(cells), problem.high)
    if problem.low < problem.high:
        inside = np.minimum(cells, problem.cells - 1)
        slope = slopes[crowd.rows, inside]
        drawn = invert_cdf(slope, stiff[inside], problem.low, problem.high, even)
    return np.where(cells < problem.cells, drawn, 0.0)


def _compute_excess(crowd: Crowd, slopes: Floats, stiff: Floats, cells: Whole) -> Floats:
    """Return log(exact / rough integral) at cells, (any, scenes); 0 where the source is off."""
    problem = crowd.problem
    inside = np.minimum(cells, problem.cells - 1)
    law = (slopes[crowd.rows, inside], stiff[inside], problem.low, problem.high)
    peak, width = approximate_mass(*law)
    return np.where(cells < problem.cells, compute_log_mass(*law) - peak - np.log(width), 0.0)
