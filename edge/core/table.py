"""Tables from which many samples of a discrete Gaussian are drawn, each with the same work.

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

from .noise import isqrt

try:  # in machine code, where this Python makes some
    from .viper import look_up_noise as _fast_look_up
    from .viper import split as _fast_split
except (ImportError, SyntaxError, ValueError, MemoryError):
    _fast_look_up = _fast_split = None

LIMB = 28  # bits of a threshold in one item: a difference of two is a small int on any board
GUARD = 64  # more bits while building
MOST = 4096  # thresholds; beyond, the bound above would not hold, nor would a board hold them
BATCH = 16  # samples between two looks into the stream

NARROW = 625  # grains squared: up to here one table does, of 220 thresholds with 56 bits
WIDEST = 1 << 40  # grains squared: a million grains, far more than any plan has
SHARE = 5  # how many b**2 of the variance are the fine part's
STEP = 11  # the greatest b: its fine part is as wide as NARROW

BITS = 84  # of a threshold, where a Round asks for noise from tables
ARRAY = 8  # readings from which on tables are worth their memory
ROUNDS = 1 << 20  # the greatest number of a Round with such noise: one a minute for two years
SLACK = 1, 1 << 74  # of one sample, for every variance up to WIDEST

# The inner loops, on numbers that no board holds in one word: limbs of 28 bits, of which a
# difference of two is a small int everywhere. `viper` has the same in machine code.


def split(drawn, raw, sizes):
    """Cut bytes, sizes[0] numbers one after the other, into the limbs of each, lowest first.

    A number has a bit more than its limbs: the sign, which stays above the highest one.
    """
    count, limbs = sizes[0], sizes[2]
    value = int.from_bytes(raw, "big")
    for first in range((count - 1) * limbs, -1, -limbs):
        for place in range(first, first + limbs - 1):
            drawn[place] = value & 0xFFFFFFF
            value >>= 28
        drawn[first + limbs - 1] = value & 0x1FFFFFFF
        value >>= 29


def look_up_noise(out, drawn, thresholds, sizes):
    """Write into out[i] the noise that drawn[i * limbs:][:limbs] stands for.

    sizes: (count, entries, limbs), of the numbers drawn, of the thresholds, and of each of both.
    All limbs stand lowest first, the sign above the highest. How many steps, and what is done in
    each, follows from `sizes` alone.
    """
    count, entries, limbs = sizes[0], sizes[1], sizes[2]
    last = limbs - 1
    for i in range(count):
        first = i * limbs
        low, top = drawn[first], drawn[first + last]
        sign = -(top >> 28)
        top &= 0xFFFFFFF
        base = 0
        left = entries
        while left:  # of the thresholds from base on, 0 to left are not above what was drawn
            half = (left + 1) >> 1
            at = (base + half - 1) * limbs
            borrow = (low - thresholds[at]) >> 28
            for place in range(1, last):
                borrow = (drawn[first + place] - thresholds[at + place] + borrow) >> 28
            borrow = (top - thresholds[at + last] + borrow) >> 28
            base += half - (half & borrow)  # borrow is -1 where the threshold is above, else 0
            left >>= 1
        out[i] = (base ^ sign) - sign


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
        self._look_up, self._split = _fast_look_up or look_up_noise, _fast_split or split

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
            self._look_up(found, drawn, self.thresholds, sizes)
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


# Of any variance that is planned, in little memory.
#
# A table grows with the deviation: 70 bytes a grain, in one piece. So from NARROW up a
# sample is the sum of two, the second b times as coarse and, if it is still too wide, a sum again:
#
#     z = x + b y,    x of variance 5 b**2,    y of variance num / (den b**2) - 5
#
# Source: sums of coarse and fine Gaussians are Micciancio and Walter 2017, "Gaussian Sampling over
# the Integers", Section 3; the bound here needs only Poisson's summation.
#
# With v = 1 / (1 / var y + b**2 / var x) the chance of z is the Gaussian's times a sum over all
# whole j of exp(-(j - c z)**2 / 2 v), which is the same for every z but for a part of
# 2 exp(-2 pi**2 v) (Poisson's summation). As b**4 is at most num / (5 den), var y is at least
# sqrt(5 NARROW) - 5 = 50, so v at least 4.5 and that part under 2**-126: less than one digit of
# any table. `slack` is that of all tables and a digit for each sum. `recovery.noise.tables`
# computes it in fractions.
#
# With 84 bits it is at most 2**-74 for every whole variance up to WIDEST: SLACK.
# Four sums by 11 bring WIDEST below 5 STEP**4 = 73205, and from there two more are enough (a
# factor of 10 and one of 3, at the most): seven tables. None is of more than NARROW, so none has
# more than 25 (2 * 84 log 2)**0.5 < 270 thresholds, and adds up to 276 digits: 7 * 276 < 2**11 of
# 2**-85.


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


# Noise of an array's readings, for Rounds that ask for tables and devices that may.
#
# A Round asks by one more param than `thermal_half.Params` has: how many bits the thresholds of
# the tables have. A device of fewer than ARRAY readings draws exactly all the same.
#
# Noise from tables is not quite of its law, and delta pays for that. What a Round says of itself
# may be forged, so what the price rests on is held to here: one width, and numbers from 1 to
# ROUNDS alone. In the life of a key a device answers no number more than `budget.BEHIND` times:
# after each power cut its slots say a greater one than after the last, and none that is so much
# smaller than what was answered. So sensors together are never further from exact noise than
# sensors ROUNDS BEHIND SLACK in total variation, whatever they are asked, and however often their
# power is cut. `recovery.thermal.guarantee` charges that.


def objection(number, variance, bits, allowed):
    """Return why a device must not answer a Round of this number that asks for tables, or ""."""
    if not allowed:
        return "its noise is from tables, which this device was not set up for"
    if bits != BITS:
        return "its tables are of %d bits, and this device makes them of %d" % (bits, BITS)
    if not 1 <= number <= ROUNDS:
        return "its noise is from tables, which answer no Round but number 1 to %d" % ROUNDS
    if not 1 <= variance <= WIDEST:
        return "its noise is from tables, which a variance of %d grains squared has not" % variance
    return ""


def find_tables(variance, bits, count):
    """Return what `thermal_half.draw` draws so many readings' noise from: tables, None for exact.

    bits: of the Round, 0 where it asks for exact noise. ValueError for tables that nobody makes.
    """
    if not bits or count < ARRAY:
        return None
    if bits != BITS:
        raise ValueError(
            "tables of %d bits were asked for but only those of %d are made, or a key holder "
            "would draw other noise than the device did. Plan the Round again" % (bits, BITS)
        )
    return Sampler(variance, 1, bits)
