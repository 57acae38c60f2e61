"""The one door for random bits, and the keys that a device holds."""

# Every stream here is HMAC-SHA256 in counter mode over a key and a fixed prefix, and is read
# through one method, `below(n)`. Three ways to make one:
#
#     Tape(seed)      repeatable, for test vectors and experiments. Not private.
#     keyed(...)      repeatable by whoever holds the boot's chain key, for one reading only.
#     sealed(secret)  repeatable by nobody: the host's secret mixed with the system's entropy.
#
# Stream of `keyed`, byte by byte (privacy holds against anyone who cannot tell HMAC-SHA256
# from a random function; it does not hold at all against the holder of the key):
#
#     epoch key = HMAC(HMAC(chain key, "heatveil-noise-v1"), epoch as 8 bytes)
#     block i   = HMAC(epoch key, "heatveil-noise-v1" | len(device) | device | epoch, 8 bytes
#                      | seq, 8 bytes | channel, 2 bytes | i, 4 bytes)         all big-endian
#
# Bits are taken from the first block on, most significant first. Random access by
# (epoch, seq, channel) means that a lost or repeated message never shifts the stream. `open_epoch`
# is `keyed` for who was handed a single epoch's key.

from collections import namedtuple

from .compat import hmac_pads, hmac_sha256, os_entropy, sha256

# The keys that a device holds: an Identity, which stays for its life, and a chain key.
#
# Its host made them from one root of 32 bytes (`host.rootkeys`), which no device holds. The chain
# key does not stay:
#
#     chain of boot 1     = HMAC(root, "heatveil-chain-v1")
#     chain of boot e + 1 = HMAC(chain of boot e, "heatveil-ratchet-v1")
#     epoch key           = HMAC(HMAC(chain of boot e, "heatveil-noise-v1"), e as 8 bytes)
#
# At each boot the device ratchets the chain and erases the one before, so a stolen board gives
# away the noise of this boot and of later ones, not of those before. The holder of the root
# can make the chain of any boot, and hand out single epoch keys, which tell nothing of others.

KEY_BYTES = 32
NOISE = b"heatveil-noise-v1"

# What a device is, all its life: where it stands on the wire, the first sensor it reads and how
# many, whether anybody can take its noise off, and its keys but those of the noise. key_id
# is public: four bytes that name this enrolment.
Identity = namedtuple(
    "Identity",
    "site name sensor sensors mode site_key mac_key config_key state_key key_id",
)


def ratchet(chain):
    """Return the chain key of the next boot. There is no way back."""
    return derive(chain, b"heatveil-ratchet-v1")


def epoch_key(chain, epoch):
    """Return the key of all noise of one boot: it can be handed out without the chain."""
    return hmac_sha256(derive(chain, NOISE), epoch.to_bytes(8, "big"))


def check_key(key, what):
    """Return the key if it has 32 bytes."""
    if len(key) != KEY_BYTES:
        raise ValueError(
            "the %s has %d bytes but must have %d, made on the host that enrols the device: "
            "less could be guessed, and the noise with it. Enrol the device again"
            % (what, len(key), KEY_BYTES)
        )
    return key


def derive(key, label):
    """Return the key for one job, by its label, from a root or chain key."""
    return hmac_sha256(check_key(key, "root or chain key"), label)


class Stream:
    """Uniform whole numbers from HMAC-SHA256(key, prefix | counter)."""

    def __init__(self, key, prefix):
        inner, outer = hmac_pads(key)  # once: on a board it takes as long as hashing
        self._inner = bytearray(inner + prefix + bytes(4))  # the counter is at its end
        self._outer = bytearray(outer + bytes(32))
        self._counter = 0
        self._block = bytes(32)
        self._left = 0  # of its bits, those that are not used yet

    def bits(self, count):
        """Return the next `count` bits as a whole number; 16 at most take no memory."""
        left = self._left - count
        if count > 16:
            return self._many(count)
        if left < 0:
            first = self.bits(self._left)
            self._next()
            return first << -left | self.bits(-left)
        self._left = left
        at = 31 - (left >> 3)
        block = self._block  # what is before its first byte is cut off again
        value = block[at - 2] << 16 | block[at - 1] << 8 | block[at]
        return value >> (left & 7) & ((1 << count) - 1)

    def _many(self, count):
        left = self._left - count
        value = int.from_bytes(self._block, "big") & ((1 << self._left) - 1)
        while left < 0:
            self._next()
            value = value << 256 | int.from_bytes(self._block, "big")
            left += 256
        self._left = left
        return value >> left

    def _next(self):
        if self._counter >> 32:  # which some MicroPythons would cut to 0, and begin again
            raise ValueError(
                "a stream of noise is at its end, after 2**32 blocks; begun again, readings "
                "would share their noise. Start the device anew"
            )
        at = len(self._inner)
        for shift in (0, 8, 16, 24):
            at -= 1
            self._inner[at] = self._counter >> shift & 255
        self._outer[64:] = sha256(self._inner)
        self._block = sha256(self._outer)
        self._counter += 1
        self._left = 256

    def below(self, n):
        """Return a whole number uniform in 0 to n - 1, by rejection, so without any bias."""
        if n < 1:
            raise ValueError("below(%d): n must be at least 1" % n)
        if n == 2:  # as most are
            return self.bits(1)
        width = 0
        while (n - 1) >> width + 16:  # no bit_length on MicroPython
            width += 16
        while (n - 1) >> width:
            width += 1
        while True:
            value = self.bits(width)
            if value < n:
                return value


def Tape(seed_bytes):
    """Return a stream that anyone with the seed repeats: for vectors and experiments only."""
    return Stream(hmac_sha256(b"heatveil-tape-v1", bytes(seed_bytes)), b"")


def keyed(root_key, device, epoch, seq, channel):
    """Return the noise stream of one reading, repeatable by who holds the 32-byte key.

    root_key is the root of the boot's noise: on a device the chain key of that boot
    (`rootkeys.chain_at`). device is a name of at most 255 bytes, epoch the boot counter, seq the
    message counter, channel the index of the sensor: no two readings may ever share all four.
    """
    return open_epoch(epoch_key(root_key, epoch), device, epoch, seq, channel)


def open_epoch(epoch_key, device, epoch, seq, channel):
    """Return the stream that `keyed` gives, from the 32-byte key of its epoch alone."""
    name = device.encode()
    if not 0 < len(name) < 256:
        raise ValueError(
            "a device name of %d bytes does not fit its noise stream, which takes 1 to 255: "
            "two devices must never share a stream. Choose a shorter name" % len(name)
        )
    counters = epoch.to_bytes(8, "big") + seq.to_bytes(8, "big") + channel.to_bytes(2, "big")
    return Stream(check_key(epoch_key, "epoch key"), NOISE + bytes([len(name)]) + name + counters)


def sealed(secret, boot=b""):
    """Return a stream that nobody can repeat: the host's secret mixed with the system's bits.

    Boards often have poor entropy of their own, so the secret, made on the host and then
    forgotten there, carries the strength; the system's bytes, as far as they are good, keep a
    host that did not forget it from repeating the stream. `boot` (the boot counter) keeps two
    boots apart even on a board whose entropy repeats.
    """
    check_key(secret, "secret of a sealed device")
    fresh = os_entropy(32)
    if len(fresh) != 32:
        raise ValueError(
            "this Python has no os.urandom, which a sealed device needs, or its host could repeat "
            "its noise. Use a port that has it, or enrol a keyholder"
        )
    return Stream(hmac_sha256(secret, b"heatveil-sealed-v1" + fresh + boot), b"")
