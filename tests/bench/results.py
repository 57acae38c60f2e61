"""Run every bench and keep what it prints in one page, `tests/bench/RESULTS.md`, and a picture.

Run it on a machine at rest: `make bench`, or `python tests/bench/results.py NAME...` for some of
them, whose parts of the page are replaced; `--full` gives each its own size and all the time that
it takes. Without it all of them end within twenty-five minutes, and one that would not is cut off
and says so. Nothing is asserted: a document says of speed what this page holds. On top stands one
table of what is said to be quick, beside its peers; how each bench measures is in its docstring.
"""

import ast
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
# Sizes at which a bench says what it has to say, and seconds; others are as they are, in 60.
BRIEF = {
    "bench_costs": (["500000"], 90),
    "bench_distance": (["16", "32", "64"], 60),
    "bench_estimators": (["20"], 60),
    "bench_heap": (["--answers", "60", "--frames", "2000"], 120),
    "bench_hostile": (["200000"], 60),
    "bench_kills": (["--kills", "10"], 120),
    "bench_mechanisms": (["2"], 60),
    "bench_page": (["15"], 60),
    "bench_places": (["15", "1"], 90),
    "bench_secure_sum": ([], 120),
    "bench_service": (["--devices", "2000", "--rate", "5000", "--seconds", "40"], 180),
    "bench_verdict": (["4", "auto", "l1-printed"], 90),
}
_HEAD = """# What is fast, beside its peers

As printed by the benches themselves (`make bench`). Times are one machine's; ratios travel better.
"""


class Claim(NamedTuple):
    """What is said to be quick or small, what else one would take, and where both are printed."""

    what: str
    peer: str
    bench: str
    pattern: str  # groups ours, peer and, where there are several, size
    scale: float = 1  # of the peer's figure, where it stands in another unit


_X = r"([\d.]+)"
CLAIMS = (
    Claim("EMD on a line of so many cells, ms", "scipy", "bench_distance",
          rf"line of (?P<size>\d+) +(?P<ours>{_X}) ms +scipy (?P<peer>{_X}) ms"),
    Claim("EMD l1, smooth maps, cells a side, ms", "HiGHS", "bench_distance",
          rf" (?P<size>\d+) smooth +l1 +(?P<ours>{_X}) ms.*HiGHS (?P<peer>{_X}) ms"),
    Claim("EMD l1, smooth maps, cells a side, ms", "POT", "bench_distance",
          rf" (?P<size>\d+) smooth +l1 +(?P<ours>{_X}) ms +POT (?P<peer>{_X}) ms"),
    Claim("W2, smooth maps, cells a side, ms", "POT", "bench_distance",
          rf" (?P<size>\d+) smooth +w2 squared +(?P<ours>{_X}) ms +POT (?P<peer>{_X}) ms"),
    Claim("EMD l1, 20 points, cells a side, ms", "POT", "bench_distance",
          rf" (?P<size>\d+) 20 cells +l1 +(?P<ours>{_X}) ms +POT (?P<peer>{_X}) ms"),
    Claim("least heat, l1, from the matrix on, cells, µs", "cvxpy", "bench_l1",
          rf"(?m)^ *(?P<size>\d+)(?: +[\d.]+){{3}} +(?P<ours>{_X}) +{_X} +(?P<peer>{_X})", 1e3),
    Claim("a pyramid's reconstruction, w, ms", "HiGHS", "bench_pyramid",
          rf"(?m)^ *1024 +(?P<size>\d+) +\d+ +(?P<ours>{_X}) +(?P<peer>{_X})"),
    Claim("a map of a million users, s", "privtree", "bench_quadtree",
          rf"1000000 quadtree, all rounds.* (?P<ours>{_X})\n(?:.*\n)*? +"
          rf"1000000 privtree.* (?P<peer>{_X})"),
    Claim("a million points by rank, s", "noise in 256 x 256 cells", "bench_ranks",
          rf"ranks (?P<ours>{_X}) s .*grid (?P<peer>{_X}) s"),
    Claim("`serve`, a reading over TLS, devices, µs", "paho and sqlite3", "bench_service",
          rf"of (?P<size>\d+) devices .*\n.*gateway (?P<ours>{_X}) us(?:.*\n)+?.*sqlite3: "
          rf"(?P<peer>{_X}) us"),
    Claim("`serve`, a reading over TLS, devices, µs", "mosquitto alone", "bench_service",
          rf"of (?P<size>\d+) devices .*\n.*gateway (?P<ours>{_X}) us.*mosquitto "
          rf"(?P<peer>{_X}) us"),
    Claim("a device's heap, files in place, KB", "an MQTT client alone", "bench_heap",
          rf"in place +(?P<ours>{_X}) (?:.*\n)+?MQTT alone +(?P<peer>{_X})"),
    Claim("`import heatveil`, s", "`import numpy`", "bench_costs",
          rf"import heatveil +(?P<ours>{_X}) s(?:.*\n)+?import numpy.* (?P<peer>{_X}) s"),
)  # fmt: skip


