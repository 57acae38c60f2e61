"""A gateway's half of the wire: Rounds, limits and Receipts packed, reports opened.

How the messages look is said in `core.wire`, `core.tightening` and `net.device`.
"""

from ..core import wire
from ..core.budget import FIELDS, objection
from ..core.records import Report
from ..core.wire import REPORT_BYTES as REPORT_BYTES
from ..core.wire import VERSION, fault, open_message, round_body, sign


def map_topic(site, mechanism):
    """Return the topic where the latest map of a mechanism is retained."""
    return "heatveil/1/%s/map/%s" % (site, mechanism)


def pack_round(round, key, topic):
    """Return the signed message of a Round; the key is the site's, which every device has."""
    return sign(round_body(round), key, topic)


def pack_roster(roster, key, topic):
    """Return the signed message of a Roster; key is made from the root, which no gateway has."""
    body = {
        0: 1,
        1: roster.version,
        2: roster.shard,
        3: list(roster[2:9]),
        4: list(roster.neighbours),
        5: roster.statics,
        6: roster.digest,
    }
    return sign(wire.encode(body), key, topic)


def unpack_report(frame, key, topic, sender):
    """Return the Report in a frame from `sender`, or raise Fault."""
    body = open_message(frame, key, topic, REPORT_BYTES)
    sealed = body.get(6)
    try:
        name, values = body[3], body[4] if sealed is None else [0]
        counters = (body[1], body[2], body[5] if sealed is None else 0)
    except KeyError:
        raise fault("a report lacks a field", "the fields of wire.cddl") from None
    if not isinstance(name, bytes) or len(name) != 4 or not isinstance(values, list) or not values:
        raise fault("a report has no Round name of 4 bytes, or no readings", "both")
    if sealed is not None and (not isinstance(sealed, bytes) or 4 in body or 5 in body):
        raise fault("a report is both sealed and open, or its sealed part is not bytes", "one")
    for number in counters:
        if not isinstance(number, int) or not 0 <= number < 1 << 48:
            raise fault("a report's seq, epoch or scale is out of range", "0 to 2**48 - 1")
    for value in values:
        if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
            raise fault("a reading is no whole number of 32 bits", "-2**31 to 2**31 - 1")
    payload = [counters[2]] + values if sealed is None else sealed
    return Report(name, sender, counters[1], counters[0], payload)


def pack_limits(limits, key, topic):
    """Return the signed message that asks a device to tighten its limits."""
    if why := objection(limits):
        raise ValueError(why)
    body = {0: VERSION}
    for i in range(FIELDS):
        body[i + 1] = limits[i]
    return sign(wire.encode(body), key, topic)


def pack_receipt(epoch, seq, taken, key, topic):
    """Return the signed message that tells a device it need not send a report again."""
    body = {0: VERSION, 1: seq, 2: epoch, 3: 1 if taken else 0}
    return sign(wire.encode(body), key, topic)
