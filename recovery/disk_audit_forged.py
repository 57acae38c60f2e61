"""Rounds of places that somebody forges who has the site's key: an honest one, and most worse.

The device's own exponential makes a forged Round look honest, and judges none.
"""

from typing import Any

from edge.expo import exp_floor
from edge.records import Round

_HEAD = 5  # params before the octant


def forged(round: Round, rng: Any, newest: int) -> Round:
    """Return a Round with one or two things changed, most of them for the worse."""
    params, promise, grid = list(round.params), round.guarantee, round.grid
    number, mechanism = newest + 1 + rng.below(3), round.mechanism
    for _ in range(1 + rng.below(2)):
        kind = rng.below(10)
        if kind == 0:
            params, promise = _other_epsilon(params, promise, rng)
        elif kind == 1:
            params[2] += (rng.below(3) - 1) * _some(1 + params[2] // 8, rng)
        elif kind == 2:
            params[1] = (0, -params[1], params[1] - 1, params[1] // 2, params[1] + 1)[rng.below(5)]
        elif kind == 3 and len(params) > _HEAD:  # a count of the octant, or a weight
            place = _HEAD + rng.below(len(params) - _HEAD)
            weight = (params[1] - 1, params[2] + 1, 0, -1, params[place] + rng.below(3) - 1)
            params[place] = weight[rng.below(5)]
        elif kind == 4:
            params = params[: 2 + rng.below(len(params))] + [[], [0, 0], [1, 0]][rng.below(3)]
        elif kind == 5:
            params[0] += rng.below(4) - 1
        elif kind == 6:
            num, den = promise.epsilon or (1, 1)
            less = ((num, 2 * den), (2 * num, den), (0, 1), (num, -den), None)
            promise = promise._replace(epsilon=less[rng.below(5)])
        elif kind == 7:
            num, den = promise.rho or (1, 1)
            rhos = (None, (num, den + 1), (num + 1, den), (0, 1), (num, -den))
            promise = promise._replace(rho=rhos[rng.below(5)])
        elif kind == 8:
            number = max(0, newest - rng.below(3))
        elif rng.below(2):
            mechanism = "thermal"
        else:
            shape = (max(0, grid.shape[0] + rng.below(4) - 2), grid.shape[1] + rng.below(2))
            grid = grid._replace(shape=shape)
        if len(params) < _HEAD:
            break
    return round._replace(
        number=number, mechanism=mechanism, grid=grid, params=tuple(params), guarantee=promise
    )


def _some(most: int, rng: Any) -> int:
    """Return 1, which is next to what is allowed, as often as any number up to the most."""
    return 1 + rng.below(most) * rng.below(2)


def _other_epsilon(params: list[int], promise: Any, rng: Any) -> tuple[list[int], Any]:
    """Return params of an epsilon from nought to twice as much, and a promise, honest or not."""
    reach, far, near, num, den, *octant = params
    num, den, honest = num * rng.below(33), den * 16, rng.below(4)
    if honest and far > 0 and 0 < num < 8 * den:
        near = exp_floor(num, den, far) + max(0, rng.below(5) - 2)
        octant = [min(one, near) if one >= far else one for one in octant]
    if honest > 1:
        promise = promise._replace(epsilon=(num, den), rho=None)
    return [reach, far, near, num, den, *octant], promise
