"""Run every bench and keep what it prints in one page, `tests/bench/RESULTS.md`.

Run it on a machine at rest: `make bench`, or `python tests/bench/results.py NAME...` for some of
them, whose parts of the page are replaced; `--full` gives each its own size and all the time that
it takes. Without it all of them end within twenty-five minutes, and one that would not is cut off
and says so. Nothing is asserted: a document says of speed what this page holds. What a row is a
ratio to, and who the peers are, stands above each table.
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

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
# Sizes at which a bench says what it has to say, and seconds; others are as they are, in 60.
BRIEF = {
    "bench_costs": (["500000"], 90),
    "bench_distance": (["16", "32", "64"], 60),
    "bench_empty_room": (["--worlds", "1"], 90),
    "bench_estimators": (["20"], 60),
    "bench_hostile": (["500000"], 60),
    "bench_kills": (["--kills", "10"], 120),
    "bench_mechanisms": (["2"], 60),
    "bench_page": (["15"], 60),
    "bench_places": (["15", "1"], 90),
    "bench_secure_sum": ([], 120),
    "bench_service": (["--devices", "500", "--rate", "1000", "--seconds", "20"], 120),
    "bench_verdict": (["4", "auto", "posterior", "l1-printed"], 90),
}
_HEAD = """# What is fast, beside its peers

As printed by the benches themselves (`make bench`). Times are one machine's; ratios travel better.
"""


def measure(bench: Path, full: bool) -> str:
    """Return the part of the page that is one bench's; what it prints is printed, too."""
    doc = ast.get_docstring(ast.parse(bench.read_text("utf-8"))) or ""
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
    about = f"```\n{doc}\n```\n\n" if doc else ""
    return f"## {bench.stem}\n\n{about}`{said}`:\n\n```\n{printed}\n```\n\nOn {on}.\n"


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
            PAGE.write_text(merge(page, measure(bench, "--full" in sys.argv)), "utf-8")
        except subprocess.CalledProcessError as fault:
            failed.append(f"{bench.stem} ({fault.returncode})")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
