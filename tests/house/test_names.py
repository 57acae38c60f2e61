"""Nobody knows a mechanism by name who is not one of its own places.

What all must know of a mechanism is in its record, by which they ask what it reads and whom it
trusts. A file that branches on a name is one that the next mechanism has to change.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.mechanisms import TABLE

ROOT = Path(__file__).resolve().parents[2]
COMING = ("ranks", "pyramid", "quadtree")
NAMES = {*TABLE, *COMING}
TABLES = {"gateway/mechanisms/__init__.py", "edge/mechanisms/__init__.py"}

# A mechanism's places; {} is its name.
PLACES = (
    r"edge/(mechanisms/)?{}(_\w+)?(\.py|/.*)",
    r"(recovery|gateway/mechanisms)/{}(_\w+)?/.*",
    r"physics/crowds/{}\.py",
    r"gateway/lab/(reproduce/)?{}(_\w+)?(\.py|/.*)",  # figures of its paper, days simulated for it
)

_ANY = re.compile("|".join(NAMES), re.IGNORECASE)

# Where a word is no mechanism: the disk that files lie on.
ELSE = {"gateway/service/operate/health.py", "gateway/web/page/words.js"}

# Who still knows a mechanism, with how many names: a line may go and a number may fall, and
# nothing is added.
KNOWN: dict[str, int] = {"physics/crowds/shuffle.py": 1, "recovery/peers/mdsw.py": 4}


def where(path: Path) -> str:
    """Return a file as seen from the project's folder."""
    return path.relative_to(ROOT).as_posix()


def own(path: str) -> set[str]:
    """Return the mechanisms of whose places a file is one."""
    return {
        name for name in NAMES if any(re.fullmatch(place.format(name), path) for place in PLACES)
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
    text = path.read_text("utf-8")
    if not _ANY.search(text):
        return []
    if path.suffix == ".py":
        found = list(named(text))
    else:
        bare = re.sub(r"//.*|<!--.*?-->", "", text)
        word = re.compile(rf"[\"'`\s.]({'|'.join(NAMES)})\b", re.IGNORECASE)
        found = [(bare[: m.start()].count("\n") + 1, m[1].lower()) for m in word.finditer(bare)]
    return sorted((line, name) for line, name in found if name not in own(where(path)))


def product() -> list[Path]:
    """Return every file that ships, but for the table and data."""
    found = [
        path
        for package in ("edge", "physics", "recovery", "gateway")
        for ending in ("*.py", "*.js", "*.html")
        for path in (ROOT / package).rglob(ending)
    ]
    return sorted(path for path in found if where(path) not in TABLES | ELSE)


def test_nobody_else_knows_a_mechanism() -> None:
    """Whoever must know something of one asks its record."""
    found = {where(path): known(path) for path in product()}

    assert {path: told for path, told in found.items() if len(told) > KNOWN.get(path, 0)} == {}


def test_who_knows_less_is_held_to_it() -> None:
    """The list of who still knows one only becomes shorter."""
    found = {where(path): len(known(path)) for path in product()}

    assert KNOWN == {path: found.get(path, 0) for path in KNOWN}


@pytest.mark.parametrize(
    "planted",
    [
        "from ..mechanisms.thermal import words",
        "from edge.mechanisms import disk",
        "import recovery.thermal.query",
        'if name == "disk": pass',
        'said = "[disk]"',
        "if held.mechanism != THERMAL: pass",
    ],
)
def test_a_name_that_is_planted_is_found(planted: str) -> None:
    """As an import, as a text and as a constant; a word of a sentence is none."""
    assert [line for line, _ in named(planted)] == [1]
    assert list(named('"""A file on the disk, of a thermal array."""')) == []
