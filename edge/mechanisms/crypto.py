"""X25519 and ChaCha20-Poly1305 in whole numbers, for devices that share a secret with a stranger.

Boards have neither built in. All of it is arithmetic on a few long numbers, which MicroPython does
in C: the four columns of ChaCha20's state, for one, are one number with room between its words.

X25519 here takes a time that depends a little on the secret. So secrets are drawn for one message
and forgotten; what alone outlives a Round is the static key of a secure sum, multiplied once a
roster. Who has faster and constant ones gives `secure_sum` another module with `Secret`, `seal`,
`unseal` and `aes`.

Source: RFC 7748, Section 5; RFC 8439, Sections 2.3 to 2.8.
"""

from ..core.compat import collect_garbage, same_bytes

P = (1 << 255) - 19
_LOW = (1 << 255) - 1
BASE = b"\x09" + bytes(31)  # what everybody's public key is a multiple of
TAG = 16  # bytes that sealing adds
_LANES = 0xFFFFFFFF * (1 | 1 << 64 | 1 << 128 | 1 << 192)  # four words of 32 bits, 64 apart
_CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF


def x25519(secret, point):
    """Return the 32 bytes of secret times point; both have 32 bytes, a public key is of `BASE`.

    ValueError where the result is zero: then the other side, or one between, wants to know it.
    """
    k = (int.from_bytes(secret, "little") & ((1 << 255) - 8) | 1 << 254) & _LOW
    x = int.from_bytes(point, "little") & _LOW
    low, x2, z2, x3, z3, before = _LOW, 1, 0, x, 1, 0
    for byte in k.to_bytes(32, "big"):
        for t in (7, 6, 5, 4, 3, 2, 1, 0):
            bit = byte >> t & 1
            if bit != before:
                x2, z2, x3, z3 = x3, z3, x2, z2
            before = bit
            # What is above bit 255 counts 19 times: once is enough within a step, its results
            # are brought near 255 bits again. A division would take a board four times as long.
            a, b = x2 + z2, x2 - z2
            da, cb = (x3 - z3) * a, (x3 + z3) * b
            a, b = a * a, b * b
            a, b = (a & low) + 19 * (a >> 255), (b & low) + 19 * (b >> 255)
            e, c, d = a - b, da + cb, da - cb
            c, d = (c & low) + 19 * (c >> 255), (d & low) + 19 * (d >> 255)
            c, d = c * c, d * d
            d = ((d & low) + 19 * (d >> 255)) * x
            a, b = a * b, e * (a + 121665 * e)
            a, b = (a & low) + 19 * (a >> 255), (b & low) + 19 * (b >> 255)
            c, d = (c & low) + 19 * (c >> 255), (d & low) + 19 * (d >> 255)
            x2, z2 = (a & low) + 19 * (a >> 255), (b & low) + 19 * (b >> 255)
            x3, z3 = (c & low) + 19 * (c >> 255), (d & low) + 19 * (d >> 255)
    if before:
        x2, z2 = x3, z3
    found = x2 * _inverse(z2) % P
    collect_garbage()  # of some hundred KB of numbers
    if not found:
        raise ValueError(
            "a public key of low order came, with which every secret gives the same; needed: one "
            "that was made from a secret. Nothing sealed with it would be hidden, so nothing is"
        )
    return found.to_bytes(32, "little")


def _inverse(z):
    """Return z**(P - 2), which is 1/z modulo P, 0 for 0: P - 2 is 2**255 - 21."""
    z2 = z * z % P
    z9 = _square(z2, 2) * z % P
    z11 = z9 * z2 % P
    a = _square(z11, 1) * z9 % P  # 2**5 - 1
    b = _square(a, 5) * a % P  # 2**10 - 1
    c = _square(b, 10) * b % P  # 2**20 - 1
    d = _square(_square(c, 20) * c % P, 10) * b % P  # 2**50 - 1
    e = _square(d, 50) * d % P  # 2**100 - 1
    f = _square(_square(e, 100) * e % P, 50) * d % P  # 2**250 - 1
    return _square(f, 5) * z11 % P


def _square(z, times):
    low = _LOW
    for _ in range(times):
        z *= z
        z = (z & low) + 19 * (z >> 255)
        z = (z & low) + 19 * (z >> 255)
    return z


def has_low_order(point):
    """Say whether `x25519` makes nought of a public key, whatever the secret: 8 times it is."""
    x, z = int.from_bytes(point, "little") & ((1 << 255) - 1), 1
    for _ in range(3):
        aa, bb = (x + z) * (x + z) % P, (x - z) * (x - z) % P
        e = aa - bb
        x, z = aa * bb % P, e * (aa + 121665 * e) % P
    return not z


