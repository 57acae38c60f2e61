"""Run the benches and keep what they print in one page, `tests/bench/RESULTS.md`.

Run it on a machine at rest: `make bench`, or `python tests/bench/results.py NAME...` for some of
them, whose parts of the page are replaced; `--full` gives each its own size and all the time that
it takes, and makes the `LONG` runs, too. Without it all of them end within twenty-five minutes,
and one that would not is cut off and says so. Those of `NEARNESS` are run where they are named
alone: what few scenes say of a map is no record. Nothing is asserted: a document says of speed
what this page holds. On top stands one table of what is said to be quick, beside its peers, and
one of what `serve` was to do; how each bench measures is in its docstring.
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

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
# Sizes at which a bench says what it has to say, and seconds; others are as they are, in 60.
BRIEF = {
    "bench_costs": (["500000"], 90),
    "bench_distance": (["16", "32", "64"], 60),
    "bench_heap": (["--answers", "60", "--frames", "2000"], 120),
    "bench_hostile": (["200000"], 60),
    "bench_kills": (["--kills", "10"], 120),
    "bench_mechanisms": (["2"], 60),
    "bench_page": (["15"], 60),
    "bench_places": (["15", "1"], 90),
    "bench_secure_sum": ([], 120),
    "bench_service": (["--devices", "2000", "--rate", "7500", "--seconds", "120"], 300),
    "bench_workers": (["--runs", "1"], 400),
}
# How near maps come and not how soon: each is judged by as many scenes as it is asked for.
NEARNESS = ("bench_estimators", "bench_office", "bench_verdict")
# What is known after many minutes only: with `--full`, each run as a part of its own.
LONG = {
    "bench_service": [
        ["--devices", "5000", "--rate", "5900", "--seconds", "600"],
        ["--devices", "500", "--rate", "120", "--seconds", "3600"],
    ],
}
_HEAD = """# What is fast, beside its peers

As printed by the benches themselves (`make bench`). Times are one machine's; ratios travel better.
"""


class Claim(NamedTuple):
    """What is said to be quick or small, what else one would take, and where both are printed."""

    what: str
    peer: str
    bench: str
    # Groups ours, peer; size where there are several; more where it is added to ours.
    pattern: str
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
    # At paces that load it; what 120 a second cost stands in the table of goals.
    *(Claim(f"`serve` {part}, a reading, devices, µs", peer, "bench_service",
            rf"of (?P<size>\d+) devices .*at \d{{4,}}/s.*\n.*gateway (?P<ours>{_X}) us{more}"
            rf"{printed}(?P<peer>{_X}) us")
      for part, more in (("without its solver", ""),
                         ("with its solver", rf", its solver (?P<more>{_X}) us"))
      for peer, printed in (("paho and sqlite3", r"(?:.*\n)+?.*sqlite3: "),
                            ("mosquitto alone", ".*mosquitto "))),
    Claim("a frame of a virtual device, devices, ms of CPU", "paho's publishing", "bench_fleet",
          rf"(?P<size>\d+) devices in one process: (?P<ours>{_X}) .*\n.*alone: (?P<peer>{_X})"),
    Claim("a device's heap, files in place, KB", "an MQTT client alone", "bench_heap",
          rf"in place +(?P<ours>{_X}) (?:.*\n)+?MQTT alone +(?P<peer>{_X})"),
    Claim("`import heatveil`, s", "`import numpy`", "bench_costs",
          rf"import heatveil +(?P<ours>{_X}) s(?:.*\n)+?import numpy.* (?P<peer>{_X}) s"),
)  # fmt: skip
# Of one run of `bench_service`, in this order: what it was asked for, and what came.
_SERVED = re.compile(
    rf"of (\d+) devices .* and (\d+) s, (\d+)/s in all, paced at (\d+)/s.*\n"
    rf".*gateway {_X} us, its solver {_X} us(?:.*\n)+?.*p99 {_X} ms(?:.*\n)+?"
    r".*memory of the gateway: (.*), at most"
)
PACE, LATE_MS, CPU_US = 5000, 250, 100
_GOALS = f"""`heatveil serve` was to take {PACE:,} readings a second for ten minutes, with 99 % of
the receipts within {LATE_MS} ms, below {CPU_US} µs of processor time a reading, and not to grow in
an hour. While no round is open nothing comes: in all that is less than the devices' pace.
**What misses its goal is bold.**

