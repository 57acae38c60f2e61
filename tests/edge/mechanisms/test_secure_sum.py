"""A device in a secure sum: its keys and shares as specified, and all that it does not do."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import wire
from edge.core.wire import Words
from edge.host import post, rootkeys
from edge.mechanisms import crypto, secure_sum, sum_member
from edge.mechanisms.secure_sum import SHARE, Lanes, P, pack, read_roster
from edge.mechanisms.sum_member import IDLE, MASKED, Member, Refused, Rows, shard_topic
from gateway.devices.enrol.roster import make_roster
from gateway.service.secure_sum import ciphers
from gateway.service.secure_sum.opening import evaluate_polynomial
from tests.sums import BODY, SITE, SITE_KEY, Talk, Tape, Town, drawn, root_of, who_is


def hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def below(text: str) -> int:
    return int.from_bytes(hashed(text)[:16], "big") % P


def test_keys_boxes_and_tags_are_as_specified() -> None:
    """Devices of another program agree on each byte, or on nothing."""
    sid, suite = hashed("round"), ciphers
    static, fresh = suite.Secret(hashed("d0")), suite.Secret(hashed("c0"))
    other = suite.Secret(hashed("c1")).public
    a = secure_sum.pair_key(static.agree(suite.Secret(hashed("d1")).public), 0, 1)
    q = secure_sum.box_key(a, fresh.agree(other), sid, fresh.public, other)
    s = [suite.Secret(secure_sum.derive_scalar(below(f"sigma{i}"), sid, i)) for i in (0, 1)]
    secrets = below("sigma0").to_bytes(16, "big") + below("b0").to_bytes(16, "big")
    bound = secure_sum.aad(sid, 0, 1, s[0].public)
    box = suite.seal(secure_sum.one_way_key(q, 0, 1), bytes(12), secrets, bound)
    blocks = secure_sum.make_counters(0, 2048)
    mask = suite.aes(secure_sum.mask_key(s[0].agree(s[1].public), sid, 0, 1), blocks)
    own = suite.aes(secure_sum.self_key(below("b0"), sid, 0), blocks)
    decided = hashlib.sha256(sid + b"\xff\xff").digest()
    line = b"".join(below(word).to_bytes(16, "big") for word in ("b0", "r1", "r2"))

    assert a.hex() == "7c120deab6e3f19017175e753248bab235ca875993ab09d6db1227b90fec3211"
    assert q.hex() == "cfa21568a2768389bea46f62355e881e31abce68f895fa62bf4d74e53e3a08a6"
    assert s[0].public.hex() == "3d859ddaac7bf152a657962e5841c9f85b9f8ac9ed41bf426ada92e644284241"
    assert box.hex() == (
        "85794ab12ed9a79bb053cc2f4f83256622c91aa60d81af99fb8bf052c560121ef01a419cf6cafdd113026c986e"
        "7be32b"
    )
    assert mask.hex()[:20] == "392cd6a75fa871ea2f47"
    assert hashlib.sha256(mask).hexdigest()[:32] == "7cce500bbca0430f2ebcd7a37f6e03c1"
    assert own.hex()[:16] == "10db313806390f45"
    assert secure_sum.commitment(below("b0"), sid, 0).hex() == "66412bbeefb2f82353755756a179ea4b"
    assert secure_sum.make_mask_tag(q, 0, 1).hex() == "683d36434a2c0f75"
    assert secure_sum.make_set_tag(q, 0, 1, decided).hex() == "20e80b49cb9208ca"
    assert [secure_sum.pack_number(secure_sum.evaluate(line, x)).hex() for x in (1, 2, 3)] == [
        "1e97f25ea374186da7b30fa75351713e",
        "33f3d32a4810da5fb08e6362c4b8226b",
        "003fadf94bd88095029aede79d0ce8a2",
    ]


def test_masks_are_of_aes_in_counter_mode() -> None:
    """SP 800-38A, F.5.5, whose counter begins elsewhere; and chunks of one mask are one mask."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    first = int("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 16)
    blocks = b"".join((first + i).to_bytes(16, "big") for i in range(2))
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    stream = ciphers.aes(key, blocks)

    assert bytes(a ^ b for a, b in zip(plain, stream, strict=True)).hex() == (
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    )
    one, other = secure_sum.make_counters(0, 2048), secure_sum.make_counters(2048, 2048)
    assert ciphers.aes(key, one) + ciphers.aes(key, other) == ciphers.aes(
        key, secure_sum.make_counters(0, 4096)
    )


