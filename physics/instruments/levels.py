"""What each sensor counts in the empty room: public, and taken off before the veil."""

from collections.abc import Sequence

from edge.pixels import baseline

from .records import Counts


def middle(looks: Sequence[Counts]) -> Counts:
    """Return the middle count of each sensor over looks; None where it never answered.

    Source: `edge.pixels.baseline`, for a device that answers every time.
    """
    heard = [[count for count in of if count is not None] for of in zip(*looks, strict=True)]
    return tuple(baseline([[count] for count in of])[0] if of else None for of in heard)


def complete(level: Counts) -> tuple[int, ...]:
    """Return a level of every sensor.

    Raises:
        ValueError: one never answered.
    """
    heard = tuple(count for count in level if count is not None)
    if len(heard) < len(level):
        raise ValueError(
            f"{len(level) - len(heard)} of {len(level)} sensors gave no reading of the empty room "
            "but each needs a level of its own, or a person could not be told from a warm wall. "
            "Look for longer."
        )
    return heard
