"""What both halves of a secure sum agree on: the roster, keys, shares, masks and messages.

A gateway learns the sum of its devices' numbers and nothing else. Each device hides its numbers
under a mask of its own and one for every neighbour, which that one takes off again in the sum, and
leaves shares of the secrets of both with its neighbours, for the case that it vanishes.

    i, j, lo, hi  places in the shard, 2 bytes each;  p = 2**127 - 1, numbers below it in 16 bytes
    sid    = SHA-256(Round's map || the shard's digest)
    a_ij   = HMAC(X25519(static_i, static_j), "heatveil-sum-pair-v1" || lo || hi)
    s_i    = HMAC(sigma_i, "heatveil-sum-scalar-v1" || sid || i);  C = c 9,  S = s 9 on the curve
    q_ij   = HMAC(HMAC(a_ij, X25519(c_i, C_j)), "heatveil-sum-box-v1" || sid || C_lo || C_hi)
    box    = ChaCha20-Poly1305(HMAC(q_ij, "to" || i || j), nonce 0, shares of sigma_i and b_i,
             aad = sid || i || j || S_i)
    m_ij   = AES(HMAC(X25519(s_i, S_j), "heatveil-sum-mask-v1" || sid || lo || hi))
    self   = AES(HMAC(b_i, "heatveil-sum-self-v1" || sid || i))
    commit = HMAC(b_i, "heatveil-sum-commit-v1" || sid || i), 16 bytes
    with   = HMAC(q_ij, "with" || i || j), 8 bytes
    set    = HMAC(q_ij, "set" || i || j || SHA-256(sid || U)), 8 bytes
    sent   = numbers + self + sum over j > i of m_ij - sum over j < i of m_ij, modulo 2**bits

AES is AES-256 in counter mode from 0, its bytes read as little-endian words. sigma, b and c are
fresh in each round. Shares are points of a polynomial of degree t - 1 over p, at 1 + the place in
the dealer's list of neighbours. A set of devices is a bit each, the first byte's lowest first.

Messages are those of `wire`, {0: 1, 1: step, 2: sid[:4], 3 and on: fields}, devices by their
order in the receiver's or sender's list of neighbours:

    up    1 join     C S                          down  1 keys   who; C S of each
          2 shares   commit; box for each               2 boxes  who; box of each
          3 masked   `with` tags; first; numbers        3 set    U, to the shard
          4 confirm  `set` tags                         4 tags   who; `with`; who; `set`
          5 reveal   share for each, 0 where withheld

Source: Bell, Bonawitz and others 2020; Bonawitz and others 2017 where all are neighbours.

Differs from the papers:
1. The owner draws the graph and vouches for keys, so that a gateway can invent no devices.
2. A device gives its share of another's own mask only where that one proved that it bears theirs.
"""

from array import array
from collections import namedtuple

from ..core import wire
from ..core.compat import collect_garbage, hmac_sha256, sha256
from ..core.wire import MAC_BYTES, fault, open_message, sign

P = (1 << 127) - 1
SHARE = 16  # bytes of a number below P
BOX = 2 * SHARE + 16
TAG = 8
KEYS = 64  # bytes of two public keys
CHUNK = 1024  # numbers that are masked and sent together
NONCE = bytes(12)
LONGEST = 1 << 20  # bytes of a message
ROUND_BYTES = 1 << 16  # of a Round's, which a device must take in whole
ADJACENCIES = ("zero-out", "replace-one")
JOIN, SHARES, MASKED, CONFIRM, REVEAL = range(1, 6)
BOXES, SET, TAGS = 2, 3, 4

# What the owner tells one device of its shard. place: its own; n devices, k neighbours of each, t
# shares open a secret; threshold: the least devices in a sum; divisor: among how many the noise
# is divided at the most; bits: the least; statics: the neighbours' public keys, joined.
Roster = namedtuple(
    "Roster",
    "version shard place n k t threshold divisor bits neighbours statics digest",
)

