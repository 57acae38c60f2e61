"""What hiding places takes, and what it leaves: `heatveil calibrate --mechanism disk`."""

import math
from dataclasses import replace
from typing import Any

from edge.core import wire
from edge.host import post
from edge.mechanisms import disk
from recovery.disk import Query, plan
from recovery.disk.query import scheme_of
from recovery.disk.round import explain_query_refusal, explain_refusal, total_of
from recovery.maps.guarantee import format_factor, format_ratio, round_up
from recovery.noise import Ratio, epsilon_of_report

from ..flags import plan_or_refuse
from .words import compute_guesses, format_share

_OTHERS: tuple[Ratio, ...] = ((1, 2), (1, 1), (2, 1), (7, 2), (5, 1), (7, 1))
# What a small board keeps of a whole number: in place, or beside it where it is a long one.
_WORD_BYTES, _LONG_BYTES, _SHORT_MAX = 4, 32, 2**30


def describe_weights(query: Query, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what is said of a query beside its promise: for JSON, and in lines.

    Ratios are lists of two whole numbers; distances are in cells; `right` and `off_cells` are
    null where they would take too long; `refusal` says why no device can be sent the Round, "".
    What is gained is rounded up to the digits that are printed, never down.
    """
    one = epsilon_of_report(query)
    own = one.numerator, one.denominator
    others = [_judge_other_epsilon(query, epsilon) for epsilon in dict.fromkeys((*_OTHERS, own))]
    topic = wire.round_topic("lab", disk.NAME)
    signed = b"" if explain_refusal(round) else post.pack_round(round, bytes(32), topic)
    numbers = {
        "epsilon_per_report": list(own),
        "scheme": scheme_of(query),
        "radius_chosen": query.radius is None,
        "reach_cells": round.params[0],
        "far": round.params[1],
        "near": round.params[2],
        "total": total_of(round),
        "round_bytes": len(signed) or None,
        "table_bytes": _estimate_table_bytes(round),
        **_list_guess_numbers(round),
        "others": sorted(others, key=lambda row: row["epsilon"][0] / row["epsilon"][1]),
        "refusal": explain_query_refusal(query, round),
    }
    return numbers, [
        *_format_answer_lines(query, numbers),
        "",
        *_format_gain_lines(query, numbers),
        "",
        *_format_epsilon_table(numbers),
    ]


def _list_guess_numbers(round: Any) -> dict[str, Any]:
    told = compute_guesses(round)
    return {
        "worst_log_ratio": told.log_ratio,
        "outer_cells": told.outer,
        "near_chance": told.near,
        "right": told.right,
        "right_blind": told.blind,
        "off_cells": told.off_cells,
        "off_cells_blind": told.blind_cells,
    }


def _judge_other_epsilon(query: Query, epsilon: Ratio) -> dict[str, Any]:
    """Return what one report of another epsilon is worth, by the radius chosen for it."""
    round = plan_or_refuse(replace(query, epsilon=epsilon, readings=1), plan)
    return {"epsilon": list(epsilon), "reach_cells": round.params[0], **_list_guess_numbers(round)}


def _estimate_table_bytes(round: Any) -> int:
    """Return about how much memory the weights take on a board of 32-bit words."""
    table = disk.Table(round)
    held = [*round.params, *table.ends, *table.fulls, *table.at, *table.upto, table.total]
    return sum(_WORD_BYTES + _LONG_BYTES * (abs(number) >= _SHORT_MAX) for number in held)


def _format_answer_lines(query: Query, numbers: dict[str, Any]) -> list[str]:
    reach, grid = numbers["reach_cells"], query.grid
    long = f", {reach * grid.cell_mm / 1000:g} m" if grid.cell_mm else ""
    chosen = "chosen for this grid and epsilon" if numbers["radius_chosen"] else "as asked for"
    sent = (
        f"the Round is {numbers['round_bytes']} bytes long"
        if numbers["round_bytes"] is not None
        else f"the Round CANNOT BE SENT: {numbers['refusal']}"
    )
    return [
        f"Given: a log-ratio of {round_up(numbers['worst_log_ratio'], 6)} a report, by the "
        f"whole numbers that devices draw with: {numbers['near']} to {numbers['far']}.",
        f"Radius: {reach} cells{long}, {chosen}, scheme {numbers['scheme']}.",
        f"Answers: {numbers['outer_cells']} cells, for {math.prod(grid.shape)} that are true; "
        f"around the true one {numbers['near_chance']:.2%} of the time, else anywhere.",
        f"On the wire: {sent}. On a board the weights take about {numbers['table_bytes']} bytes "
        "of memory.",
    ]


def _format_gain_lines(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return what somebody gains who guesses."""
    one, whole = numbers["epsilon_per_report"], query.epsilon
    rows = [("one report", one[0] / one[1])]
    if query.readings > 1:
        rows.append((f"all {query.readings}, from one cell", whole[0] / whole[1]))
    wide = max(len(name) for name, _ in rows)
    told = [
        f"  {'who sees':<{wide}}   odds move at most by   one of two cells, right at most",
        *(
            f"  {name:<{wide}}   {format_factor(epsilon, 4):>20}   {_share(epsilon):>31}"
            for name, epsilon in rows
        ),
    ]
    if numbers["right"] is not None:
        told.append(
            f"  Which of all cells, from one report: right {format_share(numbers['right'])} of "
            f"the time, and {format_share(numbers['right_blind'])} without it, if all are alike "
            "before."
        )
    if numbers["off_cells"] is not None:
        told.append(
            f"  A cell drawn by the odds is {numbers['off_cells']:.3g} cells off in the mean, and "
            f"{numbers['off_cells_blind']:.3g} without the report: an average, which promises "
            "nothing to anyone."
        )
    return told


def _share(epsilon: float) -> str:
    share = 1 / (1 + math.exp(-epsilon))
    return round_up(share, 4) if share < 0.9999 else "over 0.9999"


def _format_epsilon_table(numbers: dict[str, Any]) -> list[str]:
    """Return the table of other epsilons."""
    return [
        "  epsilon of a report   reach   likelier cells   cell guessed right   off in the mean",
        *(
            f"  {format_ratio(tuple(row['epsilon'])):>19}   {row['reach_cells']:>5}   "
            f"{row['near_chance']:>14.2%}   {_format(row['right'], '.3%'):>18}   "
            f"{_format(row['off_cells'], '.3g'):>9}{' cells' * (row['off_cells'] is not None)}"
            + ("   this one" if row["epsilon"] == numbers["epsilon_per_report"] else "")
            for row in numbers["others"]
        ),
    ]


def _format(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
