"""Melexis MLX90641: 16 by 12 pixels, in hundredths of a kelvin; see `mlx9064x`.

A page is all pixels, each with an offset of that page; two rows of one page lie in front of two of
the other. A word of the memory is eleven bits, and five above them that tell of a bit that is
wrong. It draws 12 mA.

Source: Melexis, MLX90641 data sheet 3901090641, sections 10.6.2 and 11.1.
"""

from . import bus
from .bus import to_signed
from .mlx9064x import ADDRESS, PIXELS, ROW, Array, word_of

FINE = 10  # bits of alpha behind those of the memory
CHECKS = (0x0D5B, 0x166D, 0x278E, 0x47F0, 0xFFFF)  # of each an even number of bits is set
ODD = 0x6996  # which numbers of four bits have an odd number of ones


class Sensor(Array):
    """The array. empty: its counts of the empty room, or None for 20 degrees."""

    behind, sensors = (1, 5), 192

    def __init__(self, i2c, empty=None, address=ADDRESS):
        super().__init__(Kind(), i2c, empty, address)


class Kind:
    """Where its words lie, and what its memory says of each pixel."""

    name, mark, chess = "MLX90641", 1, 0
    behind, sensors, halves = Sensor.behind, Sensor.sensors, False
    besides, blinds = 0x0580, (8, 8)

    def learn(self, memory):
        """Keep the memory, and take apart what all pixels share; ValueError where it is torn."""
        self._memory = memory
        for i in range(16, 832):
            if not is_whole(word_of(memory, i)):
                raise ValueError(bus.RUBBISH)
        low, signed = self._low, (lambda i: to_signed(self._low(i), 11))
        long = lambda i: to_signed(low(i) << 5 | low(i + 1), 16)  # noqa: E731
        self.own = long(40), signed(42), signed(43), low(44)
        self.supply = 32 * signed(39), 32 * signed(38), low(51) >> 9
        self.gain = long(36)
        self.tgc, self.ksta = to_signed(low(51), 9), signed(34)
        self.ksto = signed(55), low(52)
        self._offsets = long(17), low(16) >> 5
        bits = [20 + one for i in (25, 26, 27) for one in (low(i) >> 5, low(i) & 31)]
        self.bits = max(bits) + FINE
        self._rows = [low(28 + i) << self.bits - bits[i] for i in range(6)]
        kta, kv = low(22), low(24)
        self.kta = [signed(21) + (to_signed(i, 6) << (kta & 31)) for i in range(64)], kta >> 5
        self.kv = [signed(23) + (to_signed(i, 5) << (kv & 31)) for i in range(32)], kv >> 5
        kta, kv = low(49), low(50)
        self.blind = ((long(47), to_signed(kta, 6), kta >> 6, to_signed(kv, 6), kv >> 6),) * 2
        self._blind_alpha = (self.tgc * signed(45) << self.bits) >> low(46) + 6

    def find_page(self, i, pages):
        """Return the page of a pixel: there is one."""
        return pages[0]

    def trim(self, i, page, kta, kv):
        """Return a pixel's offset, as it is now, and its alpha; nought where it is broken."""
        offset = self._low(640 + i if page else 64 + i)
        alpha, slopes = self._low(256 + i), self._low(448 + i)
        if not offset | alpha | slopes:
            return 0, 0
        mean, bits = self._offsets
        grown = kta[slopes >> 5] * kv[slopes & 31] >> 16
        offset = (mean + (to_signed(offset, 11) << bits)) * grown
        return offset, alpha * self._rows[i >> 5] // 2047 - self._blind_alpha

    def list_pixels(self, page):
        """Return where the pixels of a page lie, and in which of our bytes."""
        return [(PIXELS + at + ROW // 2 * page, at, at + ROW) for at in range(0, 384, ROW)]

    def _low(self, i):
        return word_of(self._memory, i) & 2047


def is_whole(word):
    """Say whether the checks of a word hold."""
    for check in CHECKS:
        left = word & check
        left ^= left >> 8
        left ^= left >> 4
        if ODD >> (left & 15) & 1:
            return False
    return True
