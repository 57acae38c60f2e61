"""Exact samplers, in whole numbers only: each calls only those above it.

Parameters are ratios num/den of whole numbers; `rng` has the one method `below(n)`, uniform
in 0 to n - 1. Nothing is rounded, so the law in each docstring is the law, not nearly so.

Source: Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy",
Algorithms 1 to 3. The time taken depends on what is drawn, so draw before the reading is
taken, as `node` does.
"""


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
    k = 1
    while coin(num, den * k, rng):
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

    num/den is the variance parameter; the variance of z is at most that, and equal to it
    to one part in 10**8 from num/den = 1 on.
    """
    if den < 1 or num < 1:
        raise ValueError("dgauss(%d, %d): the variance must be above 0" % (num, den))
    scale = isqrt(num // den) + 1
    while True:
        z = dlaplace(scale, 1, rng)
        excess = abs(z) * scale * den - num
        if exp_coin(excess * excess, 2 * num * den * scale * scale, rng):
            return z


def polya(shares, num, den, rng):
    """Return one of `shares` independent pieces whose sum is `geometric(num, den)`.

    The law is P(k) proportional to c(k) q**k with q = exp(-num/den) and
    c(k) = product over j < k of (1 + j n) / (n + j n), n = shares. Each factor is at most
    one, so a geometric draw kept with probability c(k) has the law.

    Source: Goryczka and Xiong 2015, the infinitely divisible geometric.
    """
    if shares < 1:
        raise ValueError("polya(%d, ...): noise is shared by at least one" % shares)
    while True:
        k = geometric(num, den, rng)
        if all(coin(1 + j * shares, shares + j * shares, rng) for j in range(k)):
            return k


def poisson(num, den, rng):
    """Return k with probability exp(-m) m**k / k!, for the mean m = num/den >= 0.

    A mean of 1 is had by rejection: k with probability 2**-(k + 1), kept with probability
    2**k / (2 k!). Whole means add up; the rest is one of mean 1 of which each is kept by a coin.
    """
    if den < 1 or num < 0:
        raise ValueError("poisson(%d, %d): the mean must be at least 0" % (num, den))
    total = 0
    for _ in range(num // den):
        total += _poisson_one(rng)
    num %= den
    if num:
        for _ in range(_poisson_one(rng)):
            total += coin(num, den, rng)
    return total


def _poisson_one(rng):
    while True:
        k = factorial = 1
        while rng.below(2):
            factorial *= k
            k += 1
        k -= 1
        if coin(1 << k, 2 * factorial, rng):
            return k


def shares(length, divisor, num, den, rng, pieces=1):
    """Return one device's part of the noise on `length` numbers, as a list.

    `divisor` such lists add up to independent `dlaplace(den, num)` at each place: each number is
    the difference of two draws of `polya(divisor, num, den)`. pieces: of so many devices at once.

    Where few share little noise, by `polya` itself. Else by what a Pólya number is made of: k is
    added Poisson(q**k / (k n)) times, for each k from 1, q = exp(-num/den), n = divisor. All k of
    2**j to 2**(j + 1) - 1 have, before they are kept or not, the one mean 1/n, so that a whole
    list takes one Poisson number and work in proportion to length / n. From 2**j num/den >= 1 on
    all k are one tail of mean 2/n, in steps of 2**j that are each half as likely.

    Source: Duchon and Duvignau 2016 for the block-wise way, here without its cut at the end.
    """
    if length < 0 or divisor < 1 or pieces < 1 or num < 1 or den < 1:
        raise ValueError(
            "shares(%d, %d, %d, %d): noise of a width above 0 is shared by at least one"
            % (length, divisor, num, den)
        )
    noise = [0] * length
    if divisor == 1 or (divisor < 4 and den <= 3 * num):
        for _ in range(pieces):
            for place in range(length):
                noise[place] += polya(divisor, num, den, rng) - polya(divisor, num, den, rng)
        return noise
    blocks = 0
    while num << blocks < den:
        blocks += 1
    kinds = 2 * length * (blocks + 2)  # a sign, a place, a block; the tail counts twice
    for _ in range(poisson(kinds * pieces, divisor, rng)):
        place = rng.below(kinds)
        place, negative = place >> 1, place & 1
        k = _step(place // length, blocks, num, den, rng)
        noise[place % length] += -k if negative else k
    return noise


def _step(block, blocks, num, den, rng):
    """Return a k of that block, or 0 where it is not kept."""
    least, falls = 1 << min(block, blocks), 0
    k = least + rng.below(least)
    if block >= blocks:
        while rng.below(2):
            falls += 1
        k += falls * least
    if not coin(least, k, rng) or not exp_coin(k * num - falls * den, den, rng):
        return 0
    for _ in range(falls):  # each fall was taken with 1/2 and should be with exp(-1)
        odd = 3
        while coin(1, odd, rng):
            odd += 1
        if odd % 2 == 0:  # 2 exp(-1) = 1 - 1/3 + 1/(3 4) - ...
            return 0
    return k
