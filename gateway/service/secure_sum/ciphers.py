"""What `edge.mechanisms.crypto` does on boards, by `cryptography`: the same names, the same bytes.

And words and their sums by numpy, in the place of those of `edge.mechanisms.secure_sum`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305


class Secret:
    """A secret of 32 bytes: its public key, and what it shares with the owner of another."""

    def __init__(self, secret: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()

    def agree(self, point: bytes) -> bytes:
        """Return the 32 bytes that both have.

        Raises:
            ValueError: they are zero, which everybody would have.
        """
        return self._key.exchange(X25519PublicKey.from_public_bytes(point))


def seal(key: bytes, nonce: bytes, plain: bytes, aad: bytes) -> bytes:
    """Return plain, encrypted, and its tag."""
    return ChaCha20Poly1305(key).encrypt(nonce, plain, aad)


def unseal(key: bytes, nonce: bytes, sealed: bytes, aad: bytes) -> bytes:
    """Return what `seal` was given.

    Raises:
        ValueError: a bit of anything is another.
    """
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, sealed, aad)
    except InvalidTag:
        raise ValueError(
            "what is sealed does not open with this key and these facts: it was changed, or is "
            "for somebody else. Leave it out."
        ) from None


def aes(key: bytes, blocks: bytes) -> bytes:
    """Return the encryption of counters that follow one another, as AES-256 in counter mode."""
    cipher = Cipher(algorithms.AES(key), modes.CTR(blocks[:16]))
    return cipher.encryptor().update(bytes(len(blocks)))


def pack_words(numbers: Sequence[int], first: int, count: int, bits: int) -> bytes:
    """Return so many of the numbers modulo 2**bits, as little-endian words."""
    some = np.array(numbers[first : first + count], np.int64)
    return some.astype(f"<u{bits // 8}").tobytes()


class Lanes:
    """A sum of many words at once, modulo 2**bits."""

    MOST = 1 << 20  # bytes of words

    def __init__(self, bits: int, size: int) -> None:
        self._word: Any = np.dtype(f"<u{bits // 8}")
        self._sum = np.zeros(size * 8 // bits, self._word)

    def add(self, words: bytes, less: bool = False) -> None:
        """Add packed words, or take them off."""
        found = np.frombuffer(words, self._word)
        self._sum = self._sum - found if less else self._sum + found

    def pack(self) -> bytes:
        """Return the words of the sum."""
        return self._sum.tobytes()
