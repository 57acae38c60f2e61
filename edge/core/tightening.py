"""Tighter limits over the air: read, and held against those in force. Loaded when one comes.

Message: the CBOR map {0: 1, 1: version, 2: exponent, 3: square, 4: variance, 5: budget,
6: pace_ms} with its MAC under the device's config key, as in `wire`.
"""

from . import wire
from .budget import FIELDS, Limits, align_grains, objection

LONGEST = 128  # bytes of a message


def topic(site, node):
    """Return the topic on which a device takes tighter limits."""
    return wire.topic(site, node, "cmd/limits")


def take_limits(message, identity, held, half=None):
    """Return the Limits in a message, or None, and why they are not taken, or "".

    identity: of the device; held: the limits in force. half: of its mechanism, which may have
    something to say of limits beside what is said here.
    """
    limits = None
    try:
        limits = unpack_limits(message, identity.config_key, topic(identity.site, identity.name))
        why = "" if limits == held else explain_loosening(held, limits)
        if not why and hasattr(half, "explain_loosening"):
            why = half.explain_loosening(held, limits)
        return limits, why
    except wire.Fault as fault:
        return limits, str(fault)
    except wire.BROKEN as fault:
        return limits, "it cannot be read on this device (%s)" % type(fault).__name__


def unpack_limits(message, key, topic):
    """Return the Limits in a message signed with the device's config key, or raise Fault."""
    body = wire.open_message(message, key, topic, LONGEST)
    limits = Limits(*[body.get(i + 1) for i in range(FIELDS)])
    if why := objection(limits):
        raise wire.Fault(why)
    return limits


def explain_loosening(old, new):
    """Return why the new limits protect less than the old, or "" where they do not."""
    if why := objection(new):
        return why
    if new.version <= old.version:
        return "limits of version %d came, and version %d is in force; newer ones are needed" % (
            new.version,
            old.version,
        )
    if new.exponent < old.exponent:
        return _loose("coarser grains", "make the grain finer")
    for what, before, after in (
        ("a smaller sensitivity", old.square, new.square),
        ("less noise", old.variance, new.variance),
    ):
        before, after = align_grains(before, old.exponent, after, new.exponent)
        if after < before:
            return _loose(what, "raise it")
    if new.budget > old.budget:
        return _loose("a larger budget", "lower it")
    if new.pace_ms < old.pace_ms:
        return _loose("a faster pace", "slow it down")
    return ""


def _loose(what, instead):
    return (
        "the new limits allow %s, and over the air limits only become tighter, for whoever "
        "stole a key must not be able to lift the veil; %s, or enrol the device again"
        % (what, instead)
    )
