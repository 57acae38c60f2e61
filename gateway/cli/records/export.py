"""What a deployment has gathered, for others to work with: `heatveil export` and `backup`."""

import csv
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from edge.core import wire
from recovery.maps.guarantee import Guarantee, describe_guarantee

from ...faults import OperatorFault, suggest_name
from ...mechanisms import Mechanism, find_for_deployment, find_serving
from ...mechanisms.record import Exported
from ...service.ledger import Ledger, is_distributed, is_pure
from ...settings import config as deployments
from ...settings.deployment import Deployment
from ...store import sqlite
from ...store.places import find_place
from ...store.reader import RoundRow, open_reader
from .. import flags
from .earth import ENDINGS, EarthGrid, find_earth_grid, make_map_writer
from .ledger import compute_spent_epsilon, read_charged
from .show import check_same_mechanism

# A copy of a store, made while its gateway runs: `heatveil backup`.


def backup(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="The copy; there must be nothing there yet.")],
) -> None:
    """Copy the store of a deployment while its gateway runs, and see that the copy is whole."""
    place = find_place(deployments.load_deployment(config))
    if isinstance(place, Path) and not place.exists():
        raise OperatorFault(
            f"there is no store at {place} yet, so there is nothing to be copied. Start heatveil "
            "serve first, or mend [site] database in the deployment file"
        )
    sqlite.backup_store(place, out)
    typer.echo(
        f"{out}: {out.stat().st_size:,} bytes, checked. Only where the store itself is lost, stop "
        f"the gateway, move {place} away with the -wal and -shm beside it, and put this in its "
        "place: what was charged after this moment is forgotten then"
    )


# The rows of an export: what a store holds, as plain values under names with their units.
#
# What a device answered, and what became of all answers, each mechanism has its own names for: see
# `export_own`. All else is alike.

Row = list[tuple[Any, ...]]
PROMISE = ".guarantee.json"  # after the name of an export: of the file beside it
PAGE = 500  # rounds or charges of one question: nobody is kept waiting for longer


class TimeSpan(NamedTuple):
    """From when on, and before when; None is no bound."""

    since_s: float | None
    until_s: float | None
    site: str = ""  # whose topics they are

    def contains(self, at_s: float) -> bool:
        """Return whether a moment is within."""
        early = self.since_s is not None and at_s < self.since_s
        return not early and (self.until_s is None or at_s < self.until_s)


class ExportKind(NamedTuple):
    """What can be exported: its columns and their types, its units, and where its rows are.

    of: what each list of rows is of, to be counted; "" where that means nothing to people.
    """

    columns: dict[str, type]
    units: dict[str, str]
    of: str
    rows: Callable[[Any, TimeSpan], Iterator[Row]]  # one list a round, or page


def read_report_rows(own: Exported, reader: Any, span: TimeSpan) -> Iterator[Row]:
    for row in _list_opened_rounds(reader, span):
        tails = own.reported(_read_asked(reader, row))
        found: Row = []
        for one in reader.list_answers(row.number):
            # Its MAC was verified before it was stored, with a key that may be gone by now.
            body = wire.decode(one.frame[: -wire.MAC_BYTES])
            if 4 not in body:  # sealed, and nobody has the key any more
                continue
            numbers = (row.number, one.device, one.epoch, one.seq, one.taken_s)
            found += [(*numbers, *tail) for tail in tails(body[4], body[5])]
        yield found


def read_message_rows(reader: Any, span: TimeSpan) -> Iterator[Row]:
    """Give what went over the broker for a round: it is asked, answered, taken back."""
    for row in _list_opened_rounds(reader, span):
        asked = wire.round_topic(span.site, row.mechanism)
        answers = sorted(
            reader.list_answers(row.number), key=lambda one: (one.taken_s, one.device)
        )
        found = [(row.number, row.opened_s, asked, (reader.read_message(row.number) or b"").hex())]
        for one in answers:
            topic = wire.topic(span.site, one.device, "data")
            found.append((row.number, one.taken_s, topic, one.frame.hex()))
        if row.closed_s is not None:
            found.append((row.number, row.closed_s, asked, ""))
        yield found


