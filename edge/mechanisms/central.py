"""A mechanism of central trust on a device: the report is private, and sealed to its round's key.

The device adds no noise: the gateway does, to what all devices say together. So a device does this
only where its enrolment allows it, by the mechanism's name; what stands for that is the seal key.
What leaves it opens for the gateway alone, and for that only till the round is released, when the
round's key is destroyed. The broker learns that the device answered: every frame of a Round has
one length, whatever was read and also where nothing was.

    psk    = HMAC(root, "heatveil-seal-v1"), the seal key; psk_id = key_id
    info   = "heatveil-seal-v1" || SHA-256(Round's map) || len(site), 1 byte || site
             || len(device), 1 byte || device
    aad    = topic || epoch, 8 bytes || seq, 8 bytes
    plain  = how many numbers, 2 bytes || each as 8 bytes, signed || zeros up to the Round's length

A mechanism of central trust is a module with

    NAME
    epsilon(round)     (num, den) of one answer, pure
    objection(round)   why its params are none, or "", from public numbers alone
    count_numbers(round)   how many numbers its longest payload has
    report(round, reading, rng)   the payload [sensor, ...]; draws nothing from rng

Limits and prices are those of `disk_limits`: a pure epsilon an answer.
"""

from collections import namedtuple

from ..core.compat import hmac_sha256, sha256
from ..core.records import Report
from ..core.wire import REPORT_BYTES, round_body, topic
from . import crypto, disk_limits
from . import module_of as module_of

ENC = 32  # bytes of a public key
EXTRA = ENC + crypto.TAG  # that sealing adds
_KEM = b"HPKE-v1KEM\x00\x20"
_SUITE = b"HPKE-v1HPKE\x00\x20\x00\x01\x00\x03"
_PSK = b"\x01"  # the mode
LABEL = b"heatveil-seal-v1"
WIDTH = 8  # bytes of a number
# Of a payload at the most: 64 bytes are for the rest of a frame, which a gateway must still read.
NUMBERS = (REPORT_BYTES - 64 - EXTRA - 2) // WIDTH
IDENTITY = 10  # parts of an `entropy.Identity`; an `Allowed` has more
NOT_ALLOWED = (
    "central-not-allowed: it asks for a report without noise of its own, sealed to the gateway, "
    "and this device is not enrolled for that; enrol it with --central, if its people agree"
)


# An Identity of a device that may answer a mechanism of central trust: its name, and the key that
# its reports are sealed with beside the Round's.
Allowed = namedtuple(
    "Allowed",
    "site name sensor sensors mode site_key mac_key config_key state_key key_id central seal_key",
)


def make_sealer(mechanism, identity, other):
    """Return what a Node of central trust works with, and what it draws ahead: keys.

    other: whether the device was given something that is for temperatures.
    """
    of = module_of(mechanism)
    if not hasattr(of, "count_numbers"):  # nor one that a secure sum is for
        raise ValueError(
            "%s was to answer %s, which no device can; it can measure (thermal), tell a place "
            "near its own (disk) or seal it to the gateway (ranks, pyramid). Name one of these"
            % (identity.name, mechanism)
        )
    if identity.sensors != 1 or other:
        raise ValueError(
            "%s is to answer %s, and has %d sensors or something that is for temperatures: a "
            "step, a level that follows, tables. A place is one sensor's. Leave the others out"
            % (identity.name, mechanism, identity.sensors)
        )
    found = Sealer(of, identity)
    return found, (0, 0) if found.allowed else None


def width(round):
    """Return how many bits a number of a report has, which nobody sees."""
    return 8 * WIDTH


class Sealer:
    """A mechanism of central trust as a Node uses it. allowed: whether its enrolment names it."""

    def __init__(self, of, identity):
        self.NAME = of.NAME
        self.allowed = len(identity) > IDENTITY and identity.central == of.NAME
        self._of, self._identity = of, identity

    def objection(self, round, identity, limits, newest):
        """Return why this device must not answer a Round, or "".

        As in `thermal_half`: from public numbers alone, before anything is charged or read.
        """
        if not self.allowed:
            return NOT_ALLOWED
        if identity.mode != "sealed":
            return (
                "it asks for a sealed report, and this device is not sealed itself: who holds its "
                "root could open that"
            )
        if len(round) < 6 or not is_central(round.guarantee):
            return "it has no key that a report could be sealed to, or its trust is not central"
        if round.number <= newest:
            return "it is round %d, and round %d is already answered" % (round.number, newest)
        why = self._of.objection(round)
        if why:
            return why
        # What seals must not fail after the answer is paid for.
        if min(round.grid.shape) < 1:
            return "its grid of %d x %d cells has none" % tuple(round.grid.shape)
        if self._of.count_numbers(round) > NUMBERS:
            return "its reports of %d numbers are longer than the %d that a gateway reads" % (
                self._of.count_numbers(round),
                NUMBERS,
            )
        if crypto.has_low_order(round.key):
            return "its public key is of low order, and what is sealed to that is open to all"
        return disk_limits.objection(limits, round.guarantee, *self._of.epsilon(round))

    def cost(self, limits, round):
        """Return the nano-rho of the answer."""
        return disk_limits.price(limits, *self._of.epsilon(round))

    def params_of(self, round):
        """Return what the sensor is asked with: the grid whose cell it is to tell."""
        return round.grid

    def find_law(self, round):
        """Return what a draw depends on: nothing."""
        return 0, 0

    def draw(self, variance, count, rng):
        """Return the key pair of one frame, which is made ahead and used once, as noise is."""
        return draw_key_pair(rng)

    def guard(self, read):
        """Return what reads as read does, and gives () where that fails.

        That a place is not known tells of it, so it is said in the sealed report alone.
        """

        def guarded(grid):
            try:
                return tuple(read(grid))
            except KeyboardInterrupt:  # of who tries it at a terminal
                raise
            except BaseException:  # whatever a driver does; never with the place
                return ()

        return guarded

    def veil(self, round, reading, fresh):
        """Return the bytes of what was read, those of [] for nothing: private till `seal_report`.

        Nothing that was read may keep a frame back, so whatever fails with it counts as nothing.
        """
        count = self._of.count_numbers(round)
        try:
            payload = self._of.report(round, reading, None) if reading.values else []
            return pack_padded(payload, count)
        except Exception:
            return pack_padded([], count)

    def seal_report(self, round, report, fresh):
        """Return a Report with its bytes sealed, by a key pair that no other one gets."""
        who = self._identity
        info, aad = bind_report(round, who.site, who.name, report.epoch, report.seq)
        secrets = who.seal_key, who.key_id
        sealed = seal(fresh, round.key, *secrets, info, aad, report.payload)
        return Report(report.round, report.sender, report.epoch, report.seq, sealed)

    def make_meta(self, round):
        """Return what the device's `meta` says otherwise than a thermometer's."""
        return {"mechanism": self.NAME, "unit": "cell", "central": self.allowed}

    bits = staticmethod(width)
    explain_loosening = staticmethod(disk_limits.explain_loosening)


