"""Every comparison, operator and whole number on the way of a reading, mutated one at a time.

The tables beside this file hold mistakes that somebody thought of; here a program makes them, so
that a guard is held to what nobody thought of. `survey.toml` names the modules in groups, with
the layers of the audit and the tests that are to see a mistake in them, and lists survivors that
do no harm, each with its reason. What survives and is not listed is printed, to be looked at.

    python tests/mutants/survey.py --minutes 30 --seed 1      a sample of all, as far as it gets
    python tests/mutants/survey.py --only budget --again      one group, what survived before
    python tests/mutants/survey.py --comparisons --either    comparisons; layers see survivors

Each mistake is tried in a process that is forked with other people's packages loaded (`warm`,
`safety/trial`), under a limit of computing time; one that never ends counts as seen. What was
found is kept in bench-results/survey.jsonl, and what is there is not tried again.

The tests are those of the group alone, and so are the layers: a survivor of both may still be
seen by others.
"""

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[0:0] = [str(HERE), str(HERE / "safety")]
import planting  # noqa: E402
import trial  # noqa: E402
import warm  # noqa: E402

DATA = HERE / "survey.toml"
FOUND = planting.ROOT / "bench-results" / "survey.jsonl"
TESTS_S, AUDIT_S = 40, 120  # of computing, for the tests of one mistake and for its layers
SWAPPED = {
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
    "and": ("or",),
    "or": ("and",),
    "+": ("-",),
    "-": ("+",),
    "*": ("//",),
    "/": ("*",),
    "//": ("*",),
    "%": ("//",),
    "**": ("*",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
}
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in", "and", "or"}


class Mistake(NamedTuple):
    """One change: in what, in which line of code, of which of its words, and to what."""

    group: str
    file: str
    where: str
    line: str  # without blanks at its ends
    change: str  # "3rd >= to >": the word in that line, counted from 1
    start: int
    end: int
    new: str

    @property
    def comparison(self) -> bool:
        """Whether it turns a comparison into another, or joins two of them otherwise."""
        return self.new.strip() in _COMPARISONS

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when a file is moved."""
        return self.where, laid_out(self.line), self.change


def laid_out(code: str) -> str:
    """Return some code with one blank between its words, and no comments."""
    return " ".join(one.word for one in planting.tokens(code))


def mistakes(group: str, file: str) -> Iterator[Mistake]:
    """Yield every change that is made in a file."""
    text, folder = planting.sources()[file], file.rpartition("/")[0].replace("/", ".") + "."
    starts = [0]
    for one in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(one))
    places = sorted(planting.symbols(file), key=lambda named: named[1].last - named[1].first)
    for start, end, new in sorted(set(changes(ast.parse(text), text, starts))):
        row = max(i for i, at in enumerate(starts) if at <= start)
        name = next(name for name, place in places if place.first <= row < place.last)
        where = name.removeprefix(folder)
        line, old = text[starts[row] : starts[row + 1]], text[start:end]
        before = [one.word for one in planting.tokens(line[: start - starts[row]])]
        count = before.count(old.strip()) + 1
        change = f"{old.strip()} ({count}) to {new.strip() or 'nothing'}"
        yield Mistake(group, file, where, line.strip(), change, start, end, new)


def changes(tree: ast.AST, text: str, starts: list[int]) -> Iterator[tuple[int, int, str]]:
    """Yield from where to where in a text something else may stand, and what."""

    def span(node: Any) -> tuple[int, int]:
        lines = text.splitlines(keepends=True)
        first = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
        last = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
        return starts[node.lineno - 1] + first, starts[node.end_lineno - 1] + last

    def between(left: Any, right: Any) -> Iterator[tuple[int, int, str]]:
        """Yield the changes of the operator that stands between two parts of an expression."""
        start, end = span(left)[1], span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text[start:end])
        found = re.search(r"[^\s()]+(?:\s(?:not|in))?(?=[\s(]|$)", gap)
        if found:
            for new in SWAPPED.get(found[0], ()):
                yield start + found.start(), start + found.end(), new

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
                    for new in SWAPPED.get(found[0], ()):
                        yield start + found.start(), start + found.end(), new
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield span(node)[0], span(node.operand)[0], ""
            case ast.Constant(value=bool()):
                yield *span(node), str(not node.value)
            case ast.Constant(value=int()):
                yield *span(node), str(node.value + 1)
                if node.value > 0:
                    yield *span(node), str(node.value - 1)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is run: no annotations, and no words of errors."""
    if isinstance(node, ast.Raise):
        return
    yield node
    for name, field in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from _code(child)


def tried(
    mistake: Mistake, group: dict[str, Any], folder: Path, either: bool
) -> dict[str, str | None]:
    """Return what the tests of a group and its layers make of a mistake: seen, or not.

    Where either is enough, the layers do not look at what the tests have seen: None.
    """
    text = planting.sources()[mistake.file]
    changed = text[: mistake.start] + mistake.new + text[mistake.end :]
    try:
        compile(changed, mistake.file, "exec")
    except SyntaxError:
        return {}
    path = folder / mistake.file
    path.write_text(changed, "utf-8")
    try:
        status = forked(lambda: trial.trial(str(folder), ["-x", *group["tests"]]), TESTS_S)
        tests = {0: "", 1: "failed"}.get(status, "broke off")
        if tests and either:
            return {"tests": tests, "audit": None}
        said = folder / "layer.txt"
        said.write_text("")
        audit = forked(lambda: audited(folder, group["layers"]), AUDIT_S)
        return {
            "tests": tests,
            "audit": said.read_text().strip() if audit else "",
        }
    finally:
        path.write_text(text, "utf-8")


def audited(folder: Path, names: list[str]) -> None:
    """Let a copy audit itself, one layer after the other, and end at the first that sees it."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    resource.setrlimit(resource.RLIMIT_CPU, (AUDIT_S, AUDIT_S))
    with open("layer.txt", "w", buffering=1) as said:
        said.write("import\n")
        try:
            layers = {
                one.name: one for one in importlib.import_module("gateway.audit.layers").LAYERS
            }
            mechanisms = importlib.import_module("gateway.mechanisms").MECHANISMS
            runner = importlib.import_module("gateway.audit.layers")
            effort = importlib.import_module("gateway.audit.claim").Effort(first=True)
            for name in names:
                said.seek(0)
                said.truncate()
                said.write(f"{name}\n")  # what a layer that never ends leaves
                layer = layers[name]
                for mechanism in mechanisms if layer.each else [None]:
                    if mechanism and mechanism.subject.KIND not in layer.kinds:
                        continue
                    if not all(one.holds for one in runner.look(layer, mechanism, effort).claims):
                        os._exit(1)
            os._exit(0)
        except BaseException:
            os._exit(1)


def forked(child: Callable[[], None], most_s: int) -> int:
    """Return how a child ended that runs this; 1 where it took too long, for it was stopped."""
    process = os.fork()
    if process == 0:
        os.setsid()
        trial.PATIENCE_S = most_s
        trial.os.setsid = lambda: None
        child()
    late = time.monotonic() + 8 * most_s  # of waiting, on a machine that is busy
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended or time.monotonic() > late:
            break
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if not ended:
        os.waitpid(process, 0)
        return 1
    return os.waitstatus_to_exitcode(status)


def surveyed() -> tuple[dict[str, Any], dict[tuple[str, ...], str], list[Mistake]]:
    """Return the groups by their names, why survivors do no harm, and every change there is."""
    data = tomllib.loads(DATA.read_text("utf-8"))
    harmless = {}
    for row in data.get("harmless", []):
        for printed in row["changes"]:
            where, change, line = printed.split(": ", 2)
            harmless[where, laid_out(line), change] = row["why"]
    groups = {group["name"]: group for group in data["group"]}
    dotted = {f".{file[:-3].replace('/', '.')}": file for file in planting.sources()}

    def file_of(end: str) -> str:
        (file,) = (file for name, file in dotted.items() if name.endswith(f".{end}"))
        return file

    every = [
        mistake
        for group in groups.values()
        for module in group["modules"]
        for mistake in mistakes(group["name"], file_of(module))
    ]
    return groups, harmless, every


def known() -> dict[tuple[str, ...], dict[str, Any]]:
    """Return what was found before."""
    rows = FOUND.read_text().splitlines() if FOUND.exists() else []
    return {tuple(row.pop("key")): row for row in map(json.loads, rows)}


def report(
    found: dict[tuple[str, ...], dict[str, Any]], harmless: dict[tuple[str, ...], str], count: int
) -> None:
    """Print how many were seen, by whom, and which were not."""
    total: Counter[str] = Counter()
    for one in found.values():
        for name in (one["group"], "all"):
            total[name, "tried"] += 1  # type: ignore[index]
            for who in ("tests", "audit"):
                total[name, who] += bool(one[who])  # type: ignore[index]
            total[name, "either"] += bool(one["tests"] or one["audit"])  # type: ignore[index]
            total[name, "asked"] += one["audit"] is not None  # type: ignore[index]
    print(f"{'group':<12} {'tried':>6} {'tests':>7} {'either':>7}   {'audited':>7} {'audit':>7}")
    for name in sorted({name for name, _ in total}, key=lambda name: (name == "all", name)):
        tries = total[name, "tried"]  # type: ignore[index]
        shares = (f"{total[name, who] / tries:>7.1%}" for who in ("tests", "either"))  # type: ignore[index]
        audited = total[name, "asked"]  # type: ignore[index]
        share = f"{total[name, 'audit'] / audited:>7.1%}" if audited else ""  # type: ignore[index]
        print(f"{name:<12} {tries:>6} {' '.join(shares)}   {audited:>7} {share}")
    print(f"of {count} changes there are")
    for words, tells in (
        ("seen by nothing, and not argued", lambda one: not one["tests"] and not one["audit"]),
        ("seen by tests and not by the audit", lambda one: one["tests"] and one["audit"] == ""),
        ("seen by the audit and not by tests", lambda one: one["audit"] and not one["tests"]),
    ):
        left = sorted(key for key, one in found.items() if tells(one) and key not in harmless)
        print(f"\n{len(left)} {words}:")
        for where, line, change in left:
            print(f"  {where}: {change}: {line}")


def main() -> None:
    """Try as many as there is time for, by chance but the same ones for one seed; report."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--minutes", type=float, default=30.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--only", default="", help="one group")
    words.add_argument("--again", action="store_true", help="what was not seen before")
    words.add_argument("--comparisons", action="store_true", help="nothing but comparisons")
    words.add_argument("--either", action="store_true", help="layers see what tests have not seen")
    asked = words.parse_args()
    groups, harmless, every = surveyed()
    random.Random(asked.seed).shuffle(every)
    found, until = known(), time.monotonic() + 60 * asked.minutes
    for name in {*warm.OTHERS, *trial.OTHERS}:
        importlib.import_module(name)
    FOUND.parent.mkdir(exist_ok=True)
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "copy"
        for package in (*planting.PACKAGES, "tests"):  # no links: work goes on in the checkout
            shutil.copytree(planting.ROOT / package, folder / package)
        shutil.copy(planting.ROOT / "pyproject.toml", folder)
        for mistake in every:
            before = found.get(mistake.key)
            wanted = asked.only in ("", mistake.group) and mistake.key not in harmless
            if asked.again:
                wanted &= before is not None and not (before["tests"] and before["audit"])
            else:
                wanted &= before is None
            if not wanted or (asked.comparisons and not mistake.comparison):
                continue
            if time.monotonic() > until:
                break
            if outcome := tried(mistake, groups[mistake.group], folder, asked.either):
                found[mistake.key] = {"group": mistake.group, **outcome}
                with FOUND.open("a") as file:
                    file.write(json.dumps({"key": mistake.key, **found[mistake.key]}) + "\n")
                print(json.dumps([*mistake.key, *outcome.values()]), file=sys.stderr, flush=True)
    report(found, harmless, len(every))


if __name__ == "__main__":
    main()