def read_release_rows(own: Exported, reader: Any, span: TimeSpan) -> Iterator[Row]:
    for row in _list_opened_rounds(reader, span):
        values = reader.read_release(row.number)
        if values is not None:
            ended = (row.number, row.closed_s, row.reports)
            yield [(*ended, *tail) for tail in own.released(_read_asked(reader, row))(values)]


def read_map_rows(
    sure: bool, earth: EarthGrid | None, reader: Any, span: TimeSpan
) -> Iterator[Row]:
    for row in _list_opened_rounds(reader, span):
        body = reader.read_map(row.number)
        if body is None:
            continue
        lines = _wrap_single_line(body["mass"])
        if earth is not None:
            _check_grid(_read_asked(reader, row)[3], earth, row)
        sds = _wrap_single_line(body.get("sd")) or [[None] * len(line) for line in lines]
        yield [
            (
                *(row.number, row.opened_s, i, j, float(share), *([sds[i][j]] * sure)),
                *(earth.describe_cell(i, j) if earth is not None else ()),
            )
            for i, line in enumerate(lines)
            for j, share in enumerate(line)
        ]


def _check_grid(asked: list[int], earth: EarthGrid, row: RoundRow) -> None:
    if asked != [*earth.shape, earth.cell_mm]:
        (columns, rows, cell_mm), now = asked, earth.shape
        raise OperatorFault(
            f"round {row.number} was asked on {columns}x{rows} cells of {cell_mm / 1000:g} m and "
            f"the deployment says {now[0]}x{now[1]} of {earth.cell_mm / 1000:g} m; its places on "
            "the earth would be wrong. Give the deployment file that it was asked under, or ask "
            "for another time with --since"
        )


def _wrap_single_line(values: Any) -> Any:
    if not values:
        return []
    return values if isinstance(values[0], list) else [values]


def read_charge_rows(reader: Any, span: TimeSpan) -> Iterator[Row]:
    units = reader.read_units()
    pages: list[list[Any]] = []
    before = None
    while page := reader.list_charges(PAGE, before):
        pages.append([one for one in page if span.contains(one.at_s)])
        before = page[-1].id
    for page in reversed(pages):
        yield [
            (
                *(one.number, one.device, str(one.rho), float(one.rho), one.at_s),
                str(unit.convert(one.rho)) if unit.is_epsilon else None,
            )
            for one in reversed(page)
            for unit in [units.find_for_charge(one)]
        ]


def _list_opened_rounds(reader: Any, span: TimeSpan) -> list[RoundRow]:
    """Return the rounds that were opened within, oldest first."""
    found: list[RoundRow] = []
    before = None
    while page := reader.list_rounds(PAGE, before):
        found += [row for row in page if span.contains(row.opened_s)]
        before = page[-1].number
    return found[::-1]


def _read_asked(reader: Any, row: RoundRow) -> Any:
    """Return the body of what asked a round: it was signed, with a key that may be gone by now."""
    return wire.decode(reader.read_message(row.number)[: -wire.MAC_BYTES])


# An export as a file: CSV, JSON lines or Parquet, its promise beside it; whole, or not there.
#
# A text in a CSV that begins with = + - @, a tab or a line's end gets an apostrophe before it: a
# spreadsheet would else run it as a formula, whoever it came from. Nothing that is there already
# is written over.

