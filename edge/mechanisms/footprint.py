"""What a disk Round says: how likely each cell near the true one is answered, and which cells are.

    params = (reach, far, near, num, den, *octant)

reach     cells from the true one to the farthest that is likelier, along an axis
far       the weight of every other cell of the outer domain
near      the greatest weight
num, den  epsilon of one report
octant    the eighth 0 <= y <= x of the footprint, row by row from y = 0: full, parts, and as many
          weights. `full` cells from x = y on weigh near, the next `parts` what is given.

The rest of the footprint is its mirror image. On a line it is the axis alone, and rows of the
octant after the first say nothing. The outer domain O holds the footprints of all cells, cut by
no border, so that every input has the same total weight:

    P(answer z | cell v) = weight(z - v) / total,  total = far |O| + sum over it of weight - far

and with far <= weight <= near <= far exp(num/den) no two inputs are told apart by more than that.

Differs from the paper: 1. weights are whole numbers, and given, not made of areas that may be
negative or above one; 2. the outer domain is what the footprints cover, not what a formula says.
Source: the disk area mechanism of paper 003, Sections V and VI.
"""

MOST = 64  # epsilon: e**64 times as likely is no secret any more
HEAD = 5  # how many params stand before the octant: reach, far, near, num, den


def outer(grid, reach):
    """Return (columns, rows, reach_x, reach_y) of the array that holds the outer domain.

    The grid's cell (x, y) stands at (x + reach_x, y + reach_y) of it. A grid of one row has no
    reach across it, one of one column neither.
    """
    columns, rows = grid.shape
    reach_x = reach if columns > 1 else 0
    reach_y = reach if rows > 1 else 0
    return columns + 2 * reach_x, rows + 2 * reach_y, reach_x, reach_y


def bits(round):
    """Return how wide the number of a cell in this Round's reports is, 16 or 32 bits."""
    columns, rows, _, _ = outer(round.grid, round.params[0])
    for width in (16, 32):
        if columns * rows <= 1 << (width - 1):
            return width
    raise ValueError(
        "round %d has %d x %d outer cells, a report tells 2**31 apart: answers would be cut. "
        "Plan it with larger cells or a smaller radius" % (round.number, columns, rows)
    )


