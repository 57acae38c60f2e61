"""The noise of the next frame, drawn before there is a reading that it will hide.

Noise depends on the key, the boot, the number of the frame and the variance, and on no reading.
So it can lie ready when a Round comes: the time that a draw takes, which tells how large the
noise is, then lies between two frames and not between a Round and its answer.

    prepare   draw for frame seq + 1, if that is not done
    take      give that noise out, once, and with it the number of its frame

Where a Round asks for another variance, or for tables (`bulk`) where exact noise lies ready, that
is thrown away and drawn again. A keyed stream is then read once more from its start: nothing that
was drawn from it was ever used.
"""

from . import entropy, keys


class Ahead:
    """The frame counter of one boot, and the noise of the frame to come.

    identity: a `keys.Identity`. budget: its `budget.Budget`, for the keys of this boot and for
    what was used of them: a second node on one budget goes on where the first one is, and does
    not read the same streams again.
    """

    def __init__(self, identity, budget):
        self.seq = 0  # of the last frame whose noise was given out
        self.drawn = 0  # times; that it was, and when, must not show in what goes out
        self._identity = identity
        self._budget = budget
        self._epoch = budget.epoch
        self._noise = None
        self._for = None  # the mechanism, the variance and the tables that it was drawn for
        self._tables = self._tables_for = None
        if identity.mode == "sealed":  # one stream for the whole boot, never repeated
            stamp = budget.epoch.to_bytes(8, "big")
            if budget.stream is None:
                budget.stream = self._sealed = entropy.sealed(budget.chain, stamp)
            self._sealed = budget.stream
        else:
            self._sealed = None
            self._epoch_key = keys.epoch_key(budget.chain, budget.epoch)
            self._stream()  # refuses now what it would refuse later

    def prepare(self, mechanism, variance, digits=0):
        """Draw the noise of the next frame, unless it is there; variance in grains squared.

        digits: bits of the tables that the Round asks for, 0 where it asks for exact noise.
        """
        if self.seq != self._budget.frames:  # another node was here
            self.seq, self._noise = self._budget.frames, None
        if self._noise is None or self._for != (mechanism.NAME, variance, digits):
            self._noise = None  # a draw that breaks off must not leave what another needs
            self.drawn += 1
            self.build(variance, digits)
            given = [variance, self._identity.sensors, self._stream()]
            if self._tables is not None:
                given.append(self._tables)
            self._noise = mechanism.draw(*given)
            self._for = (mechanism.NAME, variance, digits)

    def build(self, variance, digits):
        """Have the tables that noise is drawn from, or none; MemoryError where they do not fit."""
        if self._tables_for == (variance, digits):
            return
        self._tables = self._tables_for = None  # first, to make room
        if digits:
            from ..mechanisms import bulk

            self._tables = bulk.source(variance, digits, self._identity.sensors)
        self._tables_for = (variance, digits)

    def take(self, mechanism, variance, digits=0):
        """Return the noise of frame `seq`, which this call raises by one."""
        self.prepare(mechanism, variance, digits)
        noise = self._noise
        self._noise = None  # whatever happens to the frame, no second one gets it
        self.seq += 1
        self._budget.frames = self.seq
        return noise

    def _stream(self):
        if self._sealed is not None:
            return self._sealed
        who = self._identity
        return entropy.opened(self._epoch_key, who.name, self._epoch, self.seq + 1, who.sensor)