@given(st.sampled_from((16, 32)), st.integers(1, 9), st.integers(0, 2**32))
def test_lanes_add_words_as_numpy_does(bits: int, count: int, seed: int) -> None:
    """A carry from one number to the next would be a wrong sum."""
    rng = np.random.default_rng(seed)
    word = np.dtype(f"<u{bits // 8}")
    lanes, other = Lanes(bits, count * bits // 8), ciphers.Lanes(bits, count * bits // 8)
    total = np.zeros(count, word)
    for less in rng.integers(2, size=20).tolist():
        words = rng.integers((1 << bits) - 2, 1 << bits, count, dtype=word)
        total = total - words if less else total + words
        lanes.add(words.tobytes(), bool(less))
        other.add(words.tobytes(), bool(less))

    assert lanes.pack() == other.pack() == total.tobytes()


@pytest.mark.parametrize("bits", [16, 32])
def test_numbers_are_packed_modulo_their_bits(bits: int) -> None:
    """Noise is below 0 as often as above, and a piece begins anywhere."""
    numbers = [5, -1, -(1 << 40) - 3, (1 << bits) + 7, 9]
    expected = np.array([one % (1 << bits) for one in numbers[1:4]], f"<u{bits // 8}")

    assert secure_sum.pack_words(numbers, 1, 3, bits) == expected.tobytes()


def test_a_set_has_the_length_of_its_shard() -> None:
    """A bit each, and none for strangers."""
    for count in (1, 8, 9, 16):
        bits = secure_sum.pack_places([0, count - 1], count)
        assert len(bits) == -(-count // 8)
        assert secure_sum.unpack_places(bits, count) == sorted({0, count - 1})
        for wrong in (bits + bytes(1), bits[:-1], [0]):
            with pytest.raises(ValueError, match="another length"):
                secure_sum.unpack_places(wrong, count)


def test_a_board_and_a_gateway_share_a_secret() -> None:
    """Two implementations, one curve and one cipher."""
    one, other = crypto.Secret(hashed("one")), ciphers.Secret(hashed("other"))

    assert one.agree(other.public) == other.agree(one.public)
    with pytest.raises(ValueError, match="."):
        other.agree(bytes(32))


def test_shares_are_points_away_from_the_secret() -> None:
    """A share at 0 would be the secret itself, for whoever is first in the list."""
    talk = Talk(town()).until(2)
    member = talk.town.members[3]
    near = {j: at for at, j in enumerate(member.roster.neighbours)}
    line = below("x"), below("y")

    joined = b"".join(map(secure_sum.pack_number, line))
    assert secure_sum.evaluate(joined, 2) == evaluate_polynomial(line, 2)
    for i, other in talk.town.members.items():
        if i in near:
            sigma = other._held[other.roster.neighbours.index(3)][:SHARE]
            line = secure_sum.draw_polynomial(member.roster.t, Tape(b"device 3"))
            assert int.from_bytes(sigma, "big") == secure_sum.evaluate(line, 1 + near[i])


def town(**other: Any) -> Town:
    return Town(drawn(12, 20)[0], **other)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"number": -1}, "earlier"),
        ({"divisor": 10}, "divisor"),
        ({"bits": 8}, "modulus"),
        ({"adjacency": ""}, "unnamed"),
    ],
)
def test_a_round_that_is_not_the_rosters_is_refused(changed: dict[str, Any], word: str) -> None:
    """The owner's numbers hold, whoever signs the Round; every word has one length."""
    here = town()

    with pytest.raises(Refused, match=word):
        here.members[0].begin(BODY, here.terms(**changed), here.numbers(0), Tape(b""))
    assert len(word) == 7
    assert here.members[0].state == IDLE


