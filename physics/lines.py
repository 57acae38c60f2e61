"""Lines of a text file with a header, each read by itself, and their faults told together."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Line = tuple[int, list[str]]  # its number in the file, from 1, and its words


def lines_of(path: str | Path) -> list[Line]:
    """Return the lines of a CSV that are not empty, without blanks around the words.

    Raises:
        OSError, UnicodeDecodeError, csv.Error: it cannot be read, or is no such text.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        return [(reader.line_num, [word.strip() for word in row]) for row in reader if row]


def each_read(path: str | Path, lines: Sequence[Line], read: Callable[[list[str]], T]) -> list[T]:
    """Return what each line says.

    Args:
        read: what a line's words say, or a ValueError that says what is wrong with them.

    Raises:
        ValueError: the first fault with its line, and in which five others there are more.
    """
    found, faults = [], []
    for line, words in lines:
        try:
            found.append(read(words))
        except ValueError as error:
            faults.append((line, error))
    if faults:
        line, fault = faults[0]
        others = ", ".join(str(other) for other, _ in faults[1:6])
        more = f" (more faults in line {others})" if others else ""
        raise ValueError(f"{path} line {line}: {fault}{more}") from fault
    return found