class Secret:
    """A secret of 32 bytes: its public key, and what it shares with the owner of another."""

    def __init__(self, secret):
        self._secret = secret
        self.public = x25519(secret, BASE)

    def agree(self, point):
        """Return the 32 bytes that both have; ValueError as of `x25519`."""
        return x25519(self._secret, point)


def seal(key, nonce, plain, aad):
    """Return plain, encrypted, and its tag; nonce has 12 bytes, and comes once with a key."""
    cipher = _cipher(key, nonce, plain)
    return cipher + _tag(key, nonce, cipher, aad)


def unseal(key, nonce, sealed, aad):
    """Return what `seal` was given; ValueError where a bit of anything is another."""
    cipher = sealed[: len(sealed) - TAG]
    if len(sealed) < TAG or not same_bytes(sealed[len(cipher) :], _tag(key, nonce, cipher, aad)):
        raise ValueError(
            "what is sealed does not open with this key and these facts: it was changed, or is "
            "for somebody else. Leave it out"
        )
    return _cipher(key, nonce, cipher)


def aes(key, blocks):
    """Return blocks of 16 bytes, each encrypted by itself with AES-256.

    OSError on a port without `cryptolib`: some small ones, and CPython, which is to be given
    another module in the place of this one.
    """
    try:
        from cryptolib import aes as cipher
    except ImportError:
        raise OSError(
            "this Python has no AES, of which the masks of a secure sum are made"
        ) from None
    return cipher(key, 1).encrypt(blocks)


def _cipher(key, nonce, data):
    """Return data with the key's stream laid over it; again, and it is data."""
    out = bytearray()
    for at in range(0, len(data), 64):
        piece = data[at : at + 64]
        stream = _block(key, 1 + at // 64, nonce)[: len(piece)]
        mixed = int.from_bytes(piece, "big") ^ int.from_bytes(stream, "big")
        out.extend(mixed.to_bytes(len(piece), "big"))
    return bytes(out)


def _tag(key, nonce, cipher, aad):
    first = _block(key, 0, nonce)
    r = int.from_bytes(first[:16], "little") & _CLAMP
    total = 0
    sizes = len(aad).to_bytes(8, "little") + len(cipher).to_bytes(8, "little")
    for part in (aad, cipher, sizes):
        for at in range(0, len(part), 16):
            piece = part[at : at + 16]
            # Each part is filled up with zeros to whole blocks, so each block has 16 bytes.
            total = (total + int.from_bytes(piece, "little") + (1 << 128)) * r % ((1 << 130) - 5)
    total += int.from_bytes(first[16:32], "little")
    return (total & ((1 << 128) - 1)).to_bytes(16, "little")


def _block(key, counter, nonce):
    """Return 64 bytes of the stream."""
    head = b"expand 32-byte k" + key + counter.to_bytes(4, "little") + nonce
    start = [_space(head[at : at + 16]) for at in (0, 16, 32, 48)]
    a, b, c, d = start
    for _ in range(10):
        a, b, c, d = _quarter(a, b, c, d)
        # The second half works on diagonals: rows shift by one, two and three columns, and back.
        b, c, d = _rotate(b, 64), _rotate(c, 128), _rotate(d, 192)
        a, b, c, d = _quarter(a, b, c, d)
        b, c, d = _rotate(b, 192), _rotate(c, 128), _rotate(d, 64)
    out = b""
    for row, at in zip((a, b, c, d), start):
        row = row + at & _LANES
        for lane in (0, 64, 128, 192):
            out += (row >> lane & 0xFFFFFFFF).to_bytes(4, "little")
    return out


def _space(row):
    """Return four little-endian words as one number, 64 bits apart."""
    number = 0
    for at in (12, 8, 4, 0):
        number = number << 64 | int.from_bytes(row[at : at + 4], "little")
    return number


def _rotate(row, by):
    return (row >> by | row << 256 - by) & _LANES


def _quarter(a, b, c, d):
    """Return the rows after a quarter round of all four columns."""
    a = a + b & _LANES
    d = _roll(d ^ a, 16)
    c = c + d & _LANES
    b = _roll(b ^ c, 12)
    a = a + b & _LANES
    d = _roll(d ^ a, 8)
    c = c + d & _LANES
    b = _roll(b ^ c, 7)
    return a, b, c, d


def _roll(row, by):
    return (row << by | row >> 32 - by) & _LANES