def test_noise_is_for_the_rosters_divisor_and_charged_once() -> None:
    """A Round that divides it among fewer is answered, and does not decide."""
    here = town()
    member = here.members[0]
    talk = Talk(here)
    member.erase()
    talk.up[0] = member.begin(BODY, here.terms(2, divisor=1), here.numbers(0), Tape(b"device 0"))
    talk.until(2)

    assert here.charged.count((0, here.shard.divisor)) == 1


def told(talk: Talk, step: int, fields: dict[int, Any], place: int = 0) -> list[bytes]:
    """Return what a device answers to a message of somebody who has the gateway's keys."""
    who = who_is(talk.town.shard.members[place])
    shard = step == secure_sum.SET
    where = shard_topic(SITE, 0) if shard else wire.topic(SITE, who.name, "told")
    message = pack(step, talk.gateway.sid, fields, SITE_KEY if shard else who.config_key, where)
    return list(talk.town.members[place].handle(message, shard))


def fields_of(talk: Talk, place: int = 0) -> dict[int, Any]:
    """Return the fields of what the gateway sends a device."""
    who = who_is(talk.town.shard.members[place])
    shard = talk.gateway.state == 3
    where = shard_topic(SITE, 0) if shard else wire.topic(SITE, who.name, "told")
    key = SITE_KEY if shard else who.config_key
    return dict(wire.open_message(talk.to(place), key, where, 1 << 20))


def fewer(fields: dict[int, Any], count: int, size: int) -> dict[int, Any]:
    """Return the fields about the first `count` neighbours alone."""
    return fields | {3: secure_sum.pack_places(range(count), 11), 4: fields[4][: size * count]}


def at_step(step: int) -> Talk:
    """Return a round in which the gateway is about to send this step."""
    talk = Talk(town()).until(step - 1)
    talk.give()
    return talk


def boxes_of_others(fields: dict[int, Any]) -> dict[int, Any]:
    return fields | {4: fields[4][48:] + fields[4][:48]}


WRONG: list[tuple[int, str, Callable[[dict[int, Any]], dict[int, Any]]]] = [
    (1, "minimum", lambda f: fewer(f, 8, 64)),
    (1, "damaged", lambda f: f | {4: f[4][:-1]}),
    (1, "damaged", lambda f: f | {4: bytes(32) + f[4][32:]}),
    (1, "damaged", lambda f: f | {3: b"\xff\xff"}),
    (2, "minimum", lambda f: fewer(f, 8, 48)),
    (2, "damaged", boxes_of_others),
    (2, "damaged", lambda f: f | {4: f[4][:-1] + bytes([f[4][-1] ^ 1])}),
    (3, "without", lambda f: {3: b"\xfe\x0f"}),
    (3, "minimum", lambda f: {3: b"\xff\x01"}),
    (3, "damaged", lambda f: {3: b"\xff\x1f"}),
    (4, "witness", lambda f: f | {4: f[4][:-24] + bytes(24)}),
    (4, "witness", lambda f: f | {6: f[6][:-24] + bytes(24)}),
]


@pytest.mark.parametrize(("step", "word", "change"), WRONG)
def test_a_step_that_is_not_as_it_should_be_ends_the_round(
    step: int, word: str, change: Callable[[dict[int, Any]], dict[int, Any]]
) -> None:
    """Nothing leaves, and what was drawn is gone; what is as it should be is answered."""
    talk = at_step(step)
    fields = {key: one for key, one in fields_of(talk).items() if key > 2}
    with pytest.raises(Refused, match=word):
        told(talk, step, change(fields))
    assert talk.town.members[0].state == IDLE
    assert told(talk, step, fields) == []
    assert told(talk, step, fields_of(talk, 1), 1)


def kept(member: Member) -> list[Any]:
    """Return all that a device still holds, down to bytes, numbers and what is neither."""
    found, left = list[Any](), list(vars(member).values())
    while left:
        one = left.pop()
        if isinstance(one, dict | Rows):
            left += (one if isinstance(one, dict) else vars(one)).values()
        elif isinstance(one, list | tuple | set):
            left += one
        else:
            found.append(one)
    return found


