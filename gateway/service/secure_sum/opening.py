"""A secret from its shares, also where some of them are false.

Shares are points (x, y) of a polynomial of degree below t over P; the secret is its value at 0.
Of m shares (m - t) // 2 may be false.

Source: Shamir 1979; Gao 2003 for false ones.
"""

from collections.abc import Callable, Sequence

from edge.mechanisms.secure_sum import P

Point = tuple[int, int]


def interpolate_at_zero(points: Sequence[Point]) -> int:
    """Return the value at 0 of the polynomial through all points, whose x are not 0."""
    xs = [x for x, _ in points]
    above, below = [], []
    for i, x in enumerate(xs):
        top = bottom = 1
        for j, other in enumerate(xs):
            if i != j:
                top = top * other % P
                bottom = bottom * (other - x) % P
        above.append(top)
        below.append(bottom)
    # One inversion for all: of the product, from which each is taken back.
    upto = [1]
    for one in below:
        upto.append(upto[-1] * one % P)
    inverse, total = pow(upto[-1], -1, P), 0
    for i in range(len(xs) - 1, -1, -1):
        total += points[i][1] * above[i] * (inverse * upto[i] % P)
        inverse = inverse * below[i] % P
    return total % P


def decode_shares(points: Sequence[Point], t: int) -> tuple[int, frozenset[int]] | None:
    """Return (secret, the x of false shares), or None where too many are false."""
    whole, through = [1], [0]
    for x, y in points:  # Newton: `through` gets right at one more point
        off = (y - evaluate_polynomial(through, x)) * pow(evaluate_polynomial(whole, x), -1, P) % P
        through = _add_polynomials(through, [off * one % P for one in whole])
        whole = _add_polynomials([0, *whole], [-x * one % P for one in whole])
    before, after = whole, _trim(through)
    left, right = [0], [1]
    while 2 * (len(after) - 1) >= len(points) + t:
        quotient, rest = _divide(before, after)
        before, after = after, rest
        left, right = (
            right,
            _add_polynomials(left, [-one % P for one in _multiply_polynomials(quotient, right)]),
        )
    found, rest = _divide(after, right)
    if any(rest) or len(found) > t:
        return None
    wrong = frozenset(x for x, y in points if evaluate_polynomial(found, x) != y)
    return (found[0], wrong) if 2 * len(wrong) <= len(points) - t else None


def open_secret(
    points: Sequence[Point], t: int, right: Callable[[int], bool]
) -> tuple[int, frozenset[int]] | None:
    """Return (secret, the x of false shares): the first t shares where these do, else by all."""
    if len(points) < t:
        return None
    secret = interpolate_at_zero(points[:t])
    if right(secret):
        return secret, frozenset()
    found = decode_shares(points, t)
    return found if found and right(found[0]) else None


def evaluate_polynomial(polynomial: Sequence[int], x: int) -> int:
    """Return a polynomial's value, its constant first."""
    total = 0
    for coefficient in reversed(polynomial):
        total = (total * x + coefficient) % P
    return total


def _trim(polynomial: list[int]) -> list[int]:
    while len(polynomial) > 1 and not polynomial[-1]:
        polynomial.pop()
    return polynomial


def _add_polynomials(one: list[int], other: list[int]) -> list[int]:
    if len(one) < len(other):
        one, other = other, one
    return _trim([(a + b) % P for a, b in zip(one, other, strict=False)] + one[len(other) :])


def _multiply_polynomials(one: list[int], other: list[int]) -> list[int]:
    made = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            made[i + j] += a * b
    return _trim([n % P for n in made])


def _divide(whole: list[int], part: list[int]) -> tuple[list[int], list[int]]:
    """Return quotient and rest."""
    rest, inverse = list(whole), pow(part[-1], -1, P)
    quotient = [0] * max(len(whole) - len(part) + 1, 1)
    for at in range(len(whole) - len(part), -1, -1):
        factor = rest[at + len(part) - 1] * inverse % P
        quotient[at] = factor
        for i, one in enumerate(part):
            rest[at + i] = (rest[at + i] - factor * one) % P
    return _trim(quotient), _trim(rest[: max(len(part) - 1, 1)])
