"""What a line of source may not do on the way of a reading: rules over the syntax tree.

Each rule takes source text and returns what it found, as "line 3: why". It reads text and runs
nothing, so it sees a fault that no input would bring out. What it cannot see is a fault that is
made of allowed words; the other layers are for those.
"""

import ast
import functools
from collections.abc import Callable, Iterator

Found = Iterator[tuple[int, str]]

# Modules that think in floats, or bring random bits from another door than edge.entropy.
INEXACT = {"cmath", "decimal", "fractions", "math", "numpy", "operator", "scipy", "statistics"}
CHANCE = {"random", "secrets", "urandom", "uos", "uuid"}
CLOCKS = {"datetime", "ntptime", "time", "utime", "rp2", "machine"}
TICKS = {"RTC", "monotonic", "perf_counter", "ticks_ms", "ticks_us", "ticks_diff", "localtime"}
TELLING = {"json", "logging", "pickle", "pprint", "structlog", "syslog", "traceback", "warnings"}
DRAWS = {"default_rng", "getrandbits", "random", "random_state", "rvs", "urandom"}
DARING = {"CERT_NONE", "CERT_OPTIONAL", "_create_unverified_context", "wrap_socket"}
WHOLE = {"len(a) != len(b)", "differing == 0"}  # what a patient comparison compares


def _listed(search: Callable[[ast.AST], Found]) -> Callable[[str], list[str]]:
    def rule(source: str) -> list[str]:
        found = {pair for node in ast.walk(ast.parse(source)) for pair in search(node)}
        return [f"line {line}: {why}" for line, why in sorted(found)]

    return functools.update_wrapper(rule, search, ("__name__", "__doc__"), ())


def _modules(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, module) for whatever this node imports from outside its package."""
    match node:
        case ast.Import(names=names):
            yield from ((node.lineno, alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        case ast.Call(func=ast.Name(id="__import__" | "exec" | "eval" | "compile")):
            yield node.lineno, "something that only running it would tell"


def _from(node: ast.AST, barred: set[str]) -> Found:
    for line, name in _modules(node):
        if name.partition(".")[0] in barred or " " in name:
            yield line, f"import of {name}"


@_listed
def inexact(node: ast.AST) -> Found:
    """Return what could bring in a float: constants, division, roots, negative powers."""
    yield from _from(node, INEXACT)
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


@_listed
def chance(node: ast.AST) -> Found:
    """Return which door to random bits is opened, other than `edge.entropy`."""
    yield from _from(node, CHANCE)
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) | ast.alias(name=word):
            if word in {"urandom", "getrandbits", "os_entropy", "Tape"}:
                yield node.lineno, f"random bits from {word}"
        case ast.FunctionDef(name="below" | "bits") if len(node.args.args) == 2 and (
            node.args.args[0].arg == "self"
        ):
            yield node.lineno, "a stream of its own"


@_listed
def clock(node: ast.AST) -> Found:
    """Return where a clock is looked at: time must come in as a value, or not at all."""
    yield from _from(node, CLOCKS)
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) if word in TICKS:
            yield node.lineno, f"the clock {word}"


@_listed
def telling(node: ast.AST) -> Found:
    """Return where something is printed, logged or written as text beside the wire."""
    yield from _from(node, TELLING)
    match node:
        case ast.Call(func=ast.Name(id="print")) | ast.Attribute(attr="stdout" | "stderr"):
            yield node.lineno, "a print"
        case ast.Attribute(attr="print_exception"):
            yield node.lineno, "a traceback"


@_listed
def open_compare(node: ast.AST) -> Found:
    """Return where a MAC is compared by == , which stops at the first byte that differs."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq(), *_], comparators=others):
            for side in (left, *others):
                word = ast.unparse(side).lower()
                if "mac" in word.replace("_", ".").split(".") or "mac(" in word:
                    yield node.lineno, "a MAC compared by =="


@_listed
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


@_listed
def drawing(node: ast.AST) -> Found:
    """Return where an analyst draws: after the release everything is a pure function."""
    for line, name in _modules(node):
        if name.startswith(("random", "secrets", "numpy.random", "edge.entropy", "edge.noise")):
            yield line, f"import of {name}"
    match node:
        case ast.Attribute(attr=word) | ast.keyword(arg=str(word)) | ast.alias(name=word):
            if word in DRAWS or (word in {"entropy", "noise"} and isinstance(node, ast.alias)):
                yield getattr(node, "lineno", 0), f"random numbers from {word}"


@_listed
def drawn_release(node: ast.AST) -> Found:
    """Return where `release` or `recover` takes its rng to hand: the noise is on by then."""
    if isinstance(node, ast.FunctionDef) and node.name in ("release", "recover"):
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == "rng":
                yield part.lineno, "a draw after the veil"


@_listed
def trusting(node: ast.AST) -> Found:
    """Return where a certificate would not be verified, or not be held against the name."""
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) if word in DARING:
            yield node.lineno, f"{word}: whoever stands between would be believed"
        case ast.Assign(targets=[ast.Attribute(attr="check_hostname")], value=ast.Constant(False)):
            yield node.lineno, "check_hostname off: any certificate of any name would do"
        case ast.keyword(arg="check_hostname" | "verify", value=ast.Constant(value=False)):
            yield node.value.lineno, "verification off"


@_listed
def reading(node: ast.AST) -> Found:
    """Return where a Reading is spoken of; prose does not count."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
            if word == "Reading":
                yield node.lineno, "a Reading"
