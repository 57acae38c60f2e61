"""What a record's functions do where a mechanism gives none of its own."""

import json
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from edge.core.entropy import Tape
from edge.core.records import Release, Round
from recovery.maps.guarantee import describe_guarantee, from_json, round_up
from recovery.maps.heatmap import Heatmap
from recovery.maps.sentence import Wording

from ..faults import OperatorFault
from ..output import FOUND, SENT, TRUE, Stage, Writer, check_writable, write_all
from ..settings.fields import collect_fields
from ..settings.windows import DAYS, count_windows, list_cadences
from .record import Fact
from .scores import (
    SEEDED,
    WORTHLESS,
    Watch,
    compute_scores,
    count_frame_bytes,
    is_hardly_better_than_blind,
    score_blind_guess,
)
from .summary import describe_densest_block, describe_warmest_places, format_distance
from .worlds import Calibrated, Floats, Found, Inputs, Judged, Numbers, Played

# Crowds that a map is tried on where nobody says how many answer, and the most devices and cells.
_USERS_TRIED, _NAMED_TRIED, _CELLS_TRIED = (1_000, 10_000), 100_000, 4_096


# Of a deployment file.


def find_device_shape(deployment: Any) -> tuple[int, int]:
    """Return how many devices its own table has, as a row."""
    return deployment.own.devices, 1


def make_query(deployment: Any) -> Any:
    """Return what the analyst asks: each field from [room], [privacy] or the own table.

    Where nobody says how many users answer, all devices are expected to.

    Raises:
        ValueError: there is no such promise.
    """
    from . import find_for_deployment

    mechanism = find_for_deployment(deployment)
    own = deployment.own
    asked = collect_fields(mechanism.query, deployment.privacy, own)
    if "users" in mechanism.abouts:
        asked["users"] = asked.get("users") or own.devices
    return mechanism.query(grid=deployment.room.grid, **asked)


# For readers.


TRUSTED = Wording(
    "guarantee.trusted",
    "Trusted: the gateway. It sees every place until the noise is on; whoever runs it, or breaks "
    "into it before then, sees them too. The promise holds against everybody else.",
)()
CURIOUS = Wording(
    "guarantee.curious",
    "Trusted: that gateway and broker follow the protocol. Those that do not may read what a "
    "single device sends; against all others the promise holds.",
)()


def describe_promise(trust: str, query: Any, guarantee: Any) -> list[str]:
    """Return the guarantee in sentences: first, who is trusted, if anybody is."""
    first = {"central": [TRUSTED], "distributed": [CURIOUS], "local": []}
    return [*first[trust], *describe_guarantee(guarantee)]


def list_trusted_facts(found: Found) -> list[Fact]:
    """Return who is trusted, and what a map says."""
    return [Fact("Trusted", "the gateway", "", TRUSTED), *list_facts(found)]


def list_facts(found: Found) -> list[Fact]:
    """Return where most of a map is, who drew it, and how sure it is."""
    if not isinstance(found, Heatmap):
        return [Fact("Map", None, "", f"No map: {found.why}.")]
    caution = "" if found.status == "optimal" else f" ({found.status})"
    blocks, top = found.blocks, np.unravel_index(found.mass.argmax(), found.mass.shape)
    share: float | None = 100 * float(found.mass[top])
    if found.contradicted:
        share, most = None, "no place can be named"
    elif blocks is not None:  # of nothing finer than what the answers tell apart is anything said
        most, sure = describe_densest_block(blocks, found.grid)
        named = blocks.claims[:1]
        share = (
            100 * float(blocks.flat_mass[tuple(blocks.boxes[named[0], :2])])
            if len(named)
            else None
        )
    else:
        most = describe_warmest_places(found.mass, found.grid, middles=True)
    told = [Fact("Share of the fullest cell", share, "%", f"Most: {most}{caution}.")]
    if found.why:
        told.append(
            Fact("Estimator", found.estimator, "", f"Drawn by {found.estimator}: {found.why}.")
        )
    if found.verdict is not None and found.verdict.sentence:
        told.append(Fact("Verdict", found.verdict.level, "", found.verdict.sentence))
    if blocks is not None:
        told.append(Fact("How sure", f"{blocks.level:.0%}", "", f"How sure: {sure}"))
    elif found.sd is not None and not found.contradicted:
        off = 100 * float(found.sd[top])
        sentence = (
            f"How sure: the fullest cell holds {share:.3g}% of all, give or take {off:.3g}% "
            "(one standard deviation)."
        )
        told.append(Fact("Standard deviation of that share", off, "%", sentence))
    return told


# On the command line.