def test_what_is_secret_is_gone_after_the_step_that_needs_it_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who reads a device's memory later, with shares of its b and its frames, has its numbers."""
    masks: list[bytes] = []

    def mask_key(*given: Any) -> bytes:
        masks.append(secure_sum.mask_key(*given))
        return masks[-1]

    monkeypatch.setattr(sum_member, "mask_key", mask_key)
    talk = Talk(town())
    member = talk.town.members[0]
    own = {name: one for name, one in member._own.items() if name != "terms"}
    lines = [bytes(line) for line in own.pop("lines")]

    def look() -> set[str]:
        found = kept(member)
        blobs = b"|".join(bytes(one) for one in found if isinstance(one, bytes | bytearray))
        still = {name for name, secret in own.items() if any(secret is one for one in found)}
        still |= {"lines" for line in lines if line in blobs}
        still |= {"masks" for mask in masks if mask in blobs}
        still |= {"near" for at in member._near.list_numbers() if member._near[at][:32] in blobs}
        return still | ({"shares"} if any(member._held._bytes) else set())

    found = [look(), *(look() for _ in range(4) if talk.until(1))]

    assert len(masks) == 12 * 11
    assert found == [
        {"numbers", "lines", "b", "fresh", "scalar"},
        {"numbers", "b", "scalar", "near"},
        {"near", "shares"},
        {"near", "shares"},
        set(),
    ]
    assert not any(member._near._bytes)


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_step_for_which_there_is_no_room_ends_the_round(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a step is none: what it would go on with is overwritten, or drawn anew."""
    talk = at_step(step)
    member = talk.town.members[0]
    with monkeypatch.context() as full:
        full.setattr(sum_member, "write_mac", no_room)
        with pytest.raises(Refused, match="cramped"):
            member.handle(talk.to(0), step == secure_sum.SET)

    assert member.state == IDLE
    assert not member._own
    assert not any(member._near._bytes + member._held._bytes)
    assert member.handle(talk.to(0), step == secure_sum.SET) == []


def no_room(*given: Any) -> None:
    raise MemoryError


def test_a_round_for_which_there_was_no_room_may_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing was said, and nothing paid."""
    here = town()
    given = BODY, here.terms(), here.numbers(0), Tape(b"device 0")
    with monkeypatch.context() as full:
        full.setattr(sum_member, "write_mac", no_room)
        with pytest.raises(MemoryError):
            here.members[0].begin(*given)

    assert here.members[0].state == IDLE
    assert len(here.members[0].begin(*given)) == 1


def test_the_last_step_is_answered_again_and_an_older_one_is_not() -> None:
    """What was sent long ago, nobody waits for; on a board there is no room for it."""
    talk = Talk(town())
    member, sent = talk.town.members[0], list[bytes]()
    for _ in range(3):
        talk.give()
        sent.append(talk.to(0))
        talk.hear()

    assert [member.handle(one, at == 2) for at, one in enumerate(sent)] == [[], [], talk.up[0]]
    assert told(talk, 1, {3: b"", 4: b""}) == []
    assert member.begin(BODY, talk.town.terms(), list, Tape(b"")) == []


def test_a_second_set_is_refused_in_a_round() -> None:
    """With another set a neighbour's other secret would be asked for: both open its numbers."""
    talk = at_step(3)
    first = told(talk, 3, {3: b"\xff\x0f"})

    assert told(talk, 3, {3: b"\xff\x0f"}) == first
    with pytest.raises(Refused, match="changed"):
        told(talk, 3, {3: b"\xff\x07"})
    assert told(talk, 3, {3: b"\xff\x0f"}) == []


def test_of_a_neighbour_one_share_is_given() -> None:
    """Of its own mask where it is in the set, else of its masks with others."""
    talk = at_step(3)
    talk.down = [
        (None, pack(3, talk.gateway.sid, {3: b"\xff\x07"}, SITE_KEY, shard_topic(SITE, 0)))
    ]
    member = talk.town.members[0]
    held = {at: member._held[at] for at in member._held.list_numbers()}
    near = talk.town.members[0].roster.neighbours
    talk.gateway._dealt.pop(11)
    talk.hear(but=[11])
    talk.gateway.state = 3
    talk.gateway._fixed = talk.gateway._list_left_neighbours(range(11))
    talk.gateway._dealt = talk.gateway._list_left_neighbours(range(12))
    talk.give()
    talk.hear()
    (frame,) = talk.up[0]
    given = wire.open_message(
        frame, who_is(talk.town.shard.members[0]).mac_key, up(talk, 0), 9999
    )[3]

    for at, j in enumerate(near):
        assert given[16 * at :][:16] == (held[at][:SHARE] if j == 11 else held[at][SHARE:])


def up(talk: Talk, place: int) -> str:
    return str(wire.topic(SITE, talk.town.shard.members[place], "sum"))


def test_a_share_is_withheld_from_a_neighbour_that_bears_no_mask_with_me() -> None:
    """Told of few boxes alone, it bears few masks: others must not give its own one away."""
    talk = at_step(4)
    fields = fields_of(talk)
    tags = bytes(8) + fields[4][8:]
    (frame,) = told(talk, 4, {key: one for key, one in (fields | {4: tags}).items() if key > 2})
    given = wire.open_message(
        frame, who_is(talk.town.shard.members[0]).mac_key, up(talk, 0), 9999
    )[3]

    assert given[:16] == bytes(16)
    assert all(given[at : at + 16] != bytes(16) for at in range(16, len(given), 16))


def test_numbers_are_masked_and_cut_into_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece goes on where the mask of the one before ended, on a board that has few bytes."""
    whole = Talk(town(length=70)).until(2)
    monkeypatch.setattr(ciphers.Lanes, "MOST", 48)
    chunked = Talk(town(length=70, chunk=32)).until(2)
    words: list[bytes] = []
    for talk in (chunked, whole):
        mac = who_is(talk.town.shard.members[0]).mac_key
        parts = [wire.open_message(one, mac, up(talk, 0), 9999) for one in talk.up[0]]
        assert [one[4] for one in parts] == ([0, 32, 64] if talk is chunked else [0])
        assert all(one[1] == MASKED and isinstance(one[5], Words) for one in parts)
        words.append(b"".join(one[5].packed for one in parts))

    assert words[0] == words[1]


def test_a_step_out_of_turn_and_a_strangers_message_are_ignored() -> None:
    """Neither moves a device, nor lets it answer."""
    talk = at_step(2)
    state = talk.town.members[0].state

    assert told(talk, 4, {3: b"", 4: b"", 5: b"", 6: b""}) == []
    with pytest.raises(wire.Fault):
        talk.town.members[0].handle(talk.to(1))
    assert talk.town.members[0].state == state


@pytest.mark.parametrize(("step", "shard", "sid"), [(3, False, 0), (2, True, 0), (2, False, 1)])
def test_a_step_of_another_sum_or_on_another_topic_is_ignored(
    step: int, shard: bool, sid: int
) -> None:
    """A set is told to all of a shard at once, or each could be told of another."""
    talk = at_step(step)
    who, member = who_is(talk.town.shard.members[0]), talk.town.members[0]
    where = shard_topic(SITE, 0) if shard else wire.topic(SITE, who.name, "told")
    key = SITE_KEY if shard else who.config_key
    fields = {key: one for key, one in fields_of(talk).items() if key > 2}
    message = pack(
        step, bytes([talk.gateway.sid[0] ^ sid]) + talk.gateway.sid[1:], fields, key, where
    )
    state = member.state

    assert member.handle(message, shard) == []
    assert member.state == state
    assert told(talk, step, fields)


def test_a_later_round_ends_the_one_that_is_open() -> None:
    """A gateway that lost it asks anew, and is answered."""
    here = Talk(town()).until(2).town
    member, tape = here.members[0], Tape(b"later")

    assert len(member.begin(b"a later Round", here.terms(2, bits=32), here.numbers(0), tape)) == 1
    assert member.state == sum_member.JOINED
    assert not any(member._held._bytes)


def test_a_witness_is_a_neighbour_whose_box_was_opened() -> None:
    """Two whose boxes never came stand in for nobody: with 8 others, one too few bear witness."""
    talk = at_step(2)
    fields = {key: one for key, one in fields_of(talk).items() if key > 2}
    assert told(talk, 2, fewer(fields, 9, 48))
    assert told(talk, 3, {3: b"\xff\x0f"})
    member, sid = talk.town.members[0], talk.gateway.sid
    near = enumerate(member.roster.neighbours)
    keys = [(member._near[at][:32], j) for at, j in near]
    decided = hashlib.sha256(sid + b"\xff\x0f").digest()
    bear = b"".join(secure_sum.make_mask_tag(q, j, 0) for q, j in keys)
    know = b"".join(secure_sum.make_set_tag(q, j, 0, decided) for q, j in keys)

    with pytest.raises(Refused, match="witness"):
        told(talk, 4, {3: b"\xff\x07", 4: bear, 5: b"\xff\x07", 6: bytes(8) + know[8:]})


def test_numbers_of_another_length_are_not_sent() -> None:
    """A gateway that hears how many there are learns of what was counted."""
    here = town()
    charge = here.numbers
    here.numbers = lambda place: lambda divisor: charge(place)(divisor)[place == 0 :]  # type: ignore[method-assign]
    talk = Talk(here)
    talk.give()
    talk.hear()
    talk.give()

    with pytest.raises(Refused, match="unequal"):
        talk.town.members[0].handle(talk.to(0))


def test_a_device_that_started_anew_is_out_of_the_round() -> None:
    """What it knew is gone, and it begins no round twice."""
    talk = at_step(3)
    again = talk.town.member(0, talk.town.members[0].newest)

    assert again.handle(talk.to(0), True) == []
    with pytest.raises(Refused, match="earlier"):
        again.begin(BODY, talk.town.terms(), talk.town.numbers(0), Tape(b""))
    talk.town.members[0].erase()
    assert talk.town.members[0].handle(talk.to(0), True) == []


def test_a_roster_is_the_owners_and_the_newest() -> None:
    """A gateway has no key for one, and cannot bring back an older one."""
    here = town()
    name, message = here.shard.members[0], here.drawn.rosters[0]
    key, where = rootkeys.roster_key(root_of(name)), wire.topic(SITE, name, "roster")

    assert read_roster(message, key, where, 1).neighbours == here.shard.neighbours[0]
    for bad_key, bad_where, newest in (
        (rootkeys.mac_key(root_of(name)), where, 0),
        (rootkeys.config_key(root_of(name)), where, 0),
        (key, wire.topic(SITE, here.shard.members[1], "roster"), 0),
        (key, where, 2),
    ):
        with pytest.raises(wire.Fault):
            read_roster(message, bad_key, bad_where, newest)


@pytest.mark.parametrize(
    "changed",
    [
        {"place": 12},
        {"place": -1},
        {"n": (1 << 16) + 1},
        {"t": 12},
        {"t": 1},
        {"divisor": 11},
        {"k": 10},
        {"bits": 8},
        {"digest": b""},
    ],
)
def test_a_roster_of_no_shard_is_no_roster(changed: dict[str, Any]) -> None:
    """Also one that the owner signed by mistake."""
    here = town()
    key, where = bytes(32), "a/topic"
    roster = make_roster(here.shard, 0, bytes(32 * here.shard.k))
    for held in (roster, roster._replace(bits=32)):
        assert read_roster(post.pack_roster(held, key, where), key, where) == held
    with pytest.raises(wire.Fault, match="roster"):
        read_roster(wire.sign(b"\xa1\x00\x01", key, where), key, where)

    with pytest.raises(wire.Fault, match="roster"):
        read_roster(post.pack_roster(roster._replace(**changed), key, where), key, where)
