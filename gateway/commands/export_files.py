"""An export as a file: CSV, JSON lines or Parquet, its promise beside it; whole, or not there.

A text in a CSV that begins with = + - @, a tab or a line's end gets an apostrophe before it: a
spreadsheet would else run it as a formula, whoever it came from. Nothing that is there already is
written over.
"""

import csv
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..faults import OperatorFault
from .export_rows import Kind

Rows = Iterable[list[tuple[Any, ...]]]
GROUP = 20_000  # rows of Parquet that are held in memory, and found together in the file
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def written(out: Path, kind: Kind, rows: Rows, promise: dict[str, Any]) -> tuple[int, int]:
    """Write the promise, then the rows; return how many rows, and from how many lists.

    Raises:
        OperatorFault: a file is there already or cannot be written, or pyarrow is not there.
    """
    beside, counted = out.with_name(out.name + ".guarantee.json"), [0, 0]
    write = FORMATS[out.suffix.lower()]

    def counting() -> Iterator[list[tuple[Any, ...]]]:
        for some in rows:
            counted[0] += len(some)
            counted[1] += 1
            yield some

    for path in (out, beside):
        if path.exists():
            raise _taken(path)
    with _new(beside) as place:
        place.write_text(json.dumps(promise, indent=2) + "\n", "utf-8")
    try:
        with _new(out) as place:
            write(place, kind, counting(), promise)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return counted[0], counted[1]


def _csv(place: Path, kind: Kind, rows: Rows, promise: dict[str, Any]) -> None:
    with place.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kind.columns)
        for some in rows:
            writer.writerows([[_cell(value) for value in row] for row in some])
        _flushed(file)


def _jsonl(place: Path, kind: Kind, rows: Rows, promise: dict[str, Any]) -> None:
    with place.open("w", encoding="utf-8") as file:
        for some in rows:
            for row in some:
                file.write(json.dumps(dict(zip(kind.columns, row, strict=True))) + "\n")
        _flushed(file)


def _parquet(place: Path, kind: Kind, rows: Rows, promise: dict[str, Any]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as fault:
        raise OperatorFault(
            f"{place.suffix} is written by pyarrow, which is not installed; the other formats "
            "need nothing. Install heatveil[parquet], or name a file that ends in .csv or .jsonl"
        ) from fault
    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    told = {"heatveil.guarantee": json.dumps(promise)}
    schema = pa.schema([(name, types[of]) for name, of in kind.columns.items()], metadata=told)
    with place.open("wb") as file:
        with parquet.ParquetWriter(file, schema) as writer:
            for some in _grouped(rows):
                columns = [list(column) for column in zip(*some, strict=True)]
                writer.write_table(pa.table(columns, schema=schema))
        _flushed(file)


FORMATS: dict[str, Callable[[Path, Kind, Rows, dict[str, Any]], None]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}


def _grouped(rows: Rows) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows so many at a time: a group for each round would be slow to read."""
    held: list[tuple[Any, ...]] = []
    for some in rows:
        held += some
        if len(held) >= GROUP:
            yield held
            held = []
    if held:
        yield held


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


@contextmanager
def _new(path: Path) -> Iterator[Path]:
    """Give a place to write to; what is written there goes where it belongs once it is whole."""
    place = path.with_name(f".{uuid.uuid4().hex[:8]}.{path.name}")
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # it names devices
        yield place
        os.link(place, path)  # unlike a rename it never takes the place of another file
    except FileExistsError as fault:
        raise _taken(path) from fault
    except OSError as fault:
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); nothing is left there, for half of it "
            "would be taken for all. Mend the folder, or name another file"
        ) from fault
    finally:
        place.unlink(missing_ok=True)


def _taken(path: Path) -> OperatorFault:
    return OperatorFault(
        f"{path} is there already, and is not written over: somebody may work with it. Name "
        "another file, or remove that one"
    )


def _flushed(file: TextIO | Any) -> None:
    file.flush()
    os.fsync(file.fileno())
