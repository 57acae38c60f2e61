"""Exact samplers, in whole numbers only: each calls only those above it.

Parameters are ratios num/den of whole numbers; `rng` has the one method `below(n)`, uniform
in 0 to n - 1. Nothing is rounded, so the law in each docstring is the law, not nearly so.

Source: Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy",
Algorithms 1 to 3. The time taken depends on what is drawn, so draw before the reading is
taken, as `node` does.
"""


def coin(num, den, rng, part=0, whole=1):
    """Return True with probability (num + part/whole)/den, which is 0 to 1; part is below whole.

    Compares its binary digits with fair bits and stops at the first that differ: two bits on
    average, however long the fraction.
    """
    if not 0 <= num < den:
        if num == den > 0 and not part:
            return True
        raise ValueError("coin(%d, %d): not a probability, which is 0 to 1" % (num, den))
    while num or part:
        num *= 2
        if part:
            part *= 2
            if part >= whole:
                part -= whole
                num += 1
        digit = num >= den
        if digit:
            num -= den
        bit = rng.below(2)
        if bit != digit:
            return digit
    return False


def exp_coin(num, den, rng, part=0, whole=1):
    """Return True with probability exp(-(num + part/whole)/den), for num >= 0. Algorithm 1."""
    if den < 1 or num < 0:
        raise ValueError("exp_coin(%d, %d): num/den must be at least 0" % (num, den))
    while num > den or (num == den and part):  # peel off whole powers of exp(-1)
        if not exp_coin(1, 1, rng):
            return False
        num -= den
    k = 1
    while coin(num, den * k, rng, part, whole):
        k += 1
    return k % 2 == 1


def geometric(num, den, rng):
    """Return k >= 0 with probability proportional to exp(-k num/den). Algorithm 2, first half."""
    if den < 1 or num < 1:
        raise ValueError("geometric(%d, %d): num/den must be above 0" % (num, den))
    while True:
        remainder = rng.below(den)
        if exp_coin(remainder, den, rng):
            break
    whole = 0
    while exp_coin(1, 1, rng):
        whole += 1
    return (remainder + den * whole) // num


def dlaplace(num, den, rng):
    """Return z with probability proportional to exp(-|z| den/num): scale num/den. Algorithm 2."""
    while True:
        negative = rng.below(2)
        size = geometric(den, num, rng)
        if not (negative and size == 0):  # else zero would count twice
            return -size if negative else size


def isqrt(n):
    """Return the whole part of the square root of n, for n >= 0."""
    if n < 0:
        raise ValueError("isqrt(%d): n must be at least 0" % n)
    if n == 0:
        return 0
    width = 0
    while n >> (2 * width):
        width += 1
    root = 1 << width  # at least the root, from where Newton's steps only fall
    while True:
        step = (root + n // root) // 2
        if step >= root:
            return root
        root = step


def dgauss(num, den, rng):
    """Return z with probability proportional to exp(-z**2 den / (2 num)). Algorithm 3.

    Args:
        num, den: num/den is the variance parameter, above 0; the variance of z is at most that,
            and equal to it to one part in 10**8 from num/den = 1 on.
        rng: has the method `below(n)`, as `Tape` and `sealed` do.
    """
    if den < 1 or num < 1:
        raise ValueError("dgauss(%d, %d): the variance must be above 0" % (num, den))
    scale = isqrt(num // den) + 1
    wide = den * scale
    while True:
        z = dlaplace(scale, 1, rng)
        excess = abs(z) * wide - num
        # It is taken with probability exp(-excess**2 / (2 num scale wide)). Most boards hold no
        # such square in a word, so excess is split: (high + low/wide) wide, and the square, over
        # scale wide, is den high**2 + (2 high low + low**2/wide) / scale.
        high, low = excess // wide, excess % wide
        cross = 2 * high * low + low * low // wide
        part = cross % scale * wide + low * low % wide
        if exp_coin(den * high * high + cross // scale, 2 * num, rng, part, scale * wide):
            return z
