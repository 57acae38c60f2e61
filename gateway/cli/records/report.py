"""A day on one page of HTML, to be read, sent or printed: `heatveil report`.

It holds everything in itself, pictures too, and asks nobody for anything. As PDF it is had by
printing it in a browser.
"""

import base64
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import matplotlib
import matplotlib.image
import numpy as np
import typer
from numpy.typing import NDArray

from recovery.maps.heatmap import BLANK, HATCHED, SOLID, Blocks, Heatmap, Unresolved

from ...devices.enrol.enrol import load_devices
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment
from ...mechanisms.summary import describe_densest_block
from ...output import check_writable, make_text_writer, write_all
from ...settings import config
from ...settings.deployment import Deployment
from ...settings.roomfile import read_floor_lines
from ...store.reader import DeviceRow, Reader, RoundRow, open_reader
from .. import flags
from .show import check_same_mechanism, read_published_map

PAGE = 200  # rounds that are looked up at once
PICTURES = 48  # maps of a day that are drawn, evenly over it
TALL = 40  # dots of a map along a line
OPAQUE = 0.0, 0.25, 1.0  # blank, hatched, solid
HATCH = (
    '<svg style="position:absolute;width:0;height:0"><pattern id="noise" width="1" height="1" '
    'patternUnits="userSpaceOnUse"><path d="M0 1L1 0" stroke="#8f84ad" stroke-width=".12"/>'
    "</pattern></svg>"
)
STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,"Liberation Sans",sans-serif;color:#1c1526;max-width:62rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.05rem;margin:1.8rem 0 .5rem}p{margin:.4rem 0}
.not{font-weight:600;border-left:.3rem solid #b93c0a;padding-left:.8rem;margin:1rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:1rem 0}
dt{color:#5d5470}dd{margin:0}
.maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:1rem}
figure{margin:0;break-inside:avoid;--ground:#160b2b;--ink:#d9d2ea}
svg{width:100%;display:block;background:var(--ground)}.pale{--ground:#e8e6ec;--ink:#5d5470}
.bad svg{filter:grayscale(1)}figcaption{font-size:.8rem;color:#5d5470}
figcaption b{color:#1c1526}table{border-collapse:collapse;width:100%;font-size:.85rem}
th,td{text-align:left;padding:.15rem .8rem .15rem 0;border-bottom:1px solid #ddd6e6;
vertical-align:top}th{color:#5d5470;font-weight:600}tr{break-inside:avoid}
@media print{body{margin:0;max-width:none}}
"""


class RoundOfDay(NamedTuple):
    """A round of the day, and the map that it came to; None where there is none."""

    round: RoundRow
    body: dict[str, Any] | None
    found: Heatmap | Unresolved | None


def report(
    path: flags.Config,
    day: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="By this machine's clock; else today.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write it here; else report-SITE-DAY.html.")
    ] = None,
) -> None:
    """Write a day as a page: its maps, who answered, what was spent, what was promised.

    Beside a gateway that runs, or without one. Print it in a browser to have it as PDF.
    """
    wanted = _read_day(day)
    deployment = config.load_deployment(path)
    place = out or Path(f"report-{deployment.site.name}-{wanted}.html")
    check_writable([place], [path])
    query = config.make_query(deployment)
    with open_reader(deployment) as reader:
        reader.check_not_deleted("its maps")
        rounds = list(_list_closed_rounds(reader, wanted))
        if not rounds:
            raise _tell_empty(reader, wanted)
        own = [row for row in rounds if row.mechanism == deployment.rounds.mechanism]
        if not own:
            check_same_mechanism(deployment, rounds[0])
        if left := len(rounds) - len(own):
            typer.echo(f"{left} of {len(rounds)} rounds are of another mechanism and left out")
        rounds, seen = own, []
        for row in rounds:
            body = reader.read_map(row.number)
            seen.append(
                RoundOfDay(row, body, None if body is None else read_published_map(body, query))
            )
        text = _format_day_page(deployment, query, wanted, seen, reader)
    write_all({place: make_text_writer(text)})
    many = "1 round" if len(rounds) == 1 else f"{len(rounds)} rounds"
    typer.echo(f"{many} of {wanted} in {place}; print it in a browser for a PDF")


def _read_day(text: str | None) -> date:
    try:
        return datetime.now().astimezone().date() if text is None else date.fromisoformat(text)
    except ValueError:
        raise OperatorFault(
            f"--day {text} is no day of the calendar; write it as in 2026-11-26, so that it is "
            "the same day for everybody"
        ) from None


def _list_closed_rounds(reader: Reader, day: date) -> Iterator[RoundRow]:
    """Yield the rounds that closed on a day, in their order."""
    start = datetime.combine(day, datetime.min.time()).timestamp()
    end = datetime.combine(day + timedelta(days=1), datetime.min.time()).timestamp()
    found, before = list[RoundRow](), None
    while rows := reader.list_rounds(PAGE, before):
        found += [row for row in rows if row.closed_s is not None and start <= row.closed_s < end]
        before = rows[-1].number
        if rows[-1].opened_s < start:
            break
    return reversed(found)


def _tell_empty(reader: Reader, day: date) -> OperatorFault:
    last = next((row for row in reader.list_rounds(PAGE) if row.closed_s is not None), None)
    else_ = "none has closed at all yet"
    if last is not None and last.closed_s is not None:
        else_ = f"the newest closed on {_make_local_time(last.closed_s):%Y-%m-%d}"
    return OperatorFault(
        f"no round closed on {day}, so there is nothing to report; {else_}. Give another --day"
    )


def _format_day_page(
    deployment: Deployment, query: Any, day: date, seen: Sequence[RoundOfDay], reader: Reader
) -> str:
    mechanism, site = find_for_deployment(deployment), escape(deployment.site.name)
    words = {key: texts[0] for key, texts in mechanism.words.page.items()}
    step = -(-len(seen) // PICTURES)
    # Of people, each map in the colours of all others; of warmth a map may show chances or shares.
    people = mechanism.reads == "place"
    most = (
        max((_find_greatest_share(one.found) for one in seen[::step]), default=0.0)
        if people
        else 0.0
    )
    maps = "".join(_format_map_figure(one, deployment, mechanism, most) for one in seen[::step])
    some = f" (every {step} rounds)" if step > 1 else ""
    try:
        enrolled = load_devices(deployment.site.devices, deployment.site.name).key_ids
    except OperatorFault:  # the past can be read without: of all that were ever heard of
        enrolled = None
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{site}, {day}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(words['map-title'])}: {site}</h1><p>{day:%A, %d %B %Y}</p>"
        f'<p class="not">{escape(words["not"])}</p>'
        f"<dl>{_format_summary(seen, reader)}</dl>"
        f"<h2>Maps{some}</h2>{_describe_colour_scale(seen, most)}{HATCH}"
        f'<div class="maps">{maps}</div><h2>Rounds</h2>'
        f"{_format_table(('Ended', 'Round', 'Answered', 'Map'), _yield_round_rows(seen))}"
        f"{_format_device_faults(reader.list_devices(enrolled), seen[-1].round, mechanism.reads)}"
        f"{_format_promises(seen, mechanism, query)}"
        "</body></html>\n"
    )


def _format_promises(seen: Sequence[RoundOfDay], mechanism: Any, query: Any) -> str:
    """Return what was promised, for each run of rounds that were asked under one promise."""
    drawn = [one for one in seen if one.found is not None]
    parts = []
    for guarantee, run in groupby(drawn, lambda one: one.found and one.found.guarantee):
        numbers = [one.round.number for one in run]
        lines = "".join(f"<p>{escape(one)}</p>" for one in mechanism.promise(query, guarantee))
        parts.append((numbers, lines))
    heads = [f": rounds {numbers[0]} to {numbers[-1]}" * (len(parts) > 1) for numbers, _ in parts]
    return "".join(
        f"<h2>What is promised{head}</h2>{lines}"
        for head, (_, lines) in zip(heads, parts, strict=True)
    )


def _format_summary(seen: Sequence[RoundOfDay], reader: Reader) -> str:
    drawn = sum(isinstance(one.found, Heatmap) for one in seen)
    doubted = sum(isinstance(one.found, Heatmap) and one.found.contradicted for one in seen)
    reports = [one.round.reports or 0 for one in seen]
    low, high = min(reports), max(reports)
    units, spent = reader.read_units(), defaultdict[int, Fraction](Fraction)
    for one in seen:  # each promise by itself, whose first round it is known by
        spent[units.find_first_round(one.round.number)] += one.round.rho
    began, ended = (_format_clock_time(one.round) for one in (seen[0], seen[-1]))
    lines = {
        "Rounds": f"{len(seen)}, from {began} to {ended}",
        "Maps": f"{drawn}" + f", {doubted} of them not to be trusted" * bool(doubted),
        "Answers": f"{low}{f' to {high}' * (low < high)} a round, of {seen[-1].round.enrolled}",
        "Privacy budget used": " and ".join(
            units.find_for_round(first).format_rho(rho) for first, rho in spent.items()
        ),
    }
    return "".join(f"<dt>{key}</dt><dd>{escape(value)}</dd>" for key, value in lines.items())


def _make_local_time(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s).astimezone()


def _format_clock_time(round: RoundRow) -> str:
    return f"{_make_local_time(round.closed_s or round.opened_s):%H:%M}"


def _yield_round_rows(seen: Sequence[RoundOfDay]) -> Iterator[Sequence[str]]:
    for one in seen:
        result = "drawn" if isinstance(one.found, Heatmap) else "none"
        if one.body is not None and one.body["why"] != "optimal":
            result += f": {one.body['why']}"
        if isinstance(one.found, Heatmap) and one.found.verdict and one.found.verdict.sentence:
            result += f". {one.found.verdict.sentence}"
        came = f"{one.round.reports} of {one.round.enrolled}"
        yield _format_clock_time(one.round), str(one.round.number), came, result


def _format_device_faults(rows: Iterable[DeviceRow], last: RoundRow, reads: str) -> str:
    """Return what is wrong with devices, as it stands when this is written.

    Of devices that are people, how many: when one was last heard is when somebody left.
    """
    lines = []
    for row in rows:
        why = row.quarantine or row.alarm or row.clock or ""
        if not why and (row.last_s is None or row.last_s < last.opened_s):
            heard = row.last_s and f"last heard {_make_local_time(row.last_s):%d %b %H:%M}"
            why = heard or "never heard"
        if why:
            lines.append((row.name, why))
    if not lines:
        return ""
    head = "<h2>Devices that need attention, as this is written</h2>"
    if reads == "place":
        return f"{head}<p>{len(lines)}</p>"
    return f"{head}{_format_table(('Device', 'Why'), lines)}"


def _format_table(heads: Sequence[str], rows: Any) -> str:
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _format_map_figure(
    one: RoundOfDay, deployment: Deployment, mechanism: Any, most: float
) -> str:
    """Return a map with its words; `most` is what the brightest colour is, 0 for its own most."""
    found = one.found
    if isinstance(found, Heatmap) and found.total:
        looks = ["bad"] * found.contradicted + ["pale"] * (found.blocks is not None)
        # Where sources may be says more than where each is drawn; of people, what may be claimed.
        shown = found.mass if found.credible is None else found.credible.present
        if (blocks := found.blocks) is None or len(blocks.claims):
            picture, lines = (
                _draw_map_svg(shown, blocks, most, deployment),
                mechanism.format_lines(found)[:1],
            )
        else:
            picture, lines = "", [describe_densest_block(blocks, found.grid)[1]]
    else:
        looks, picture = [], ""
        lines = ["No map." if one.body is None else f"No map: {one.body['why']}."]
    said = escape(" ".join(lines))
    head = f"<b>{_format_clock_time(one.round)}</b> round {one.round.number}"
    caption = f"<figcaption>{head}. {said}</figcaption>"
    return f'<figure class="{" ".join(looks)}">{picture}{caption}</figure>'


def _find_greatest_share(found: Heatmap | Unresolved | None) -> float:
    """Return the greatest share of a cell; where it is known, of those that are not noise."""
    if not isinstance(found, Heatmap) or not found.total:
        return 0.0
    blocks = found.blocks
    shares = found.mass
    if blocks is not None:
        shares = blocks.flat_mass[blocks.fill_cells(blocks.styles) == SOLID]
    return float(shares.max(initial=0))


def _describe_colour_scale(seen: Sequence[RoundOfDay], most: float) -> str:
    """Return what colours are on maps of people; nothing where there is none."""
    told = any(isinstance(one.found, Heatmap) and one.found.blocks is not None for one in seen)
    if not most:
        return ""
    said = f"All maps share one scale: black is 0 %, the brightest {100 * most:.3g} % in one spot."
    if told:
        said += " Striped could be chance alone; pale is where fewer people are than if all were "
        said += "spread evenly."
    return f"<p>{said}</p>"


def _draw_map_svg(
    mass: NDArray[np.float64], blocks: Blocks | None, most: float, deployment: Deployment
) -> str:
    """Return a map as SVG with its dots within, and the lines of the room on it."""
    looks = np.full(mass.shape, SOLID) if blocks is None else blocks.fill_cells(blocks.styles)
    mass = mass if blocks is None else blocks.flat_mass
    shown = np.minimum(mass / (most or mass.max() or 1), 1)
    rows, columns = mass.shape
    wide, tall = float(columns), float(rows)
    if rows == 1:  # bars along the line
        tall = columns / 4
        bars = np.linspace(1, 0, TALL, endpoint=False)[:, None] <= shown
        looks = np.where(bars | (blocks is None), looks, BLANK)
        shown = np.where(bars, np.maximum(shown, 0.3), 0.0)
    dots = matplotlib.colormaps["inferno"](shown)
    dots[..., 3] = np.choose(looks.astype(int), OPAQUE)
    file = io.BytesIO()
    matplotlib.image.imsave(file, dots, format="png")
    data = base64.b64encode(file.getvalue()).decode()
    lines = _draw_floor(deployment) if rows > 1 else ""
    if blocks is not None:
        for top, left, down, across in blocks.boxes[blocks.styles == HATCHED]:
            high, low = tall / rows * top, tall / rows * (top + down)
            lines += _draw_rectangle(left, high, left + across, low, 'fill="url(#noise)"')
    return (
        f'<svg viewBox="0 0 {wide:g} {tall:g}" role="img" aria-label="heat map">'
        f'<image width="{wide:g}" height="{tall:g}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>{lines}</svg>'
    )


def _draw_rectangle(left: float, top: float, right: float, bottom: float, look: str) -> str:
    size = f'width="{right - left:g}" height="{bottom - top:g}"'
    return f'<rect x="{left:g}" y="{top:g}" {size} {look}/>'


def _draw_floor(deployment: Deployment) -> str:
    room = deployment.room
    if room.plan is None:
        return ""
    cells, floor = 1000 / room.cell_mm, read_floor_lines(room.plan)

    def draw(rect: Sequence[float], look: str) -> str:
        left, top, right, bottom = (round(cells * edge, 3) for edge in rect)
        return _draw_rectangle(left, top, right, bottom, look)

    desk = 'fill="var(--ink)" fill-opacity=".15" stroke="var(--ink)" stroke-width=".08"'
    return (
        "".join(draw(one["rect"], desk) for one in floor["furniture"])
        + "".join(draw(one["rect"], 'fill="var(--ink)"') for one in floor["walls"])
        + "".join(draw(one["rect"], 'fill="var(--ground)"') for one in floor["doors"])
    )
