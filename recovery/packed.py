"""The numbers of a release in little room: a campaign keeps all of them, for a map is of all."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Release


class PackedNumbers(Sequence[int | None]):
    """The numbers of a release, each in as few bytes as the widest needs; None where none came.

    As a list they take 36 bytes each. NumPy makes an array of it without a look at each, NaN
    where none came if floats are asked for.
    """

    __slots__ = ("_numbers", "_silent")

    def __init__(self, values: Sequence[int | None]) -> None:
        """Pack numbers.

        Raises:
            OverflowError: one does not go into eight bytes.
            TypeError: one is no whole number of Python's own, or a truth value.
        """
        if not set(map(type, values)) <= {int, type(None)}:
            raise TypeError("whole numbers or None are packed, nothing else")
        silent = [at for at, value in enumerate(values) if value is None]
        numbers = np.array([value or 0 for value in values], dtype=np.int64)
        ends = numbers.min(initial=0), numbers.max(initial=0)
        sizes = (np.int8, np.int16, np.int32, np.int64)
        size = next(one for one in sizes if np.array_equal(np.array(ends).astype(one), ends))
        self._numbers: NDArray[Any] = numbers.astype(size)
        self._silent = np.array(silent, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._unpack())

    def __getitem__(self, at: Any) -> Any:
        return self._unpack()[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._unpack() == list(other)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("packed numbers are unpacked, so there is no array of them to share")
        if dtype is not None and np.issubdtype(dtype, np.floating):
            found = self._numbers.astype(dtype)
            found[self._silent] = np.nan
            return found
        if dtype is None and not len(self._silent):
            return self._numbers.astype(np.int64)
        return np.array(self._unpack(), dtype=dtype)  # which refuses what does not fit

    def _unpack(self) -> list[int | None]:
        found: list[int | None] = self._numbers.tolist()
        for at in self._silent:
            found[at] = None
        return found


def pack_release(release: Release) -> Release:
    """Return a release that takes little room, or as it is where its numbers do not allow it."""
    try:
        return release._replace(values=PackedNumbers(release.values))
    except (OverflowError, TypeError):
        return release
