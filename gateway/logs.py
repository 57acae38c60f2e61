"""Where the log goes: standard error, in colour on a terminal, else a JSON object a line.

All of it in one form: what libraries, warnings and threads that died have to say comes the same
way. Nothing in it depends on a reading: counts, reasons, prices and times only. A traceback shows
lines of code and never what was in the variables, for there are readings and keys among them.
Standard output belongs to what a command prints. From which level on is said by HEATVEIL_LOG.
"""

import logging
import os
import sys
import threading
from types import TracebackType
from typing import Any

import structlog

from .faults import OperatorFault
from .service.operate.lines import Pseudonyms, Repeats, without_secrets

LEVELS = ("debug", "info", "warning", "error")
VARIABLE = "HEATVEIL_LOG"


def to_stderr(level: int = logging.INFO) -> None:
    """Send every log of this process to standard error, from this level up.

    Args:
        level: where HEATVEIL_LOG says nothing.

    Raises:
        OperatorFault: HEATVEIL_LOG is no level.
    """
    level = asked() or level
    before: list[Any] = [
        structlog.processors.add_log_level,
        without_secrets,
        Repeats(),
        Pseudonyms(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sys.stderr.isatty():
        last: list[Any] = [
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        ]
    else:
        bare = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [
            structlog.processors.ExceptionRenderer(bare),
            structlog.processors.JSONRenderer(default=str),
        ]
    structlog.configure(
        processors=[*before, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    _others(level)


def asked() -> int | None:
    """Return the level that the environment asks for.

    Raises:
        OperatorFault: it is none.
    """
    given = os.environ.get(VARIABLE, "")
    if not given:
        return None
    if given.lower() not in LEVELS:
        raise OperatorFault(
            f"{VARIABLE} is {given!r} but must be one of {', '.join(LEVELS)}: it says from which "
            "level on the log is written. Mend it, or leave it out for info"
        )
    return logging.getLevelNamesMapping()[given.upper()]


class _Bridge(logging.Handler):
    """Says what libraries say, in our form."""

    def emit(self, record: logging.LogRecord) -> None:
        if not structlog.is_configured():
            return
        say = structlog.get_logger().log
        try:
            more = {"exc_info": record.exc_info} if record.exc_info else {}
            say(record.levelno, record.getMessage(), logger=record.name, **more)
        except Exception:
            self.handleError(record)


def _others(level: int) -> None:
    """Let what is not ours speak the same way, from WARNING up.

    What a library says of its daily work may hold what it works on.
    """
    root = logging.getLogger()
    if not any(isinstance(one, _Bridge) for one in root.handlers):
        root.addHandler(_Bridge())
    root.setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _thread_died


def _thread_died(died: threading.ExceptHookArgs) -> None:
    if died.exc_value is None or issubclass(died.exc_type, SystemExit):
        return
    fault: tuple[type[BaseException], BaseException, TracebackType | None] = (
        died.exc_type,
        died.exc_value,
        died.exc_traceback,
    )
    name = died.thread.name if died.thread else "unknown"
    structlog.get_logger().critical("a thread ended by a fault", thread=name, exc_info=fault)