def recover_without_room(query: Any, releases: Any, vacancy: Any, compiling: Any) -> Any:
    """Return what `recover` gives: there is no warmth of an empty room to take off."""
    from . import find_for_query

    return find_for_query(query).recover(query, releases)


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return how far the map is from the truth beside an even one."""
    truth = played.world.truth
    own = {"users": played.watch.reports, "w2_data_free": score_blind_guess(truth, "w2")}
    score, guess = numbers["emd_l1"], numbers["emd_l1_data_free"]
    if score is None or guess is None:
        return Judged(own, [])
    grid = played.world.query.grid
    lines = [
        f"Earth mover's distance (along rows and columns) to the truth "
        f"{format_distance(grid, score)}; an even map, drawn without data, has "
        f"{format_distance(grid, guess)}."
    ]
    if score >= guess or format_distance(grid, score) == format_distance(grid, guess):
        lines.append("So this map is no nearer than an even one: it says nothing of value.")
    return Judged(own, lines)


def _draw(
    query: Any,
    releases: Sequence[Release],
    found: Found,
    title: str,
    path: Path,
    truth: Floats | None = None,
) -> None:
    """Write what there is of truth, what was sent, map, and how sure it is."""
    from . import find_for_query
    from .panels import Panel, draw_panels  # half a second

    mechanism, line = find_for_query(query), query.grid.shape[1] == 1
    share = None if truth is None else truth / truth.sum()
    mass, sd = (found.mass, found.sd) if isinstance(found, Heatmap) else (None, None)
    blocks = found.blocks if isinstance(found, Heatmap) else None
    fine = mass
    if blocks is not None:
        mass = blocks.flat_mass
    # Truth and map in the same colours, so that they can be held against each other.
    top = max((float(one.max()) for one in (share, fine, mass) if one is not None), default=None)
    shown = []
    if share is not None:
        said = "The truth, which only the simulator knows"
        shown.append(Panel(said, share, "share", True, top, colour=TRUE))
    shown += mechanism.panels(query, releases)
    if fine is not None and blocks is not None and not line:
        shown.append(Panel(f"{title}: finer than the answers tell", fine, "share", True, top))
        title = "What may be said of it"
    if blocks is not None:
        title += "; hatched: mostly noise, blank: surely fewer than on an even map"
    if mass is not None:
        shown.append(Panel(title, mass, "share", True, top, colour=FOUND, sd=sd, blocks=blocks))
    if sd is not None and blocks is None and not line:
        said = "How unsure: one standard deviation of each cell's share"
        shown.append(Panel(said, sd, "standard deviation", True, colour=SENT))
    if not shown:
        raise OperatorFault(
            "there is nothing to plot: the answers give no map, and the true places are not "
            "known here. Leave --plot out, or ask for more answers"
        )
    foot = mechanism.promise(query, found.guarantee)[:3]
    if found.guarantee.trust == SEEDED:
        foot.insert(0, "An experiment with --seed: nothing of this is private.")
    draw_panels(query.grid, shown, path, " ".join(foot))


def draw_play(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw the truth, what was sent, what was recovered, and how sure it is."""
    world, releases = played.world, played.watch.releases
    _draw(world.query, releases, played.found, "What was recovered", path, world.truth)


def make_picture_writer(
    query: Any, releases: Sequence[Release], found: Found, name: str
) -> Writer:
    """Return the writer of a picture of public releases, where nobody knows the truth."""
    return lambda path: _draw(query, releases, found, f"Recovered from {name}", path)


def list_public_fields(query: Any) -> Sequence[str]:
    """Return the names of all fields; of a window of hours where there is one."""
    return [field.name for field in fields(query) if field.name != "window_h" or query.window_h]


def read_release(query: Any, written: Any) -> Release:
    """Return the release that a round of a published file holds.

    Raises:
        ValueError: it has not the shape of one.
    """
    from . import find_for_query

    mechanism = find_for_query(query)
    number, params, values = written["number"], tuple(written["params"]), list(written["values"])
    reports = sum(values) if mechanism.trust == "local" else written.get("reports")
    if not all(type(part) is int for part in (number, reports, *params, *values)):
        raise ValueError(f"round {number!r} holds what is no whole number")
    guarantee = from_json(json.dumps(written["guarantee"]))
    round = Round(number, mechanism.name, query.grid, params, guarantee)
    return Release(round, values, reports)


def describe_blur(query: Any) -> str:
    """Return the epsilon of one answer, in words."""
    return f"epsilon {round_up(float(Fraction(*query.epsilon) / query.readings), 4)}"


