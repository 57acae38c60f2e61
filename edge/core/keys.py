"""The keys that a device holds: an Identity, which stays for its life, and a chain key."""

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

from collections import namedtuple

from .compat import hmac_sha256

KEY_BYTES = 32
NOISE = b"heatveil-noise-v1"

# What a device is, all its life: where it stands on the wire, the first sensor it reads and how
# many, whether anybody can take its noise off, and its keys but those of the noise. key_id
# is public: four bytes that name this enrolment.
Identity = namedtuple(
    "Identity",
    (
        "site",
        "name",
        "sensor",
        "sensors",
        "mode",
        "site_key",
        "mac_key",
        "config_key",
        "state_key",
        "key_id",
    ),
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
