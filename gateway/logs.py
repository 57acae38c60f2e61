"""Where the log goes: standard error, plain and in colour on a terminal, else as JSON.

All of it in one form: what libraries, warnings and threads that died have to say comes the same
way. Nothing in it depends on a reading: counts, reasons, prices and times only. A traceback shows
lines of code and never what was in the variables, for there are readings and keys among them.
Standard output belongs to what a command prints. HEATVEIL_LOG says from which level on, and may
ask for the other form.

A line never holds a reading, a payload or a secret, whatever a careless call gives it. A device
goes by its name from WARNING up, where somebody must find it; below that it has a number that is
drawn anew at every start. So a log that is kept for years does not show which thermometer spoke
when, and nobody can find a name by trying all of them, as he could with a key that stays.
"""

import hashlib
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, NamedTuple

from .faults import OperatorFault

LEVELS = ("debug", "info", "warning", "error")
FORMS = ("plain", "json")
VARIABLE = "HEATVEIL_LOG"


class _Log:
    """The logger, loaded with the first word: that takes long, and most commands say none."""

    def __getattr__(self, method: str) -> Any:
        import structlog

        return getattr(structlog.get_logger(), method)


log: Any = _Log()


def log_to_stderr(level: int = logging.INFO, plain: bool = False) -> None:
    """Send every log of this process to standard error, from this level up.

    Args:
        level, plain: where HEATVEIL_LOG says nothing; plain is for people, wherever it goes.

    Raises:
        OperatorFault: HEATVEIL_LOG is no level and no form.
    """
    import structlog

    wanted, form = read_variable()
    level, terminal = wanted or level, sys.stderr.isatty()
    before: list[Any] = [
        structlog.processors.add_log_level,
        remove_secrets,
        Repeats(),
        Pseudonyms(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "plain" or ((terminal or plain) and not form):
        bare = structlog.dev.plain_traceback
        last: list[Any] = [
            structlog.dev.ConsoleRenderer(colors=terminal, exception_formatter=bare)
        ]
    else:
        closed = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [
            structlog.processors.ExceptionRenderer(closed),
            structlog.processors.JSONRenderer(default=str),
        ]
    structlog.configure(
        processors=[*before, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    _bridge_other_loggers(level)


def read_variable() -> tuple[int | None, str]:
    """Return the level and the form that the environment asks for, None and "" for none.

    Raises:
        OperatorFault: it asks for something else.
    """
    given = os.environ.get(VARIABLE, "")
    level, form = None, ""
    for word in given.lower().split(",") if given else ():
        if word in LEVELS:
            level = logging.getLevelNamesMapping()[word.upper()]
        elif word in FORMS:
            form = word
        else:
            raise OperatorFault(
                f"{VARIABLE} is {given!r} but must be one of {', '.join(LEVELS)}, from which on "
                f"the log is written, or its form, {' or '.join(FORMS)}, or both, as in "
                "info,plain. Mend it, or leave it out"
            )
    return level, form


class _Bridge(logging.Handler):
    """Says what libraries say, in our form."""

    def emit(self, record: logging.LogRecord) -> None:
        import structlog

        if not structlog.is_configured():
            return
        say = structlog.get_logger().log
        try:
            more = {"exc_info": record.exc_info} if record.exc_info else {}
            say(record.levelno, record.getMessage(), logger=record.name, **more)
        except Exception:
            self.handleError(record)


def _bridge_other_loggers(level: int) -> None:
    """Let what is not ours speak the same way, from WARNING up.

    What a library says of its daily work may hold what it works on.
    """
    root = logging.getLogger()
    if not any(isinstance(one, _Bridge) for one in root.handlers):
        root.addHandler(_Bridge())
    root.setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _log_thread_death


def _log_thread_death(died: threading.ExceptHookArgs) -> None:
    if died.exc_value is None or issubclass(died.exc_type, SystemExit):
        return
    fault: tuple[type[BaseException], BaseException, TracebackType | None] = (
        died.exc_type,
        died.exc_value,
        died.exc_traceback,
    )
    name = died.thread.name if died.thread else "unknown"
    log.critical(
        "a thread ended on an unhandled exception; its work has stopped",
        thread=name,
        exc_info=fault,
    )


Line = MutableMapping[str, Any]

PRIVATE = frozenset(
    [
        *("value", "values", "reading", "readings", "mass", "payload", "frame", "body", "message"),
        *("noise", "warmth", "counts", "total", "sources", "credible", "certified"),
        *("verdict", "sd", "blocks", "nobody", "fields"),
        *("secret", "password", "token"),
        *("key", "keys", "root", "site_key", "mac_key", "config_key", "link_key"),
    ]
)
NAMING = ("device", "devices", "topic", "client")
SHARED = frozenset(("round", "map", "ha", "gateway", "+"))  # levels of topics that are no device's
# What makes a line the same as another; whatever else it holds may count up meanwhile.
TELLING = (
    *("event", "why", "device", "number", "part", "outcome", "logger", "ready", "came"),
    *("spent", "epsilon_spent", "shard", "suspects"),
)
FIRST_S, LONGEST_S = 10.0, 3600.0  # a line that is said again waits so long, and twice each time
LINES = 1000  # different ones that are remembered


def remove_secrets(_logger: Any, _method: str, line: Line) -> Line:
    """Return the line without what must never be in one."""
    for name in PRIVATE & line.keys():
        del line[name]
    return line


class Pseudonyms:
    """Takes the names of devices out of lines that nobody must act on."""

    def __init__(self) -> None:
        self._salt = os.urandom(16)

    def __call__(self, _logger: Any, method: str, line: Line) -> Line:
        """Return the line; below WARNING with numbers for names."""
        if _find_severity(method) < logging.WARNING:
            for name in NAMING:
                if name in line:
                    line[name] = self._hide_name(name, line[name])
        return line

    def _hide_name(self, name: str, value: Any) -> Any:
        if isinstance(value, list | tuple | set | frozenset):
            return sorted(self._hide_name(name, one) for one in value)
        text = str(value)
        if name != "topic":
            return self._make_pseudonym(text)
        levels = text.split("/")
        if len(levels) > 3 and levels[0] == "heatveil" and levels[3] not in SHARED:
            levels[3] = self._make_pseudonym(levels[3])
        return "/".join(levels)

    def _make_pseudonym(self, name: str) -> str:
        return hashlib.blake2b(name.encode(), key=self._salt, digest_size=4).hexdigest()


class _Said(NamedTuple):
    until_s: float  # when it may be said again
    pause_s: float
    held: int  # how often it was not said


class Repeats:
    """Holds back a line that is said again and again, and says later how often that was.

    What a broker that is gone for a night has to say is some twenty lines, and not a million.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By the hash of its words: in full a thousand lines take a megabyte.
        self._said: OrderedDict[int, _Said] = OrderedDict()

    def __call__(self, _logger: Any, method: str, line: Line) -> Line:
        """Return the line, with `again` where it was held back since.

        Raises:
            structlog.DropEvent: it was said a moment ago.
        """
        from structlog import DropEvent

        same = hash((method, *(str(line.get(name)) for name in TELLING)))
        now_s = time.monotonic()
        with self._lock:
            before = self._said.pop(same, None)
            if before is not None and now_s < before.until_s:
                self._said[same] = before._replace(held=before.held + 1)
                raise DropEvent
            # Whoever was quiet for as long again as he had to be is taken for a new one.
            lasting = before is not None and now_s < before.until_s + before.pause_s
            pause_s = min(2 * before.pause_s, LONGEST_S) if before and lasting else FIRST_S
            self._said[same] = _Said(now_s + pause_s, pause_s, 0)
            while len(self._said) > LINES:
                self._said.popitem(last=False)
        if before is not None and before.held:
            line["again"] = before.held
        return line


def _find_severity(method: str) -> int:
    """Return how grave a line is, from the method that it was said with."""
    if method == "exception":
        return logging.ERROR
    found = logging.getLevelNamesMapping().get(method.upper())
    return logging.ERROR if found is None else found
