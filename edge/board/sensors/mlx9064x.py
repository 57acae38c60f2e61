"""Melexis MLX90640 and MLX90641, what both have: from a chip's words to hundredths of a kelvin.

A chip sends no degrees but counts, and a memory with what its maker measured. All is reckoned
here in whole numbers, so that every interpreter finds the same. Nothing is kept of a pixel but
its words: the memory, a frame and a list of counts are all that a board must hold.

    G = gain of the memory / gain now             what makes raw counts those that were calibrated
    s = G raw - offset (1 + kta dT) (1 + kv dV) - tgc c        c: the same of a pixel that is blind
    a = (alpha - tgc alpha of c) (1 + ksta dT)
    X = s / a,   T' = fourth root of (X + t**4)                t: the chip's own warmth
    T = fourth root of (X / (1 + ksto (T' - 273.15)) + t**4)

dT and dV are the chip's own warmth above 25 degrees and its supply above 3.3 V. This is what the
sheets have for an emissivity of 1: what a room sends is taken for all of its warmth. With any
less, what sends more than that would show a change as more than it is: 3 % for skin that was
taken for .95, 5 % for what is black, and noise is made for the change itself. With 1 none does;
what sends .95 shows about .95 of its change.

Behind the hundredths is the chip's converter, whose count is G / (4 a T**3 (1 + ksto T)), T of
the last in degrees: coarser in a corner, behind a wide lens and in the cold. So what is below
`COLDEST` is given as that; a pixel whose count could be coarser there than `behind` always shows
its empty room, as one does that its maker calls broken; and a frame whose G / (1 + ksta dT) is
above 5/4, for which that is reckoned, is refused. That limit is lower by as much as ksto makes a
count coarser once more, as T' depends on X: by 1 part in 100 where the chip is at 3 degrees. Which
pixels show nothing depends on the memory alone, and on no frame.

Registers and memory are words, high byte first, at addresses of sixteen bits. 0x8000: bit 3 says
that a page is new, bit 0 which. 0x800D, how it measures: bits 7 to 9 the rate (3 is four pages a
second), 10 and 11 the converter (2 is 18 bits), 12 pages as a chess board. 0x2400 on: the memory.

Source: Melexis, MLX90640 data sheet 3901090640 and MLX90641 data sheet 3901090641, sections 10
and 11 of both.
"""

from . import bus

ADDRESS = 0x33
MEMORY, PIXELS, STATUS, CONTROL = 0x2400, 0x0400, 0x8000, 0x800D
NEW, TAKEN = 8, b"\x00\x30"  # the bit of a new page; what takes it away, and lets the next one in
BITS18 = 2
MODE = 3 << 7 | BITS18 << 10 | 1
ROW = 64  # bytes at a time
START_MS, LOOK_MS, LOOKS = 80, 10, 120  # from power on; a page comes every 250 ms
ZERO, USUAL = 27315, 29815  # 0 and 25 degrees, in hundredths of a kelvin
COLDEST = 1500  # 15 degrees
LOWEST, HIGHEST = -10000, 50000  # it measures from -40 to 300 degrees


