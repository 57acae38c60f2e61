"""What a device says of itself, to everybody. Apart from `node`, to be compiled in less memory."""

from ..mechanisms import veil
from . import limits, wire

VERSION = "0.1.0"


def meta(identity, budget, round, half, recorded_ms=None):
    """Return the device's `meta`; round is the last one it answered, or None.

    half: `veil`, or what stands in its place (`disk_half`). recorded_ms: when the level that is
    taken off its readings was recorded, in milliseconds of the epoch; None where nobody knows.
    """
    held = dict(zip(limits.NAMES, budget.limits))
    held["left"] = budget.left
    said = {
        "schema": wire.VERSION,
        "firmware": VERSION,
        "mode": identity.mode,
        "key": "".join(["%02x" % b for b in identity.key_id]),
        "boot": budget.epoch,
        "sensor": identity.sensor,
        "sensors": identity.sensors,
        "unit": "K",
        "limits": held,
    }
    if recorded_ms is not None:
        said["recorded_ms"] = recorded_ms
    if half is not veil:
        said.update(half.said())
    if round is not None:
        if half is veil:
            params = veil.params_of(round)
            said["exponent"], said["variance"] = params.exponent, params.variance
        said["calibration"] = "".join(["%02x" % b for b in wire.name_of(round)])
    return said
