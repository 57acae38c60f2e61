"""Hybrid public key encryption with a pre-shared key, for one message: RFC 9180, mode_psk.

DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. A message opens for whoever has both
the round's private key and the device's pre-shared one: a stolen site key, with which somebody
else's round could be signed, does not open it, nor does the device's key once the round's is gone.

    sealed = public key of this message, 32 bytes || ciphertext || tag, 16 bytes

Source: RFC 9180, Sections 4 to 6.
"""

from ..core.compat import hmac_sha256
from . import crypto

ENC = 32  # bytes of a public key
EXTRA = ENC + crypto.TAG  # that sealing adds
_KEM = b"HPKE-v1KEM\x00\x20"
_SUITE = b"HPKE-v1HPKE\x00\x20\x00\x01\x00\x03"
_PSK = b"\x01"  # the mode


def pair(rng):
    """Return (secret, public key) for one message, from a stream of `entropy`."""
    secret = rng.below(1 << 256).to_bytes(32, "little")
    return secret, crypto.x25519(secret, crypto.BASE)


def seal(fresh, recipient, psk, psk_id, info, aad, plain):
    """Return a message sealed to a public key; fresh is a `pair` that no other message gets."""
    secret, enc = fresh
    shared = crypto.x25519(secret, recipient)
    key, nonce = schedule(shared, enc, recipient, psk, psk_id, info)
    return enc + crypto.seal(key, nonce, plain, aad)


def schedule(shared, enc, recipient, psk, psk_id, info):
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