class Array(bus.Counted):
    """The array of a kind, its memory read. kind: a `Kind` of `mlx90640` or `mlx90641`."""

    step = (1, 100)

    def __init__(self, kind, i2c, empty, address):
        self._kind = kind
        self._i2c = i2c
        self._address = address
        self._empty = bus.level(empty, 2000, kind.sensors)
        self._raw = bytearray(2 * kind.sensors)
        self._beside = bytearray(96), bytearray(96)
        self._found = [0] * kind.sensors
        bus.pause(START_MS)
        memory = bytearray(1664)
        self._fill(MEMORY, memory)
        if word_of(memory, 10) >> 6 & 1 != kind.mark:
            raise ValueError(bus.ANOTHER % kind.name)
        kind.learn(memory)
        (num, den), (slope, bits) = kind.behind, kind.ksto
        cold = (ZERO + COLDEST) ** 3 * ((100 << bits) + slope * COLDEST)
        self._least = (5 * den * 10**8 << kind.bits + bits) // (16 * num * cold) + 1
        mode = MODE | kind.chess << 12
        bus.write(i2c, address, CONTROL, bytes([mode >> 8, mode & 255]), 16)

    def counts(self):
        """Return the count of each pixel, row by row, in hundredths of a degree Celsius."""
        pages = self._look()
        frames = {page: self._reckon(page) for page in pages}
        kind, found, near = self._kind, self._found, USUAL
        slope, bits = kind.ksto
        for i in range(kind.sensors):
            page = kind.find_page(i, pages)
            gain, blind, kta, kv, scale, around = frames[page]
            offset, alpha = kind.trim(i, page, kta, kv)
            if alpha < self._least:
                found[i] = self._empty[i]
                continue
            x = (bus.to_signed(word_of(self._raw, i), 16) * gain - offset - blind) * scale // alpha
            near = find_fourth_root(x + around, near)
            x = (x * 100 << bits) // ((100 << bits) + slope * (near - ZERO))
            near = find_fourth_root(x + around, near)
            found[i] = max(near - ZERO, COLDEST) if near else LOWEST - 1
        bus.possible(found, LOWEST, HIGHEST)
        return found

    def _reckon(self, page):
        """Return what the pixels of a page share: (G, tgc c, 1 + kta dT, 1 + kv dV, ...).

        Of kta and kv one for each code that a pixel may have. All have 16 bits behind the point.
        The rest is what an s / alpha is times to be X, and t**4, in hundredths of kelvins.
        """
        kind, beside = self._kind, self._beside[page]
        where = (0, 10, 32, 42, kind.blinds[page])
        base, gain, warm, supply, blind = [bus.to_signed(word_of(beside, i), 16) for i in where]
        if min(base, gain, warm) <= 0:
            raise ValueError(bus.RUBBISH)
        gain = (kind.gain << 16) // gain

        slope, usual, bits = kind.supply
        volts = ((supply << bits) - (usual << BITS18) << 16) // (slope << BITS18)
        usual, slope, lean, share = kind.own
        warmth = (warm << 35) // (warm * share + (base << 7))
        warmth = (warmth << 28) // ((1 << 28) + lean * volts)
        above = (warmth - (usual << 10)) * 8 // slope  # dT, in 1024ths

        def grow(slope, bits, by, behind):
            return (1 << 16) + (slope * by << 16 >> bits + behind)

        offset, kta, kta_bits, kv, kv_bits = kind.blind[page]
        offset = offset * grow(kta, kta_bits, above, 10) * grow(kv, kv_bits, volts, 16) >> 16
        blind = blind * gain - offset
        kta, kta_bits = kind.kta
        kv, kv_bits = kind.kv

        own = USUAL * 1024 + 100 * above
        slope = (1 << 25) + kind.ksta * above
        ksto, bits = kind.ksto
        kept = (100 << bits) + min(ksto * (ZERO + COLDEST - (own >> 10)), 0)
        if 4 * gain * (100 << bits + 9) > 5 * slope * kept:
            raise ValueError(bus.RUBBISH)
        scale = (10**8 << kind.bits + 9) // slope
        return (
            gain,
            kind.tgc * blind >> 6,
            [grow(slope, kta_bits, above, 10) for slope in kta],
            [grow(slope, kv_bits, volts, 16) for slope in kv],
            scale,
            own**4 >> 40,
        )

    def _look(self):
        """Wait for new pages, read what lies beside each and then the pixels; return which."""
        kind, i2c, address, said = self._kind, self._i2c, self._address, bytearray(2)
        last = None
        bus.write(i2c, address, STATUS, TAKEN, 16)
        for _ in range(LOOKS):
            if not bus.fill(i2c, address, STATUS, said, 16)[1] & NEW:
                bus.pause(LOOK_MS)
                continue
            page = said[1] & 1
            bus.write(i2c, address, STATUS, TAKEN, 16)
            self._fill(kind.besides, self._beside[page])
            if kind.halves and last != 1 - page:
                last = page
                continue
            for register, start, end in kind.list_pixels(page):
                self._fill(register, memoryview(self._raw)[start:end])
            if not bus.fill(i2c, address, STATUS, said, 16)[1] & NEW:  # none came in between
                return (0, 1) if kind.halves else (page,)
        raise ValueError(bus.RUBBISH)

    def _fill(self, register, buffer):
        """Fill a buffer, a row at a time: a word is two bytes, and has one address."""
        view = memoryview(buffer)
        for at in range(0, len(buffer), ROW):
            bus.fill(self._i2c, self._address, register + at // 2, view[at : at + ROW], 16)


def word_of(buffer, i):
    """Return a word of what a chip has sent."""
    return buffer[2 * i] << 8 | buffer[2 * i + 1]


def find_fourth_root(number, near):
    """Return the fourth root, rounded down; 0 where there is none. near: a number near it."""
    return find_root(find_root(number, near * near), near) if number > 0 else 0


def find_root(number, near):
    """Return the square root of a positive number, rounded down, by Newton's method."""
    found = max(near + number // max(near, 1) >> 1, 1)  # never below it, whatever was near
    while True:
        nearer = found + number // found >> 1
        if nearer >= found:
            return found
        found = nearer