Rows = Iterable[Row]
GROUP = 20_000  # rows of Parquet that are held in memory, and found together in the file
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_rows(
    out: Path,
    kind: ExportKind,
    rows: Rows,
    promise: dict[str, Any],
    earth: EarthGrid | None = None,
) -> tuple[int, int]:
    """Write the promise, then the rows; return how many rows, and from how many lists.

    Raises:
        OperatorFault: a file is there already or cannot be written, or pyarrow is not there.
    """
    beside, counted = out.with_name(out.name + PROMISE), [0, 0]
    ending = out.suffix.lower()
    write = (
        FORMATS[ending] if earth is None or ending in FORMATS else make_map_writer(ending, earth)
    )

    def counting() -> Iterator[Row]:
        for some in rows:
            counted[0] += len(some)
            counted[1] += 1
            yield some

    for path in (out, beside):
        if path.exists():
            raise _make_exists_fault(path)
    with _open_new_file(beside) as place:
        place.write_text(json.dumps(promise, indent=2) + "\n", "utf-8")
    try:
        with _open_new_file(out) as place:
            # A raster has a band a round; tables are quicker to read in large groups.
            some = counting() if ending == ".tif" else _group(counting())
            write(place, kind, some, promise)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return counted[0], counted[1]


def _write_csv(place: Path, kind: ExportKind, rows: Rows, promise: dict[str, Any]) -> None:
    with place.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kind.columns)
        for some in rows:
            writer.writerows([[_defuse_formula(value) for value in row] for row in some])


def _write_jsonl(place: Path, kind: ExportKind, rows: Rows, promise: dict[str, Any]) -> None:
    with place.open("w", encoding="utf-8") as file:
        for some in rows:
            for row in some:
                file.write(json.dumps(dict(zip(kind.columns, row, strict=True))) + "\n")


