"""A gateway that adds up what it cannot see: exact whoever vanishes, or not at all."""

from math import prod

import numpy as np
import pytest

from edge.core import wire
from edge.core.entropy import Tape
from edge.core.wire import Words
from edge.mechanisms import secure_sum
from edge.mechanisms.secure_sum import SHARE, P, evaluate, pack_number
from gateway.service.secure_sum.collecting import ABANDONED, FIXED, RELEASED
from gateway.service.secure_sum.opening import decode_shares, open_secret
from tests.sums import SITE, STAGES, Talk, Town, drawn, who_is


@pytest.mark.parametrize(("missing", "bits"), [(0, 16), (10, 32), (30, 16)])
def test_the_sum_is_exact_whoever_vanishes(missing: int, bits: int) -> None:
    """At each stage: who vanishes before its numbers came is not in it, whoever later is."""
    town = Town(drawn(20, missing)[0], 40, bits, 16)
    count = 20 * missing // 100
    vanish = {3 * i: STAGES[i % 5] for i in range(count)}
    play = town.play(vanish)
    within = [i for i in range(20) if vanish.get(i) not in STAGES[:3]]

    assert play.state == RELEASED
    assert play.total == town.sum_of(within)


@pytest.mark.long
@pytest.mark.parametrize("missing", [0, 30])
def test_the_sum_is_exact_where_few_are_beside_each_other(missing: int) -> None:
    """A graph in the place of all pairs."""
    town = Town(drawn(90, missing)[0])
    vanish = {i: STAGES[i % 5] for i in range(90 * missing // 100)}
    within = [i for i in range(90) if vanish.get(i) not in STAGES[:3]]

    assert town.shard.k < 60
    assert town.play(vanish).total == town.sum_of(within)


@pytest.mark.parametrize("stage", STAGES)
def test_below_the_threshold_nothing_is_opened(stage: str) -> None:
    """One device too many vanishes; with one fewer there is a sum."""
    most = 12 - drawn(12, 20)[0].shard.threshold
    few = Town(drawn(12, 20)[0]).play(dict.fromkeys(range(most + 1), stage))
    enough = Town(drawn(12, 20)[0]).play(dict.fromkeys(range(most), stage))

    assert enough.state == RELEASED
    if stage in STAGES[:3]:
        assert (few.state, few.total) == (ABANDONED, None)
        assert "minimum" not in few.refused.values()  # no device had to say so
    else:  # who is in the set stays in it; what decides is how many can open its secrets
        assert few.total == (
            None if 11 - most - 1 < 9 else Town(drawn(12, 20)[0]).sum_of(range(12))
        )


def test_a_secret_with_one_share_too_few_abandons_the_round() -> None:
    """All but t - 1 neighbours of one device vanish when they were to give their shares."""
    talk = Talk(Town(drawn(12, 20)[0])).until(4)
    talk.give(but=[9, 10, 11])

    assert talk.gateway.state == ABANDONED
    assert talk.gateway.total is None


def test_numbers_alone_say_nothing() -> None:
    """What a device sends looks like chance, and is another thing in another round."""
    talk = Talk(Town(drawn(12, 20)[0], length=2000)).until(2)
    mac, where = who_is(talk.town.shard.members[0]).mac_key, up(talk, 0)
    found = [wire.open_message(one, mac, where, 1 << 20)[5].packed for one in talk.up[0]]
    seen = np.frombuffer(b"".join(found), "<u2")
    plain = np.array([-5] * 2000, np.int16)

    assert abs(seen.mean() / 65536 - 0.5) < 4 / np.sqrt(12 * 2000)
    assert abs(plain.astype(np.uint16).mean() / 65536 - 0.5) > 0.4


def up(talk: Talk, place: int) -> str:
    return str(wire.topic(SITE, talk.town.shard.members[place], "sum"))


def sent(talk: Talk, step: int, fields: dict[int, object], place: int = 0) -> str:
    """Return what the gateway says of a genuine frame with these fields."""
    mac = who_is(talk.town.shard.members[place]).mac_key
    frame = secure_sum.pack(step, talk.gateway.sid, fields, mac, up(talk, place))
    return talk.gateway.take_frame(place, frame)


def test_what_is_not_of_this_round_is_refused_by_name() -> None:
    """Of a stranger, forged, of another round, again, or with other keys."""
    talk = Talk(Town(drawn(12, 20)[0]))
    (join,) = talk.up[0]
    other = secure_sum.pack(1, bytes(32), {3: bytes(64)}, mac(talk, 0), up(talk, 0))

    assert talk.gateway.take_frame(99, join) == "unknown"
    assert talk.gateway.take_frame(1, join) == "forged"
    assert talk.gateway.take_frame(0, join[:-1]) == "forged"
    assert talk.gateway.take_frame(0, other) == "replayed"
    assert talk.gateway.take_frame(0, join) == ""
    assert talk.gateway.take_frame(0, join) == "repeated"
    assert sent(talk, 1, {3: bytes(64)}) == "joined-twice"
    assert sent(talk, 1, {3: bytes(63)}, 1) == "wrong-length"
    assert sent(talk, 7, {}, 2) == "late"


def mac(talk: Talk, place: int) -> bytes:
    return bytes(who_is(talk.town.shard.members[place]).mac_key)


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        (2, {3: bytes(16), 4: bytes(48 * 10)}),
        (2, {3: bytes(15), 4: bytes(48 * 11)}),
        (3, {3: bytes(88), 4: 0, 5: Words(16, bytes(8))}),
        (3, {3: bytes(80), 4: 0, 5: Words(16, bytes(10))}),
        (3, {3: bytes(88), 4: 1, 5: Words(16, bytes(10))}),
        (3, {3: bytes(88), 4: 0, 5: Words(32, bytes(20))}),
        (3, {3: bytes(88), 4: 0, 5: bytes(10)}),
        (3, {4: 0}),
        (4, {3: bytes(87)}),
        (5, {3: bytes(160)}),
    ],
)
def test_a_step_of_another_length_is_refused(step: int, fields: dict[int, object]) -> None:
    """And nothing of it is added to anything."""
    talk = Talk(Town(drawn(12, 20)[0])).until(step - 1)

    assert sent(talk, step, fields) == "wrong-length"


