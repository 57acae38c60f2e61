"""Who may read: whoever shows the token, or the cookie that was given for it.

The cookie says until when it is good and is signed with a key made of the token: nothing need be
remembered, it survives a restart, and a new token ends it. Wrong tokens are counted by address,
in bounded memory, and after a few nobody from there is listened to for a while.
"""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from .refusals import Refusal

WEEK_S = 7 * 24 * 3600
WRONG, EVERY_S = 10, 6.0  # wrong tokens at once, and one more after each such while
ADDRESSES = 1024
CHALLENGE = {"www-authenticate": 'Bearer realm="heatveil"'}
_DO = "send Authorization: Bearer and the token that is in the file token_file under [page] names"
CLOSED = Refusal(401, "token", "this page is for those who have its token", _DO, CHALLENGE)
WRONG_ONE = Refusal(401, "token", "this is not the token of this page", _DO, CHALLENGE)


class Door:
    """The token of a page, and who has tried; without a token it is open."""

    def __init__(self, token: str | None, clock: Callable[[], float] = time.time) -> None:
        self._token = (token or "").encode()
        self._key = hmac.digest(self._token, b"heatveil page session", "sha256")
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def locked(self) -> bool:
        """Whether there is a token at all."""
        return bool(self._token)

    def check(self, address: str, authorization: str, cookie: str) -> None:
        """Let whoever has the token or a cookie pass.

        Raises:
            Refusal: neither was shown, the token is wrong, or too many were.
        """
        if not self.locked or self.left_s(cookie) > 0:
            return
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise CLOSED
        self.try_token(address, given.strip())

    def try_token(self, address: str, given: str) -> None:
        """Compare a token, in a time that says nothing of where it differs.

        Raises:
            Refusal: it is another, or too many from this address were.
        """
        where, now_s = network_of(address), self._clock()
        count, at_s = self._wrong.get(where, (0.0, now_s))
        count = max(count - max(now_s - at_s, 0) / EVERY_S, 0)
        if count > WRONG - 1:
            wait_s = str(int((count - WRONG + 1) * EVERY_S) + 1)
            raise Refusal(
                429,
                "attempts",
                "too many wrong tokens came from this address",
                f"wait {wait_s} s, then try the right one",
                {"retry-after": wait_s},
            )
        if hmac.compare_digest(given.encode(), self._token):
            return
        self._wrong[where] = count + 1, now_s
        self._wrong.move_to_end(where)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)
        raise WRONG_ONE

    def cookie(self) -> str:
        """Return a cookie that is good for a week."""
        until = str(int(self._clock() + WEEK_S))
        return f"{until}.{self._signed(until)}"

    def left_s(self, cookie: str) -> float:
        """Return for how long a cookie is still good; 0 for any that is not ours."""
        until, _, signed = cookie.partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 16):
            return 0
        if not hmac.compare_digest(signed.encode(), self._signed(until).encode()):
            return 0
        return max(int(until) - self._clock(), 0)

    def _signed(self, until: str) -> str:
        return hmac.digest(self._key, until.encode(), "sha256").hex()


def network_of(address: str) -> str:
    """Return whom to hold an attempt against: of IPv6, the network that one customer has.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3"), network_of("?")
    ('192.0.2.7', '2001:db8::', '?')
    >>> network_of("::ffff:192.0.2.7")  # as one that listens on :: sees it
    '192.0.2.7'
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(found) if found.is_loopback else str(IPv6Address(int(found) >> 64 << 64))
    return address