def measure(bench: Path, full: bool) -> str:
    """Return the part of the page that is one bench's; what it prints is printed, too."""
    doc = ast.get_docstring(ast.parse(bench.read_text("utf-8"))) or bench.stem
    given, limit_s = ([], 1e6) if full else BRIEF.get(bench.stem, ([], 60))
    lines, began = list[str](), time.monotonic()
    words = [sys.executable, str(bench), *given]
    # In a group of its own: what it has started ends with it.
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True, env=_environment()
    ) as child:
        end = threading.Timer(limit_s, _stop, [child.pid])
        end.start()
        for line in child.stdout or ():
            sys.stdout.write(line)
            lines.append(line.rstrip())
        child.wait()
        end.cancel()
    took = time.monotonic() - began
    if child.returncode:
        if took < limit_s:
            raise subprocess.CalledProcessError(child.returncode, words)
        lines.append(f"cut off after {limit_s:g} s")
    on = (
        f"{os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scipy {version('scipy')}; {took:.0f} s"
    )
    said, printed = " ".join(map(str, [bench.stem, *given])), "\n".join(lines)
    about = doc.splitlines()[0]
    return f"## {bench.stem}\n\n{about} `{said}`:\n\n```\n{printed}\n```\n\nOn {on}.\n"


def _environment() -> dict[str, str]:
    paths = [str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    known = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
    return os.environ | known


def _stop(leader: int) -> None:
    os.killpg(leader, signal.SIGKILL)


def merge(page: str, part: str) -> str:
    """Return the page with a part in the place of the earlier one of its name, or at its end.

    >>> merge("# A\\n\\n## b\\n\\nold\\n", "## b\\n\\nnew\\n")
    '# A\\n\\n## b\\n\\nnew\\n'
    """
    name = part.partition("\n")[0]
    found = re.split(r"(?m)^(?=## )", page)
    kept = [part if one.partition("\n")[0] == name else one.rstrip() + "\n" for one in found]
    return "\n".join(kept if part in kept else [*kept, part])


def compare(page: str) -> list[tuple[Claim, list[tuple[str, float, float]]]]:
    """Return each claim with the sizes, our figures and the peer's that a page's parts print.

    >>> compare("## bench_costs\\n\\nimport heatveil 0.1 s\\nimport numpy, 0.2 s\\n")[-1][1]
    [('', 0.1, 0.2)]
    """
    parts = {part.partition("\n")[0][3:]: part for part in re.split(r"(?m)^(?=## )", page)}
    found = []
    for claim in CLAIMS:
        matches = [
            one.groupdict() for one in re.finditer(claim.pattern, parts.get(claim.bench, ""))
        ]
        rows = [
            (one.get("size") or "", float(one["ours"]), float(one["peer"]) * claim.scale)
            for one in matches
        ]
        found.append((claim, rows))
    return found


def summarize(page: str) -> str:
    """Return the page with its head and the table of claims made anew from its parts."""
    lines = [
        "| what | size | here | the peer | | times as quick, or as small |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for claim, rows in compare(page):
        if not rows:
            lines.append(f"| {claim.what} | | not printed | | {claim.peer} | |")
        for size, ours, peer in rows:
            figures = f"{ours:.3g} | {peer:.4g} | {claim.peer} | {peer / ours:.3g}"
            lines.append(f"| {claim.what} | {size} | {figures} |")
    table, parts = "\n".join(lines), re.split(r"(?m)^(?=## )", page, maxsplit=1)[1:]
    return f"{_HEAD}\n{table}\n\n![How they grow](RESULTS.png)\n\n" + "".join(parts)


def draw(page: str) -> None:
    """Draw how what is here and its peers grow with their sizes, where there are sizes."""
    growing = [(claim, rows) for claim, rows in compare(page) if len(rows) > 2]
    figure, panels = pyplot.subplots(
        2, -(-len(growing) // 2), figsize=(13, 7), layout="constrained", squeeze=False
    )
    for panel in panels.flat:
        panel.set_axis_off()
    for panel, (claim, rows) in zip(panels.flat, growing, strict=False):
        panel.set_axis_on()
        sizes = [int(size) for size, _, _ in rows]
        panel.loglog(sizes, [peer for _, _, peer in rows], "s--", color="0.5", label=claim.peer)
        panel.loglog(sizes, [ours for _, ours, _ in rows], "o-", color="C3", label="heatveil")
        what, _, unit = claim.what.rpartition(", ")
        what, _, size = what.rpartition(", ")
        panel.set(title=what or size, xlabel=size if what else "cells", ylabel=unit)
        panel.legend()
    figure.savefig(PAGE.with_suffix(".png"), dpi=70)
    pyplot.close(figure)


def main() -> None:
    """Measure the benches that are named, or all; what failed keeps its earlier part."""
    names, failed = [one for one in sys.argv[1:] if one != "--full"], list[str]()
    for bench in sorted(HERE.glob("bench_*.py")):
        if names and bench.stem not in names:
            continue
        if bench.stem == "bench_rp2040" and "HEATVEIL_UF2" not in os.environ:
            print("== bench_rp2040 wants HEATVEIL_UF2, a firmware (make firmware)", flush=True)
            continue
        print(f"== {bench.stem}", flush=True)
        page = PAGE.read_text("utf-8") if PAGE.exists() else _HEAD
        try:
            page = merge(page, measure(bench, "--full" in sys.argv))
            PAGE.write_text(summarize(page), "utf-8")
        except subprocess.CalledProcessError as fault:
            failed.append(f"{bench.stem} ({fault.returncode})")
    if PAGE.exists():
        draw(PAGE.read_text("utf-8"))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
