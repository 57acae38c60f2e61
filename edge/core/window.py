"""A budget for any window of so many hours: what was spent comes back when it is a window old.

Only a device that was enrolled with a window loads this.
"""

# Time here is uptime that the device has counted itself. Nobody can set that, and it is never
# more than FAST of true time:
#
#     awake     whole seconds of `compat.Uptime`; a crystal runs fast by a thousandth at most, and
#               a fiftieth is allowed for
#     asleep    what the RTC counted between falling asleep and waking, by SLEPT, for the
#               oscillator that it then goes by may be a tenth fast; and never more than the sleep
#               was to last. An RTC that jumped counts for nothing
#     off       nothing. What was counted since the last write is lost in a power cut
#
# So between any two moments it grows by FAST of the time between them at most. It is cut into
# buckets of `step_s`, and each answer counts in the bucket in which it is read. Before an answer
# at cost c:
#
#     sum of the ring, buckets b - BUCKETS to b, + c <= budget
#
# Two answers that are not in one sum have more than BUCKETS steps of counted seconds between them,
# which is more than FAST of the window, so more than the window of true time. One bucket less in
# the sum and two budgets could be spent within one window.
#
# A lease ends with its bucket: an answer that was paid for in an earlier one would count as too
# old. What is left of it is still in the old bucket on the medium until the next write.
#
# Kept in the slots, after the limits (see `budget`), big-endian:
#
#     length 4, seconds | counted 4, seconds | stamp 4 | ring 25 x 5, nano-rho
#
# stamp: 0; in the memory that outlives a sleep, what the RTC said on falling asleep.
#
# Source: Kellaris, Papadopoulos, Xiao and Papadias 2014 (w-event privacy).

from .budget import EXHAUSTED, Budget, Copies, Lost

JUMPED = "its clock jumped in a sleep, which counts for nothing: what was spent comes back later"
WAITS = "its budget for this window is spent; enough returns after %s s of its own uptime"
BUCKETS = 24
RING = BUCKETS + 1
FAST = 51, 50
SLEPT = 10, 11
LATE_S = 60  # by which a sleep may be longer than was asked for; beyond it the RTC has jumped
HEAD = 12
WIDTH = 5  # bytes of a bucket
BYTES = HEAD + WIDTH * RING
MOST = (1 << 8 * WIDTH) - 1  # nano-rho of a budget
LEAST_S, MOST_S = 3600, 366 * 86400


