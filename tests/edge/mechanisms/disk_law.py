"""The law of a disk Round from its params alone, cell by cell: what the device is held against.

Written from the definition of params, without a line of what runs on the device.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import disk
from edge.mechanisms.footprint import exp_floor

Cell = tuple[int, int]
Law = dict[int, int]  # outer cell -> weight

PROMISE = Guarantee((100, 1), None, None, "any two cells", "local", "a life", "that it answers")


class At:
    """A source that says one number, and notes below what it was asked for it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked: list[int] = []

    def below(self, most: int) -> int:
        self.asked.append(most)
        return self.number


def a_round(shape: Cell, params: Sequence[int], number: int = 1) -> Round:
    return Round(number, "disk", Grid(shape, 0), tuple(params), PROMISE)


def disc(
    reach: int, far: int = 1 << 32, epsilon: tuple[int, int] = (1, 1), rim: int | None = None
) -> tuple[int, ...]:
    """Return the params of a disc; its cells that are not wholly inside get `rim`."""
    near = exp_floor(*epsilon, far)
    rim = (far + near) // 2 if rim is None else rim
    found = [reach, far, near, *epsilon]
    for y in range(reach + 1):
        inside = [x for x in range(y, reach + 1) if x * x + y * y <= reach * reach]
        full = [x for x in inside if (2 * x + 1) ** 2 + (2 * y + 1) ** 2 <= 4 * reach * reach]
        if not inside:
            break
        rest = len(inside) - len(full)
        found += [len(full), rest] + [rim] * rest
    return tuple(found)


def footprint(shape: Cell, params: Sequence[int]) -> dict[Cell, int]:
    """Return the weight of each offset of the footprint."""
    near, rest, weights, y = params[2], list(params[5:]), {}, 0
    while rest:
        full, parts, *rest = rest
        row, rest = [near] * full + rest[:parts], rest[parts:]
        for x, weight in enumerate(row, y):
            for dx, dy in {(a, b) for p, q in ((x, y), (y, x)) for a in (p, -p) for b in (q, -q)}:
                if not (shape[0] == 1 and dx) and not (shape[1] == 1 and dy):
                    weights[dx, dy] = weight
        y += 1
    return weights


def law(shape: Cell, params: Sequence[int]) -> dict[Cell, Law]:
    """Return the weight of every answer for every cell; an outer cell by its place."""
    weights = footprint(shape, params)
    reach_x = params[0] if shape[0] > 1 else 0
    reach_y = params[0] if shape[1] > 1 else 0
    cells = [(x, y) for y in range(shape[1]) for x in range(shape[0])]
    domain = {(x + dx, y + dy) for x, y in cells for dx, dy in weights}
    width = shape[0] + 2 * reach_x
    return {
        (x, y): {
            (b + reach_y) * width + a + reach_x: weights.get((a - x, b - y), params[1])
            for a, b in domain
        }
        for x, y in cells
    }


def answered(round: Round, cell: Cell, table: disk.Table, number: int) -> int:
    """Return what a device answers where its source says this number."""
    return int(disk.report(round, Reading(3, cell), At(number), table)[1])


def enumerated(round: Round, cell: Cell, table: disk.Table) -> Law:
    """Return how many of all numbers give each answer."""
    return dict(Counter(answered(round, cell, table, u) for u in range(table.total)))


def walked(round: Round, cell: Cell, table: disk.Table, meant: Law) -> Law:
    """Return the same for totals beyond counting: from the first number of a run to its last.

    A run is as long as the answer's weight beyond far, and then as far. Its last number must give
    the same answer, and so must one in between.
    """
    found: Law = Counter()
    for first, size in _runs(round, cell, table, meant):
        answer = answered(round, cell, table, first)
        for u in (first + size // 3, first + size - 1):
            if answered(round, cell, table, u) != answer:
                raise AssertionError(f"{u} answers otherwise than {first}, in one run")
        found[answer] += size
    return dict(found)


def _runs(round: Round, cell: Cell, table: disk.Table, meant: Law) -> Iterator[tuple[int, int]]:
    far, u = round.params[1], 0
    outer = table.total - far * len(meant)
    while u < table.total:
        answer = answered(round, cell, table, u)
        size = far if u >= outer else meant.get(answer, 0) - far
        if size < 1:
            raise AssertionError(f"{u} answers {answer}, which has no weight to spare")
        yield u, size
        u += size
