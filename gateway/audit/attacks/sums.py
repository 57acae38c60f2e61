"""Layer `sums`: secure sums as they are served, with the devices' half and the gateway's attacked.

Real members of a shard and a real gateway's half talk to each other, and what is attacked is the
one side or the other: a gateway that signs what it may not ask, a broker that repeats and mixes
up, devices that vanish or lie about their shares.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from edge.core import wire
from edge.core.wire import decode
from edge.host import post, rootkeys
from edge.mechanisms import secure_sum as agreed
from edge.mechanisms.secure_sum import CONFIRM, MASKED, REVEAL, SET, SHARE, Terms
from edge.mechanisms.sum_member import Member, Refused, shard_topic
from edge.mechanisms.sum_node import SumNode

from ...devices.enrol import budgets, enrol, roster
from ...devices.enrol.capped import make_capped_limits
from ...mechanisms import MECHANISMS
from ...service.secure_sum import ciphers
from ...service.secure_sum.collecting import ABANDONED, RELEASED, Link, ShardSum
from ..bench import SITE, SITE_KEY
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused

SIZE, LENGTH, BITS = 16, 6, 16
MISSING = Fraction(1, 5)  # three of sixteen
Frames = dict[int, list[bytes]]
Sent = Sequence[tuple[int | None, bytes]]


class Shard:
    """Sixteen devices all beside each other, and their gateway's half; device i brings i + at."""

    def __init__(self, effort: Effort, *labels: object) -> None:
        self._tape = effort.tape("sums", *labels)
        self._roots = {f"n{i:02}": effort.root("sums", i) for i in range(SIZE)}
        (self.drawn,) = roster.draw_rosters(
            SITE, self._roots, 1, 1, BITS, self._tape, missing=MISSING
        )
        self.shard = self.drawn.shard
        self.members = {i: self._make_member(i, name) for i, name in enumerate(self.shard.members)}
        self.keys = {i: self._make_identity(name) for i, name in enumerate(self.shard.members)}

    def _make_identity(self, name: str) -> Any:
        return rootkeys.identity(SITE, name, self._roots[name], SITE_KEY, 0)

    def _make_member(self, place: int, name: str) -> Member:
        root = self._roots[name]
        key, where = rootkeys.roster_key(root), wire.topic(SITE, name, "roster")
        own = agreed.read_roster(self.drawn.rosters[place], key, where)
        return Member(self._make_identity(name), own, rootkeys.static_key(root), ciphers)

    def make_terms(self, number: int) -> Terms:
        """Return what an honest Round says of the sum."""
        return Terms(number, self.shard.divisor, BITS, LENGTH, "replace-one")

    def make_gateway(self, number: int) -> ShardSum:
        """Return the gateway's half of a round."""
        links = {i: Link(one.mac_key, one.config_key) for i, one in self.keys.items()}
        return ShardSum(self.shard, _make_round_body(number), BITS, LENGTH, SITE, SITE_KEY, links)

    def begin(self, number: int) -> Frames:
        """Return every device's join of a round."""
        terms, said = self.make_terms(number), {}
        for place, member in self.members.items():
            numbers = [place + at for at in range(LENGTH)]
            said[place] = member.begin(
                _make_round_body(number), terms, lambda _, numbers=numbers: numbers, self._tape
            )
        return said

    def answer(self, sent: Sent) -> tuple[Frames, dict[int, str]]:
        """Return what the devices answer to messages, and who keeps out from now on, and why."""
        said, refused = Frames(), dict[int, str]()
        for to, message in sent:
            for place in self.members if to is None else (to,):
                try:
                    said[place] = self.members[place].handle(message, to is None)
                except Refused as why:
                    refused[place] = str(why)
        return said, refused

    def run_to_step(self, gateway: ShardSum, number: int, step: int, gone: int = 0) -> Frames:
        """Return the frames of a step of all but the first so many, which vanish before it."""
        said = self.begin(number)
        for _ in range(step - 1):
            _give(gateway, said)
            said, _ = self.answer(gateway.end_step())
        return {place: frames for place, frames in said.items() if place >= gone}

    def set_message(self, number: int, places: Sequence[int]) -> bytes:
        """Return a set that these are said to be in, as the site signs it."""
        sid = agreed.sid_of(_make_round_body(number), self.shard.digest)
        where = shard_topic(SITE, self.shard.number)
        return bytes(agreed.pack(SET, sid, {3: agreed.pack_places(places, SIZE)}, SITE_KEY, where))

    def sum_of(self, places: Sequence[int]) -> list[int]:
        """Return the sum of what these brought."""
        return [sum(place + at for place in places) % (1 << BITS) for at in range(LENGTH)]


