"""A device in a secure sum: values in, messages out; no clock, no link, no disk.

    idle       begin: Round above the last, and as the roster says  -> join          joined
    joined     keys, of t neighbours or more                        -> shares        shared
    shared     boxes, of t or more, all open: charged, noise drawn  -> masked        masked
    masked     set of `threshold` or more, this device among them   -> confirm       confirmed
    confirmed  t neighbours with good `with` and `set` tags         -> reveal        idle

What is not listed is ignored. The step that came last gets the same bytes again, and with other
bytes it is refused; an older one gets none. Whoever refuses erases the round, and keeps out of it.
A refusal is one word of seven letters, so that its length tells nothing. What is secret is gone
after the step that needs it last.

Of a neighbour one secret is given a share of, ever: of its own mask where it is in the set and
proved that it bears the mask with this device; else of the masks with its neighbours.
"""

from ..core.compat import collect_garbage, same_bytes, sha256
from ..core.wire import MAC_BYTES, open_message, topic, write_mac
from . import crypto
from .secure_sum import (
    ADJACENCIES,
    BOX,
    BOXES,
    CHUNK,
    CONFIRM,
    JOIN,
    KEYS,
    LONGEST,
    MASKED,
    NONCE,
    REVEAL,
    SET,
    SHARE,
    SHARES,
    TAG,
    TAGS,
    Lanes,
    Roster,
    aad,
    box_key,
    commitment,
    derive_scalar,
    draw_polynomial,
    evaluate,
    make_blank,
    make_counters,
    make_mask_tag,
    make_set_tag,
    mask_key,
    one_way_key,
    pack_number,
    pack_words,
    pair_key,
    recover_secret,
    self_key,
    sid_of,
    split_pieces,
    unpack_places,
)

IDLE, JOINED, SHARED, HIDDEN, CONFIRMED = range(5)
_AWAITED = {JOINED: JOIN, SHARED: BOXES, HIDDEN: SET, CONFIRMED: TAGS}


class Refused(ValueError):
    """Why a device takes no part in this round any more: a word, or what its budget says."""


class Rows:
    """Some of so many byte strings of one size, by number, in one piece of memory.

    On a board a dict of as many takes four times the room, in pieces. given: what is found in
    the place of those that are not here yet.
    """

    def __init__(self, count, size, given=b""):
        self._size, self._bytes = size, bytearray(given or count * size)
        self._has = bytearray(count)

    def __contains__(self, at):
        return bool(self._has[at])

    def __getitem__(self, at):
        return bytes(self._bytes[at * self._size : (at + 1) * self._size])

    def __setitem__(self, at, row):
        self._bytes[at * self._size : (at + 1) * self._size] = row
        self._has[at] = 1

    def clear(self):
        """Forget all of them, in place: it must not fail where there is no room."""
        row = bytes(self._size)
        for at in range(len(self._has)):
            self[at] = row
            self._has[at] = 0

    def list_numbers(self):
        """Return the numbers of those that are here, in order."""
        return [at for at in range(len(self._has)) if self._has[at]]


