"""What `heatveil calibrate --mechanism disk` prints for people; the numbers are its JSON's.

What is promised or gained is rounded up to the digits that are printed, never down.
"""

import math
from typing import Any

from recovery.maps.guarantee import ratio_text, upward

from .disk_lines import part


def lines(query: Any, numbers: dict[str, Any]) -> list[str]:
    """Return the lines, what is not protected first."""
    return [
        f"NOT PROTECTED: {numbers['unprotected']}.",
        "",
        *_promised(numbers),
        "",
        *_answers(query, numbers),
        "",
        *_gained(query, numbers),
        "",
        *_others(query, numbers),
    ]


def _promised(numbers: dict[str, Any]) -> list[str]:
    all_of_them, one = (ratio_text(tuple(numbers[n])) for n in ("epsilon", "epsilon_per_report"))
    reports = numbers["readings"]
    each = f", epsilon {one} each" if reports > 1 else ""
    lasts = (
        ""
        if numbers["every_s"] is None
        else f" One comes every {numbers['every_s']:g} s, so this lasts {numbers['window_s']:g} s."
    )
    return [
        f"Protected: {numbers['neighbours']}.",
        f"Promised: epsilon {all_of_them} for {_reports(reports)} of one device{each}, and no "
        f"delta.{lasts}",
        f"Really given: a log-ratio of {upward(numbers['worst_log_ratio'], 6)} a report, by the "
        f"whole numbers that devices draw with: {numbers['near']} to {numbers['far']}.",
        f"Trust: {numbers['trust']}.",
    ]


def _reports(many: int) -> str:
    return f"all {many} reports" if many > 1 else "the one report"


def _answers(query: Any, numbers: dict[str, Any]) -> list[str]:
    reach, grid = numbers["reach_cells"], query.grid
    long = f", {reach * grid.cell_mm / 1000:g} m" if grid.cell_mm else ""
    chosen = "chosen for this grid and epsilon" if numbers["radius_chosen"] else "as asked for"
    sent = (
        f"the Round is {numbers['round_bytes']} bytes long"
        if numbers["round_bytes"] is not None
        else f"the Round CANNOT BE SENT: {numbers['refusal']}"
    )
    if numbers["apart"]:
        sent += (
            f", its weights in {numbers['near'] - numbers['far']} steps: an answer is of another "
            f"law than the scheme's {upward(100 * numbers['apart'], 2)} % of the time"
        )
    return [
        f"Radius: {reach} cells{long}, {chosen}, scheme {numbers['scheme']}.",
        f"Answers: {numbers['outer_cells']} cells, for {math.prod(grid.shape)} that are true; "
        f"around the true one {numbers['near_chance']:.2%} of the time, else anywhere.",
        f"On the wire: {sent}; a report {numbers['report_bytes']} bytes. On a board the weights "
        f"take about {numbers['table_bytes']} bytes of memory.",
    ]


def _gained(query: Any, numbers: dict[str, Any]) -> list[str]:
    """Return what somebody gains who guesses."""
    one = numbers["epsilon_per_report"]
    rows = [("one report", one[0] / one[1])]
    if numbers["readings"] > 1:
        whole = numbers["epsilon"]
        said = f"all {numbers['readings']}, from one cell"
        rows.append((said, whole[0] / whole[1]))
    wide = max(len(name) for name, _ in rows)
    told = [
        f"  {'who sees':<{wide}}   odds move at most by   one of two cells, right at most",
        *(
            f"  {name:<{wide}}   {_factor(epsilon):>20}   {_share(epsilon):>31}"
            for name, epsilon in rows
        ),
    ]
    if numbers["right"] is not None:
        told.append(
            f"  Which of all cells, from one report: right {part(numbers['right'])} of the time, "
            f"and {part(numbers['right_blind'])} without it, if all are alike before."
        )
    if numbers["off_cells"] is not None:
        told.append(
            f"  A cell drawn by the odds is {_cells(query, numbers['off_cells'])} off in the mean"
            f", and {_cells(query, numbers['off_cells_blind'])} without the report: an average, "
            "which promises nothing to anyone."
        )
    return told


def _factor(epsilon: float) -> str:
    return upward(math.exp(epsilon), 4) if epsilon < 50 else f"10^{epsilon / math.log(10):.0f}"


def _share(epsilon: float) -> str:
    share = 1 / (1 + math.exp(-epsilon))
    return upward(share, 4) if share < 0.9999 else "over 0.9999"


def _cells(query: Any, cells: float) -> str:
    metres = f" ({cells * query.grid.cell_mm / 1000:.3g} m)" if query.grid.cell_mm else ""
    return f"{cells:.3g} cells{metres}"


def _others(query: Any, numbers: dict[str, Any]) -> list[str]:
    own = numbers["epsilon_per_report"]
    return [
        "  epsilon of a report   reach   likelier cells   cell guessed right   off in the mean",
        *(
            f"  {ratio_text(tuple(row['epsilon'])):>19}   {row['reach_cells']:>5}   "
            f"{row['near_chance']:>14.2%}   {_known(row['right'], '.3%'):>18}   "
            f"{_known(row['off_cells'], '.3g'):>9}{' cells' * (row['off_cells'] is not None)}"
            + ("   this one" if row["epsilon"] == own else "")
            for row in numbers["others"]
        ),
    ]


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
