"""What a board holds of a device: who it is, what its budget says. Looking changes nothing.

The slots are read as a start would read them, but no start is made of it: no epoch is used and
nothing is written. No key leaves the board; that it has the right ones it shows by a MAC over
a number that was made for this question.
"""

import binascii
import hashlib
import hmac
import os
from typing import NamedTuple

from edge.board.assemble import LEASE, SHARE
from edge.core.budget import Limits, price
from edge.mechanisms.disk_limits import total_epsilon

from ...mechanisms import USUAL, find_mechanism
from ..bundle import CONFIG, FOLDER
from .boards import Board, parse_lines

_ASK = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from binascii import hexlify, unhexlify
from edge.core import budget, compat
from edge.core.budget import Files
from edge.board import config
try:
    from edge.board import binding
except ImportError:  # of an earlier heatveil, which bound nothing
    binding = None
try:
    held = config.load(%r)
except ValueError as why:
    print("config", why)
else:
    who = held.identity
    print("config")
    print("name", who.name)
    print("site", who.site)
    print("mode", who.mode)
    print("key", hexlify(who.key_id).decode())
    print("driver", held.driver["name"])
    print("mechanism", held.mechanism)
    print("sensors", who.sensors)
    print("tick", held.tick_ms)
    own = getattr(held, "updates", None)  # an earlier heatveil takes none
    print("newest", -1 if own is None else own[1])
    print("shown", hexlify(compat.hmac_sha256(who.mac_key, unhexlify(%r))).decode())
    place = Files(%r, "budget")
    if binding is not None:
        place = binding.Bound(place, who.state_key, binding.board_number())
    kept = budget.Copies(place, who.state_key)
    try:
        if binding is not None and place.is_copied():
            raise budget.Lost(binding.COPIED)
        record = kept.read_newest()
    except budget.Lost as why:
        print("lost", why)
    else:
        print("lost")
        print("mended", kept.mended)
        spent = record.spent
        if record.window:
            from edge.core.window import Hours
            hours = Hours(record.window, None)
            spent = hours.spent
            print("window", hours.length_s)
        print("counts", record.counter, record.epoch, spent, record.round)
        print("limits", " ".join([str(n) for n in record.limits]))
gc.collect()
print("heap", gc.mem_free())
try:
    import os
    flash = os.statvfs("/")
    print("flash", flash[0] * flash[3])
except Exception:
    print("flash", -1)
try:
    import time
    print("clock", time.gmtime()[0])
except Exception:
    print("clock 0")
"""


WORDS = ("config", "name", "site", "mode", "key", "driver", "lost", "mended")  # "" if not said
WAITS = "its window is spent; it answers again by itself"  # and needs no new keys


class BoardState(NamedTuple):
    """What a board says. config and lost: why it has none, or ""; counter 0 where it is lost.

    spent: of its budget; where it has a window, of the last one. window: its seconds; 0 for none.

    heap and flash: bytes that are free; -1 where it cannot say. tick_ms: 0 without a config.
    newest: the release that it had by cable; -1 where it takes none over the air.
    """

    config: str
    name: str
    site: str
    mode: str
    key: str
    driver: str
    mechanism: str
    ours: bool
    lost: str
    mended: str
    counter: int
    epoch: int
    spent: int
    round: int
    limits: Limits | None
    heap: int
    flash: int
    clock: int
    sensors: int = 1
    tick_ms: int = 0
    window: int = 0
    newest: int = -1

    @property
    def nano_rho_left(self) -> int:
        """Return the nano-rho that may still be spent, lease included."""
        return max(self.limits.budget - self.spent, 0) if self.limits is not None else 0

    @property
    def answers_left(self) -> int:
        """Return how many answers of the least noise that is."""
        return (
            count_affordable_answers(self.limits, self.nano_rho_left)
            if self.limits is not None
            else 0
        )

    @property
    def answers_at_risk(self) -> int:
        """Return how many answers at most were paid for and are lost when it is stopped."""
        if self.limits is None or not self.epoch:
            return 0
        return max(
            min(LEASE, count_affordable_answers(self.limits, self.limits.budget) // SHARE) - 1, 0
        )

    @property
    def budget_state(self) -> str:
        """Return what the device would say on its state topic, as far as its budget goes."""
        if self.config or self.lost:
            return "alert"
        return "ready" if self.nano_rho_left else "exhausted"


def count_affordable_answers(held: Limits, left: int) -> int:
    """Return how many answers so many nano-rho pay for, with the least noise that is allowed."""
    return left // max(int(price(held, held.exponent, held.variance)), 1)


def describe_budget(mechanism: str, held: Limits, left: int | None = None) -> str:
    """Return what a budget is, or what of it is left, in the unit that its promise is told in.

    The slots hold whole nano-rho. How much of a promised epsilon those are, the cap beside them
    says: a device that tells its place pays in proportion to the epsilon of an answer.

    >>> describe_budget("thermal", Limits(1, 8, 1, 4, 1000, 0), 250)
    '250 of 1000 nano-rho'
    >>> pure = Limits(1, 0, 1, 4, 2 * 10**9, 0)  # an answer: 1/2 at most
    >>> describe_budget("disk", pure, 5 * 10**8)
    'epsilon 2 of 8'
    """
    parts = (held.budget,) if left is None else (left, held.budget)
    if find_mechanism(mechanism).reads == "temperature":
        return f"{' of '.join(map(str, parts))} nano-rho"
    ratios = [total_epsilon(held._replace(budget=part)) for part in parts]
    return f"epsilon {' of '.join(f'{num / den:.6g}' for num, den in ratios)}"


def read_board_state(board: Board, mac_key: bytes | None = None) -> BoardState:
    """Return what a board holds; ours where it has this MAC key.

    Raises:
        BoardFault: it cannot be asked, or has no edge on it.
    """
    question = os.urandom(16)
    said = board.run(_ASK % (CONFIG, question.hex(), FOLDER))
    lines = parse_lines(said)
    counts = [int(number) for number in lines.get("counts", "0 0 0 -1").split()]
    numbers = [int(number) for number in lines.get("limits", "").split()]
    shown = binascii.unhexlify(lines.get("shown", ""))
    counter, epoch, spent, newest = counts
    return BoardState(
        **{word: lines.get(word, "") for word in WORDS},
        mechanism=lines.get("mechanism", USUAL),
        ours=mac_key is not None
        and hmac.compare_digest(shown, hmac.digest(mac_key, question, hashlib.sha256)),
        counter=counter,
        epoch=epoch,
        spent=spent,
        round=newest,
        limits=Limits(*numbers) if numbers else None,
        heap=int(lines["heap"]),
        flash=int(lines["flash"]),
        clock=int(lines["clock"]),
        sensors=int(lines.get("sensors", 1)),
        tick_ms=int(lines.get("tick", 0)),
        window=int(lines.get("window", 0)),
        newest=int(lines.get("newest", -1)),
    )
