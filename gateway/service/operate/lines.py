"""What a line of the log may hold, and how often it may be said.

A line never holds a reading, a payload or a secret, whatever a careless call gives it. A device
goes by its name from WARNING up, where somebody must find it; below that it has a number that is
drawn anew at every start. So a log that is kept for years does not show which thermometer spoke
when, and nobody can find a name by trying all of them, as he could with a key that stays.
"""

import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import structlog

Line = MutableMapping[str, Any]

PRIVATE = frozenset(
    [
        *("value", "values", "reading", "readings", "mass", "payload", "frame", "body", "message"),
        *("noise", "warmth", "counts", "total", "credible", "certified", "verdict", "sd"),
        *("secret", "password", "token"),
        *("key", "keys", "root", "site_key", "mac_key", "config_key", "link_key"),
    ]
)
NAMING = ("device", "devices", "topic", "client")
SHARED = frozenset(("round", "map", "ha", "gateway", "+"))  # levels of topics that are no device's
# What makes a line the same as another; whatever else it holds may count up meanwhile.
TELLING = (
    *("event", "why", "device", "number", "part", "outcome", "logger", "ready"),
    *("spent", "epsilon_spent"),
)
FIRST_S, LONGEST_S = 10.0, 3600.0  # a line that is said again waits so long, and twice each time
LINES = 1000  # different ones that are remembered


def without_secrets(_logger: Any, _method: str, line: Line) -> Line:
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
        if _severity(method) < logging.WARNING:
            for name in NAMING:
                if name in line:
                    line[name] = self._hidden(name, line[name])
        return line

    def _hidden(self, name: str, value: Any) -> Any:
        if isinstance(value, list | tuple | set | frozenset):
            return sorted(self._hidden(name, one) for one in value)
        text = str(value)
        if name != "topic":
            return self._number(text)
        levels = text.split("/")
        if len(levels) > 3 and levels[0] == "heatveil" and levels[3] not in SHARED:
            levels[3] = self._number(levels[3])
        return "/".join(levels)

    def _number(self, name: str) -> str:
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
        self._said: OrderedDict[tuple[Any, ...], _Said] = OrderedDict()

    def __call__(self, _logger: Any, method: str, line: Line) -> Line:
        """Return the line, with `again` where it was held back since.

        Raises:
            structlog.DropEvent: it was said a moment ago.
        """
        same, now_s = (method, *(str(line.get(name)) for name in TELLING)), time.monotonic()
        with self._lock:
            before = self._said.pop(same, None)
            if before is not None and now_s < before.until_s:
                self._said[same] = before._replace(held=before.held + 1)
                raise structlog.DropEvent
            # Whoever was quiet for as long again as he had to be is taken for a new one.
            lasting = before is not None and now_s < before.until_s + before.pause_s
            pause_s = min(2 * before.pause_s, LONGEST_S) if before and lasting else FIRST_S
            self._said[same] = _Said(now_s + pause_s, pause_s, 0)
            while len(self._said) > LINES:
                self._said.popitem(last=False)
        if before is not None and before.held:
            line["again"] = before.held
        return line


def _severity(method: str) -> int:
    """Return how grave a line is, from the method that it was said with."""
    if method == "exception":
        return logging.ERROR
    found = logging.getLevelNamesMapping().get(method.upper())
    return logging.ERROR if found is None else found