def is_central(guarantee):
    """Say whether a Guarantee has the gateway see what devices read: "central" or "central: x"."""
    return guarantee.trust.split(":")[0].strip() == "central"


def bind_report(round, site, device, epoch, seq):
    """Return (info, aad): what a sealed report is for, and for nothing else."""
    info = LABEL + sha256(round_body(round))
    for name in (site, device):
        info += bytes([len(name.encode())]) + name.encode()
    where = topic(site, device, "data").encode()
    return info, where + epoch.to_bytes(8, "big") + seq.to_bytes(8, "big")


def pack_padded(payload, most):
    """Return the bytes of a payload of at most `most` numbers, as many as of any other."""
    if len(payload) > most:
        raise ValueError("a payload of %d numbers, where %d fit" % (len(payload), most))
    plain = len(payload).to_bytes(2, "big")
    for number in payload:
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError("a payload has a number that 64 bits do not hold")
        plain += (number & ((1 << 64) - 1)).to_bytes(WIDTH, "big")
    return plain + bytes(2 + WIDTH * most - len(plain))


def unpack(plain):
    """Return the payload that `pack_padded` was given."""
    count = int.from_bytes(plain[:2], "big")
    found = []
    for at in range(2, 2 + WIDTH * count, WIDTH):
        number = int.from_bytes(plain[at : at + WIDTH], "big")
        found.append(number - (number >> 63 << 64))
    return found


def count_sealed_bytes(count):
    """Return how long a sealed report of at most `count` numbers is."""
    return EXTRA + 2 + WIDTH * count


# Hybrid public key encryption with a pre-shared key, for one message: RFC 9180, mode_psk.
#
# DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. A message opens for whoever has both
# the round's private key and the device's pre-shared one: a stolen site key, with which somebody
# else's round could be signed, does not open it, nor does the device's key once the round's is
# gone.
#
#     sealed = public key of this message, 32 bytes || ciphertext || tag, 16 bytes
#
# Source: RFC 9180, Sections 4 to 6.


def draw_key_pair(rng):
    """Return (secret, public key) for one message, from a stream of `entropy`."""
    secret = rng.below(1 << 256).to_bytes(32, "little")
    return secret, crypto.x25519(secret, crypto.BASE)


def seal(fresh, recipient, psk, psk_id, info, aad, plain):
    """Return a message sealed to a public key; fresh: `draw_key_pair`, for this message alone."""
    secret, enc = fresh
    shared = crypto.x25519(secret, recipient)
    key, nonce = derive_key_nonce(shared, enc, recipient, psk, psk_id, info)
    return enc + crypto.seal(key, nonce, plain, aad)


def derive_key_nonce(shared, enc, recipient, psk, psk_id, info):
    """Return (key, nonce) of the one message between two keys, from what they share by X25519."""
    between = _extract(b"", _KEM, b"eae_prk", shared)
    between = _expand(between, _KEM, b"shared_secret", enc + recipient)
    context = _PSK + _extract(b"", _SUITE, b"psk_id_hash", psk_id)
    context += _extract(b"", _SUITE, b"info_hash", info)
    secret = _extract(between, _SUITE, b"secret", psk)
    nonce = _expand(secret, _SUITE, b"base_nonce", context, 12)
    return _expand(secret, _SUITE, b"key", context), nonce


def _extract(salt, suite, label, material):
    return hmac_sha256(salt, suite + label + material)


def _expand(key, suite, label, info, size=32):
    """Return up to 32 bytes: one block of HKDF-Expand."""
    return hmac_sha256(key, size.to_bytes(2, "big") + suite + label + info + b"\x01")[:size]
