"""Which estimator to take when none is asked for, and why.

| what is asked | taken | because |
| --- | --- | --- |
| up to 12 sources in up to 4096 open cells | posterior | nothing comes nearer on average |
| more sources | entropy | of so many only hills can be told; these surprise least |
| more cells | lasso | one convex program; with several sources it is far from the posterior |
| noise below a ten-millionth of a source | l1 | weights of scenes have no digits left |

Measured on 100 cells along a line and 400 in a plane: `tests/bench/bench_estimators.py` and the
page `notebooks/10_estimators.py`.

Limits: it believes the prior. Where the number or the warmth of the sources is not known, the
prior should say so, with a range of numbers and with a coolest source below the warmest.
"""

from dataclasses import replace

import numpy as np

from .record import Estimate, Seen

NAME = "auto"

# More sources than this a sampler's scenes do not find their way among.
_SOURCES_MAX = 12
# More cells than this cannot each be looked at for every draw.
_CELLS_MAX = 4096
# Less noise than this share of the loudest source leaves the weights of scenes no digits.
_QUIET = 1e-7


def estimate(seen: Seen) -> Estimate:
    """Return what the chosen estimator makes of the readings, its name, and why it was chosen."""
    # The table lists this file too.
    from .table import ESTIMATORS

    name, why = choose(seen)
    return replace(ESTIMATORS[name](seen), why=why, estimator=name)


def choose(seen: Seen) -> tuple[str, str]:
    """Return the name of an estimator, and in one sentence why it."""
    cells = len(seen.places) if seen.open is None else int(np.count_nonzero(seen.open))
    most = min(seen.prior.most, cells)
    loudest = seen.prior.warmest * float(np.linalg.norm(seen.operator, axis=0).max())
    if seen.sigma < _QUIET * loudest:
        return "l1", (
            "there is next to no noise, so the least heat that explains the readings is the "
            "sources themselves"
        )
    if most > _SOURCES_MAX:
        return "entropy", (
            f"up to {most} sources are too many to weigh scene by scene, and of so many only "
            "hills can be told"
        )
    if cells > _CELLS_MAX:
        return "lasso", (
            f"{cells} cells are too many to weigh scene by scene, and sources that are few "
            "among them are found by the price of heat"
        )
    return "posterior", (
        f"up to {most} source{'s' * (most > 1)} in {cells} cells can be weighed scene by scene, "
        "and nothing comes nearer on average if the prior is right"
    )
