"""A table from which many samples of a discrete Gaussian are drawn, each with the same work.

    P(z) proportional to exp(-z**2 den / (2 num)),  num/den the variance in whole numbers

`slack` bounds how far the law of the table is from this one, as total variation of one sample:
whoever promises privacy adds it to delta (`recovery.noise.tables`).
"""

# What follows are comments, for they take no memory of a board.
#
# The table holds, for k = 0, 1, 2, ..., the chance that |z| is at most k, as a whole number of
# 2**-bits. A sample is how many thresholds a uniform number is not below, and a sign.
#
# Built in two passes that store nothing on the way: one for how many thresholds there are and what
# all weights come to, one that writes. Weights are whole numbers of 2**-(bits + GUARD), from
#
#     w(0) = 1,  w(k + 1) = w(k) r(k),  r(0) = a,  r(k + 1) = r(k) a**2,  a = exp(-den / (2 num))
#
# Why `slack` holds, in units of 2**-(bits + GUARD). No factor is above 1 and each product is
# rounded once, so errors add: a is off by at most 64 (its series has under 40 terms, each off by
# less than 5/4), a**2 by 130, r(k) by 64 + 132 k, w(k) by 66 k**2, a sum up to k by 44 (k + 1)**3.
# With k at most 2**12 that is below 2**43 of 2**64 guarded: 2**-20 of a threshold's last digit.
# Rounding a threshold to the nearest is half a digit more. A threshold that is off by e moves e
# from one value to the next, so n thresholds move at most n (1/2 + 2**-20) digits; values beyond
# the last one, where weights are below one digit, had together less than one. `slack` is
# n / 2 + 2.
#
# Work: `bits` + 1 random bits a sample, never rejected, and a search of a fixed number of steps
# without a branch on what was drawn. On a chip that runs it from memory without a cache, which is
# most boards, that is a fixed time; the exact sampler of `noise` has none, whatever it runs on.

from array import array

from .limbs import search, split

try:  # in machine code, where this Python makes some
    from .viper import search as _fast_search
    from .viper import split as _fast_split
except (ImportError, SyntaxError, ValueError, MemoryError):
    _fast_search = _fast_split = None

LIMB = 28  # bits of a threshold in one item: a difference of two is a small int on any board
GUARD = 64  # more bits while building
MOST = 4096  # thresholds; beyond, the bound above would not hold, nor would a board hold them
BATCH = 16  # samples between two looks into the stream


class Table:
    """Thresholds of one variance. `fill` draws; `slack` is (num, den), for one sample.

    num, den: the variance, at least 1. bits: of a threshold, 56 or 84 or another multiple of 28.
    """

    def __init__(self, num, den=1, bits=56):
        if den < 1 or num < den:
            raise ValueError(
                "a table of variance %d/%d was asked for but it must be at least 1: below that "
                "almost all noise is 0. Use noise.dgauss" % (num, den)
            )
        if bits < 2 * LIMB or bits % LIMB or bits > 4 * LIMB:
            raise ValueError(
                "thresholds of %d bits were asked for but 56, 84 or 112 can be had: an item "
                "holds 28. Take 56, and 84 where its slack is too much" % bits
            )
        scale = bits + GUARD
        count, total = _measure(num, den, bits, scale)
        self.variance = num, den
        self.bits = bits
        self.slack = count + 4, 1 << (bits + 1)
        self._limbs = bits // LIMB
        # From a range, whose length is known: `array` then makes no list on its way.
        self.thresholds = array("I", range(count * self._limbs))
        self._write(_weights(num, den, scale), count, total)
        self._drawn = array("I", range(BATCH * self._limbs))
        self._found = array("i", range(BATCH))
        self._sizes = array("I", (BATCH, count, self._limbs))
        self._search, self._split = _fast_search or search, _fast_split or split

    def __len__(self):
        return self._sizes[1]

    def threshold(self, k):
        """Return the chance that |z| is at most k, in units of 2**-bits."""
        value = 0
        for place in range(self._limbs - 1, -1, -1):
            value = (value << LIMB) + self.thresholds[k * self._limbs + place]
        return value

    def fill(self, out, rng):
        """Write one sample into every item of `out`, drawn from an `entropy.Stream`."""
        drawn, found, sizes, width = self._drawn, self._found, self._sizes, self.bits + 1
        for first in range(0, len(out), BATCH):
            count = min(BATCH, len(out) - first)
            sizes[0] = count
            bits = width * count  # of all at once: what a stream does for each call adds up
            self._split(drawn, rng.bits(bits).to_bytes((bits + 7) // 8, "big"), sizes)
            self._search(found, drawn, self.thresholds, sizes)
            for at in range(count):
                out[first + at] = found[at]
        # Noise that lies about is a reading that lies open.
        for at in range(BATCH):
            found[at] = 0
        for at in range(len(drawn)):
            drawn[at] = 0

    def _write(self, weights, count, total):
        kept, limbs = self.thresholds, self._limbs
        mask, summed = (1 << LIMB) - 1, 0
        for k in range(count):
            summed += next(weights) << (1 if k else 0)
            threshold = ((summed << (self.bits + 1)) + total) // (2 * total)
            for place in range(limbs - 1):
                kept[k * limbs + place] = threshold & mask
                threshold >>= LIMB
            # Not cut: the last thresholds may be 1 itself, which no number drawn reaches.
            kept[k * limbs + limbs - 1] = threshold


def _measure(num, den, bits, scale):
    """Return how many thresholds there are, and the sum of all weights of -k to k."""
    total = 0
    for k, weight in enumerate(_weights(num, den, scale)):
        if weight >> (scale - bits) == 0:  # from here on less than one digit, and falling fast
            return k - 1, total  # the last one would be 1: nothing is above it
        total += weight << (1 if k else 0)
        if k == MOST:
            break
    raise ValueError(
        "a table of variance %d/%d with %d bits has more than %d thresholds: it would not fit a "
        "board. Use noise.dgauss, or a coarser grain" % (num, den, bits, MOST)
    )


def _weights(num, den, scale):
    """Yield exp(-k**2 den / (2 num)) for k = 0, 1, ... in units of 2**-scale, for ever."""
    ratio = _exponential(den, 2 * num, scale)
    step = (ratio * ratio) >> scale
    weight = 1 << scale
    while True:
        yield weight
        weight = (weight * ratio) >> scale
        ratio = (ratio * step) >> scale


def _exponential(num, den, scale):
    """Return exp(-num/den), for num/den at most 1/2, in units of 2**-scale; off by 64 at most."""
    term = total = 1 << scale
    n = 0
    while term:
        n += 1
        term = term * num // (den * n)
        total += -term if n % 2 else term
    return total
