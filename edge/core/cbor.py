"""The part of CBOR (RFC 8949) that the wire uses: deterministic out, bounded in.

Whole numbers of at most 64 bits, byte and text strings, arrays, maps with whole-number keys,
null, and typed arrays (RFC 8746) of signed numbers, tags 77 and 78, and of unsigned ones, 69 and
70, which are left packed. No floats, no indefinite lengths: a decoder that refuses them cannot be
surprised by them.
"""

from collections import namedtuple

# A list of whole numbers that travels as `bits` (16 or 32) wide little-endian integers.
Typed = namedtuple("Typed", ("bits", "values"))

# Unsigned numbers, already packed as `bits` (16 or 32) wide little-endian integers.
Words = namedtuple("Words", ("bits", "packed"))

TAGS = {16: 77, 32: 78}
WORD_TAGS = {16: 69, 32: 70}
PACKED = (bytes, bytearray, memoryview)
DEPTH = 4  # arrays or maps within one another; no message of ours needs more


def encode(value):
    """Return the bytes of a value; ValueError where it has none here."""
    out = bytearray()
    put(out, value)
    return bytes(out)


def put(out, value):
    """Write a value at the end of a bytearray; ValueError where it has no bytes here."""
    if isinstance(value, int):  # first, for most are
        _head(out, 0 if value >= 0 else 1, value if value >= 0 else -1 - value)
    elif value is None:
        out.append(0xF6)
    elif isinstance(value, Typed):
        _head(out, 6, TAGS[value.bits])
        _head(out, 2, len(value.values) * value.bits // 8)
        _numbers(out, value.values, value.bits)
    elif isinstance(value, Words):
        _head(out, 6, WORD_TAGS[value.bits])
        put(out, value.packed)
    elif isinstance(value, PACKED):
        _head(out, 2, len(value))
        out.extend(value)
    elif isinstance(value, str):
        text = value.encode()
        _head(out, 3, len(text))
        out.extend(text)
    elif isinstance(value, list):  # no tuple: records are tuples, and a Reading must not get in
        _head(out, 4, len(value))
        for item in value:
            put(out, item)
    elif isinstance(value, dict):
        _head(out, 5, len(value))
        for key in sorted(value):  # because a dict has no order on MicroPython
            put(out, key)
            put(out, value[key])
    else:
        raise ValueError("a %s has no place in a message" % type(value).__name__)


def head_of(size, bits=0):
    """Return what goes before so many bytes, which are words of so many bits, or none."""
    out = bytearray()
    if bits:
        _head(out, 6, WORD_TAGS[bits])
    _head(out, 2, size)
    return bytes(out)


def _head(out, major, number):
    major <<= 5
    if number < 24:
        out.append(major | number)
        return
    for extra, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number >> (8 * size) == 0:
            out.append(major | extra)
            while size:
                size -= 1
                out.append(number >> (8 * size) & 255)
            return
    raise ValueError("%d does not fit the 64 bits of a whole number in a message" % number)


def _numbers(out, values, bits):
    """Write whole numbers as two's complement, little-endian, refusing any that do not fit.

    Done by hand because `struct.pack` on MicroPython wraps such a number in silence.
    """
    half = 1 << (bits - 1)
    least = -half
    for value in values:
        if not least <= value < half:
            raise ValueError("a reading does not fit %d bits" % bits)
        for shift in range(0, bits, 8):
            out.append(value >> shift & 255)


def unpack_numbers(packed, bits):
    """Return the list of whole numbers that a typed array holds."""
    size = bits // 8
    if len(packed) % size:
        raise ValueError("%d bytes are no whole count of %d-bit numbers" % (len(packed), bits))
    half = 1 << (bits - 1)
    numbers = []
    for at in range(0, len(packed), size):
        value = int.from_bytes(packed[at : at + size], "little")
        numbers.append(value - 2 * half if value >= half else value)
    return numbers


def decode(data):
    """Return the one value in data; ValueError if it is cut short, too deep or not ours."""
    reader = Reader(data)
    value = reader.value(DEPTH)
    if reader.at != len(data):
        raise ValueError("%d bytes too many at the end" % (len(data) - reader.at))
    return value


class Reader:
    """Reads values out of bytes, one after the other; `at` is where the next one begins."""

    def __init__(self, data):
        self.at = 0
        self._data = data

    def value(self, depth):
        """Return the next value, with arrays and maps so deep in one another at most."""
        major = self._major()
        number = self._number(major)
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major == 2:
            return bytes(self._piece(number))
        if major == 3:
            return str(self._piece(number), "utf-8")
        if major == 6:
            return self._typed(number)
        if major == 7:
            return None
        if not depth:
            raise ValueError("nested deeper than %d" % DEPTH)
        if number > len(self._data) - self.at:
            raise ValueError("cut short: it promises %d items" % number)
        if major == 4:
            items = [None] * number
            for i in range(number):
                items[i] = self.value(depth - 1)
            return items
        found = {}
        for _ in range(number):
            key = self.value(0)
            if not isinstance(key, int) or key in found:
                raise ValueError("a map key is not a whole number, or comes twice")
            found[key] = self.value(depth - 1)
        return found

    def _major(self):
        if self.at >= len(self._data):
            raise ValueError("cut short")
        return self._data[self.at] >> 5

    def _number(self, major):
        """Return the number in the head that begins here, and be behind it."""
        number = self._data[self.at] & 31
        self.at += 1
        if number < 24 if major != 7 else number == 22:
            return number
        if number > 27 or major == 7:
            raise ValueError("it holds a float, an indefinite length or another value not ours")
        return int.from_bytes(self._piece(1 << (number - 24)), "big")

    def _piece(self, size):
        """Return so many bytes from here on, as they lie there, and be behind them."""
        end = self.at + size
        if end > len(self._data):
            raise ValueError("cut short: %d bytes are missing" % (end - len(self._data)))
        piece = self._data[self.at : end]
        self.at = end
        return piece

    def _typed(self, tag):
        for bits in TAGS:
            if tag in (TAGS[bits], WORD_TAGS[bits]):
                if self._major() != 2:  # no recursion: tags could nest for ever
                    raise ValueError("a typed array without all its bytes")
                packed = self._piece(self._number(2))
                if tag == TAGS[bits]:
                    return unpack_numbers(packed, bits)
                if len(packed) % (bits // 8):
                    break
                return Words(bits, bytes(packed))
        raise ValueError("tag %d is not known, or its bytes are no whole count" % tag)
