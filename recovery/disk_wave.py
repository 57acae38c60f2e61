"""A footprint that maps are nearer with than with the disk: the square wave, at times hollow.

    radius 0    1/2         1           2             3 and more
    #             #         # # #         # # #       the whole square
                # # #       # - #       # # # # #
                  #         # # #       # # - # #     # weighs near, - weighs far and is
                                        # # # # #     answered as often as any cell far away
                                          # # #

Proof of epsilon, which is the same for any shares in [0, 1]: a cell of the outer domain weighs
far + s (near - far), so at least far and at most near <= far exp(epsilon); all weights of one
true cell add up to far |O| + sum of (w - far), which names no cell, because every footprint is the
same and lies in O. So any answer has, from any two cells, chances whose ratio is at most
exp(epsilon). Nothing is asked of the device but another eighth; it checks those bounds itself.

Why a square: with reach b around d x d cells the outer domain is d**2 + 4 b d + about the
footprint. Of all footprints of that reach the square holds the most, so of all that hold as much
it needs the narrowest margin, and answers in a margin tell little.

Why hollow: what an answer tells is convex in the weights, so between far and near nothing is
gained, and which cells weigh near is a question of shape. Every shape up to reach 2 was tried at
10 x 10 and epsilon 3.5, and elsewhere hundreds at random and by exchange, on eight sets of points.
Where the best reach is 1 or 2 the true cell is best left out, and at 2 the corners: 2 to 5 % of
W2, or nothing where cells are many. From reach 3 on a hole gained nothing beyond noise.

Measured by `tests/bench/bench_wave.py`, with the reach of `recovery.disk_choice` beside the
printed radius and the printed stopping rule: by how many hundredths W2 is smaller, geometric mean
over six sets of points (at 15 x 15 from epsilon 3.5 eight), 95 % of the mean of 20 runs; of
fewer where stated. W2 goes with the fourth root of the variance, so a tenth of it is worth half
as many users again.

    cells    epsilon   reach  printed    than DAM      than DAM-NS
     5 x  5    0.7       2       4      15.3 ± 3.2     6.6 ± 3.0
     5 x  5    1.4       1       3      18.0 ± 2.1     8.2 ± 3.0
     5 x  5    3.5       0       1      16.3 ± 2.3     8.5 ± 2.3
    10 x 10    0.7       4       9      11.0 ± 2.5    10.5 ± 2.9     12 runs
    10 x 10    1.4       3       6       9.5 ± 1.7     7.3 ± 1.4
    10 x 10    3.5       1       2      14.0 ± 1.4     7.3 ± 1.5
    10 x 10    5        1/2      1       6.7 ± 1.8    -0.3 ± 1.6     the same cross as DAM-NS
    15 x 15    1.4       5      10       9.2 ± 3.4     9.0 ± 2.9     8 runs
    15 x 15    3.5       2       3       6.3 ± 1.7     2.2 ± 1.5
    15 x 15    5         1       1       3.6 ± 1.8     0.8 ± 1.5     DAM-NS is as good
    20 x 20    3.5       3       4       4.6 ± 2.0     2.2 ± 2.1
    20 x 20    5         2       2       2.7 ± 2.4     2.1 ± 2.0     12 runs

On four sets that nothing was chosen with (`--unseen`, estimator "auto", 8 runs) it is nearer by

    10 x 10    1.4                                9.7 ± 1.9     6.7 ± 3.2
    10 x 10    3.5                               21.8 ± 2.4    11.6 ± 2.2
    10 x 10    5                                  6.0 ± 2.2    -0.2 ± 3.0
    15 x 15    1.4                                9.1 ± 3.8     8.8 ± 3.0
    15 x 15    3.5                                9.0 ± 2.0     6.0 ± 2.9
    15 x 15    5                                 -2.4 ± 1.7    -5.4 ± 1.4

so where it reaches as far as the printed disk, `disk_choice` takes DAM-NS instead.

It is not nearer on every map: at epsilon 5 DAM-NS is nearer by 4 to 9 % on even and gently
sloping ones. With the estimator "auto" the gains at 10 x 10 and epsilon 3.5 are 9.9 ± 4.2 and
6.5 ± 4.0. Along a line the wave is the interval, which is the disk.

Tried and no better: half the users with one reach and half with another, a quarter or half of
them answering one axis alone, and randomised response among the tiles of public random
partitions of the grid, which has no margin (W2 5 % larger at 10 x 10 and epsilon 1.4).

Differs from the paper:
1. Theorem V.2 calls the disk the best at a fixed reach, for the sliced distance between two
   answers' laws, and bounds the footprint by the disk's area. The square of that reach has a
   larger area and so a smaller q; its reach along the diagonal is longer.
"""

import math

HOLLOW = 2  # from the next reach on the square is whole


def shares(radius: float, epsilon: float, shape: tuple[int, int]) -> list[list[float]]:
    """Return the shares of the wave's eighth: row y holds those of x = y, y + 1, ..., reach.

    Args:
        radius: in cells, 0 or more; its whole part is the reach, but from 1/2 to 1 it is a cross.
        epsilon: of one report; the shares do not depend on it, the radius should.
        shape: (columns, rows) of the grid.

    Raises:
        ValueError: the radius is no number of cells.

    >>> shares(1, 3.5, (10, 10))
    [[0.0, 1.0], [1.0]]
    >>> shares(2, 3.5, (15, 15))
    [[0.0, 1.0, 1.0], [1.0, 1.0]]
    """
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"the radius is {radius!r} but must be a number of cells from 0 up, or the wave would "
            "have no cell. Leave it out to have one chosen."
        )
    reach = math.floor(radius)
    if 1 in shape:
        return [[1.0] * (reach + 1)]
    if 0.5 <= radius < 1:
        return [[1.0, 1.0]]
    rows = [[1.0] * (reach + 1 - y) for y in range(reach + 1)]
    if 0 < reach <= HOLLOW:
        rows[0][0] = 0.0
    if reach == HOLLOW:
        del rows[reach]  # its only cell is the corner
    return rows
