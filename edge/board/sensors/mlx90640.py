"""Melexis MLX90640: 32 by 24 pixels, in hundredths of a kelvin; see `mlx9064x`.

A page is half of the pixels, by chess board or by row: as its maker calibrated it. Of a pixel the
memory has one word: six bits of its offset, six of its alpha, three of its kta, and one that is
set where it is less exact; nought where it is broken. Its row and its column add to the first two.
It draws 20 mA.

Source: Melexis, MLX90640 data sheet 3901090640, section 11.1. In the chip whose memory the maker
published an alpha goes down to 2.8e-8: 0.4 K a count at 15 degrees.
"""

from array import array

from .bus import to_signed
from .mlx9064x import ADDRESS, PIXELS, Array, word_of

FINE = 5  # bits of alpha behind those of the memory


class Sensor(Array):
    """The array. empty: its counts of the empty room, or None for 20 degrees."""

    behind, sensors = (1, 2), 768

    def __init__(self, i2c, empty=None, address=ADDRESS):
        super().__init__(Kind(), i2c, empty, address)


class Kind:
    """Where its words lie, and what its memory says of each pixel."""

    name, mark = "MLX90640", 0
    behind, sensors, halves = Sensor.behind, Sensor.sensors, True
    besides, blinds = 0x0700, (8, 40)

    def learn(self, memory):
        """Keep the memory, and take apart what all pixels share."""
        self._memory = memory
        word = lambda i: word_of(memory, i)  # noqa: E731
        low, high = (lambda i: to_signed(word(i), 8)), (lambda i: to_signed(word(i) >> 8, 8))
        scales = word(56)
        kta_bits, kv_bits = (scales >> 4 & 15) + 8, scales >> 8 & 15
        self.chess = word(10) >> 11 & 1 ^ 1
        share = 32 * (word(16) >> 12) + 1024
        self.own = word(49), to_signed(word(50), 10), to_signed(word(50) >> 10, 6), share
        self.supply = 32 * high(51), 32 * (word(51) & 255) - 16384, scales >> 12 & 3
        self.gain = to_signed(word(48), 16)
        self.tgc, self.ksta = 2 * low(60), 4 * high(60)
        self.ksto = high(61), (word(63) & 15) + 8
        self._offsets = self._add(16, 18, to_signed(word(17), 16), 0)
        self._alphas = self._add(32, 34, word(33), FINE)
        self.bits = (word(32) >> 12) + 30 + FINE
        # Of an odd row and column as they are counted from 1, an odd row and an even column, ...
        kta, kv = [], []
        for shared, volts in ((high(54), 12), (high(55), 4), (low(54), 8), (low(55), 0)):
            kv.append(to_signed(word(52) >> volts, 4))
            for code in range(8):
                kta.append(shared + (to_signed(code, 3) << (scales & 15)))
        self.kta, self.kv = (kta, kta_bits), (kv, kv_bits)
        slopes = low(59), kta_bits, high(59), kv_bits
        offset, more = to_signed(word(58), 10), to_signed(word(58) >> 10, 6)
        self.blind = (offset,) + slopes, (offset + more,) + slopes
        alpha, more = to_signed(word(57), 10) << FINE + 3, to_signed(word(57) >> 10, 6)
        self._blind_alpha = self.tgc * alpha >> 6, self.tgc * alpha * (128 + more) >> 13

    def find_page(self, i, pages):
        """Return the page of a pixel."""
        return (i >> 5 ^ i & self.chess) & 1

    def trim(self, i, page, kta, kv):
        """Return a pixel's offset, as it is now, and its alpha; nought where it is broken."""
        word, row, column = word_of(self._memory, 64 + i), i >> 5, i & 31
        kind = (row & 1) << 1 | column & 1
        grown = kta[kind << 3 | word >> 1 & 7] * kv[kind] >> 16
        rows, columns, bits = self._offsets
        offset = rows[row] + columns[column] + ((word >> 10 ^ 32) - 32 << bits)
        rows, columns, bits = self._alphas
        alpha = rows[row] + columns[column] + ((word >> 4 & 63 ^ 32) - 32 << bits)
        return offset * grown, alpha - self._blind_alpha[page] if word else 0

    def _add(self, scales, start, mean, fine):
        """Return what a row, the mean of all in it, and a column add, and the bits of a pixel."""
        scales, added = word_of(self._memory, scales), []
        for i in range(56):
            nibble = to_signed(word_of(self._memory, start + i // 4) >> 4 * (i % 4), 4)
            added.append(nibble << (scales >> (8 if i < 24 else 4) & 15) + fine)
        rows = array("i", [(mean << fine) + one for one in added[:24]])
        return rows, array("i", added[24:]), (scales & 15) + fine

    def list_pixels(self, page):
        """Return where pixels lie, and in which of our bytes."""
        return ((PIXELS, 0, 1536),)