def explain_calibration(
    query: Any,
    *,
    every_s: float | None,
    as_json: bool,
    plot: Path | None,
    inputs: Sequence[Path],
    stage: Stage,
) -> Calibrated:
    """Return the promise of a query, and what its Round and a report weigh.

    Raises:
        OperatorFault: it cannot be planned, or a picture was asked for.
    """
    from . import find_for_query
    from .flags import plan_or_refuse

    mechanism = find_for_query(query)
    hours = getattr(query, "window_h", 0)
    if plot is not None and not hours:
        raise OperatorFault(
            f"--plot {plot} came, but for {mechanism.name} it compares windows, and this promise "
            "has none. Set window_h in a deployment file, or leave --plot out"
        )
    check_writable([plot] if plot else [], inputs)
    if mechanism.trust == "distributed" and not query.users:
        raise OperatorFault(
            "users is 0, but the noise is divided among the devices, so their number is needed. "
            f"Give it: heatveil calibrate --mechanism {mechanism.name} --set users=2000"
        )
    round = plan_or_refuse(query, mechanism.plan)
    promised = round.guarantee
    length = mechanism.vector_length(round)
    lasts_s = 3600 * hours if hours else query.readings * (every_s or 0)
    numbers = {
        "schema": 1,
        "mechanism": mechanism.name,
        "trust": mechanism.trust,
        **promised._asdict(),
        "readings": query.readings,
        "every_s": every_s,
        "window_s": None if every_s is None else lasts_s,
        "params": list(round.params),
        "numbers_per_report": length,
        "bits_per_number": mechanism.bits(round),
        "report_bytes": count_frame_bytes(mechanism, round),
        "promise": mechanism.promise(query, promised),
    }
    stage("working out what a report tells whoever sees it")
    more, lines = mechanism.calibrated(query, round)
    refusal = str(more.get("refusal", ""))
    if hours:
        numbers["trade"], stays = _describe_trade(query)
        numbers["maps"], worth = _try_maps(query, stage)
        lines = [*lines, *worth, "", *stays]
        if plot is not None:
            stage("drawing")
            from .panels import write_window_trade  # half a second

            own = every_s or 0, float(Fraction(*query.epsilon) / query.readings)
            rows = numbers["trade"]
            write_all({plot: lambda path: write_window_trade(rows, "epsilon_each", own, path)})
    if as_json:
        return Calibrated([json.dumps(numbers | more)], refusal)
    said = [one for one in mechanism.promise(query, promised) if "ot protected:" not in one]
    many = f"{length} whole number{'s' * (length > 1)} of {mechanism.bits(round)} bits"
    sent = [f"A report is {many}, its frame {numbers['report_bytes']} bytes."]
    if mechanism.trust == "distributed":
        sent = [f"A device adds {many} to the sum, masked."]
    if every_s is not None:
        lasts = "is for any" if hours else "lasts"
        sent.append(f"One comes every {every_s:g} s, so this {lasts} {lasts_s:g} s.")
    first = [f"NOT PROTECTED: {promised.unprotected}.", ""]
    return Calibrated([*first, *said, *sent, *lines], refusal)


def _try_maps(query: Any, stage: Stage) -> tuple[list[dict[str, Any]], list[str]]:
    """Return how far off maps of one answer a device are, a row for each size of a made crowd."""
    from . import find_for_query, play

    named = getattr(query, "users", 0) or 0
    if math.prod(query.grid.shape) > _CELLS_TRIED or named > _NAMED_TRIED:
        return [], ["The map was not tried, for that takes too long here: heatveil play does."]
    mechanism, epsilon = find_for_query(query), Fraction(*query.epsilon) / query.readings
    given = {"epsilon": epsilon.as_integer_ratio(), "readings": 1, "window_h": 0}
    rows = list[dict[str, Any]]()
    for users in (named,) if named else _USERS_TRIED:
        stage(f"trying out a map of {users:,} devices")
        chance, inputs = np.random.default_rng(1), Inputs(points="mnormal", users=users)
        world = mechanism.world(replace(query, **given), inputs, chance)
        watched = Watch().watch_mechanism(mechanism, True, mechanism.reporter)
        found = play(watched, world.query, world.read_devices, Tape(b"calibrate"))
        off = compute_scores(world.truth, getattr(found, "mass", None))["emd_l1"]
        rows.append({"users": users, "off": off, "blind": score_blind_guess(world.truth)})
    said = "; ".join(
        f"of {row['users']:,} devices "
        + (
            "there is none"
            if row["off"] is None
            else f"it is {format_distance(query.grid, row['off'])} off"
        )
        for row in rows
    )
    blind = format_distance(query.grid, rows[-1]["blind"])
    line = f"The map of one answer each, tried once on a made crowd: {said}; an even map, {blind}."
    if all(
        row["off"] is None or is_hardly_better_than_blind(row["off"], row["blind"]) for row in rows
    ):
        line += f" {WORTHLESS}."
    return rows, [line]


def _describe_trade(query: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what other windows and cadences leave for an answer, and what is said of stays.

    Each shares the same epsilon for each window; epsilons of windows add up.
    """
    epsilon = Fraction(*query.epsilon)
    rows = [
        row
        | {
            "epsilon_each": float(epsilon / row["readings"]),
            "epsilon_week": float(count_windows(7, row["window_h"]) * epsilon),
        }
        for row in list_cadences(query.window_h)
    ]
    stays = (
        f"{name} {round_up(float(count_windows(days, query.window_h) * epsilon), 6)}"
        for name, days in DAYS
    )
    table = [
        f"  {row['window_h']:<8} {row['every_s'] / 3600:<10g} {row['readings']:<9} "
        f"{row['epsilon_each']:<16.4g} {round_up(row['epsilon_week'])}"
        for row in rows
    ]
    return rows, [
        f"Who is there for longer than {query.window_h} h pays more, in epsilon: "
        f"{', '.join(stays)}.",
        "  window h every h    answers   epsilon of one   epsilon of a week",
        *table,
    ]
