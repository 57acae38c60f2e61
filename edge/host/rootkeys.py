"""Every key of a device, made from one root of 32 bytes that its host made at enrolment.

    key for one job = HMAC-SHA256(root, label)

No key does two jobs, and none gives away another: a gateway that holds the MAC key can check
who sent a frame and still cannot touch the noise. What a device holds of them, and how it goes
on from boot to boot, is in `core.entropy`.
"""

from ..core.entropy import Identity, check_key, derive, ratchet

MODES = ("sealed", "keyholder")


def mac_key(root):
    """Return the key that signs a device's frames. The gateway has it too."""
    return derive(root, b"heatveil-mac-v1")


def config_key(root):
    """Return the key of what the gateway says to a device alone: tighter limits, receipts."""
    return derive(root, b"heatveil-config-v1")


def state_key(root):
    """Return the key that signs what a device stores for itself. Nobody else has it."""
    return derive(root, b"heatveil-state-v1")


def link_key(root):
    """Return the key whose hexadecimal text is the device's password at the broker."""
    return derive(root, b"heatveil-link-v1")


def seal_key(root):
    """Return the key that reports of central trust are sealed with, beside the Round's."""
    return derive(root, b"heatveil-seal-v1")


def roster_key(root):
    """Return the key by which the owner vouches for a roster. No gateway has it."""
    return derive(root, b"heatveil-roster-v1")


def static_key(root):
    """Return the secret of the key that a roster names a device by."""
    return derive(root, b"heatveil-sum-static-v1")


def key_id(root):
    """Return the four bytes that name this enrolment in public."""
    return derive(root, b"heatveil-id-v1")[:4]


def first_chain(root):
    """Return the chain key of boot 1."""
    return derive(root, b"heatveil-chain-v1")


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


def identity(site, name, root, site_key, sensor, mode="sealed", sensors=1, central=""):
    """Return the Identity of a device, to be made on the host: the root stays there, or nowhere.

    central: the mechanism of central trust that it may answer, by name; an `Allowed` then.

    mode is "sealed" (the host forgets the root, and nobody can repeat the noise) or
    "keyholder" (who keeps the root can). site_key signs the site's Rounds.
    """
    if mode not in MODES:
        raise ValueError(
            "mode %r is not known; sealed (nobody can take the noise off) or keyholder "
            "(the holder of the root key can) decides whom readings are hidden from" % mode
        )
    if central and mode != "sealed":
        raise ValueError(
            "%s cannot answer %s in mode %s: whoever keeps its root key could open its sealed "
            "reports. Use mode sealed, or another mechanism" % (name, central, mode)
        )
    who = (
        site,
        name,
        sensor,
        sensors,
        mode,
        check_key(site_key, "site key"),
        mac_key(root),
        config_key(root),
        state_key(root),
        key_id(root),
    )
    if not central:
        return Identity(*who)
    from ..mechanisms.central import Allowed  # loaded with all that seals, which few need

    return Allowed(*(who + (central, seal_key(root))))