# What a Round says of a sum: into how many parts noise is divided, how many numbers are added, and
# what neighbouring inputs are, for without that no noise has a meaning. All else the roster says.
Terms = namedtuple("Terms", ("number", "divisor", "bits", "length", "adjacency"))


def read_roster(message, key, topic, newest=0):
    """Return the Roster in a message, or raise Fault; newest: the version that was read last."""
    body = open_message(message, key, topic, LONGEST)
    try:
        neighbours = tuple(body[4])
        found = Roster(*((body[1], body[2]) + tuple(body[3]) + (neighbours, body[5], body[6])))
        numbers = found[:9] + neighbours
        good = (
            all([type(number) is int and number >= 0 for number in numbers])
            and found.version >= newest
            and len(set(neighbours + (found.place,))) == found.k + 1 <= found.n <= 1 << 16
            and max(numbers[2:3] + neighbours) < found.n
            and len(found.statics) == 32 * found.k
            and 1 < found.t <= found.k
            and 1 <= found.divisor <= found.threshold <= found.n
            and found.bits in (16, 32)
            and len(found.digest) == 32
        )
    except (KeyError, TypeError, ValueError, IndexError):
        good = False
    if not good:
        raise fault("a roster that is outdated or damaged", "the newest from the owner")
    return found


def pack(step, sid, fields, key, topic):
    """Return the signed message of a step: fields as a dict, with keys from 3 on."""
    body = {0: 1, 1: step, 2: sid[:4]}
    body.update(fields)
    return sign(wire.encode(body), key, topic)


def make_blank(step, sid, fields, last, size, bits=0):
    """Return the message of a step to fill in and to sign, and where its last field begins.

    last: the key of that field, of so many bytes, or of words of so many bits. Nothing long is
    copied, so that a board needs room for it once.
    """
    body = {0: 1, 1: step, 2: sid[:4], last: 0}
    body.update(fields)
    head = wire.encode(body)[:-1] + wire.head_of(size, bits)
    frame = bytearray(len(head) + size + MAC_BYTES)
    frame[: len(head)] = head
    return frame, len(head)


def sid_of(body, digest):
    """Return the name of one shard's sum, from the Round's map and the shard's digest."""
    return sha256(body + digest)


def pack_place(place):
    return place.to_bytes(2, "big")


def pack_pair(i, j):
    """Return the two places, the lower one first."""
    return pack_place(min(i, j)) + pack_place(max(i, j))


def pair_key(agreed, i, j):
    """Return a_ij."""
    return hmac_sha256(agreed, b"heatveil-sum-pair-v1" + pack_pair(i, j))


def derive_scalar(sigma, sid, i):
    """Return s_i."""
    return hmac_sha256(pack_number(sigma), b"heatveil-sum-scalar-v1" + sid + pack_place(i))


def box_key(pair, agreed, sid, first, second):
    """Return q_ij; first: the fresh public key of the lower place."""
    return hmac_sha256(hmac_sha256(pair, agreed), b"heatveil-sum-box-v1" + sid + first + second)


def mask_key(agreed, sid, i, j):
    """Return the key of m_ij."""
    return hmac_sha256(agreed, b"heatveil-sum-mask-v1" + sid + pack_pair(i, j))


def self_key(b, sid, i):
    """Return the key of a device's own mask."""
    return hmac_sha256(pack_number(b), b"heatveil-sum-self-v1" + sid + pack_place(i))


def commitment(b, sid, i):
    """Return what tells a wrong b from the right one."""
    return hmac_sha256(pack_number(b), b"heatveil-sum-commit-v1" + sid + pack_place(i))[:16]


def one_way_key(q, i, j):
    """Return the key of the box from i to j, which is sealed once."""
    return hmac_sha256(q, b"to" + pack_place(i) + pack_place(j))


def aad(sid, i, j, public):
    """Return what a box from i to j is for; public: S_i, which so is no other."""
    return sid + pack_place(i) + pack_place(j) + public


def make_mask_tag(q, i, j):
    """Return what i tells j: that it bears their mask."""
    return hmac_sha256(q, b"with" + pack_place(i) + pack_place(j))[:TAG]


