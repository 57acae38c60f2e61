"""A map that was drawn, looked at again: `heatveil show`, beside a gateway that runs."""

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from edge.core.records import Release
from recovery.maps.guarantee import from_json
from recovery.maps.heatmap import Heatmap, Unresolved, to_npz

from ...faults import OperatorFault
from ...mechanisms import Mechanism, find_for_deployment, plan_first_round
from ...output import Writer, check_writable, write_all
from ...output import make_json_writer as written_as_json
from ...service import telling
from ...settings import config
from ...settings.deployment import Deployment
from ...store.reader import RoundRow, open_reader
from .. import flags

# A map in the letters of a terminal: darker where more of the warmth is.

Floats = NDArray[np.float64]

BARS, SHADES = " ▁▂▃▄▅▆▇█", " ░▒▓█"
PLAIN = " .:-=+*#%@"  # where the terminal knows no others
TALL = 24  # lines at most of a plane


def draw_letter_map(mass: Floats, width: int, encoding: str | None = None) -> list[str]:
    """Return the lines of a map; neighbours share a letter where the terminal is too narrow.

    Args:
        mass: (rows, columns), not negative.
        width: letters of a line.
        encoding: of who reads it.

    >>> draw_letter_map(np.array([[0, 1, 2, 8, 0]]), 40, "utf-8")
    ['[ ▁▂█ ]']
    >>> draw_letter_map(np.array([[0.0, 1.0], [4.0, 0.0]]), 40, "ascii")
    ['[  --]', '[@@  ]']
    """
    rows = mass.shape[0]
    flat = rows == 1
    # A letter is twice as high as it is wide, so a cell of a plane is two letters.
    across = max((width - 2) // (1 if flat else 2), 1)
    narrow = _gather(_gather(mass, across).T, max(across // 2, 1) if rows > TALL else rows).T
    letters = (BARS if flat else SHADES) if _has_map_letters(encoding) else PLAIN
    most = float(narrow.max()) or 1.0
    # What is there at all is seen, and only the warmest is full.
    steps = np.ceil(narrow / most * (len(letters) - 1) - 1e-9).astype(int)
    return ["[" + "".join(letters[one] * (1 if flat else 2) for one in row) + "]" for row in steps]


def _gather(mass: Floats, most: int) -> Floats:
    """Return the map with so many columns at most, warmth added up and none lost."""
    group = -(-mass.shape[1] // most)
    if group == 1:
        return np.asarray(mass, dtype=np.float64)
    return np.add.reduceat(mass, np.arange(0, mass.shape[1], group), axis=1)


def _has_map_letters(encoding: str | None) -> bool:
    try:
        (BARS + SHADES).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


KINDS = (".png", ".npz", ".json")


def show(
    path: flags.Config,
    round: Annotated[
        int | None, typer.Argument(min=1, help="Its number; else the newest.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write it here: .png, .npz or .json.")] = None,
    as_json: flags.AsJson = False,
) -> None:
    """Show a map: where the warmth is, how sure that is, and under which promise.

    Beside a gateway that runs, or without one. In JSON it is the map as it was published.
    """
    if out is not None and out.suffix.lower() not in KINDS:
        raise OperatorFault(
            f"--out {out} ends in {out.suffix or 'nothing'} but must end in one of "
            f"{', '.join(KINDS)}, which selects the format. Name another file"
        )
    check_writable([out] if out else [], [path])
    deployment = config.load_deployment(path)
    query = config.make_query(deployment)
    with open_reader(deployment) as reader:
        body = reader.read_map(round)
        if body is None:
            reader.check_not_deleted("its maps")
            raise _tell_missing(round, reader.list_rounds(1))
        row, values = reader.find_round(body["number"]), reader.read_release(body["number"])
    check_same_mechanism(deployment, row)
    found = read_published_map(body, query)
    if out is not None:
        write_all({out: _make_map_writer(out, body, found, deployment, values)})
    if as_json:
        typer.echo(json.dumps(body))
        return
    mechanism = find_for_deployment(deployment)
    lines = _tell(body, found, row, mechanism)
    promised = mechanism.promise(query, found.guarantee)
    if mechanism.trust == "central":  # who is trusted, first
        lines = [promised[0], *(line for line in lines if line != promised[0])]
        promised = promised[1:]
    for line in [*lines, *promised]:
        typer.echo(line)


def read_published_map(body: dict[str, Any], query: Any) -> Heatmap | Unresolved:
    """Return the result that a map was published of.

    Raises:
        OperatorFault: it is of another room than the deployment's.
    """
    guarantee = from_json(json.dumps(body["guarantee"]))
    columns, rows = query.grid.shape
    if body["status"] == "nobody":
        even = np.full((rows, columns), 1 / (rows * columns))
        return Heatmap(query.grid, even, guarantee, 0.0, body["why"], nobody=body["nobody"])
    if body["mass"] is None:
        return Unresolved(query.grid, guarantee, np.inf, 0.0, body["why"])
    mass = np.array(body["mass"], dtype=np.float64)
    if mass.shape != (rows, columns):
        raise OperatorFault(
            f"the map of round {body['number']} has {mass.shape[1]}x{mass.shape[0]} cells and "
            f"the deployment says {columns}x{rows}; its places would be read wrongly. Give the "
            "deployment file that it was drawn under"
        )
    return Heatmap(
        query.grid,
        mass,
        guarantee,
        body["total"],
        body["why"],
        body["estimator"],
        body["chosen"],
        *telling.parse_map(body),
        None if body.get("sd") is None else np.array(body["sd"], dtype=np.float64),
        blocks=telling.read_blocks(body),
    )


def check_same_mechanism(deployment: Deployment, round: RoundRow | None) -> None:
    """Check that a round is of the mechanism of a deployment, whose words would mean other things.

    Raises:
        OperatorFault: it is of another.
    """
    asked = deployment.rounds.mechanism
    if round is not None and round.mechanism != asked:
        raise OperatorFault(
            f"round {round.number} of the store is of {round.mechanism}, and [rounds] mechanism "
            f"is {asked}: its numbers would be told in words that mean something else. Name the "
            "deployment file that it was gathered with"
        )


def _tell(
    body: dict[str, Any],
    found: Heatmap | Unresolved,
    round: Any,
    mechanism: Mechanism,
) -> list[str]:
    head = f"Round {body['number']}"
    if round is not None:
        at = datetime.fromtimestamp(round.closed_s or round.opened_s, UTC)
        heard = "" if round.reports is None else f", {round.reports} of {round.enrolled} devices"
        head += f", {at:%Y-%m-%d %H:%M} UTC{heard}"
    lines = [f"{head}."]
    if isinstance(found, Heatmap) and found.total:
        width = min(shutil.get_terminal_size().columns, 120)
        lines += draw_letter_map(found.mass, width, sys.stdout.encoding)
        if found.grid.cell_mm:
            sides = [f"{side * found.grid.cell_mm / 1000:g} m" for side in found.grid.shape]
            lines.append(f" 0 to {sides[0]}" + f", {sides[1]} down" * (found.grid.shape[1] > 1))
    first = body.get("first", body["number"])
    if first < body["number"] and isinstance(found, Heatmap):
        lines.append(f"Drawn from rounds {first} to {body['number']} together.")
    if "sensors_used" in body:
        enrolled = body.get("sensors_enrolled")
        came = f"{mechanism.words.who_answers} that answered: {body['sensors_used']}"
        lines.append(came + f" of {enrolled}." * bool(enrolled))
        if 2 * body["sensors_used"] < (enrolled or 0) and isinstance(found, Heatmap):
            lines.append(
                "Less than half answered, and the map knows nothing of the others. Set quorum "
                "under [rounds] to have none drawn of so few."
            )
    return [*lines, *mechanism.format_lines(found)]


def _make_map_writer(
    out: Path, body: dict[str, Any], found: Any, deployment: Deployment, values: Any
) -> Writer:
    kind = out.suffix.lower()
    if kind == ".json":
        return written_as_json(body)
    if isinstance(found, Unresolved):
        raise OperatorFault(
            f"round {body['number']} has no map ({found.why}), so there is none to write; .json "
            "has what there is. Name another round"
        )
    if kind == ".npz":
        return lambda half: to_npz(found, half)
    mechanism, query = find_for_deployment(deployment), config.make_query(deployment)
    plan = plan_first_round(deployment, query)._replace(number=body["number"])
    release = mechanism.release(plan, [], None)  # of what is kept no more
    if values is not None:
        release = Release(plan, values, body.get("sensors_used", 0))
    return mechanism.redraw(query, [release], found, f"round {body['number']}")


def _tell_missing(number: int | None, newest: Any) -> OperatorFault:
    known = f"the newest round is {newest[0].number}" if newest else "no round was asked yet"
    wanted = "there is no map yet" if number is None else f"there is no map of round {number}"
    return OperatorFault(
        f"{wanted}; {known}. A map is drawn when its round has closed, unless the next "
        "closes before that, and is deleted after keep_days under [store]. Name another round"
    )
