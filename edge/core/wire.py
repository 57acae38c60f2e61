"""What a device reads and writes: Rounds in, reports out, each with a MAC, on their topics."""

#     message = CBOR map || MAC
#     MAC     = first 16 bytes of HMAC-SHA256(key, len(topic), 2 bytes || topic || map)
#
#     Report  {0: version 1, 1: seq, 2: epoch, 3: name of the Round, 4 bytes,
#              4: readings, typed array, 5: first sensor,
#              6: sealed}         of central trust, in place of 4 and 5: see `central`
#     Round   {0: version 1, 1: number, 2: mechanism, 3: [columns, rows, cell_mm], 4: [params],
#              5: [epsilon num, den, delta num, den, rho num, den, neighbours, trust, unit,
#                  unprotected],      a pair of nulls where the promise is not made
#              6: public key, 32 bytes}   of central trust alone
#
# Keys of the maps that are not known are ignored. The length of a report follows from the
# Round, the sensor and the counters alone, never from a reading or its noise. A Report is
# made of numbers that have noise, or are sealed; there is no way in here for what a sensor saw.
#
# The other half, which a gateway needs, is in `host.post`. wire.cddl states the same for other
# languages.

from collections import namedtuple

from .compat import hmac_pads, hmac_sha256, same_bytes, sha256
from .records import Grid, Guarantee, Round, SealedRound

VERSION = 1
MAC_BYTES = 16
KEY_BYTES = 32  # of a public key
ROUND_BYTES = 1024  # the longest message that a device reads: memory is short there
HEAD = b"\xa6\x00\x01\x01"  # of a map of six parts: version 1, and part 1 is next
REPORT_BYTES = 16384  # the longest that a gateway reads


# What a hostile message can cause beside a Fault, on a board with little memory.
BROKEN = (ValueError, TypeError, MemoryError, OverflowError, RuntimeError)


class Fault(ValueError):
    """A message that is cut short, forged, of another version or out of bounds."""


def topic(site, node, leaf):
    """Return the topic of one leaf (data, meta, state, receipt ...) of one device."""
    return "heatveil/1/%s/%s/%s" % (site, node, leaf)


def round_topic(site, mechanism):
    """Return the topic where the open Round of a mechanism is retained."""
    return "heatveil/1/%s/round/%s" % (site, mechanism)


def name_of(round):
    """Return the four bytes by which reports name a Round: its calibration, hashed."""
    return sha256(round_body(round))[:4]


def unpack_round(message, key, topic, longest=ROUND_BYTES):
    """Return the Round in a message of at most `longest` bytes, or raise Fault."""
    body = open_message(message, key, topic, longest)
    try:
        columns, rows, cell_mm = body[3]
        n, d, dn, dd, rn, rd, neighbours, trust, unit, unprotected = body[5]
        epsilon, delta, rho = _ratio(n, d), _ratio(dn, dd), _ratio(rn, rd)
        promise = Guarantee(epsilon, delta, rho, neighbours, trust, unit, unprotected)
        round = Round(body[1], body[2], Grid((columns, rows), cell_mm), tuple(body[4]), promise)
    except (KeyError, TypeError, ValueError, IndexError):
        raise fault("a Round misses a part", "the fields of wire.cddl") from None
    for numbers in ((round.number, columns, rows, cell_mm), round.params, epsilon, delta, rho):
        for number in numbers or ():
            if not isinstance(number, int):
                raise fault("a Round holds something else than whole numbers", "whole numbers")
    for text in (body[2], neighbours, trust, unit, unprotected):
        if not isinstance(text, str):
            raise fault("a Round has a name or a promise that is no text", "text")
    if not 0 <= round.number < 1 << 48:
        raise fault("a Round's number is not below 2**48", "one that is")
    key = body.get(6)
    if key is None:
        return round
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise fault("a Round has no public key", "%d bytes" % KEY_BYTES)
    return SealedRound(*(tuple(round) + (key,)))


def _ratio(num, den):
    return None if num is None else (num, den)


def pack_report(report, key, topic, bits):
    """Return the signed frame of a Report; bits (16 or 32) is what the mechanism asks for.

    key: of 32 bytes, or its `signer` on this topic, here and wherever a message is opened.

    bits of a sealed one are its own business.
    """
    sealed = isinstance(report.payload, bytes)
    frame = bytearray(HEAD)
    frame[0] -= sealed  # a part less
    put(frame, report.seq)
    frame.append(2)
    put(frame, report.epoch)
    frame.append(3)
    put(frame, report.round)
    if sealed:
        frame.append(6)
        put(frame, report.payload)
    else:
        frame.append(4)
        _put_numbers(frame, bits, report.payload, 1)
        frame.append(5)
        put(frame, report.payload[0])
    frame.extend(_mac(frame, key, topic))
    return bytes(frame)


