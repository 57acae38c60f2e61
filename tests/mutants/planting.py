"""A copy of the source, and the one mistake that is made in it.

A row of the tables says where a mistake is made by a name, and what is changed there by a piece
of code, so that it stays what it is when a file is moved or code is laid out anew:

    where  the end of a dotted name, as long as it must be to be one thing's alone: `charge`,
           `Budget.charge`, `budget.Budget.charge`. It names a module, a function, a class, one
           of its methods, or a variable of a module or class.
    old    code that is there exactly once. Blanks, line ends and comments do not count.
    new    what stands there instead; without it, the code is taken out

A row stands under the name of the layer of the audit, or of the test, that must see it.
"""

import ast
import compileall
import os
import re
import shutil
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Protocol

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("edge", "physics", "recovery", "gateway")
TOKEN = re.compile(
    r"(?P<skipped>\s+|\\\n|\#[^\n]*)"
    r'|[rbfRBF]{0,2}(?:"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|\d[\w.]*(?:(?<=e)-\d+)?|\w+|->|:=|\*\*=?|//=?|<<=?|>>=?|[-+*/%@&|^=!<>]=?|.",
    re.DOTALL,
)
GIVEN = re.compile(r"^\s*(?:(?:async )?def |class )?(\w+)(?=\(|:| =)", re.MULTILINE)


class Row(Protocol):
    """Where a mistake is made, and how."""

    @property
    def where(self) -> str: ...
    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...


class Place(NamedTuple):
    """A file, seen from the checkout, and the lines of it from one up to another."""

    file: str
    first: int  # from 0
    last: int  # not any more


class Token(NamedTuple):
    """A word of Python, and where in its text it stands."""

    word: str
    start: int
    end: int


def copied(folder: Path, packages: Sequence[str]) -> None:
    """Make a copy of these packages, of hard links: nothing there is written in place."""
    half_written = shutil.ignore_patterns("*.pyc.*")  # bytecode, by another process
    for package in packages:
        shutil.copytree(ROOT / package, folder / package, False, half_written, os.link)


def plant(folder: Path, row: Row) -> str:
    """Make a mistake in a copy, and return the file that it is in, seen from the copy.

    Raises:
        AssertionError: no one thing has the name, or the code is not in it exactly once, so the
            row is stale.
    """
    file, changed = planted(row)
    path = folder / file
    path.unlink()  # a hard link to the checkout's own
    path.write_text(changed, "utf-8")
    forget(path)
    return file


def restore(folder: Path, file: str) -> None:
    """Take a mistake back."""
    path = folder / file
    path.unlink()
    os.link(ROOT / file, path)
    forget(path)


def forget(path: Path) -> None:
    """Remove a file's bytecode: two mistakes of one second and size would pass for each other."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def planted(row: Row) -> tuple[str, str]:
    """Return the file that a mistake is made in, and all of its text with the mistake."""
    named: dict[str, list[Place]] = {}
    for file in files_with().get(row.where.rpartition(".")[2], ()):
        for name, place in symbols(file):
            if f".{name}".endswith(f".{row.where}"):
                named.setdefault(name, []).append(place)
    assert len(named) == 1, (
        f"{row.where} is the end of {len(named)} names but must be that of one, or nobody knows "
        f"which is meant: {', '.join(sorted(named)[:9]) or 'none'}. Mend the row"
    )
    (places,) = named.values()
    text = sources()[places[0].file]
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    found = [
        span
        for place in places
        for span in spans(text, row.old, starts[place.first], starts[place.last])
    ]
    assert len(found) == 1, (
        f"{row.where} in {places[0].file} holds {row.old!r} {len(found)} times but must hold it "
        "once, or this is not the mistake that is meant. Mend the row"
    )
    start, end = found[0]
    line = starts[bisect_right(starts, start) - 1]
    margin = text[line:start]
    if margin.strip():  # it begins within a line
        indent = margin[: len(margin) - len(margin.lstrip())]
        new = textwrap.indent(row.new.rstrip(), indent).lstrip()
    else:
        start, indent = line, margin[len(row.old) - len(row.old.lstrip()) :]
        new = textwrap.indent(row.new.rstrip() or "pass", indent)
    changed = text[:start] + new + text[end:]
    place = next(one for one in places if starts[one.first] <= start < starts[one.last])
    last = starts[place.last] + len(changed) - len(text)
    compile(textwrap.dedent(changed[starts[place.first] : last]), place.file, "exec")
    return place.file, changed


def prepare(rows: Iterable[Row]) -> None:
    """Parse what these rows are planted in, before there are threads, and compile all the rest.

    CPython 3.11 may raise a SystemError where two threads parse at a time. A copy takes the
    bytecode along, or each would compile all of heatveil.
    """
    for package in PACKAGES:
        compileall.compile_dir(ROOT / package, quiet=1)
    for row in rows:
        with suppress(AssertionError):  # a stale row fails where it is tried
            planted(row)


def spans(text: str, old: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where this code begins and ends in part of a text, as often as it is there."""
    there, wanted = list(tokens(text, start, end)), [token.word for token in tokens(old)]
    words = [token.word for token in there]
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted:
            yield there[at].start, there[at + len(wanted) - 1].end


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """Yield the words of some code, which need not be whole."""
    for match in TOKEN.finditer(text, start, len(text) if end is None else end):
        if match["skipped"] is None:
            yield Token(match[0], *match.span())


@cache
def sources() -> dict[str, str]:
    """Return the text of every file of the four packages."""
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


@cache
def files_with() -> dict[str, set[str]]:
    """Return where a name may be given, so that few files have to be parsed."""
    found: dict[str, set[str]] = {}
    for file, text in sources().items():
        path = Path(file)
        found.setdefault(path.parent.name if path.stem == "__init__" else path.stem, set()).add(
            file
        )
        for name in GIVEN.findall(text):
            found.setdefault(name, set()).add(file)
    return found


@cache
def symbols(file: str) -> list[tuple[str, Place]]:
    """Return the dotted names that a file gives, and where it says what they are."""
    text = sources()[file]
    module = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    named = _named(ast.parse(text), module)
    return [
        (module, Place(file, 0, len(text.splitlines()))),
        *((name, Place(file, first - 1, last)) for name, first, last in named),
    ]


def _named(tree: ast.AST, within: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.stmt | ast.ExceptHandler):
            continue
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{within}.{node.name}"
            yield name, min(one.lineno for one in (node, *node.decorator_list)), last
            if isinstance(node, ast.ClassDef):
                yield from _named(node, name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield f"{within}.{target.id}", node.lineno, last
        else:  # names may be given under a condition
            yield from _named(node, within)


@cache
def node_ids() -> list[str]:
    """Return the names of all tests, each from its file on."""
    return [
        f"{path.relative_to(ROOT)}::{name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    ]


def node_id(end: str) -> str:
    """Return the whole name of the test whose name ends so: `test_a[b]`, `test_file.py::test_a`.

    Raises:
        AssertionError: none or several have such a name, so the row is stale.
    """
    name, bracket, case = end.partition("[")
    found = [one for one in node_ids() if one.endswith((f"/{name}", f"::{name}"))]
    assert len(found) == 1, (
        f"{end} is the end of {len(found)} tests' names but must be that of one, or nobody knows "
        f"which must see the mistake: {', '.join(found[:9]) or 'none'}. Mend the row"
    )
    return found[0] + bracket + case
