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

from . import cbor
from .compat import hmac_sha256, same_bytes, sha256
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
        pairs = [None if num is None else (num, den) for num, den in ((n, d), (dn, dd), (rn, rd))]
        guarantee = Guarantee(pairs[0], pairs[1], pairs[2], neighbours, trust, unit, unprotected)
        round = Round(body[1], body[2], Grid((columns, rows), cell_mm), tuple(body[4]), guarantee)
    except (KeyError, TypeError, ValueError, IndexError):
        raise fault("a Round misses a part", "the fields of wire.cddl") from None
    numbers = [round.number, columns, rows, cell_mm]
    for part in (round.params, pairs[0], pairs[1], pairs[2]):
        numbers.extend(part or ())
    for number in numbers:
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


def pack_report(report, key, topic, bits):
    """Return the signed frame of a Report; bits (16 or 32) is what the mechanism asks for.

    bits of a sealed one are its own business.
    """
    sealed = isinstance(report.payload, bytes)
    frame = bytearray(HEAD)
    frame[0] -= sealed  # a part less
    cbor.put(frame, report.seq)
    frame.append(2)
    cbor.put(frame, report.epoch)
    frame.append(3)
    cbor.put(frame, report.round)
    if sealed:
        frame.append(6)
        cbor.put(frame, report.payload)
    else:
        frame.append(4)
        cbor.put(frame, cbor.Typed(bits, report.payload[1:]))
        frame.append(5)
        cbor.put(frame, report.payload[0])
    frame.extend(_mac(frame, key, topic))
    return bytes(frame)


def round_body(round):
    """Return the map of a Round, encoded: always the same bytes for the same Round."""
    promise = round.guarantee
    ratios = []
    for ratio in (promise.epsilon, promise.delta, promise.rho):
        ratios += [None, None] if ratio is None else list(ratio)
    words = [promise.neighbours, promise.trust, promise.unit, promise.unprotected]
    body = {
        0: VERSION,
        1: round.number,
        2: round.mechanism,
        3: list(round.grid.shape) + [round.grid.cell_mm],
        4: list(round.params),
        5: ratios + words,
    }
    if len(round) > 5:
        body[6] = round.key
    return cbor.encode(body)


def _mac(body, key, topic):
    name = topic.encode()
    return hmac_sha256(key, len(name).to_bytes(2, "big"), name, body)[:MAC_BYTES]


def write_mac(frame, key, topic):
    """Write the MAC of a message into its last bytes, which are there for it."""
    frame[-MAC_BYTES:] = _mac(memoryview(frame)[:-MAC_BYTES], key, topic)


def sign(body, key, topic):
    """Return the message of a map already encoded: the map and its MAC over topic and map."""
    return body + _mac(body, key, topic)


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
        value = cbor.decode(body)
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
