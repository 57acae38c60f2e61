"""Places on a curve and blurred sums of them, on every Python: the same from the same tape."""

from typing import Any

SCRIPT = """
from edge.core.entropy import Tape
from edge.mechanisms import ranks
from edge.core.records import Grid, Reading, Round
for axes in (1, 2, 3):
    grid = Grid((40, 1 if axes == 1 else 30), 250)
    round = Round(1, "ranks", grid, (3, 1, 2, 10, axes, 2), None)
    payloads = []
    for i in range(7):
        cell = (7 * i - 2, 5 * i, 11 * i)[:max(axes, 2)]
        payloads.append(ranks.report(round, Reading(i, cell), None))
    print(payloads)
    print(ranks.release(round, payloads, Tape(b"ranks")).values)
"""


def test_a_board_tells_the_place_that_the_gateway_knows(interpreter: Any) -> None:
    """Another curve on a board would be a wrong map that looks right."""
    printed: list[str] = []
    exec(SCRIPT, {"print": lambda line: printed.append(str(line))})

    assert interpreter.run(SCRIPT).splitlines() == printed
