"""Run every bench and keep what it prints in one page, `tests/bench/RESULTS.md`.

Run it on a machine at rest: `make bench`, or `python tests/bench/results.py NAME...`
for some of them, whose parts of the page are replaced. Nothing is asserted: a document says of
speed what this page holds.
"""

import ast
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
_HEAD = """# What is fast, beside its peers

As printed by the benches themselves (`make bench`). Times are one machine's; ratios travel better.
"""


def measure(bench: Path) -> str:
    """Return the part of the page that is one bench's; what it prints goes to the terminal, too.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    doc = ast.get_docstring(ast.parse(bench.read_text("utf-8"))) or ""
    lines = list[str]()
    words = [sys.executable, str(bench)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout or ():
            sys.stdout.write(line)
            lines.append(line.rstrip())
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, words)
    on = (
        f"{os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scipy {version('scipy')}"
    )
    printed = "\n".join(lines)
    return f"## {bench.stem}\n\n{doc.splitlines()[0]}\n\n```\n{printed}\n```\n\nOn {on}.\n"


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
    """Measure the benches that are named, or all."""
    names = sys.argv[1:]
    for bench in sorted(HERE.glob("bench_*.py")):
        if not names or bench.stem in names:
            print(f"== {bench.stem}", flush=True)
            page = PAGE.read_text("utf-8") if PAGE.exists() else _HEAD
            PAGE.write_text(merge(page, measure(bench)), "utf-8")


if __name__ == "__main__":
    main()