def _make_round_body(number: int) -> bytes:
    return b"the map of Round %d" % number


def _decode_frame(frame: bytes) -> bytes:
    """Return what a device's frame brings, joined."""
    return bytes(decode(frame[: -wire.MAC_BYTES])[3])


def _give(gateway: ShardSum, said: Mapping[int, Sequence[bytes]]) -> list[str]:
    return [gateway.take_frame(place, frame) for place, frames in said.items() for frame in frames]


def sums_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what a gateway, a broker or devices that do as they like get out of a secure sum.

    What it cannot see: whether more collude than the owner allowed for, and, of a gateway that
    lies, more than each attack tried here; PRIVACY says which of both is promised.
    """
    yield from _claim_dropouts(effort)
    yield from _claim_lying_gateway(effort)
    yield from _claim_lying_broker(effort)
    yield from _claim_lying_devices(effort)
    yield from _claim_paid()


def _claim_dropouts(effort: Effort) -> Iterator[Claim]:
    """Yield that a sum is that of who stayed, or is not opened."""
    exact, opened = True, 0
    for step in range(1, 6):
        for gone in (3, 4):
            town = Shard(effort, "vanish", step, gone)
            gateway = town.make_gateway(1)
            said = town.run_to_step(gateway, 1, step, gone)
            _give(gateway, said)
            sent = gateway.end_step()
            if gone > MISSING * SIZE and step <= MASKED:
                opened += gateway.state != ABANDONED or bool(sent)
            while gateway.state not in (RELEASED, ABANDONED):
                said, _ = town.answer([one for one in sent if one[0] is None or one[0] >= gone])
                _give(gateway, {i: frames for i, frames in said.items() if i >= gone})
                sent = gateway.end_step()
            if gone <= MISSING * SIZE:
                stay = town.sum_of(range(gone if step <= MASKED else 0, SIZE))
                exact &= gateway.total is not None and gateway.total.tolist() == stay
    yield claim_fact("a secure sum is that of the devices that stayed", exact, samples=5)
    sentence = "a gateway goes on with no secure sum of fewer devices than the threshold"
    yield claim_none(sentence, opened, "sums opened", samples=3)


def _claim_lying_gateway(effort: Effort) -> Iterator[Claim]:
    """Yield what devices do where a gateway asks for what it may not have."""
    town = Shard(effort, "two sets")
    gateway = town.make_gateway(1)
    _give(gateway, town.run_to_step(gateway, 1, MASKED))
    gateway.end_step()
    everybody, others = range(SIZE), range(1, SIZE)
    town.answer([(None, town.set_message(1, everybody))])
    answered, refused = town.answer([(None, town.set_message(1, others))])
    sentence = "no device that was told a set answers to another one of the same round"
    yield claim_none(sentence, len(answered) + SIZE - len(refused), "devices", samples=SIZE)
    yield _split(effort)
    town = Shard(effort, "few")
    gateway = town.make_gateway(1)
    _give(gateway, town.run_to_step(gateway, 1, MASKED))
    few = range(town.shard.threshold - 1)
    answered, _ = town.answer([(None, town.set_message(1, few))])
    yield claim_at_most(
        "no device answers to a set below its threshold", 0, len(answered), samples=SIZE
    )
    yield _claim_tags_needed(effort)
    yield from _claim_roster_terms(effort)


def _split(effort: Effort) -> Claim:
    """Claim that half of the devices, told another set than the others, reveal nothing."""
    town = Shard(effort, "split")
    gateway = town.make_gateway(1)
    _give(gateway, town.run_to_step(gateway, 1, MASKED))
    gateway.end_step()
    whole, without = (town.set_message(1, range(first, SIZE)) for first in (0, 1))
    said: Frames = {}
    for place, member in town.members.items():
        if place:
            said[place] = member.handle(whole if place % 2 else without, True)
    given = [_reveal(town, gateway, place, said) for place in said]
    sentence = "no device gives shares where its neighbours were told different sets"
    return claim_none(
        sentence, sum(one is not None for one in given), "devices", samples=len(given)
    )


def _reveal(town: Shard, gateway: ShardSum, place: int, said: Frames) -> bytes | None:
    """Return the shares that a device gives, told all tags there are; None where it refuses."""
    near, sid = town.shard.neighbours[place], gateway.sid
    at = {j: i for i, j in enumerate(near)}
    bear, know, who = [], [], []
    for j in near:
        if j not in said:
            continue
        confirmed = _decode_frame(said[j][0])
        order = [i for i in town.shard.neighbours[j] if i in said or j % 2]
        tag = order.index(place) * agreed.TAG
        borne = gateway._devices[j].bearing
        own = town.shard.neighbours[j].index(place) * agreed.TAG
        who.append(at[j])
        bear.append(borne[own : own + agreed.TAG])
        know.append(confirmed[tag : tag + agreed.TAG])
    bits = agreed.pack_places(who, len(near))
    fields = {3: bits, 4: b"".join(bear), 5: bits, 6: b"".join(know)}
    where = wire.topic(SITE, town.shard.members[place], "told")
    message = agreed.pack(agreed.TAGS, sid, fields, town.keys[place].config_key, where)
    frames, _ = town.answer([(place, message)])
    return _decode_frame(frames[place][0]) if frames else None


def _claim_tags_needed(effort: Effort) -> Claim:
    """Claim that the mask of who proves nothing to a device is not given by it."""
    town = Shard(effort, "tags")
    gateway = town.make_gateway(1)
    said = town.run_to_step(gateway, 1, CONFIRM)
    victim = gateway._devices[0]
    victim.bearing = bytes(len(victim.bearing))  # as if it bore nobody's mask
    _give(gateway, said)
    said, _ = town.answer(gateway.end_step())
    given = 0
    for place, frames in said.items():
        if place:
            at = town.shard.neighbours[place].index(0)
            joined = _decode_frame(frames[0])
            given += any(joined[at * SHARE : (at + 1) * SHARE])
    sentence = "no device gives the mask of one that did not prove that it bears theirs"
    return claim_at_most(sentence, 0, given, samples=SIZE - 1)


def _claim_roster_terms(effort: Effort) -> Iterator[Claim]:
    """Yield that the roster's numbers hold, whatever a Round says, and whose roster it is."""
    town = Shard(effort, "terms")
    honest, begun = town.make_terms(1), list[str]()
    for name, changed in (
        ("a divisor that the gateway chose", {"divisor": honest.divisor + 1}),
        ("sums that wrap around", {"bits": 8}),
        ("no neighbours named", {"adjacency": ""}),
    ):
        bent, tape = honest._replace(**changed), effort.tape("bent")
        if not is_refused(partial(town.members[0].begin, b"bent", bent, list, tape), Refused):
            begun.append(name)
    yield claim_none(
        "a device joins no sum whose numbers are not those of its roster", begun, samples=3
    )
    roots = {f"n{i:02}": effort.root("sums", i) for i in range(3 * SIZE)}
    drawn = roster.draw_rosters(SITE, roots, 1, 3, BITS, effort.tape("three"), missing=MISSING)
    everybody = [name for one in drawn for name in one.shard.members]
    twice = {**roots, "again": roots["n00"]}
    refused = is_refused(
        lambda: roster.draw_rosters(SITE, twice, 1, 3, BITS, effort.tape("again"), missing=MISSING)
    )
    sentence = "no device is in two shards, under whatever names"
    yield claim_fact(sentence, sorted(everybody) == sorted(roots) and refused, samples=2)