def test_numbers_that_come_late_are_not_added_and_not_kept() -> None:
    """Beside its mask that is taken off by then, they would be read."""
    talk = Talk(Town(drawn(12, 20)[0])).until(2)
    frames = talk.up[0]
    talk.give(but=[0])

    assert talk.gateway.state == FIXED
    assert talk.gateway.take_frame(0, frames[0]) == "late"
    assert not talk.gateway._devices[0].parts
    talk.hear(but=[0])
    talk.give()
    talk.hear()
    talk.give()
    assert talk.gateway.total.tolist() == talk.town.sum_of(range(1, 12))


def test_a_device_whose_numbers_miss_a_chunk_is_not_in_the_sum() -> None:
    """Half of its numbers would be half a sum."""
    talk = Talk(Town(drawn(12, 20)[0], length=40, chunk=16)).until(2)
    talk.up[0].pop(1)
    talk.give()
    talk.hear(but=[0])
    for _ in range(2):
        talk.give()
        talk.hear()

    assert talk.gateway.total.tolist() == talk.town.sum_of(range(1, 12))


@pytest.mark.parametrize("about", [12, 13, 19])
def test_false_shares_are_found_out(about: int) -> None:
    """They change nothing; below t of its dealers, all may have dealt it false ones."""
    talk = Talk(Town(drawn(20, 30)[0])).until(4)
    talk.up[7] = [lie(talk, 7, about)]
    talk.give()

    assert talk.gateway.total.tolist() == talk.town.sum_of(range(20))
    assert talk.town.shard.t == 13
    assert talk.gateway.liars == {7}
    assert talk.gateway.proven == ({7} if about >= 13 else set())


def test_who_colludes_proves_nothing_against_the_honest() -> None:
    """They bend a line through t - 2 honest shares and their own, and one share is off it."""
    town = Town(drawn(40, 10)[0])
    shard, gateway = town.shard, town.collecting()
    colluding, victim = range(shard.threshold - shard.divisor), 4
    points, secrets = {}, {}
    for i in range(victim + 1, 40):
        line, near = secure_sum.draw_polynomial(shard.t, Tape(b"line %d" % i)), shard.neighbours[i]
        kept = [x for x, j in enumerate(near, 1) if j > victim][: shard.t - 2]
        points[i] = [
            (
                x,
                (
                    evaluate(line, x)
                    + (x * prod(x - root for root in kept) if j in colluding else 0)
                )
                % P,
            )
            for x, j in enumerate(near, 1)
        ]
        secrets[i] = secure_sum.recover_secret(line)
    gateway.liars = {victim}
    gateway._convict_liars(points, secrets)

    assert len(colluding) == victim == 4
    assert gateway.proven == set()


def lie(talk: Talk, place: int, about: int = 99) -> bytes:
    """Return a frame of shares of which the first are none."""
    (frame,) = talk.up[place]
    true = wire.open_message(frame, mac(talk, place), up(talk, place), 1 << 20)[3]
    false = min(about, len(true) // SHARE)
    given = b"".join(pack_number(12345 + at) for at in range(false)) + true[SHARE * false :]
    return bytes(
        secure_sum.pack(5, talk.gateway.sid, {3: given}, mac(talk, place), up(talk, place))
    )


def test_too_many_false_shares_are_no_sum() -> None:
    """It is not opened with a wrong secret, which would give a wrong sum."""
    talk = Talk(Town(drawn(20, 30)[0])).until(4)
    for place in range(5):
        talk.up[place] = [lie(talk, place)]
    talk.give()

    assert talk.gateway.state == ABANDONED
    assert talk.gateway.total is None
    assert talk.gateway.barred


@pytest.mark.parametrize(("shares", "t", "false"), [(12, 4, 4), (12, 5, 3), (9, 8, 0), (20, 3, 8)])
def test_as_many_false_shares_as_can_be_are_told_from_true_ones(
    shares: int, t: int, false: int
) -> None:
    """(m - t) // 2 of m, wherever they are; of one more nothing is believed."""
    line = secure_sum.draw_polynomial(t, Tape(b"line"))
    secret = secure_sum.recover_secret(line)
    points = [(x, evaluate(line, x)) for x in range(1, shares + 1)]
    for wrong in range(false + 1):
        spoilt = [(x, (y + 3**x) % P if 11 * x % (shares + 1) <= wrong else y) for x, y in points]
        liars = frozenset(x for (x, y), (_, was) in zip(spoilt, points, strict=True) if y != was)
        assert len(liars) == wrong
        assert decode_shares(spoilt, t) == (secret, liars)
        assert open_secret(spoilt, t, lambda found: found == secret) is not None
    many = [(x, (y + 3**x) % P if x <= (shares - t) // 2 + 1 else y) for x, y in points]
    assert open_secret(many, t, lambda found: found == secret) is None
    assert open_secret(points[: t - 1], t, lambda found: True) is None
