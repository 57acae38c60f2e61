"""Which messages of a device are still listened to, and which device is to be shut out.

No I/O and no clock: `now_s` comes in, of a monotonic clock. Each device has a bucket of tokens:
`burst` of them at most, `messages_per_s` come back, a message takes one, and one more for each
16 kB, the longest report. Without a token a message does not pass. It is not lost: an honest
device sends it again until it has its receipt. Names that are not enrolled share one bucket, so
whatever topics come, memory is bounded by the fleet.

Asked on the intake's thread for every message; anybody may shut, free and ask for verdicts.
"""

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from edge.host.post import REPORT_BYTES

from ..operating import Guard as Settings

MINUTE_S = 60.0
BACKLOG = 100_000  # what a broker keeps for an absent gateway, of all devices
FLOOD = "it sent more than [guard] messages_per_s and burst allow"
FORGED = "it sent more that is no frame of its own than [guard] forged allows in a minute"


class Verdict(NamedTuple):
    """A device found guilty just now, and of what."""

    device: str
    why: str


class _Bucket:
    """What is known of one device."""

    __slots__ = ("at_s", "forged", "minute_s", "since", "tokens", "why")

    def __init__(self, tokens: float, since: float) -> None:
        self.tokens, self.since = tokens, since
        self.at_s = self.minute_s = -1.0  # before the first message, and the first forged one
        self.forged = 0
        self.why = ""  # it is shut out


class Guard:
    """The buckets of a fleet, and who is shut out.

    Args:
        devices: the names that are enrolled.
        attributable: the broker lets a device write under its own name alone; else anybody may
            have sent what comes under it, and whoever did could have it shut out.
    """

    def __init__(
        self, settings: Settings, devices: Iterable[str], *, attributable: bool = True
    ) -> None:
        self._lock = threading.Lock()
        self._verdicts: list[Verdict] = []
        self._waited = 0.0  # messages that a device may have sent while we were away
        self._attributable = attributable
        self._of: dict[str, _Bucket] = {}
        self._strangers = _Bucket(settings.burst, 0.0)
        self.wake: Callable[[], None] = lambda: None  # called when there is a verdict
        self.renew(settings, devices)

    def renew(self, settings: Settings, devices: Iterable[str]) -> None:
        """Take other limits, or another fleet; who is shut out stays so."""
        self._rate, self._burst = settings.messages_per_s, float(settings.burst)
        self._forged = settings.forged
        self._judging = settings.quarantine and self._attributable
        old = self._of
        self._of = {name: old.get(name) or _Bucket(self._burst, self._waited) for name in devices}

    def away(self, seconds: float) -> None:
        """Allow for what waited at the broker while nobody took it: it all comes at once.

        A device that has no receipt sends its frame again and again, and the broker keeps each.
        """
        self._waited += min(max(seconds, 0.0) * self._rate, BACKLOG)

    def passes(self, device: str, size: int, now_s: float) -> bool:
        """Return whether to listen to a message of so many bytes."""
        bucket = self._of.get(device, self._strangers)
        if bucket.why:
            return False
        tokens = bucket.tokens
        if bucket.since != self._waited:
            tokens += self._waited - bucket.since
            bucket.since = self._waited
        elapsed_s = now_s - bucket.at_s
        if elapsed_s > 0:
            if bucket.at_s >= 0 and tokens < self._burst:
                tokens = min(tokens + elapsed_s * self._rate, self._burst)
            bucket.at_s = now_s
        if size >= REPORT_BYTES:
            tokens -= size // REPORT_BYTES
        if tokens < 1:
            bucket.tokens = max(tokens, 0)
            self._guilty(device, bucket, FLOOD)
            return False
        bucket.tokens = tokens - 1
        return True

    def forged(self, device: str, now_s: float) -> None:
        """Count a message that is no frame of the device on whose topic it came."""
        bucket = self._of.get(device, self._strangers)
        if bucket.minute_s < 0 or now_s - bucket.minute_s >= MINUTE_S:
            bucket.minute_s, bucket.forged = now_s, 0
        bucket.forged += 1
        if bucket.forged > self._forged:
            self._guilty(device, bucket, FORGED)

    def blocked(self, device: str) -> str:
        """Return why a device is shut out, or nothing."""
        bucket = self._of.get(device)
        return bucket.why if bucket is not None else ""

    def shut(self, device: str, why: str) -> None:
        """Listen to a device no longer."""
        if (bucket := self._of.get(device)) is not None:
            bucket.why = why or "it is shut out"

    def free(self, device: str) -> None:
        """Listen to a device again, as if it had never said a word."""
        if device in self._of:
            self._of[device] = _Bucket(self._burst, self._waited)

    def verdicts(self) -> list[Verdict]:
        """Return the devices found guilty since this was asked last, each once."""
        with self._lock:
            found, self._verdicts = self._verdicts, []
        return found

    def _guilty(self, device: str, bucket: _Bucket, why: str) -> None:
        """Shut a device out, and have it told; a stranger is only not listened to."""
        if not self._judging or bucket.why or bucket is self._strangers:
            return
        bucket.why = why
        with self._lock:
            self._verdicts.append(Verdict(device, why))
        self.wake()
