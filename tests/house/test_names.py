"""Nobody knows a mechanism by name who is not one of its own places.

What all must know of a mechanism is in its record, by which they ask what it reads and whom it
trusts. A file that branches on a name is one that the next mechanism has to change.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.mechanisms import TABLE

ROOT = Path(__file__).resolve().parents[2]
COMING = ("ranks", "pyramid", "quadtree")
NAMES = {*TABLE, *COMING}
TABLES = "gateway/mechanisms/__init__.py"

# A mechanism's places; {} is its name.
PLACES = (
    r"edge/(mechanisms/)?{}(_\w+)?(\.py|/.*)",
    r"(recovery|gateway/mechanisms)/{}/.*",
    r"physics/crowds/{}\.py",
)

# Who still knows a mechanism, with how many names: a line may go and a number may fall.
KNOWN: dict[str, int] = {}


def own(path: str) -> set[str]:
    """Return the mechanisms of whose places a file is one."""
    return {
        name
        for name in NAMES
        if any(re.fullmatch(place.format(name), path) for place in PLACES)
    }


def named(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for each import of a mechanism, and each text that is one's name."""
    for node in ast.walk(ast.parse(source)):
        words: list[str] = []
        match node:
            case ast.Import(names=aliases):
                words = [part for one in aliases for part in one.name.split(".")]
            case ast.ImportFrom(module=module, names=aliases):
                words = [*(module or "").split("."), *(one.name for one in aliases)]
            case ast.Constant(value=str(text)) if text.strip("[]") in NAMES:
                words = [text.strip("[]")]
            case ast.Name(id=word) | ast.Attribute(attr=word) if word.isupper():
                words = word.lower().split("_")
        for word in words:
            if word in NAMES:
                yield getattr(node, "lineno", 0), word


def known(path: Path) -> list[tuple[int, str]]:
    """Return what a file names that is not its own, on which lines."""
    text, where = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
    if path.suffix == ".py":
        found = list(named(text))
    else:
        bare = re.sub(r"//.*|<!--.*?-->", "", text)
        word = re.compile(rf"[\"'`\s.]({'|'.join(NAMES)})\b", re.IGNORECASE)
        found = [(bare[: m.start()].count("\n") + 1, m[1].lower()) for m in word.finditer(bare)]
    return sorted((line, name) for line, name in found if name not in own(where))


def product() -> list[Path]:
    """Return every file that ships, but for the table and data."""
    found = [
        path
        for package in ("edge", "physics", "recovery", "gateway")
        for ending in ("*.py", "*.js", "*.html")
        for path in (ROOT / package).rglob(ending)
    ]
    return sorted(path for path in found if path.relative_to(ROOT).as_posix() != TABLES)

if __name__ == "__main__":
    for p in product():
        if k := known(p):
            print(f'    "{p.relative_to(ROOT).as_posix()}": {len(k)},', k)
