"""Many samples of one discrete Gaussian, of any variance that is planned, in little memory.

A table of `table` grows with the deviation: 70 bytes a grain, in one piece. So from NARROW up a
sample is the sum of two, the second b times as coarse and, if it is still too wide, a sum again:

    z = x + b y,    x of variance 5 b**2,    y of variance num / (den b**2) - 5

Source: sums of coarse and fine Gaussians are Micciancio and Walter 2017, "Gaussian Sampling over
the Integers", Section 3; the bound here needs only Poisson's summation.
"""

# With v = 1 / (1 / var y + b**2 / var x) the chance of z is the Gaussian's times a sum over all
# whole j of exp(-(j - c z)**2 / 2 v), which is the same for every z but for a part of
# 2 exp(-2 pi**2 v) (Poisson's summation). As b**4 is at most num / (5 den), var y is at least
# sqrt(5 NARROW) - 5 = 50, so v at least 4.5 and that part under 2**-126: less than one digit of
# any table. `slack` is that of all tables and a digit for each sum. `recovery.noise.tables`
# computes it in fractions.
#
# With 84 bits it is at most 2**-74 for every whole variance up to WIDEST, which `bulk` counts on.
# Four sums by 11 bring WIDEST below 5 STEP**4 = 73205, and from there two more are enough (a
# factor of 10 and one of 3, at the most): seven tables. None is of more than NARROW, so none has
# more than 25 (2 * 84 log 2)**0.5 < 270 thresholds, and adds up to 276 digits: 7 * 276 < 2**11 of
# 2**-85.

from array import array

from .noise import isqrt
from .table import BATCH, Table

NARROW = 625  # grains squared: up to here one table does, of 220 thresholds with 56 bits
WIDEST = 1 << 40  # grains squared: a million grains, far more than any plan has
SHARE = 5  # how many b**2 of the variance are the fine part's
STEP = 11  # the greatest b: its fine part is as wide as NARROW


class Sampler:
    """`fill(out, rng)` draws; `slack` is (num, den), for one sample.

    num, den: the variance in grains squared, 1 to WIDEST. bits: as for `Table`.
    parts: pairs of a factor and the table whose samples it multiplies, finest first.
    """

    def __init__(self, num, den=1, bits=56):
        if den < 1 or num > WIDEST * den:
            raise ValueError(
                "tables of variance %d/%d were asked for but %d grains squared is the most: wider "
                "noise was never planned. Use noise.dgauss, or a coarser grain"
                % (num, den, WIDEST)
            )
        self.variance = num, den
        self.parts, factor, digits = [], 1, 0
        while num > NARROW * den:
            b = min(STEP, isqrt(isqrt(num // (SHARE * den))))
            part = Table(SHARE * b * b, 1, bits)
            self.parts.append((factor, part))
            digits += part.slack[0] + 2
            num, den, factor = num - SHARE * b * b * den, den * b * b, factor * b
        part = Table(num, den, bits)
        self.parts.append((factor, part))
        self.slack = digits + part.slack[0], part.slack[1]
        self._half = array("i", range(BATCH))

    def fill(self, out, rng):
        """Write one sample into every item of `out`, drawn from an `entropy.Stream`.

        In the stream all finest parts come first, then all that are next: who repeats it to take
        noise off draws as many at once as the device did.
        """
        half = memoryview(self._half)
        for factor, part in self.parts:
            if factor == 1:
                part.fill(out, rng)
                continue
            for first in range(0, len(out), BATCH):
                count = min(BATCH, len(out) - first)
                part.fill(half[:count], rng)
                for at in range(count):
                    out[first + at] += factor * half[at]
                    half[at] = 0