def _claim_lying_broker(effort: Effort) -> Iterator[Claim]:
    """Yield that what is repeated, mixed up or forged on the way changes no sum."""
    town = Shard(effort, "broker")
    first, gateway, kept = town.make_gateway(1), town.make_gateway(2), list[tuple[int, bytes]]()
    said = town.begin(1)
    while first.state != RELEASED:
        kept += [(place, frame) for place, frames in said.items() for frame in frames]
        _give(first, said)
        said, _ = town.answer(first.end_step())
    said, why, tried = town.begin(2), list[str](), 0
    while gateway.state not in (RELEASED, ABANDONED):
        for place, frame in kept:
            why.append(gateway.take_frame(place, frame))
        for place, frames in said.items():
            for frame in frames:
                why.append(gateway.take_frame((place + 1) % SIZE, frame))
                why.append(gateway.take_frame(place, frame[:-1] + bytes([frame[-1] ^ 1])))
        tried += len(kept) + 2 * len(said)
        _give(gateway, said)
        said, _ = town.answer(gateway.end_step())
    sentence = "no frame of another round, of another device or with a changed bit is taken"
    yield claim_none(sentence, why.count(""), "frames", samples=tried)
    exact = gateway.total is not None and gateway.total.tolist() == town.sum_of(range(SIZE))
    yield claim_fact("a sum is exact beside frames that are none of it", exact, samples=1)