def step_of(length_s):
    """Return the counted seconds of a bucket, of a window of so many true seconds."""
    return -(-length_s * FAST[0] // (FAST[1] * BUCKETS))


def pack_first(length_s, budget, spent=0):
    """Return what the slots of a newly enrolled device hold of a window.

    spent: what an earlier key may have given away within it, which comes back a window from now.
    """
    if not LEAST_S <= length_s <= MOST_S:
        raise ValueError(
            "a window of %d s was asked for and one from an hour to a year is needed, or its "
            "buckets are no time at all. Give another, or none" % length_s
        )
    if not spent <= budget <= MOST:
        raise ValueError(
            "a budget of %d nano-rho for a window, %d of it spent, cannot be kept; at most %d fit "
            "a bucket. Ask for a smaller epsilon" % (budget, spent, MOST)
        )
    ring = spent.to_bytes(WIDTH, "big") + bytes(WIDTH * BUCKETS)
    return length_s.to_bytes(4, "big") + bytes(HEAD - 4) + ring


class WindowBudget(Budget):
    """The ledger of a device that was enrolled with a window; as `Budget`.

    uptime: a `compat.Uptime`, looked at once a day at least; without one nothing comes back.
    window: its `Hours`, once it has booted.
    """

    LAPSED = "a bucket of its window ended while it was read, so what was read is not sent"
    FOLLOWS = (
        "%s has a window, and a level that follows its readings, by which what was read goes on "
        "into later windows. Take the recorded level"
    )

    def __init__(self, slots, state_key, lease=8, uptime=None):
        Budget.__init__(self, slots, state_key, lease, False)
        self._uptime = uptime
        self._short = 1  # what must be left, or it is exhausted: a price that could not be paid
        self._aged = 0  # the bucket that all slots say
        self._paid = -1, 0  # the Round of the last charge, and the bucket

    @property
    def left(self):
        """Return the nano-rho that may be spent now."""
        return 0 if not self.window else max(self.limits.budget - self.window.spent, 0)

    @property
    def exhausted(self):
        """Say whether too little is left, till a bucket ends."""
        return self.left < self._short

    @property
    def returns_s(self):
        """Return after how many seconds of uptime it is not exhausted any more; None for never."""
        return self.window.returns_s(self._short - self.left) if self.exhausted else 0

    @property
    def why(self):
        """Return why nothing is answered when it is exhausted; it follows from public numbers."""
        return EXHAUSTED if self.returns_s is None else WAITS % self.returns_s

    def describe(self):
        """Return what `meta` says of it."""
        said = {"left": self.left, "window_s": self.window.length_s, "returns_s": self.returns_s}
        if self.window.jumped:
            said["clock"] = JUMPED
        return said

    def boot(self, nap=None):
        """Start a new epoch, and count the sleep that this boot ends, if it does."""
        Budget.boot(self, nap)
        left = None if nap is None else nap.left
        self.window = Hours(self._copies.window if left is None else left.window, self._uptime)
        self._aged = Hours(self._copies.window, None).bucket
        if left is not None and nap.count_sleep(self.window):
            self.spent = self._end  # a lease ends with its bucket, also in a sleep

    def charge(self, price, round, once=False):
        """Return True when an answer at this price is paid for; False till a bucket ends."""
        self._ready()
        self._count()
        if price > self.left:
            self._short = price
            return False
        if not Budget.charge(self, price, round, once):
            return False
        self.window.spend(price)
        self._paid = round, self.window.bucket
        return True

    def age(self, fail):
        """Count the device's uptime, and once a bucket has ended write that; call it often.

        fail(fault): called where it cannot be kept.
        """
        if self.fault:
            return
        self._count()
        if self.window.spent and self.window.bucket != self._aged:
            try:
                self._put(self.epoch, self._end, self.round, self.chain, self.limits)
            except Exception as fault:
                fail(fault)

    def has_lapsed(self, round):
        """Say whether the bucket has ended in which an answer to this Round was paid for.

        What is read from then on would count as older than it is.
        """
        self._count()
        return self._paid != (round, self.window.bucket)

    def sleep(self, nap):
        """Leave to the next boot what all slots allow and this did not use; answer no more."""
        self._ready()
        self._count()
        Budget.sleep(self, nap)

    def _count(self):
        if self.window.age():
            self.spent = self._end  # the lease ends with its bucket, and is given up
            self._short = 1

    def _put(self, epoch, spent, round, chain, limits):
        if self.window:  # else it boots, and the ring stays as it is
            self._copies.window = self.window.pack(spent - self.spent)
            self._aged = self.window.bucket
        Budget._put(self, epoch, spent, round, chain, limits)


def open_budget(slots, state_key, lease=8, uptime=None):
    """Return the Budget or WindowBudget that these slots are for; nothing is written."""
    try:
        windowed = Copies(slots, state_key).read_newest().window
    except Lost:
        windowed = b""  # which its boot finds too
    if windowed:
        return WindowBudget(slots, state_key, lease, uptime)
    return Budget(slots, state_key, lease)


class Hours:
    """What was answered within the last window, and how long ago that is.

    kept: as `pack_first` or `pack` gave it. uptime: a `compat.Uptime`, or None: then it never
    ages.
    """

    def __init__(self, kept, uptime):
        numbers = [int.from_bytes(kept[at : at + 4], "big") for at in (0, 4, 8)]
        self.length_s, self.counted_s, self._stamp_s = numbers
        self.step_s = step_of(self.length_s)
        self.bucket = self.counted_s // self.step_s
        self._ring = [
            int.from_bytes(kept[at : at + WIDTH], "big") for at in range(HEAD, BYTES, WIDTH)
        ]
        self.jumped = False  # whether the RTC did in the sleep before this boot
        self._uptime = uptime
        self._since_ms = 0 if uptime is None else uptime.now_ms()
        self._sum()

    def pack(self, lease=0, stamp_s=0):
        """Return what to keep of it, with what is left of the running lease."""
        kept = b"".join([n.to_bytes(4, "big") for n in (self.length_s, self.counted_s, stamp_s)])
        for i in range(RING):
            more = lease if i == self.bucket % RING else 0
            kept += (self._ring[i] + more).to_bytes(WIDTH, "big")
        return kept

    def age(self):
        """Count the uptime since the last look; return whether a bucket has ended in it."""
        if self._uptime is None:
            return False
        seconds = (self._uptime.now_ms() - self._since_ms) // 1000
        if seconds < 1:
            return False
        self._since_ms += 1000 * seconds
        return self._count(seconds)

    def wake(self, asleep_s, now_s):
        """Count a sleep that was to last `asleep_s`, at whose end the RTC says `now_s`.

        Return whether a bucket has ended in it.
        """
        by_rtc_s = now_s - self._stamp_s
        self.jumped = not 0 < by_rtc_s <= asleep_s + LATE_S  # or somebody set it
        if self._uptime is None or self.jumped:
            return False
        self._since_ms = self._uptime.now_ms()  # the RTC counted till now
        return self._count((min(by_rtc_s, asleep_s) - 1) * SLEPT[0] // SLEPT[1])

    def spend(self, price):
        """Count an answer in the bucket that runs."""
        self._ring[self.bucket % RING] += price
        self.spent += price

    def returns_s(self, needed):
        """Return after how many counted seconds so much less is spent; None for never."""
        for ago in range(BUCKETS, -1, -1):
            needed -= self._ring[(self.bucket - ago) % RING]
            if needed <= 0:
                return (self.bucket - ago + RING) * self.step_s - self.counted_s
        return None

    def _count(self, seconds):
        self.counted_s += seconds
        bucket = self.counted_s // self.step_s
        if bucket == self.bucket:
            return False
        for old in range(self.bucket + 1, min(bucket, self.bucket + RING) + 1):
            self._ring[old % RING] = 0
        self.bucket = bucket
        self._sum()
        return True

    def _sum(self):
        self.spent = 0
        for cost in self._ring:
            self.spent += cost