def round_body(round):
    """Return the map of a Round, encoded: always the same bytes for the same Round."""
    promise = round.guarantee
    body = bytearray(HEAD)
    body[0] += len(round) > 5
    put(body, round.number)
    body.append(2)
    put(body, round.mechanism)
    columns, rows = round.grid.shape
    body.extend(b"\x03\x83")
    put(body, columns)
    put(body, rows)
    put(body, round.grid.cell_mm)
    body.append(4)
    _head(body, 4, len(round.params))
    for number in round.params:
        put(body, number)
    body.extend(b"\x05\x8a")
    for ratio in (promise.epsilon, promise.delta, promise.rho):
        num, den = ratio or (None, None)
        put(body, num)
        put(body, den)
    for words in (promise.neighbours, promise.trust, promise.unit, promise.unprotected):
        put(body, words)
    if len(round) > 5:
        body.append(6)
        put(body, round.key)
    return body


def signer(key, topic):
    """Return what stands for a key on this one topic: for a key that is used there often."""
    name = topic.encode()
    inner, outer = hmac_pads(key)
    return inner + len(name).to_bytes(2, "big") + name, outer


def _mac(body, key, topic):
    return hmac_sha256(key if isinstance(key, tuple) else signer(key, topic), body)[:MAC_BYTES]


def write_mac(frame, key, topic):
    """Write the MAC of a message into its last bytes, which are there for it."""
    frame[-MAC_BYTES:] = _mac(memoryview(frame)[:-MAC_BYTES], key, topic)


def sign(body, key, topic):
    """Return the message of a map already encoded: the map and its MAC over topic and map."""
    return bytes(body) + _mac(body, key, topic)


def open_message(message, key, topic, longest):
    """Return the map in a message of at most `longest` bytes, or raise Fault."""
    if not MAC_BYTES < len(message) <= longest:
        raise fault("a message of %d bytes" % len(message), "17 to %d bytes" % longest)
    message = memoryview(message)  # whose slices are no copies
    body, mac = message[:-MAC_BYTES], message[-MAC_BYTES:]
    if not same_bytes(mac, _mac(body, key, topic)):
        raise Fault(
            "the MAC is not that of this message on %s: it was changed, cut, copied from another "
            "topic or signed with another key, and is not believed. Enrol the sender again if it "
            "is yours" % topic
        )
    try:
        value = decode(body)
    except ValueError as why:
        raise fault("a signed message that is no CBOR of ours (%s)" % why, "wire.cddl") from None
    if not isinstance(value, dict) or value.get(0) != VERSION:
        raise fault("a message that is not of version 1", "version %d" % VERSION)
    return value


def fault(given, needed):
    """Return the Fault that says what came and what was needed."""
    return Fault(
        "%s; needed: %s. It cannot be read safely. Bring sender and reader to one version"
        % (given, needed)
    )


# The part of CBOR (RFC 8949) that the wire uses: deterministic out, bounded in.
#
# Whole numbers of at most 64 bits, byte and text strings, arrays, maps with whole-number keys,
# null, and typed arrays (RFC 8746) of signed numbers, tags 77 and 78, and of unsigned ones, 69
# and 70, which are left packed. No floats, no indefinite lengths: a decoder that refuses them
# cannot be surprised by them.

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


def _put_numbers(out, bits, values, first):
    """Write a typed array of the values from the first on, refusing any that does not fit.

    Done by hand because `struct.pack` on MicroPython wraps such a number in silence.
    """
    _head(out, 6, TAGS[bits])
    _head(out, 2, (len(values) - first) * bits // 8)
    half = 1 << (bits - 1)
    least = -half
    for at in range(first, len(values)):  # which copies no list
        value = values[at]
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
        head = self._byte()
        if head < 24:  # the number itself, as most are
            return head
        major, number = head >> 5, self._number(head)
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
            items = []
            for _ in range(number):
                items.append(self.value(depth - 1))
            return items
        found = {}
        for _ in range(number):
            key = self.value(0)
            if not isinstance(key, int) or key in found:
                raise ValueError("a map key is not a whole number, or comes twice")
            found[key] = self.value(depth - 1)
        return found

    def _byte(self):
        at = self.at
        if at >= len(self._data):
            raise ValueError("cut short")
        self.at = at + 1
        return self._data[at]

    def _number(self, head):
        """Return the number that a head begins, whose first byte this is, and be behind it."""
        number = head & 31
        if number < 24 if head < 0xE0 else number == 22:
            return number
        if number > 27 or head >= 0xE0:
            raise ValueError(
                "it holds a float, an indefinite length or a value that we never send"
            )
        size, number = 1 << (number - 24), 0
        for _ in range(size):  # byte by byte, for a slice is one more thing to collect
            number = number << 8 | self._byte()
        return number

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
                head = self._byte()
                if head >> 5 != 2:  # no recursion: tags could nest for ever
                    raise ValueError("a typed array without all its bytes")
                packed = self._piece(self._number(head))
                if tag == TAGS[bits]:
                    return unpack_numbers(packed, bits)
                if len(packed) % (bits // 8):
                    break
                return Words(bits, bytes(packed))
        raise ValueError("tag %d is not known, or its bytes are no whole count" % tag)
