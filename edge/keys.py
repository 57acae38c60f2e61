"""Every key of a device, made from one root of 32 bytes that its host made at enrolment.

    key for one job = HMAC-SHA256(root, label)

No key does two jobs, and none gives away another: a gateway that holds the MAC key can check
who sent a frame and still cannot touch the noise. A device holds no root. It holds an Identity,
which stays the same for its life, and the chain key, which does not:

    chain of boot 1     = HMAC(root, "heatveil-chain-v1")
    chain of boot e + 1 = HMAC(chain of boot e, "heatveil-ratchet-v1")
    epoch key           = HMAC(HMAC(chain of boot e, "heatveil-noise-v1"), e as 8 bytes)

At each boot the device ratchets the chain and erases the one before, so a stolen board gives
away the noise of this boot and of later ones, not of those before. The holder of the root
can make the chain of any boot, and hand out single epoch keys, which tell nothing of others.
"""

from collections import namedtuple

from .compat import hmac_sha256

KEY_BYTES = 32
NOISE = b"heatveil-noise-v1"
MODES = ("sealed", "keyholder")

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


def mac_key(root):
    """Return the key that signs a device's frames. The gateway has it too."""
    return _made(root, b"heatveil-mac-v1")


def config_key(root):
    """Return the key of what the gateway says to a device alone: tighter limits, receipts."""
    return _made(root, b"heatveil-config-v1")


def state_key(root):
    """Return the key that signs what a device stores for itself. Nobody else has it."""
    return _made(root, b"heatveil-state-v1")


def link_key(root):
    """Return the key whose hexadecimal text is the device's password at the broker."""
    return _made(root, b"heatveil-link-v1")


def key_id(root):
    """Return the four bytes that name this enrolment in public."""
    return _made(root, b"heatveil-id-v1")[:4]


def first_chain(root):
    """Return the chain key of boot 1."""
    return _made(root, b"heatveil-chain-v1")


def ratchet(chain):
    """Return the chain key of the next boot. There is no way back."""
    return _made(chain, b"heatveil-ratchet-v1")


def chain_at(root, epoch):
    """Return the chain key of a boot, from 1 on; one HMAC for each boot before it."""
    if epoch < 1:
        raise ValueError(
            "boot %d has no chain key; boots count from 1, and before the first there is no "
            "noise to repeat. Take the epoch from the frame itself" % epoch
        )
    chain = first_chain(root)
    for _ in range(epoch - 1):
        chain = ratchet(chain)
    return chain


def epoch_key(chain, epoch):
    """Return the key of all noise of one boot: it can be handed out without the chain."""
    return hmac_sha256(_made(chain, NOISE), epoch.to_bytes(8, "big"))


def identity(site, name, root, site_key, sensor, mode="sealed", sensors=1):
    """Return the Identity of a device, to be made on the host: the root stays there, or nowhere.

    mode is "sealed" (the host forgets the root, and nobody can repeat the noise) or
    "keyholder" (who keeps the root can). site_key signs the site's Rounds.
    """
    if mode not in MODES:
        raise ValueError(
            "mode %r is not known; sealed (nobody can take the noise off) or keyholder "
            "(the holder of the root key can) decides whom readings are hidden from" % mode
        )
    return Identity(
        site,
        name,
        sensor,
        sensors,
        mode,
        checked(site_key, "site key"),
        mac_key(root),
        config_key(root),
        state_key(root),
        key_id(root),
    )


def checked(key, what):
    """Return the key if it has 32 bytes."""
    if len(key) != KEY_BYTES:
        raise ValueError(
            "the %s has %d bytes but must have %d, made on the host that enrols the device: "
            "less would let it be guessed, and with it the noise. Enrol the device again"
            % (what, len(key), KEY_BYTES)
        )
    return key


def _made(key, label):
    return hmac_sha256(checked(key, "root or chain key"), label)
