"""What a figure is asked with, and what it is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Stage: TypeAlias = Callable[[str], None]

# What a figure calls a map that says nothing; its score is the least a mechanism must beat.
UNIFORM = "uniform map"


@dataclass(frozen=True, slots=True)
class Order:
    """How a figure is to be made.

    Args:
        runs: how often each mechanism runs at each setting; each time the same people answer
            anew.
        seed: of the people and of what they answer; equal orders have equal figures.
        points: files of one's own, a panel each where the paper has real data.
        jobs: processes at work at once.
        cluster: the address of a scheduler of dask.distributed, instead of processes.
        scale: the part of the paper's people that is drawn.
    """

    runs: int = 3
    seed: int = 1
    points: tuple[Path, ...] = ()
    jobs: int = 1
    cluster: str | None = None
    scale: float = 1.0


class Mark(NamedTuple):
    """One place of a line: a mean over runs, and how sure it is."""

    at: float
    mean: float
    half_width: float  # of the 95 % interval of the mean, by the normal law; NaN for one run
    runs: int
    local_privacy_cells: float = float("nan")  # an average over cells and answers
    worst_log_ratio: float = float("nan")  # the promise


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one axis, by name."""

    title: str
    across: str
    up: str
    lines: dict[str, tuple[Mark, ...]]
    notions: dict[str, str] = field(default_factory=dict)  # of privacy, by line


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that are no curves."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid2:
    """A map for a picture: numbers in cells, and marks on some of them."""

    title: str
    values: list[list[float]]  # rows, NaN where there is no cell
    marked: tuple[tuple[int, int, str], ...] = ()  # column, row, what is written there


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper made again: what is drawn, what is printed, and what is to be seen."""

    name: str
    title: str
    paper: str  # the paper's trend, in words
    found: tuple[str, ...]  # ours, each in a sentence
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    maps: tuple[Grid2, ...] = ()
    notes: tuple[str, ...] = ()  # where it is not the paper's setting


Maker: TypeAlias = Callable[[Order, Stage], Figure]
