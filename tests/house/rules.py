"""What the source of the privacy path must be free of, whatever the inputs.

A float makes a promise about whole numbers void; a second door to random bits, a clock or a
print makes one that no test of the frames would see broken. A rule takes source text and returns
what it found, as "line 3: why". It reads text and runs nothing, so it sees a fault that no input
would bring out; a fault that is made of allowed words it does not see. RULES says where each
holds, and which single words a file may have all the same. edge/board and edge/linux, where pins,
clocks and radios are, have rules of their own (tests/edge/board).
"""

import ast
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Found = Iterator[tuple[int, str]]


def listed(search: Callable[[ast.AST], Found]) -> Callable[[str], list[str]]:
    """Return the rule over source text that looks at each node of its tree by this search."""

    def rule(source: str) -> list[str]:
        found = {pair for node in ast.walk(ast.parse(source)) for pair in search(node)}
        return [f"line {line}: {why}" for line, why in sorted(found)]

    return functools.update_wrapper(rule, search, ("__name__", "__doc__"), ())


def modules(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, module) for whatever this node imports from outside its package."""
    match node:
        case ast.Import(names=names):
            yield from ((node.lineno, alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        case ast.Call(func=ast.Name(id="__import__" | "exec" | "eval" | "compile")):
            yield node.lineno, "something that only running it would tell"


def barred(node: ast.AST, names: set[str]) -> Found:
    """Yield every import of one of these modules, and what hides which it imports."""
    for line, name in modules(node):
        if name.partition(".")[0] in names or " " in name:
            yield line, f"import of {name}"


# Modules that think in floats, or bring random bits from another door than edge.core.entropy.
INEXACT = {"cmath", "decimal", "fractions", "math", "numpy", "operator", "scipy", "statistics"}
CHANCE = {"random", "secrets", "urandom", "uos", "uuid"}
CLOCKS = {"datetime", "ntptime", "time", "utime", "rp2", "machine"}
TICKS = {"RTC", "monotonic", "perf_counter", "ticks_ms", "ticks_us", "ticks_diff", "localtime"}
CALENDAR = {
    "RTC",
    "date",
    "datetime",
    "gmtime",
    "localtime",
    "ntptime",
    "settime",
    "time",
    "time_ns",
}
TELLING = {"json", "logging", "pickle", "pprint", "structlog", "syslog", "traceback", "warnings"}
DRAWS = {"default_rng", "getrandbits", "random", "random_state", "rvs", "urandom"}


@listed
def inexact(node: ast.AST) -> Found:
    """Return what could bring in a float: constants, division, roots, negative powers."""
    yield from barred(node, INEXACT)
    match node:
        case ast.Constant(value=float() | complex()):
            yield node.lineno, "a float written out"
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            yield node.lineno, "true division"
        case ast.BinOp(op=ast.Pow(), right=ast.UnaryOp(op=ast.USub())):
            yield node.lineno, "a negative power"
        case ast.Call(func=ast.Name(id="pow"), args=[_, ast.UnaryOp(op=ast.USub()), *_]):
            yield node.lineno, "a negative power"
        case ast.Name(id="float" | "complex"):
            yield node.lineno, "float by name"
        case ast.Call(func=ast.Name(id="round")):  # `round` alone is what a Round is called here
            yield node.lineno, "a rounded float"
        case ast.Constant(value="f" | "d" | "<f" | "<d" | ">f" | ">d"):
            yield node.lineno, "a float's layout"


@listed
def chance(node: ast.AST) -> Found:
    """Return which door to random bits is opened, other than `edge.core.entropy`."""
    yield from barred(node, CHANCE)
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) | ast.alias(name=word):
            if word in {"urandom", "getrandbits", "os_entropy", "draw_jitter", "Tape"}:
                yield node.lineno, f"random bits from {word}"
        case ast.FunctionDef(name="below" | "bits") if len(node.args.args) == 2 and (
            node.args.args[0].arg == "self"
        ):
            yield node.lineno, "a stream of its own"


@listed
def clock(node: ast.AST) -> Found:
    """Return where a clock is looked at: time must come in as a value, or not at all."""
    yield from barred(node, CLOCKS)
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) if word in TICKS:
            yield node.lineno, f"the clock {word}"


@listed
def calendar(node: ast.AST) -> Found:
    """Return where the hour of the day is asked for: whoever sets that could renew a budget."""
    match node:
        case ast.Attribute(value=ast.Name(id="time" | "utime" | "machine"), attr=word):
            if word in CALENDAR:
                yield node.lineno, f"the hour of the day from {word}"
    for line, name in modules(node):
        if name.partition(".")[2] in CALENDAR or name in CALENDAR - {"time"}:
            yield line, f"import of {name}"


@listed
def telling(node: ast.AST) -> Found:
    """Return where something is printed, logged or written as text beside the wire."""
    yield from barred(node, TELLING)
    match node:
        case ast.Call(func=ast.Name(id="print")) | ast.Attribute(attr="stdout" | "stderr"):
            yield node.lineno, "a print"
        case ast.Attribute(attr="print_exception"):
            yield node.lineno, "a traceback"


# Where edge draws: its own modules, and their names for others.
SAMPLERS = (
    "edge.core.entropy",
    "edge.core.noise",
    "edge.core.shares",
    "edge.entropy",
    "edge.noise",
)


@listed
def drawing(node: ast.AST) -> Found:
    """Return where an analyst draws: after the release everything is a pure function."""
    for line, name in modules(node):
        if name.startswith(("random", "secrets", "numpy.random", *SAMPLERS)):
            yield line, f"import of {name}"
    match node:
        case ast.Attribute(attr=word) | ast.keyword(arg=str(word)) | ast.alias(name=word):
            if word in DRAWS or (word in {"entropy", "noise"} and isinstance(node, ast.alias)):
                yield getattr(node, "lineno", 0), f"random numbers from {word}"


@listed
def drawn_release(node: ast.AST) -> Found:
    """Return where `release` or `recover` takes its rng to hand: the noise is on by then."""
    if isinstance(node, ast.FunctionDef) and node.name in ("release", "recover"):
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == "rng":
                yield part.lineno, "a draw after the veil"


@listed
def reading(node: ast.AST) -> Found:
    """Return where a Reading is spoken of; prose does not count."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
            if word == "Reading":
                yield node.lineno, "a Reading"


