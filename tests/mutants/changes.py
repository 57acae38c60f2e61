"""Every change of a comparison, an operator or a whole number on the way of a reading.

`survey.py` tries them; `survey.toml` says what is on that way.
"""

import ast
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants.planting import sources, symbols, tokens

DATA = Path(__file__).with_name("survey.toml")
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SWAPPED |= {"and": "or", "or": "and", "in": "not in", "not in": "in"}
SWAPPED |= {"is": "is not", "is not": "is"}
SWAPPED |= {"+": "-", "-": "+", "*": "//", "/": "*", "//": "*", "%": "//", "**": "*"}
SWAPPED |= {"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
TABLE = 16  # a literal of more numbers is one that was generated


class Mistake(NamedTuple):
    """One change: in what, in which line of code, of which of its words, and to what."""

    file: str
    where: str
    line: str  # without blanks at its ends
    change: str  # "3rd >= to >": the word in that line, counted from 1
    start: int
    end: int
    new: str
    reach: tuple[int, int]  # lines, from 1, of which one is reached if the change is
    name: str  # that is given while the module is imported; "" in a function

    @property
    def code(self) -> str:
        """What is changed: `function: line`."""
        return f"{self.where}: {laid_out(self.line)}"

    @property
    def key(self) -> str:
        """What it is printed as, which stays the same when a file is moved."""
        return f"{self.where}: {self.change}: {laid_out(self.line)}"


@cache
def laid_out(code: str) -> str:
    """Return some code with one blank between its words, and no comments."""
    return " ".join(one.word for one in tokens(code))


def mistakes(file: str) -> Iterator[Mistake]:
    """Yield every change that is made in a file."""
    text, folder = sources()[file], file.rpartition("/")[0].replace("/", ".") + "."
    starts = [0]
    for one in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(one))
    tree = ast.parse(text)
    spans = sorted(_reaches(tree), key=lambda span: (span[0], -span[1]))
    places = sorted(symbols(file), key=lambda named: named[1].last - named[1].first)
    for start, end, new in sorted(set(changes(tree, text, starts))):
        row = bisect_right(starts, start) - 1
        name = next(name for name, place in places if place.first <= row < place.last)
        first, last, given = [span for span in spans if span[0] <= row + 1 <= span[1]][-1]
        line, old = text[starts[row] : starts[row + 1]], text[start:end]
        before = [one.word for one in tokens(line[: start - starts[row]])]
        count = before.count(old.strip()) + 1
        change = f"{old.strip()} ({count}) to {new.strip() or 'nothing'}"
        where, reach = name.removeprefix(folder), (first, last)
        yield Mistake(file, where, line.strip(), change, start, end, new, reach, given)


def _reaches(node: ast.AST, given: str = "__name__") -> Iterator[tuple[int, int, str]]:
    """Yield the lines of each statement up to its body, and what it names as it is imported."""
    for child in ast.iter_child_nodes(node):
        within = given
        if isinstance(child, ast.stmt):
            body = getattr(child, "body", None)
            last = body[0].lineno - 1 if body else child.end_lineno or child.lineno
            if given and isinstance(child, ast.Assign | ast.AnnAssign):
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                within = target.id if isinstance(target, ast.Name) else given
            yield child.lineno, max(last, child.lineno), within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            within = ""
        yield from _reaches(child, within)


def changes(tree: ast.AST, text: str, starts: list[int]) -> Iterator[tuple[int, int, str]]:
    """Yield from where to where in a text something else may stand, and what."""

    lines = text.splitlines(keepends=True)

    def span(node: Any) -> tuple[int, int]:
        first = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
        last = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
        return starts[node.lineno - 1] + first, starts[node.end_lineno - 1] + last

    def between(left: Any, right: Any) -> Iterator[tuple[int, int, str]]:
        """Yield the change of the operator that stands between two parts of an expression."""
        start, end = span(left)[1], span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text[start:end])
        found = re.search(r"[^\s()]+(?:\s(?:not|in))?(?=[\s(]|$)", gap)
        if found and found[0] in SWAPPED:
            yield start + found.start(), start + found.end(), SWAPPED[found[0]]

    for node in _code(tree):
        match node:
            case ast.Compare():
                for left, right in zip([node.left, *node.comparators], node.comparators):  # noqa: B905
                    yield from between(left, right)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:]):  # noqa: B905
                    yield from between(left, right)
            case ast.BinOp():
                if not isinstance(node.left, ast.Constant) or not isinstance(node.left.value, str):
                    yield from between(node.left, node.right)
            case ast.AugAssign():
                start, end = span(node.target)[1], span(node.value)[0]
                for found in re.finditer(r"[-+*/%&|^<>]+(?==)", text[start:end]):
                    if found[0] in SWAPPED:
                        yield start + found.start(), start + found.end(), SWAPPED[found[0]]
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield span(node)[0], span(node.operand)[0], ""
            case ast.Constant(value=bool()):
                yield *span(node), str(not node.value)
            case ast.Constant(value=int()):
                yield *span(node), str(node.value + 1)  # one less is as if < were <=


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is run: no annotations and defaults, no words, no tables that are generated.

    Nor whole numbers that say which item or axis of something is meant.
    """
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments):
        return
    if isinstance(node, ast.keyword) and node.arg in ("axis", "return_counts", "return_index"):
        return
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > TABLE:
        return
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if isinstance(node, ast.ClassDef) and name == "body":
            field = [one for one in field if not isinstance(one, ast.AnnAssign)]
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not (name == "slice" and _is_item(child)):
                yield from _code(child)


def _is_item(node: ast.AST) -> bool:
    """Say whether an index is nothing but numbers: `[0]`, `[-1]`, `[:, 1:]`."""
    inner = (ast.Tuple, ast.Slice, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(one, inner) for one in ast.walk(node))


def surveyed() -> tuple[dict[str, Any], list[Mistake], list[Mistake]]:
    """Return what `survey.toml` says, and every change: on the way of a reading, and aside."""
    data = tomllib.loads(DATA.read_text("utf-8"))
    aside = [re.compile(one) for row in data["aside"] for one in row["where"]]
    dotted = {f".{file[:-3].replace('/', '.')}": file for file in sources()}
    on_the_way: list[Mistake] = []
    left_out: list[Mistake] = []
    for module in data["modules"]:
        (file,) = (file for name, file in dotted.items() if name.endswith(f".{module}"))
        for one in mistakes(file):
            is_aside = any(each.search(one.code) for each in aside)
            (left_out if is_aside else on_the_way).append(one)
    return data, on_the_way, left_out
