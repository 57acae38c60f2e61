"""A device forgets a report when its Receipt has come: here it is believed or not.

    Receipt {0: version 1, 1: seq, 2: epoch, 3: 1 when the report counts, else 0}

It is signed like a Round (`wire`), else whoever can write on the broker could make reports
vanish. Its key is the config key, for what the gateway says to one device alone.
"""

from ..core import cbor, wire

LONGEST = 64  # bytes of a Receipt


def unpack(message, key, topic):
    """Return (epoch, seq, taken) of a Receipt, or raise `wire.Fault`."""
    body = wire.opened(message, key, topic, LONGEST)
    for part in (1, 2, 3):
        if not isinstance(body.get(part), int) or not 0 <= body[part] < 1 << 48:
            raise wire.fault("a Receipt misses a counter below 2**48", "the fields of wire.cddl")
    return body[2], body[1], body[3] == 1


def heard(message, identity):
    """Return what `unpack` finds in a message to this device, or None where it is no Receipt.

    identity: its `keys.Identity`.
    """
    try:
        where = wire.topic(identity.site, identity.name, "receipt")
        return unpack(message, identity.config_key, where)
    except wire.BROKEN:
        return None


def numbers(frame):
    """Return (epoch, seq) of a frame of the device's own."""
    body = cbor.decode(frame[: -wire.MAC_BYTES])
    return body[2], body[1]
