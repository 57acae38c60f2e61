"""Many steps: from now to a time, with what drives them told as they come."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from .medium import Drive, Medium
from .run import Run

Drives: TypeAlias = Callable[[float, float], Drive]
Media: TypeAlias = Callable[[float, float], Medium]
Progress: TypeAlias = Callable[[float], None]

# A rest of a step this short, in steps, is rounding in the time.
_REST = 1e-6


def march(
    run: Run,
    drives: Drives,
    step_s: float,
    until_s: float,
    media: Media | None = None,
    progress: Progress | None = None,
) -> Iterator[Run]:
    """Yield the run after each step, until a time; the last step is shorter where it must be.

    It goes only as far as it is asked for, so it can be stopped, saved and resumed anywhere.

    Args:
        run: advanced in place; its `field_k` is a new array after each step.
        drives: (from_s, to_s) to the means of power and outside over that step.
        step_s: length of a step in seconds.
        media: (from_s, to_s) to the medium of that step, the same object as long as it is the
            same medium; without, the run's own.
        progress: told the share that is done, 0 to 1, after each step.

    Raises:
        ValueError: the time is past already; and as `Run.step`.
    """
    if not until_s >= run.at_s:
        raise ValueError(
            f"until_s is {until_s:g} but the run is at {run.at_s:g} s already, and heat does "
            "not go back. Start another run, or give a later time."
        )
    start_s = run.at_s
    while until_s - run.at_s > _REST * step_s:
        from_s, left_s = run.at_s, until_s - run.at_s
        length_s = step_s if left_s > (1 - _REST) * step_s else left_s
        medium = None if media is None else media(from_s, from_s + length_s)
        run.step(drives(from_s, from_s + length_s), length_s, medium)
        if progress is not None:
            over = until_s - run.at_s <= _REST * step_s
            progress(1.0 if over else (run.at_s - start_s) / (until_s - start_s))
        yield run
