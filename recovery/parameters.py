"""What epsilon and delta may be, and the refusal of what they may not."""

import math


def check_delta(delta: float) -> None:
    """Refuse a delta outside (0, 1) with a ValueError."""
    if not 0 < delta < 1:
        raise ValueError(
            f"delta is {delta:g} but must lie between 0 and 1, both excluded: it is the chance "
            "that the promise fails. 1/100000 is customary."
        )


def check_epsilon(epsilon: float, lowest: float) -> None:
    """Refuse an epsilon below the lowest, or none at all, with a ValueError."""
    if not lowest <= epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be {'positive' if lowest else 'at least 0'} and "
            "finite: it bounds how far the odds of a guess may move. 1/1 is customary."
        )