def _write_parquet(place: Path, kind: ExportKind, rows: Rows, promise: dict[str, Any]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as fault:
        raise OperatorFault(
            f"{place.suffix} is written by pyarrow, which is not installed; the other formats "
            "need nothing. Install it: pip install -e '.[parquet]' in heatveil's checkout, or "
            "name a file that ends in .csv or .jsonl"
        ) from fault
    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    told = {"heatveil.guarantee": json.dumps(promise)}
    schema = pa.schema([(name, types[of]) for name, of in kind.columns.items()], metadata=told)
    with parquet.ParquetWriter(place, schema) as writer:
        for some in rows:
            columns = [list(column) for column in zip(*some, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))


FORMATS: dict[str, Callable[[Path, ExportKind, Rows, dict[str, Any]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}


def _group(rows: Rows) -> Iterator[Row]:
    """Yield the rows so many at a time: a group for each round would be slow to read."""
    held: Row = []
    for some in rows:
        held += some
        if len(held) >= GROUP:
            yield held
            held = []
    if held:
        yield held


def _defuse_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


@contextmanager
def _open_new_file(path: Path) -> Iterator[Path]:
    """Give a place to write to; what is written there goes where it belongs once it is whole."""
    place = path.with_name(f".{uuid.uuid4().hex[:8]}.{path.name}")
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # it names devices
        yield place
        with place.open("rb") as file:
            os.fsync(file.fileno())
        os.link(place, path)  # unlike a rename it never takes the place of another file
    except FileExistsError as fault:
        raise _make_exists_fault(path) from fault
    except OSError as fault:
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); no incomplete file is left. Free "
            "disk space, make the folder writable, or name another file"
        ) from fault
    finally:
        place.unlink(missing_ok=True)


def _make_exists_fault(path: Path) -> OperatorFault:
    return OperatorFault(
        f"{path} already exists and is not overwritten: somebody may be using it. Name another "
        "file, or remove that one"
    )


# What can be exported: five kinds of rows, with their columns and the units of these.

NAMES = ("reports", "releases", "maps", "messages", "ledger")
EPOCH = "seconds since 1970-01-01 UTC, of the gateway's clock"
MESSAGES = ExportKind(
    {"round": int, "at_s": float, "topic": str, "payload": str},
    {"at_s": EPOCH, "payload": "hex, as it came or went; empty where a round is taken back"},
    "rounds",
    read_message_rows,
)
LEDGER = ExportKind(
    {
        **{"round": int, "device": str, "rho": str, "rho_decimal": float, "at_s": float},
        "epsilon": str,
    },
    {
        "rho": "num/den, exact",
        "device": "empty: the whole fleet was asked",
        "at_s": EPOCH,
        "epsilon": "num/den, exact, and adds up; empty where delta is promised: there rho does",
    },
    "",
    read_charge_rows,
)


def list_export_kinds(
    mechanism: Mechanism, earth: EarthGrid | None = None
) -> dict[str, ExportKind]:
    """Return what can be exported of a mechanism's store, by name.

    Args:
        earth: where the cells of its maps lie, if that is known.
    """
    own = find_serving(mechanism.name).exported
    heard = {"epoch": "boots of the device", "seq": "its messages", "taken_s": EPOCH}
    ended = {"closed_s": EPOCH, "reports": "devices that answered"}
    cell = {"row": "from 0", "column": "from 0", "mass": "of the cell, as on the map topic"}
    sure = {"sd": "of mass, one standard deviation; of a map with blocks more; empty if not known"}
    sure = sure if mechanism.words.has_sd else {}
    numbers = {"round": int, "device": str, "epoch": int, "seq": int, "taken_s": float}
    drawn = {"round": int, "opened_s": float, "row": int, "column": int, "mass": float}
    return {
        "reports": ExportKind(
            {**numbers, **own.report},
            {name: said for name, said in own.units.items() if name in own.report} | heard,
            "rounds",
            partial(read_report_rows, own),
        ),
        "releases": ExportKind(
            {"round": int, "closed_s": float, "reports": int, **own.release},
            {name: said for name, said in own.units.items() if name in own.release} | ended,
            "rounds",
            partial(read_release_rows, own),
        ),
        "maps": ExportKind(
            {**drawn, **dict.fromkeys(sure, float), **(earth.columns if earth else {})},
            {**cell, **sure, "opened_s": EPOCH, **(earth.units if earth else {})},
            "maps",
            partial(read_map_rows, mechanism.words.has_sd, earth),
        ),
        "messages": MESSAGES,
        "ledger": LEDGER,
    }


# What a deployment has gathered, for others to work with: `heatveil export`.
#
# The promise goes with the data. Beside every file stands `<file>.guarantee.json`, written before
# the file is: what each round was promised, what is spent of today's promise, how the numbers are
# counted, and what they do not hide. Parquet carries the same inside, under the key
# heatveil.guarantee.


def export(
    config: flags.Config,
    out: Annotated[
        Path,
        typer.Option(
            help="A new file: .csv, .jsonl or .parquet; of maps on the earth also .geojson, "
            ".geoparquet or .tif."
        ),
    ],
    what: Annotated[
        str | None,
        typer.Option(
            help="reports, releases, maps, messages or ledger. Without: reports, or releases "
            "where reports are sealed."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="From then on: 2026-11-22 or 2026-11-22T08:00, UTC.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before then.")] = None,
    h3: Annotated[
        bool, typer.Option("--h3", help="Name the H3 cell of each cell of the maps, too.")
    ] = False,
) -> None:
    """Write what a deployment has gathered for others to work with, and its promise beside it."""
    if what is not None and what not in NAMES:
        raise OperatorFault(
            f"--what is {what} but must be one of {', '.join(NAMES)}, for these are what a store "
            f"holds; {suggest_name(what, NAMES)}"
        )
    ending = out.suffix.lower()
    if ending not in (*FORMATS, *ENDINGS):
        raise OperatorFault(
            f"{out} ends in none of {', '.join((*FORMATS, *ENDINGS))}, and the ending says how it "
            "is to be written. Name it by one of these"
        )
    if h3 or ending in ENDINGS:
        if what not in (None, "maps"):
            raise OperatorFault(
                f"{'--h3' if h3 else out} came with --what {what}, but only maps have geographic "
                "positions. Write --what maps"
            )
        what = "maps"
    deployment = deployments.load_deployment(config)
    first, end = _parse_moment("since", since), _parse_moment("until", until)
    if first is not None and end is not None and first >= end:
        raise OperatorFault(
            f"--since {since} is not before --until {until}, so no row could match, and an empty "
            "file would be taken for an empty store. Change one of them"
        )
    span = TimeSpan(first, end, deployment.site.name)
    mechanism = find_for_deployment(deployment)
    exported = find_serving(mechanism.name).exported.report
    what = what or ("reports" if exported else "releases")
    earth = find_earth_grid(deployment, h3, ending in ENDINGS) if what == "maps" else None
    kind = list_export_kinds(mechanism, earth)[what]
    with open_reader(deployment) as reader:
        if what != "ledger":  # which stays
            reader.check_not_deleted(f"its {what}")
            for row in _list_opened_rounds(reader, span):
                check_same_mechanism(deployment, row)
        promise = _describe_promise(deployment, reader, what, kind.units, span)
        if earth is not None:
            promise["on_earth"] = earth.describe_site()
        rows, used = write_rows(out, kind, kind.rows(reader, span), promise, earth)
    sealed = what == "reports" and not exported
    gone = ": they are sealed, and what opens them is destroyed with each release" * sealed
    source = f" from {used:,} {kind.of}" * bool(kind.of)
    typer.echo(f"{out}: {rows:,} rows of {what}{source}{gone}")
    typer.echo(f"{out}{PROMISE}: the promise that goes with them")


def _describe_promise(
    deployment: Deployment, reader: Any, what: str, units: dict[str, str], span: TimeSpan
) -> dict[str, Any]:
    charged = read_charged(deployment, reader)
    if charged.note:
        typer.echo(charged.note, err=True)
    terms, _ = reader.read_promise()
    ledger: Ledger = reader.read_ledger(charged.budget)
    newest, pure = reader.list_rounds(1), charged.plan.guarantee.delta is None
    spent = {"rho_budget": str(ledger.budget), "rho_spent": str(ledger.spent)}
    return {
        "promises": _list_promises(reader, span),
        "site": deployment.site.name,
        "what": what,
        "since_s": span.since_s,
        "until_s": span.until_s,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "charged_under": None if terms is None else json.loads(terms),
        **({} if pure else spent),
        "epsilon_spent": compute_spent_epsilon(ledger, charged.plan),
        "rounds_so_far": newest[0].number if newest else 0,
        "units": units,
        "public": "everything here has passed the veil, or is sealed to a key that goes with the "
        "round's release; no key and no exact reading is in it",
    }


def _list_promises(reader: Any, span: TimeSpan) -> list[dict[str, Any]]:
    """Return what rounds were asked under, oldest first, as it was then; alike ones in a row once.

    A store outlives a promise: one is ended for another, or made smaller.
    """
    runs: list[tuple[Guarantee, list[int]]] = []
    for row in _list_opened_rounds(reader, span):
        if (plan := reader.read_plan(row.number)) is None:
            continue
        asked = plan.guarantee
        if is_pure(asked) or is_distributed(asked):
            asked = asked._replace(rho=None)
        if runs and runs[-1][0] == asked:
            runs[-1][1][1] = row.number
        else:
            runs.append((asked, [row.number, row.number]))
    return [
        {
            "rounds": between,
            "in_words": describe_guarantee(one),
            "not_protected": one.unprotected,
            "guarantee": one._asdict(),
            "guarantee_of": {"epsilon": one.unit} | ({"rho": "one round"} if one.rho else {}),
        }
        for one, between in runs
    ]


def _parse_moment(name: str, given: str | None) -> float | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError as fault:
        raise OperatorFault(
            f"--{name} is {given} but must be a date, or a date and a time (UTC unless an offset "
            "is given). Write it as 2026-11-22 or 2026-11-22T08:00"
        ) from fault
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
