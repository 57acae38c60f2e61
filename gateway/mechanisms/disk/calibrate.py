"""What hiding places takes, and what it leaves: `heatveil calibrate --mechanism disk`."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edge import disk, wire
from edge.disk import outer
from edge.host import post
from edge.records import Report
from recovery.disk import Query
from recovery.disk.channel import channel_of
from recovery.disk.query import epsilon_of_one, scheme_of
from recovery.disk.round import refusal, refused, total_of
from recovery.maps.guarantee import ratio_text, upward
from recovery.noise import Ratio

from ...output import FOUND, SENT, Stage, check_places, write_all
from ..worlds import Calibrated
from .query import first_round
from .words import guesses, in_words, part

# What `heatveil calibrate --mechanism disk` prints for people; the numbers are its JSON's.
#
# What is promised or gained is rounded up to the digits that are printed, never down.


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


SCHEMA = 1
_OTHERS: tuple[Ratio, ...] = ((1, 2), (1, 1), (2, 1), (7, 2), (5, 1), (7, 1))
# What a small board keeps of a whole number: in place, or beside it where it is a long one.
_WORD_BYTES, _LONG_BYTES, _SHORT_MAX = 4, 32, 2**30


def calibrate(
    query: Query,
    *,
    every_s: float | None,
    as_json: bool,
    plot: Path | None,
    inputs: list[Path],
    stage: Stage,
) -> Calibrated:
    """Return what to print, and draw the picture; arguments as for thermal's.

    Raises:
        OperatorFault: there is no such Round.
    """
    check_places([plot] if plot else [], inputs)
    stage("weighing the answers")
    found = numbers(query, every_s, stage)
    if plot is not None:
        stage("drawing")
        write_all({plot: lambda path: _draw(query, path)})
    said = [json.dumps(found, indent=2, allow_nan=False)] if as_json else lines(query, found)
    return Calibrated(said, found["refusal"])


def numbers(query: Query, every_s: float | None, stage: Stage) -> dict[str, Any]:
    """Return all that is said of a query: the keys stay, new ones may come.

    Ratios are lists of two whole numbers; distances are in cells; `right` and `off_cells` are
    null where they would take too long; `refusal` says why no device can be sent the Round, "".
    """
    round = first_round(query)
    one, guarantee = epsilon_of_one(query), round.guarantee
    stage("working out what a report tells whoever sees it")
    told, sent = guesses(round), refused(query, round)
    others = []
    for epsilon in dict.fromkeys((*_OTHERS, (one.numerator, one.denominator))):
        stage(f"trying epsilon {ratio_text(epsilon)}")
        others.append(_other(query, epsilon))
    return {
        "schema": SCHEMA,
        "mechanism": disk.NAME,
        **guarantee._asdict(),
        "epsilon_per_report": [one.numerator, one.denominator],
        "readings": query.readings,
        "every_s": every_s,
        "window_s": None if every_s is None else query.readings * every_s,
        "scheme": scheme_of(query),
        "radius_chosen": query.radius is None,
        "reach_cells": round.params[0],
        "far": round.params[1],
        "near": round.params[2],
        "total": total_of(round),
        "bits": disk.bits(round),
        "round_bytes": _round_bytes(round),
        "report_bytes": _report_bytes(round),
        "table_bytes": _table_bytes(round),
        **_guessed(told),
        "others": sorted(others, key=lambda row: row["epsilon"][0] / row["epsilon"][1]),
        "promise": in_words(query, guarantee),
        "refusal": sent,
    }


def _guessed(told: Any) -> dict[str, Any]:
    return {
        "worst_log_ratio": told.log_ratio,
        "outer_cells": told.outer,
        "near_chance": told.near,
        "right": told.right,
        "right_blind": told.blind,
        "off_cells": told.off_cells,
        "off_cells_blind": told.blind_cells,
    }


def _other(query: Query, epsilon: Ratio) -> dict[str, Any]:
    """Return what one report of another epsilon is worth, by the radius chosen for it."""
    round = first_round(replace(query, epsilon=epsilon, readings=1))
    return {
        "epsilon": list(epsilon),
        "reach_cells": round.params[0],
        **_guessed(guesses(round)),
    }


def _round_bytes(round: Any) -> int | None:
    """Return how long the signed message of the Round is; None where it is too long to send."""
    if refusal(round):
        return None
    return len(post.pack_round(round, bytes(32), wire.round_topic("lab", disk.NAME)))


def _report_bytes(round: Any) -> int:
    report = Report(wire.name_of(round), "node-00", 1, 1, [0, 0])
    topic = wire.topic("lab", report.sender, "data")
    return len(wire.pack_report(report, bytes(32), topic, disk.bits(round)))


def _table_bytes(round: Any) -> int:
    """Return about how much memory the weights take on a board of 32-bit words."""
    table = disk.Table(round)
    held = [*round.params, *table.ends, *table.fulls, *table.at, *table.upto, table.total]
    return sum(_WORD_BYTES + _LONG_BYTES * (abs(number) >= _SHORT_MAX) for number in held)


# What a disk Round answers, as a picture: the chance of every cell from two true ones.


def _draw(query: Query, path: Path) -> None:
    """Write the picture as PNG."""
    from ..panels import Panel, draw  # half a second, and few are drawn

    round = first_round(query)
    channel, margin = channel_of(round), outer(query.grid, round.params[0])[2:]
    columns, rows = query.grid.shape
    shown = []
    for said, (x, y), colour in (
        ("the middle", (columns // 2, rows // 2), FOUND),
        ("a corner", (0, 0), SENT),
    ):
        mass = np.zeros((rows, columns))
        mass[y, x] = 1.0
        chance = np.where(channel.support, channel.forward(mass), np.nan)
        title = f"What a device in {said} answers; the frame holds the true cells"
        shown.append(Panel(title, chance, "chance", True, margin=margin, colour=colour))
    draw(query.grid, shown, path, " ".join(in_words(query, round.guarantee)[:3]))