def make_set_tag(q, i, j, decided):
    """Return what i tells j: that it was told of this set; decided: SHA-256(sid || U)."""
    return hmac_sha256(q, b"set" + pack_place(i) + pack_place(j) + decided)[:TAG]


def pack_number(value):
    return value.to_bytes(SHARE, "big")


def draw_polynomial(t, rng):
    """Return the polynomial of a fresh secret, its constant, that t shares open.

    Its coefficients are joined, for on a board as many numbers take four times the room.
    """
    made = bytearray(t * SHARE)
    for at in range(0, len(made), SHARE):
        made[at : at + SHARE] = pack_number(rng.below(P))
    collect_garbage()  # or what is made next lies beyond all that the draws left
    return made


def recover_secret(polynomial):
    """Return what a polynomial's shares open."""
    return int.from_bytes(polynomial[:SHARE], "big")


def evaluate(polynomial, x):
    """Return a polynomial's value at x, from 1 on: at 0 is the secret."""
    total = 0
    for at in range(len(polynomial) - SHARE, -1, -SHARE):
        total = total * x + int.from_bytes(polynomial[at : at + SHARE], "big")
    return total % P  # once: x is small, so the number grows by a few bits a step


def pack_places(places, count):
    """Return a set of places, below count, as bits."""
    bits = bytearray((count + 7) // 8)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def unpack_places(bits, count):
    """Return the places in a set; ValueError where it has another length or strangers."""
    if not isinstance(bits, bytes) or len(bits) != (count + 7) // 8:
        raise ValueError("a set of another length")
    found = [place for place in range(8 * len(bits)) if bits[place >> 3] >> (place & 7) & 1]
    if found and found[-1] >= count:
        raise ValueError("a set with strangers")
    return found


def split_pieces(data, count, size):
    """Return so many pieces of this size, once; ValueError where they are not all, or more."""
    if not isinstance(data, bytes) or len(data) != count * size:
        raise ValueError("fields of another length")
    return (data[at : at + size] for at in range(0, len(data), size))


def make_counters(first, size):
    """Return the blocks whose encryption are `size` bytes of a mask, from a byte on."""
    blocks = range(first >> 4, (first + size + 15) >> 4)
    return b"".join([block.to_bytes(16, "big") for block in blocks])


def pack_words(numbers, first, count, bits):
    """Return so many of the numbers modulo 2**bits, as little-endian words."""
    most, code = (1 << bits) - 1, "H" if bits == 16 else "I"
    words = array(code, bytes(count * bits >> 3))
    for at in range(count):
        words[at] = numbers[first + at] & most
    return bytes(words)


class Lanes:
    """A sum of many words at once, modulo 2**bits: they lie in a long number, room between them.

    Even and odd words apart, and what is added apart from what is taken off: four long numbers.
    2**bits sums fit into the room.
    """

    MOST = 512  # bytes of words at once: what is added takes ten times their room

    def __init__(self, bits, size):
        self._bits, self._size = bits, size
        lane = bits >> 2  # bytes of a word and its room
        count = size // lane + 1
        self._even = int.from_bytes((b"\xff" * (lane // 2) + bytes(lane // 2)) * count, "little")
        one = bytes(lane // 2) + b"\1" + bytes(lane // 2 - 1)
        self._ones = int.from_bytes(one * count, "little")
        self._sums = [0, 0, 0, 0]

    def add(self, words, less=False):
        """Add packed words, or take them off."""
        value, at = int.from_bytes(words, "little"), 2 if less else 0
        self._sums[at] += value & self._even
        self._sums[at + 1] += value >> self._bits & self._even

    def pack(self):
        """Return the words of the sum."""
        halves = []
        for at in (0, 1):
            less = self._ones - (self._sums[2 + at] & self._even)
            halves.append((self._sums[at] & self._even) + less & self._even)
        value = halves[0] | halves[1] << self._bits
        return value.to_bytes(self._size + (self._bits >> 1), "little")[: self._size]
