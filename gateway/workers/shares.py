"""How many parts a worker may have: the same answer for all who see the same workers."""

from collections.abc import Sequence


def share(holder: str, living: Sequence[str], partitions: int) -> int:
    """Return the share of a worker, so that all shares together are all parts.

    Who joined first has the larger one where parts do not go up evenly, so that a worker that
    joins or dies moves as few parts as can be.

    >>> [share(name, ["ada", "bob", "cy"], 8) for name in ("ada", "bob", "cy")]
    [3, 3, 2]
    """
    if holder not in living:
        return 0
    each, more = divmod(partitions, len(living))
    return each + (living.index(holder) < more)