| devices | s | pace, /s | in all, /s | p99, ms | gateway, µs | with its solver, µs | memory |
|--:|--:|--:|--:|--:|--:|--:|---|"""


def list_runs(bench: str, full: bool) -> list[tuple[str, list[str], float]]:
    """Return what to run of a bench: the name of its part, its arguments, its seconds.

    >>> [name for name, _, _ in list_runs("bench_l1", full=True)]
    ['bench_l1']
    >>> len(list_runs("bench_service", full=True))
    3
    """
    if not full:
        return [(bench, *BRIEF.get(bench, ([], 60)))]
    long = [(" ".join([bench, *given]), given, 1e6) for given in LONG.get(bench, [])]
    return [(bench, [], 1e6), *long]


def measure(bench: Path, name: str, given: list[str], limit_s: float) -> str:
    """Return the part of the page that is one run's; what it prints is printed, too."""
    doc = ast.get_docstring(ast.parse(bench.read_text("utf-8"))) or bench.stem
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
    said, printed = " ".join([bench.stem, *given]), "\n".join(lines)
    about = doc.splitlines()[0]
    return f"## {name}\n\n{about} `{said}`:\n\n```\n{printed}\n```\n\nOn {on}.\n"


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
    parts, found = _read_parts(page), []
    for claim in CLAIMS:
        matches = [
            one.groupdict() for one in re.finditer(claim.pattern, parts.get(claim.bench, ""))
        ]
        rows = [
            (
                one.get("size") or "",
                float(one["ours"]) + float(one.get("more") or 0),
                float(one["peer"]) * claim.scale,
            )
            for one in matches
        ]
        found.append((claim, rows))
    return found


def _read_parts(page: str) -> dict[str, str]:
    """Return what each bench has printed, in all of its runs."""
    found = dict[str, str]()
    for part in re.split(r"(?m)^(?=## )", page):
        bench = part.partition("\n")[0][3:].partition(" ")[0]
        found[bench] = found.get(bench, "") + part
    return found


def tell_service(page: str) -> str:
    """Return a table of what `serve` was to do and did, from what a page's parts print."""
    lines = [_GOALS]
    for run in _SERVED.findall(_read_parts(page).get("bench_service", "")):
        devices, seconds, came, pace, gateway, solver, late, memory = run
        cpu = float(gateway) + float(solver)
        figures = [
            f"**{text}**" if missed else text
            for text, missed in (
                (came, int(came) < PACE <= int(pace)),
                (late, float(late) > LATE_MS),
                (gateway, float(gateway) >= CPU_US),
                (f"{cpu:g}", cpu >= CPU_US),
            )
        ]
        lines.append(f"| {' | '.join([devices, seconds, pace, *figures, memory])} |")
    return "\n".join(lines)


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
    return f"{_HEAD}\n{table}\n\n{tell_service(page)}\n\n" + "".join(parts)


def main() -> None:
    """Measure the benches that are named, or all; what failed keeps its earlier part."""
    names, failed = [one for one in sys.argv[1:] if one != "--full"], list[str]()
    for bench in sorted(HERE.glob("bench_*.py")):
        if bench.stem not in names and (names or bench.stem in NEARNESS):
            continue
        if bench.stem == "bench_rp2040" and "HEATVEIL_UF2" not in os.environ:
            print("== bench_rp2040 wants HEATVEIL_UF2, a firmware (make firmware)", flush=True)
            continue
        for run in list_runs(bench.stem, "--full" in sys.argv):
            print(f"== {run[0]}", flush=True)
            page = PAGE.read_text("utf-8") if PAGE.exists() else _HEAD
            try:
                page = merge(page, measure(bench, *run))
                PAGE.write_text(summarize(page), "utf-8")
            except subprocess.CalledProcessError as fault:
                failed.append(f"{run[0]} ({fault.returncode})")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