def _claim_lying_devices(effort: Effort) -> Iterator[Claim]:
    """Yield that who gives false shares is named, or the sum not opened; a false one never is."""
    for liars in (1, SIZE - 3):
        town = Shard(effort, "liars", liars)
        gateway = town.make_gateway(1)
        said = town.run_to_step(gateway, 1, REVEAL)
        for place in range(liars):
            said[place] = [_forge_shares(town, gateway, place, frame) for frame in said[place]]
        _give(gateway, said)
        gateway.end_step()
        if liars == 1:
            total = [] if gateway.total is None else gateway.total.tolist()
            good = gateway.liars == {0} and total == town.sum_of(range(SIZE))
            yield claim_fact("who gives false shares is named, and the sum exact", good, samples=1)
        else:
            yield claim_fact(
                "where too many give false shares the sum is given up",
                gateway.state == ABANDONED and gateway.total is None,
                samples=1,
            )


def _forge_shares(town: Shard, gateway: ShardSum, place: int, frame: bytes) -> bytes:
    """Return a device's last frame with other shares in it, signed as it would."""
    joined = _decode_frame(frame)
    where = wire.topic(SITE, town.shard.members[place], "sum")
    other = bytes(b ^ 0x15 for b in joined)
    return bytes(agreed.pack(REVEAL, gateway.sid, {3: other}, town.keys[place].mac_key, where))


def _claim_paid() -> Iterator[Claim]:
    """Yield that a device pays before it says a word, once, and starts anew with nothing."""
    unpaid, believed, tried = list[str](), list[str](), 0
    for mechanism in MECHANISMS:
        subject: Any = mechanism.subject
        if subject is None or subject.KIND != "distributed":
            continue
        query = next(query for _, query in subject.list_queries() if subject.is_replacement(query))
        made, drawn = roster.enrol_in_shards(enrol.enrol_fleet(SITE, query.users), query)
        place, where = budgets.keep_slots_in_memory(), wire.round_topic(SITE, mechanism.name)
        budgets.write_first_budgets(
            made, make_capped_limits(Fraction(*query.epsilon), 1, 0.0), place
        )

        def answer(
            round: Any,
            made: Any = made,
            place: Any = place,
            where: str = where,
            name: str = drawn[0].shard.members[0],
        ) -> tuple[list[bytes], int]:
            """Return what a device that was just started says to a Round, and what it has left."""
            devices = budgets.boot_devices(made.secrets, place).devices
            who, held = next((who, held) for who, held in devices if who.name == name)
            message = bytes(post.pack_round(round, made.secrets.site_key, where))
            node = SumNode(who, held, round.mechanism, ciphers)
            return node.handle(where, message, lambda grid: (0, 0)), held.left

        round: Any = mechanism.plan(query, ())
        params = list(round.params)
        params[5], params[6] = 10**6, 0
        wrong, before = answer(round._replace(params=tuple(params)))
        if wrong:
            believed.append(mechanism.name)
        said, left = answer(round)
        other = round._replace(grid=round.grid._replace(cell_mm=round.grid.cell_mm + 1))
        again = [frames for same in (round, other) for frames in answer(same)[0]]
        if not said or again or left >= before:
            unpaid.append(mechanism.name)
        tried += 3
    sentence = "a device has paid for a sum before it joins, and joins none of that number again"
    yield claim_none(sentence, unpaid, samples=tried)
    sentence = "a device brings noise for its roster's divisor, whatever a Round says"
    yield claim_none(sentence, believed, samples=tried)
