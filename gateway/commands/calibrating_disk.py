"""What hiding places takes, and what it leaves: `heatveil calibrate --mechanism disk`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from edge import disk, wire
from edge.host import post
from edge.records import Report
from recovery.disk import Query
from recovery.disk.query import epsilon_of_one, scheme_of
from recovery.disk.round import refusal, refused, steps_of, total_of
from recovery.maps.guarantee import ratio_text
from recovery.noise import Ratio

from ..serves.disk import in_words
from .act import Calibrated
from .calibrating_disk_lines import lines
from .choices_disk import first_round
from .guessing import guesses
from .outputs import check_places, write_all
from .stages import Stage

SCHEMA = 1
_OTHERS: tuple[Ratio, ...] = ((1, 2), (1, 1), (2, 1), (7, 2), (5, 1), (7, 1))
# What a small board keeps of a whole number: in place, or beside it where it is a long one.
_WORD_BYTES, _LONG_BYTES, _SHORT_MAX = 4, 32, 2**30


def calibrated(
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
        from .calibrating_disk_picture import draw_round  # half a second, and few are drawn

        write_all({plot: lambda path: draw_round(query, path)})
    said = [json.dumps(found, indent=2, allow_nan=False)] if as_json else lines(query, found)
    return Calibrated(said, found["refusal"])


def numbers(query: Query, every_s: float | None, stage: Stage) -> dict[str, Any]:
    """Return all that is said of a query: the keys stay, new ones may come.

    Ratios are lists of two whole numbers; distances are in cells; `right` and `off_cells` are
    null where they would take too long; `apart` is the total variation by which weights in few
    steps miss the scheme's law; `refusal` says why no device can be sent the Round, "".
    """
    round = first_round(query)
    one, promise = epsilon_of_one(query), round.guarantee
    stage("working out what a report tells whoever sees it")
    told, sent, steps = guesses(round), refused(query, round), steps_of(round, query)
    others = []
    for epsilon in dict.fromkeys((*_OTHERS, (one.numerator, one.denominator))):
        stage(f"trying epsilon {ratio_text(epsilon)}")
        others.append(_other(query, epsilon))
    return {
        "schema": SCHEMA,
        "mechanism": disk.NAME,
        **promise._asdict(),
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
        "apart": 0.0 if steps is None else steps.apart,
        "bits": disk.bits(round),
        "round_bytes": _round_bytes(round),
        "report_bytes": _report_bytes(round),
        "table_bytes": _table_bytes(round),
        **_guessed(told),
        "others": sorted(others, key=lambda row: row["epsilon"][0] / row["epsilon"][1]),
        "promise": in_words(query, promise),
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
