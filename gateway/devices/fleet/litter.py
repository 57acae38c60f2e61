"""Python's search for litter that refers to itself, which a large fleet calls too often.

It runs whenever some hundred objects more are there than before. A thousand devices that answer at
once hold as many for a moment and make no such litter, so it finds nothing, again and again.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000  # more than before: some 20 MB


@contextmanager
def seldom() -> Iterator[None]:
    """Search less often while the block lasts."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
