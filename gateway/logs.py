"""Where the log goes: standard error, in colour on a terminal, else a JSON object a line.

Nothing in it depends on a reading: counts, reasons, prices and times only. A traceback shows
lines of code and never what was in the variables, for there are readings and keys among them.
Standard output belongs to what a command prints.
"""

import logging
import sys
from typing import Any

import structlog


def to_stderr(level: int = logging.INFO) -> None:
    """Send every log of this process to standard error, from this level up."""
    shared: list[Any] = [
        structlog.processors.add_log_level,
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
            structlog.processors.JSONRenderer(),
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
