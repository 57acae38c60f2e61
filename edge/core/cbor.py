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
DEPTH = 4  # arrays or maps within one another; no message of ours needs more


def encode(value):
    """Return the bytes of a value; ValueError where it has none here."""
    out = bytearray()
    _put(out, value)
    return bytes(out)


def _put(out, value):
    if isinstance(value, int):  # first, for most are
        out.extend(_head(0, value) if value >= 0 else _head(1, -1 - value))
    elif value is None:
        out.append(0xF6)
    elif isinstance(value, Typed):
        out.extend(_head(6, TAGS[value.bits]))
        _put(out, pack_numbers(value.values, value.bits))
    elif isinstance(value, Words):
        out.extend(head_of(len(value.packed), value.bits))
        out.extend(value.packed)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        out.extend(_head(2, len(value)))
        out.extend(value)
    elif isinstance(value, str):
        text = value.encode()
        out.extend(_head(3, len(text)))
        out.extend(text)
    elif isinstance(value, list):  # no tuple: records are tuples, and a Reading must not get in
        out.extend(_head(4, len(value)))
        for item in value:
            _put(out, item)
    elif isinstance(value, dict):
        out.extend(_head(5, len(value)))
        for key in sorted(value):  # because a dict has no order on MicroPython
            _put(out, key)
            _put(out, value[key])
    else:
        raise ValueError("a %s has no place in a message" % type(value).__name__)


def head_of(size, bits=0):
    """Return what goes before so many bytes, which are words of so many bits, or none."""
    return (_head(6, WORD_TAGS[bits]) if bits else b"") + _head(2, size)


def _head(major, number):
    major <<= 5
    if number < 24:
        return bytes((major | number,))
    for extra, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number >> (8 * size) == 0:
            return bytes([major | extra]) + number.to_bytes(size, "big")
    raise ValueError("%d does not fit the 64 bits of a whole number in a message" % number)


def pack_numbers(values, bits):
    """Return whole numbers as two's complement, little-endian, refusing any that do not fit.

    Done by hand because `struct.pack` on MicroPython wraps such a number in silence.
    """
    half = 1 << (bits - 1)
    packed = bytearray()
    for value in values:
        if not -half <= value < half:
            raise ValueError("a reading does not fit %d bits" % bits)
        packed.extend((value & (2 * half - 1)).to_bytes(bits // 8, "little"))
    return bytes(packed)


def unpack_numbers(packed, bits):
    """Return the list of whole numbers that `pack_numbers` packed."""
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
    value, end = _decode(data, 0, DEPTH)
    if end != len(data):
        raise ValueError("%d bytes too many at the end" % (len(data) - end))
    return value


def _decode(data, at, depth):
    major, number, at = _read_head(data, at)
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        if number > len(data) - at:
            raise ValueError("cut short: %d bytes are missing" % (number - len(data) + at))
        piece = bytes(data[at : at + number])
        return (piece if major == 2 else piece.decode()), at + number
    if major in (4, 5):
        if not depth:
            raise ValueError("nested deeper than %d" % DEPTH)
        if number > len(data) - at:
            raise ValueError("cut short: it promises %d items" % number)
        if major == 4:
            return _array(data, number, at, depth - 1)
        return _map(data, number, at, depth - 1)
    if major == 6:
        return _decode_type(data, number, at)
    if number == 22:
        return None, at
    raise ValueError("it holds a float or another value that no message of ours has")


def _read_head(data, at):
    if at >= len(data):
        raise ValueError("cut short")
    major, number = data[at] >> 5, data[at] & 31
    at += 1
    if number < 24:
        return major, number, at
    if number > 27 or major == 7:
        raise ValueError("it holds a float, an indefinite length or a reserved value")
    size = 1 << (number - 24)
    if size > len(data) - at:
        raise ValueError("cut short")
    return major, int.from_bytes(data[at : at + size], "big"), at + size


def _array(data, count, at, depth):
    items = []
    for _ in range(count):
        item, at = _decode(data, at, depth)
        items.append(item)
    return items, at


def _map(data, count, at, depth):
    items = {}
    for _ in range(count):
        key, at = _decode(data, at, 0)
        if not isinstance(key, int) or key in items:
            raise ValueError("a map key is not a whole number, or comes twice")
        items[key], at = _decode(data, at, depth)
    return items, at


def _decode_type(data, tag, at):
    for bits in TAGS:
        if tag in (TAGS[bits], WORD_TAGS[bits]):
            major, size, at = _read_head(data, at)  # no recursion: tags could nest for ever
            if major != 2 or size > len(data) - at:
                raise ValueError("a typed array without all its bytes")
            packed = bytes(data[at : at + size])
            if tag == TAGS[bits]:
                return unpack_numbers(packed, bits), at + size
            if size % (bits // 8):
                raise ValueError("%d bytes are no whole count of %d-bit numbers" % (size, bits))
            return Words(bits, packed), at + size
    raise ValueError("tag %d is not known" % tag)
