"""What a line of source may not do on the way of a reading: rules over the syntax tree.

Each rule takes source text and returns what it found, as "line 3: why". It reads text and runs
nothing, so it sees a fault that no input would bring out. What it cannot see is a fault that is
made of allowed words; the other layers are for those.
"""

import ast

from .syntax import Found, barred, listed, modules

# Modules that think in floats, or bring random bits from another door than edge.entropy.
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
    """Return which door to random bits is opened, other than `edge.entropy`."""
    yield from barred(node, CHANCE)
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) | ast.alias(name=word):
            if word in {"urandom", "getrandbits", "os_entropy", "spread", "Tape"}:
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


@listed
def drawing(node: ast.AST) -> Found:
    """Return where an analyst draws: after the release everything is a pure function."""
    for line, name in modules(node):
        if name.startswith(("random", "secrets", "numpy.random", "edge.entropy", "edge.noise")):
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