class Table:
    """A Round's weights, checked, in the order in which `disk_half.draw` goes through them.

    of: the grid and params that it was made of. columns, rows, reach_x, reach_y: of `outer`.
    cells: of the outer domain. inner: what the footprint weighs beyond far. total: of all weights.
    ends: the last x of each row of the octant. fulls, at: how many of its cells weigh near, and
    where in params its other weights begin. upto: what its mirror images and all rows before
    weigh beyond far. ValueError says what is wrong with a Round.
    """

    def __init__(self, round):
        self.of = round.grid, round.params
        reach = round.params[0] if round.params else -1
        if min(round.grid.shape) < 1 or len(round.params) < HEAD + 2 or reach < 0:
            raise ValueError(
                "a grid of %d x %d cells came with %d params and reach %d; needed: at least one "
                "cell, a reach from 0 and one row of weights, or nothing can be answered. Plan "
                "the round again" % (round.grid.shape + (len(round.params), reach))
            )
        bits(round)
        self.far, self.near, num, den = round.params[1:HEAD]
        self.columns, self.rows, self.reach_x, self.reach_y = outer(round.grid, reach)
        if num < 1 or den < 1 or not 1 <= self.far <= self.near:
            raise _wrong("epsilon %d/%d with weights %d to %d", num, den, self.far, self.near)
        if self.near > exp_floor(num, den, self.far):
            raise ValueError(
                "the weights go from %d to %d, which is more than exp(%d/%d) times as much: an "
                "answer would tell more than epsilon allows. Round the greatest weight down"
                % (self.far, self.near, num, den)
            )
        self.ends, self.fulls, self.at, self.upto = [], [], [], []
        self.inner, place = 0, HEAD
        while place < len(round.params):
            place = self._row(round.params, place)
        self.cells = (self.rows - 2 * self.reach_y) * self.columns
        for _, count, half in self.list_caps():
            self.cells += 2 * count * (self.columns - 2 * (self.reach_x - half))
        self.total = self.far * self.cells + self.inner

    def count_mirrors(self, y):
        """Return how many mirror images a cell of row y has, beside those on a diagonal."""
        if y:
            return 8
        return 4 if self.reach_x and self.reach_y else 2

    def list_caps(self):
        """Yield the outer domain's rows above and below the grid's own, in runs of equal width.

        (j, count, half): rows j to j + count - 1 from the grid's border, on either side, are by
        `half` cells longer on each end than the grid's.
        """
        if not self.reach_y:
            return
        if not self.reach_x:
            yield 1, self.reach_y, 0
            return
        last = len(self.ends) - 1
        for y in range(1, last + 1):
            yield y, 1, self.ends[y]
        for x in range(len(self.ends) - 1, -1, -1):  # beyond the diagonal: columns of the octant
            if self.ends[x] > last:
                yield last + 1, self.ends[x] - last, x
                last = self.ends[x]

    def _row(self, params, place):
        """Take in the row of the octant that begins at this place, and return the next one's."""
        y = len(self.ends)
        full, parts = params[place : place + 2] if place + 2 <= len(params) else (0, 0)
        at = place + 2
        end = y + full + parts - 1
        if full < 0 or parts < 0 or end < y or at + parts > len(params):
            raise _wrong(
                "row %d of %d full cells and %d others in %d params", y, full, parts, len(params)
            )
        if not y and end != params[0]:
            raise _wrong("a footprint that ends at %d with reach %d", end, params[0])
        if y and end > self.ends[-1]:
            raise _wrong("row %d that ends at %d, after row %d before it", y, end, y - 1)
        for weight in params[at : at + parts]:
            if not self.far <= weight <= self.near:
                raise _wrong(
                    "row %d with weight %d, not from %d to %d", y, weight, self.far, self.near
                )
        self.ends.append(end)
        self.fulls.append(full)
        self.at.append(at)
        if not y or (self.reach_x and self.reach_y):
            first = self.near if full else params[at]
            self.inner += (4 if y else 1) * (first - self.far)
            if self.reach_x or self.reach_y:
                rest = max(full - 1, 0) * (self.near - self.far)
                rest += sum(params[at if full else at + 1 : at + parts])
                rest -= (parts if full else parts - 1) * self.far
                self.inner += self.count_mirrors(y) * rest
        self.upto.append(self.inner)
        return at + parts


def _wrong(given, *numbers):
    return ValueError(
        given
        % numbers
        + " came, which is no footprint: weights from far to near, rows that do not grow, the "
        "first as long as the reach. Answers would be of another law. Plan the round again"
    )


# The exponential from below, in whole numbers: what a ratio of weights may be at the most. Whoever
# checks that must never round up, nor need a float.


def exp_floor(num, den, scale):
    """Return a whole number that is at most scale * exp(num/den), and less than 2 below it.

    num/den is 0 to 64, scale at least 0.

    The series 1 + x + x**2 / 2! + ... of positive terms in fixed point, each cut, so that no sum
    is above the true one. Term k is short by less than x / k times what the one before is, and 1:
    all together by less than e**x times their number, in units of 2**-guard. The guard has 2 bits
    for each unit of x, where e**x takes less than 3/2, and 64 beside.
    """
    if den < 1 or not 0 <= num <= MOST * den or scale < 0:
        raise ValueError(
            "exp(%d/%d) times %d was asked for but the exponent must be 0 to %d and the scale "
            "at least 0: nothing else is a weight. State the epsilon of one report"
            % (num, den, scale, MOST)
        )
    guard = 64 + 2 * (num // den + 1)
    term = scale << guard
    total = k = 0
    while term:
        total += term
        k += 1
        term = term * num // (den * k)
    return total >> guard
