"""The exponential from below, in whole numbers: what a ratio of weights may be at the most.

A mechanism whose weights are whole numbers keeps its epsilon where the greatest weight is at most
exp(epsilon) times the least. Whoever checks that must never round up, nor need a float.
"""

MOST = 64  # epsilon: e**64 times as likely is no secret any more


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
