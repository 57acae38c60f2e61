"""Which version of MQTT is spoken: 5, and 3.1.1 with a broker that has no 5.

Such a broker says so, or closes the connection without a word, or says nothing at all. The latter
may be a network's doing as well, so both are tried in turn until one of them has been let in.
"""

import time

import structlog

UNSUPPORTED = 132  # CONNACK: Unsupported Protocol Version; paho says so for 3.1.1's code 1 too

ANSWER_S = 1.5  # how long a broker may take to say whether it speaks a version

log = structlog.get_logger()


class Version:
    """The version to speak next; asked for is "auto", "5" or "3.1.1"."""

    def __init__(self, asked: str) -> None:
        self._asked, self._settled = asked, False
        self._answered, self._opened_s = True, 0.0
        self.five = asked != "3.1.1"

    def __str__(self) -> str:
        return "5" if self.five else "3.1.1"

    def opening(self) -> None:
        """A connection is made; whoever is there has not answered yet."""
        self._answered, self._opened_s = False, time.monotonic()

    def overdue(self, now_s: float) -> bool:
        """Return whether to give the present attempt up, for the other version's sake."""
        waits = not (self._answered or self._settled) and self._asked == "auto"
        return waits and now_s - self._opened_s > ANSWER_S

    def welcome(self) -> None:
        """It was let in: this is the version from now on."""
        self._answered = self._settled = True

    def refused(self, code: int) -> bool:
        """Return whether to come again with the other version, after this refusal."""
        self._answered = True
        return code == UNSUPPORTED and self.five and self._turn()

    def closed(self) -> bool:
        """Return whether to come again with the other version, after the connection was lost."""
        silent, self._answered = not self._answered, True
        return silent and self._turn()

    def _turn(self) -> bool:
        if self._asked != "auto" or self._settled:
            return False
        self.five = not self.five
        if not self.five:
            log.info("the broker does not speak MQTT 5; trying 3.1.1")
        return True
