"""One device's share of noise that many bring together; loaded by no thermometer.

As in `noise`, whole numbers only, and the law in each docstring is the law.
"""

from .noise import coin, exp_coin, geometric


def polya(shares, num, den, rng):
    """Return one of `shares` independent pieces whose sum is `geometric(num, den)`.

    The law is P(k) proportional to c(k) q**k with q = exp(-num/den) and
    c(k) = product over j < k of (1 + j n) / (n + j n), n = shares. Each factor is at most
    one, so a geometric draw kept with probability c(k) has the law.

    Args:
        shares: by how many, from 1, one noise is shared.
        num, den: of num/den, above 0, by which the sum falls: P(sum) goes by q**sum.
        rng: has the method `below(n)`, as `Tape` and `sealed` do.

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


def draw_shares(length, divisor, num, den, rng, pieces=1):
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
            "draw_shares(%d, %d, %d, %d): noise of a width above 0 is shared by at least one"
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
