"""One fixed sequence of numbers, evenly spread in (0, 1), that samplers of a posterior walk.

Recovery draws no random number: the same readings give the same map, to the last bit, on every
machine. A Monte Carlo sum still needs points that are spread as if by chance, and these are
always the same ones. Nothing private may ever be blurred with them.
"""

from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STRIDE = 0x9E3779B97F4A7C15
_WHOLE = 1 << 64


def uniforms(count: int, stream: int = 0) -> Floats:
    """Return so many numbers of one stream, (count,), each strictly between 0 and 1.

    Args:
        count: how many.
        stream: which sequence; equal streams are equal, others look independent.

    Source: Steele, Lea and Flood 2014, SplitMix64, with the finaliser "Mix13".

    >>> uniforms(2).round(4)
    array([0.8833, 0.4315])
    """
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STRIDE)
    bits = _mix(steps + _start(stream)) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


def normals(count: int, stream: int = 0) -> Floats:
    """Return so many numbers of one stream, (count,), spread as a standard normal is."""
    return np.asarray(scipy.special.ndtri(uniforms(count, stream)))


@lru_cache(maxsize=1024)  # every map walks the same few hundred
def _start(stream: int) -> np.uint64:
    """Return where a stream begins."""
    return _mix(np.array([stream % _WHOLE], dtype=np.uint64))[0]


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