class Member:
    """One device. newest: the number of the last round that it began, which its owner keeps.

    identity: its keys and names; static: the secret of its key in the roster; suite: `crypto`, or
    a module with the same `Secret`, `seal`, `unseal` and `aes`, perhaps `pack_words` and `Lanes`.
    """

    def __init__(self, identity, roster, static, suite=crypto, newest=-1, chunk=CHUNK):
        # Of each neighbour its static key, which makes room for a_ij, once a roster.
        self._pairs = Rows(roster.k, 32, roster.statics)
        self.roster = Roster(*(roster[:-2] + (b"",) + roster[-1:]))
        self.newest = newest
        self._suite, self._who, self._chunk = suite, identity, chunk
        self._lanes = getattr(suite, "Lanes", Lanes)
        self._static = suite.Secret(static)
        # In this round, of a neighbour by its order in the list: q and S, which makes room for the
        # key of the mask with it; and, once there are boxes, its shares of sigma and b.
        self._near, self._held = Rows(roster.k, 64), Rows(0, 0)
        self._up = topic(identity.site, identity.name, "sum")
        self._told = topic(identity.site, identity.name, "told")
        self._shard = shard_topic(identity.site, roster.shard)
        self.erase()

    def erase(self):
        """Forget the round; what was charged stays charged."""
        self.state, self._sid, self._asked = IDLE, b"", b""
        self._own = {}  # terms, numbers, and the secrets: lines, b, fresh, scalar
        self._near.clear()
        self._held = Rows(0, 0)
        self._set, self._decided = set(), b""
        # The last step: what came, hashed, and what went.
        self._last = 0, b"", []  # type: tuple[int, bytes, list[bytearray]]

    def begin(self, body, terms, numbers, rng):
        """Return [join] to a Round, by its map, or raise Refused.

        numbers: called with the divisor when the sum is near; it charges, and returns the numbers
        with their noise. rng: a sealed stream.
        """
        if self._sid and same_bytes(sha256(body), self._asked):
            return [] if self._last[0] else self._last[2]
        self.erase()
        collect_garbage()
        why = self._objection(terms)
        if why:
            raise Refused(why)
        asked, sid = sha256(body), sid_of(body, self.roster.digest)
        lines = draw_polynomial(self.roster.t, rng), draw_polynomial(self.roster.t, rng)
        fresh = self._suite.Secret(rng.below(1 << 256).to_bytes(32, "big"))
        own = self._suite.Secret(derive_scalar(recover_secret(lines[0]), sid, self.roster.place))
        secrets = {
            "terms": terms,
            "numbers": numbers,
            "lines": lines,
            "b": recover_secret(lines[1]),
            "fresh": fresh,
            "scalar": own,
        }
        frame, place = make_blank(JOIN, sid, {}, 3, KEYS)
        frame[place:-MAC_BYTES] = fresh.public + own.public
        last = 0, b"", [self._signed(frame)]
        # Only now, so that where there was no room the Round may come again.
        self.newest, self.state = terms.number, JOINED
        self._asked, self._sid, self._own, self._last = asked, sid, secrets, last
        return last[2]

    def _objection(self, terms):
        mine = self.roster
        if terms.number <= self.newest:
            return "earlier"
        if terms.divisor > mine.divisor or terms.divisor < 1:
            return "divisor"
        if terms.bits not in (16, 32) or terms.bits < mine.bits:
            return "modulus"
        return "" if terms.adjacency in ADJACENCIES else "unnamed"

    def handle(self, message, shard=False):
        """Return the frames that answer a message, [] where it is ignored; or raise Refused.

        shard: whether it came on the shard's topic. Fault where it is not genuine, and no more.
        """
        collect_garbage()
        where = self._shard if shard else self._told
        key = self._who.site_key if shard else self._who.config_key
        body = open_message(message, key, where, LONGEST)
        step = body.get(1)
        if self.state == IDLE or body.get(2) != self._sid[:4] or shard != (step == SET):
            return []
        digest = sha256(message)
        if step == self._last[0]:
            if same_bytes(digest, self._last[1]):
                return self._last[2]
            return self._refuse("changed")
        if step != _AWAITED[self.state]:
            return []
        self._last = 0, b"", []  # makes room: a step that fails ends the round
        try:
            frames = (self._keys, self._boxes, self._decide, self._reveal)[step - 1](body)
        except Refused:
            raise
        except (KeyError, TypeError, ValueError, IndexError):
            return self._refuse("damaged")
        except MemoryError:
            return self._refuse("cramped")
        if self.state == CONFIRMED and step == TAGS:
            self.erase()
            return frames
        self._last = step, digest, frames
        self.state += 1
        return frames

    def _refuse(self, word):
        self.erase()
        raise Refused(word)

    def _keys(self, body):
        """Deal both secrets to the neighbours that joined."""
        mine, me, suite = self.roster, self.roster.place, self._suite
        lines, secret, own = self._own["lines"], self._own["fresh"], self._own["scalar"]
        order = unpack_places(body[3], mine.k)
        keys = split_pieces(body[4], len(order), KEYS)
        if len(order) < mine.t:
            return self._refuse("minimum")
        proof = commitment(self._own["b"], self._sid, me)
        frame, place = make_blank(SHARES, self._sid, {3: proof}, 4, len(order) * BOX)
        for at, both in zip(order, keys):
            j, fresh, public = mine.neighbours[at], both[:32], both[32:]
            if at not in self._pairs:
                self._pairs[at] = pair_key(self._static.agree(self._pairs[at]), me, j)
            first, second = secret.public, fresh
            if j < me:
                first, second = second, first
            q = box_key(self._pairs[at], secret.agree(fresh), self._sid, first, second)
            self._near[at] = q + public
            plain = b"".join([pack_number(evaluate(line, 1 + at)) for line in lines])
            bound = aad(self._sid, me, j, own.public)
            frame[place : place + BOX] = suite.seal(one_way_key(q, me, j), NONCE, plain, bound)
            place += BOX
        self._own["lines"] = self._own["fresh"] = None  # are not needed again
        return [self._signed(frame)]

    def _boxes(self, body):
        """Open what neighbours dealt, pay, and hide the numbers under the masks of these."""
        terms = self._own["terms"]
        mine, me = self.roster, self.roster.place
        order = unpack_places(body[3], mine.k)
        boxes = split_pieces(body[4], len(order), BOX)
        if len(order) < mine.t:
            return self._refuse("minimum")
        self._held, proofs = Rows(mine.k, 2 * SHARE), bytearray(len(order) * TAG)
        for nth, (at, box) in enumerate(zip(order, boxes)):
            if at not in self._near:
                return self._refuse("unknown")
            j, both = mine.neighbours[at], self._near[at]
            q, public = both[:32], both[32:]
            bound = aad(self._sid, j, me, public)
            plain = self._suite.unseal(one_way_key(q, j, me), NONCE, box, bound)
            self._held[at] = plain
            agreed = self._own["scalar"].agree(public)
            self._near[at] = q + mask_key(agreed, self._sid, me, j)
            proofs[nth * TAG : (nth + 1) * TAG] = make_mask_tag(q, me, j)
        body[4] = boxes = None  # makes room
        collect_garbage()
        numbers = self._own["numbers"](mine.divisor)
        if len(numbers) != terms.length:
            return self._refuse("unequal")
        own = self_key(self._own["b"], self._sid, me)
        self._own = {}  # is not needed again
        pack, bits = getattr(self._suite, "pack_words", pack_words), terms.bits
        words, numbers = bytearray(pack(numbers, 0, len(numbers), bits)), None
        self._mask(words, bits, own)
        for at in self._held.list_numbers():  # the keys of masks are not needed again
            self._near[at] = self._near[at][:32] + bytes(32)
        frames = []
        for first in range(0, terms.length, self._chunk):
            fields = {4: first} if first else {3: proofs, 4: first}
            some = words[first * bits >> 3 : (first + self._chunk) * bits >> 3]
            frame, place = make_blank(MASKED, self._sid, fields, 5, len(some), bits)
            frame[place:-MAC_BYTES] = some
            frames.append(self._signed(frame))
        return frames

    def _mask(self, words, bits, own):
        """Lay its own mask, and those with the neighbours whose boxes it holds, over all words."""
        collect_garbage()
        mine, held, most = self.roster, self._held.list_numbers(), self._lanes.MOST
        for at in range(0, len(words), most):
            some = words[at : at + most]
            blocks = make_counters(at, len(some))
            lanes = self._lanes(bits, len(some))
            lanes.add(some)
            lanes.add(self._suite.aes(own, blocks)[: len(some)])
            for near in held:
                mask = self._suite.aes(self._near[near][32:], blocks)[: len(some)]
                lanes.add(mask, mine.neighbours[near] < mine.place)
            words[at : at + len(some)] = lanes.pack()

    def _signed(self, frame):
        write_mac(frame, self._who.mac_key, self._up)
        return frame

    def _decide(self, body):
        """Take the set whose sum it will be, the only one in this round."""
        mine, me = self.roster, self.roster.place
        decided = unpack_places(body[3], mine.n)
        if me not in decided:
            return self._refuse("without")
        if len(decided) < mine.threshold:
            return self._refuse("minimum")
        self._set, self._decided = set(decided), sha256(self._sid + body[3])
        near = [at for at in self._held.list_numbers() if mine.neighbours[at] in self._set]
        frame, place = make_blank(CONFIRM, self._sid, {}, 3, len(near) * TAG)
        for at in near:
            tag = make_set_tag(self._near[at][:32], me, mine.neighbours[at], self._decided)
            frame[place : place + TAG] = tag
            place += TAG
        return [self._signed(frame)]

    def _reveal(self, body):
        """Give of each neighbour the share that the set is opened with."""
        bear, know = self._good(body[3], body[4], True), self._good(body[5], body[6], False)
        if len(bear & know) < self.roster.t:
            return self._refuse("witness")
        held = self._held.list_numbers()
        frame, place = make_blank(REVEAL, self._sid, {}, 3, len(held) * SHARE)
        for at in held:
            sigma, b = self._held[at][:SHARE], self._held[at][SHARE:]
            if self.roster.neighbours[at] in self._set:
                sigma = b if at in bear else bytes(SHARE)
            frame[place : place + SHARE] = sigma
            place += SHARE
        return [self._signed(frame)]

    def _good(self, bits, joined, bearing):
        """Return which neighbours in the set sent me the right tag."""
        mine, me, found = self.roster, self.roster.place, set()
        order = unpack_places(bits, mine.k)
        for at, tag in zip(order, split_pieces(joined, len(order), TAG)):
            j = mine.neighbours[at]
            if at not in self._held or j not in self._set:
                continue
            q = self._near[at][:32]
            right = make_mask_tag(q, j, me) if bearing else make_set_tag(q, j, me, self._decided)
            if same_bytes(tag, right):
                found.add(at)
        return found


def shard_topic(site, shard):
    """Return the topic on which all of a shard are told the set."""
    return "heatveil/1/%s/sum/%d" % (site, shard)
