"""What a map needs of scipy, loaded before the clock of a map runs.

A gateway loads none of it, for it plans and draws nothing; who draws maps under a time limit
wants it all at once, and not a second of it within the first map.
"""

from importlib import import_module

_PARTS = ("linalg", "optimize", "sparse.linalg", "spatial.distance", "special", "stats")


def load() -> None:
    """Load it; a second time costs nothing."""
    for part in _PARTS:
        import_module(f"scipy.{part}")
