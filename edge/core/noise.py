"""Exact samplers, in whole numbers only: each calls only those above it.

Parameters are ratios num/den of whole numbers; `rng` has the one method `below(n)`, uniform
in 0 to n - 1. Nothing is rounded, so the law in each docstring is the law, not nearly so.

Source: Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy",
Algorithms 1 to 3. The time taken depends on what is drawn, so draw before the reading is
taken, as `node` does.
"""

SMALL = 1 << 29  # up to here a board with words of 32 bits makes no big integer
DIGITS = 16


def coin(num, den, rng):
    """Return True with probability num/den, for 0 <= num <= den.

    Compares the binary digits of num/den with fair bits and stops at the first that differ:
    two bits on average, however long the fraction.
    """
    if den < 1 or not 0 <= num <= den:
        raise ValueError("coin(%d, %d): not a probability, which is 0 to 1" % (num, den))
    if num == den:
        return True
    while num:
        num *= 2
        digit = num >= den
        if digit:
            num -= den
        bit = rng.below(2)
        if bit != digit:
            return digit
    return False


def exp_coin(num, den, rng):
    """Return True with probability exp(-num/den), for num/den >= 0. Algorithm 1."""
    if den < 1 or num < 0:
        raise ValueError("exp_coin(%d, %d): num/den must be at least 0" % (num, den))
    while num > den:  # peel off whole powers of exp(-1)
        if not exp_coin(1, 1, rng):
            return False
        num -= den
    digits = (num << DIGITS) // den if den > SMALL else 0
    k = 1
    while _coin(digits, num, den, k, rng) if digits else coin(num, den * k, rng):
        k += 1
    return k % 2 == 1


def _coin(digits, num, den, k, rng):
    """Return `coin(num, den * k, rng)`; digits: the first of num/den, as a whole number.

    Divided by k and rounded down they are the first of num/(den k), and few coins need more: so
    one division is all that is done with numbers that no board holds in a word.
    """
    known, left = digits // k, DIGITS
    if known >> left:
        return True
    while known & ((1 << left) - 1):
        left -= 1
        digit = known >> left & 1
        if rng.below(2) != digit:
            return digit == 1
    return coin((num << (DIGITS - left)) % (den * k), den * k, rng)


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

    num/den is the variance parameter; the variance of z is at most that, and equal to it
    to one part in 10**8 from num/den = 1 on.
    """
    if den < 1 or num < 1:
        raise ValueError("dgauss(%d, %d): the variance must be above 0" % (num, den))
    scale = isqrt(num // den) + 1
    width = 2 * num * den * scale * scale
    while True:
        z = dlaplace(scale, 1, rng)
        excess = abs(z) * scale * den - num
        if exp_coin(excess * excess, width, rng):
            return z