DARING = {"CERT_NONE", "CERT_OPTIONAL", "_create_unverified_context"}
WHOLE = {"len(a) != len(b)", "differing == 0"}  # what a patient comparison compares


@listed
def open_compare(node: ast.AST) -> Found:
    """Return where a MAC is compared by == , which stops at the first byte that differs."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq(), *_], comparators=others):
            for side in (left, *others):
                word = ast.unparse(side).lower()
                if "mac" in word.replace("_", ".").split(".") or "mac(" in word:
                    yield node.lineno, "a MAC compared by =="


@listed
def early_end(node: ast.AST) -> Found:
    """Return where a comparison of secrets leaves its loop before the last byte."""
    if isinstance(node, ast.FunctionDef) and node.name == "same_bytes":
        for loop in ast.walk(node):
            if isinstance(loop, ast.For | ast.While):
                for part in ast.walk(loop):
                    if isinstance(part, ast.Return | ast.Break | ast.If | ast.Raise):
                        yield part.lineno, "a comparison that ends early"
            elif isinstance(loop, ast.Compare) and ast.unparse(loop) not in WHOLE:
                yield loop.lineno, "a comparison by =="


@listed
def trusting(node: ast.AST) -> Found:
    """Return where a certificate would not be verified, or not be held against the name."""
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) if word in DARING:
            yield node.lineno, f"{word}: whoever stands between would be believed"
        case ast.Attribute(value=ast.Name(id="ssl" | "tls" | "ussl"), attr="wrap_socket"):
            yield node.lineno, "a socket wrapped without a context: it verifies nothing"
        case ast.Assign(targets=[ast.Attribute(attr="check_hostname")], value=ast.Constant(False)):
            yield node.lineno, "check_hostname off: any certificate of any name would do"
        case ast.keyword(arg="check_hostname" | "verify", value=ast.Constant(value=False)):
            yield node.value.lineno, "verification off"


# The last are of a build, and names for the outside: on no board.
BOARDS = ("board", "linux", "manifest.py", "entropy.py", "noise.py")
HOST = ("audit", "cli")  # run by hand where nobody measures how long they take
WAITS = ("random bits from draw_jitter",)  # how long to wait, and what comes of that is no noise


class Rule(NamedTuple):
    """One thing that some files must be free of."""

    sentence: str
    find: Callable[[str], list[str]]
    package: str
    may: Mapping[str, tuple[str, ...]] = {}  # faults that a file, by its place, is meant to have
    without: tuple[str, ...] = ()  # folders for which it is meant not to hold


RULES = (
    Rule(
        "edge holds no float, no true division and nothing that makes one, but where it sleeps",
        inexact,
        "edge",
        {"cpython.py": ("true division",)},
    ),
    Rule(
        "edge takes random bits through the one door, entropy, and no experiment's tape",
        chance,
        "edge",
        {
            "core/compat.py": ("random bits from urandom", "random bits from os_entropy"),
            "core/entropy.py": ("random bits from os_entropy", "a stream of its own"),
            "net/link.py": WAITS,
            "net/device.py": WAITS,
        },
    ),
    Rule(
        "nothing in edge but its uptime looks at a clock",
        clock,
        "edge",
        {"core/compat.py": ("import of time", "the clock ticks_ms", "the clock ticks_diff")},
    ),
    Rule("nothing in edge asks for the hour of the day", calendar, "edge"),
    Rule(
        "edge prints and logs nothing, and writes no text of a reading, but of its own state",
        telling,
        "edge",
        {"net/device.py": ("import of json",)},
    ),
    Rule(
        "what packs messages and keeps state does not know a Reading",
        reading,
        "edge",
        dict.fromkeys(
            (
                *("core/records.py", "core/node.py", "records.py"),
                *("mechanisms/sum_node.py", "mechanisms/thermal.py"),
            ),
            ("a Reading",),
        ),
    ),
    Rule("no MAC is compared in a time that tells where it differs", open_compare, "edge"),
    Rule("same_bytes looks at every byte", early_end, "edge"),
    Rule(
        "release draws nothing on a device's side, but where a trusted gateway blurs",
        drawn_release,
        "edge",
        dict.fromkeys(
            ("mechanisms/pyramid.py", "mechanisms/ranks.py"), ("a draw after the veil",)
        ),
    ),
    Rule("recovery draws no random number", drawing, "recovery"),
    Rule("recovery's verbs leave rng alone", drawn_release, "recovery"),
    Rule("the gateway's service compares no MAC by ==", open_compare, "gateway", without=HOST),
    Rule("no connection of a device is unverified", trusting, "edge"),
    Rule("no connection of the gateway is unverified", trusting, "gateway", without=("audit",)),
)


def faults(rule: Rule, place: str, source: str) -> list[str]:
    """Return what a rule finds in the file of this place in its package, and should not."""
    meant = rule.may.get(place, ())
    return [
        f"{rule.package}/{place} {fault}"
        for fault in rule.find(source)
        if fault.partition(": ")[2] not in meant
    ]


def files(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the place in its package and the text of every file that a rule is for."""
    home = Path(str(importlib.import_module(rule.package).__file__)).parent
    for path in sorted(home.rglob("*.py")):
        place = path.relative_to(home)
        if not {place.parts[0], place.as_posix()} & {*BOARDS, *rule.without}:
            yield place.as_posix(), path.read_text("utf-8")
