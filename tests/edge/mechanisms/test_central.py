"""A device of central trust: allowed by name, sealed to one round, one length whatever it saw."""

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core import entropy, tightening, wire
from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import Grid, Reading, SealedRound
from edge.core.window import open_budget, pack_first, step_of
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import central, crypto, disk_limits
from gateway import mechanisms
from tests import tally

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
PRIVATE = bytes(range(64, 96))
PUBLIC = crypto.x25519(PRIVATE, crypto.BASE)
TOPIC, DATA = wire.round_topic("lab", "tally"), wire.topic("lab", "n007", "data")
LIMITS = disk_limits.make_limits(1, 1, 10)
PSK, KEY_ID = rootkeys.seal_key(ROOT), rootkeys.key_id(ROOT)


@pytest.fixture(autouse=True)
def _tally(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let devices know the tests' own mechanism."""
    monkeypatch.setattr(central, "module_of", {"tally": tally}.get)


def sealed_round(number: int = 1, **other: object) -> SealedRound:
    return SealedRound(*tally.a_round(number), PUBLIC)._replace(**other)


def message(round: object) -> bytes:
    return bytes(post.pack_round(round, SITE_KEY, TOPIC))


def node(
    allowed: str = "tally", mechanism: str = "tally", slots: Ram | None = None, **own: str
) -> tuple[Node, Budget]:
    """Return a device, new or started again from its slots, and its budget."""
    if slots is None:
        slots = Ram()
        provision(slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), LIMITS)
    budget = Budget(slots, rootkeys.state_key(ROOT))
    budget.boot()
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7, central=allowed)
    return Node(who._replace(**own), budget, mechanism=mechanism), budget


def payload(frame: bytes | None, plan: SealedRound, private: bytes = PRIVATE) -> list[int]:
    """Return what a frame holds for whoever has the round's private key; ValueError else."""
    assert frame is not None
    report = post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n007")
    info, aad = central.bind_report(plan, "lab", "n007", report.epoch, report.seq)
    enc, rest = report.payload[:32], report.payload[32:]
    key = central.derive_key_nonce(crypto.x25519(private, enc), enc, plan.key, PSK, KEY_ID, info)
    return list(central.unpack(crypto.unseal(*key, rest, aad)))


@settings(max_examples=25)
@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_the_curve_is_that_of_another_implementation(one: bytes, other: bytes) -> None:
    """RFC 7748, for any secret: whoever agreed on another number could open nothing."""
    private = X25519PrivateKey.from_private_bytes(one)
    public = X25519PrivateKey.from_private_bytes(other).public_key().public_bytes_raw()

    assert crypto.x25519(other, crypto.BASE) == public
    assert crypto.x25519(one, public) == private.exchange(
        X25519PublicKey.from_public_bytes(public)
    )


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200), st.binary(max_size=40))
def test_the_cipher_is_that_of_another_implementation(
    key: bytes, plain: bytes, aad: bytes
) -> None:
    """RFC 8439, for any length: and a bit that is changed anywhere does not open."""
    nonce = key[:12]
    sealed = crypto.seal(key, nonce, plain, aad)

    assert sealed == ChaCha20Poly1305(key).encrypt(nonce, plain, aad)
    assert crypto.unseal(key, nonce, sealed, aad) == plain
    for bad in (sealed[:-1], bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:15]):
        with pytest.raises(ValueError, match="does not open"):
            crypto.unseal(key, nonce, bad, aad)


P = 2**255 - 19
EIGHTH = 325606250916557431795983626356110631294008115727848805560023387167927233504
OTHER = 39382357235489614581723060781553021112529911719440698176882885853963445705823
LOW = {
    name: number.to_bytes(32, "little")
    for name, number in {
        "zero": 0,
        "one": 1,
        "less-one": P - 1,
        "p": P,
        "p-and-one": P + 1,
        "of-order-8": EIGHTH,
        "its-other": OTHER,
    }.items()
}


@pytest.mark.parametrize("point", LOW.values(), ids=LOW)
def test_a_point_of_low_order_is_refused(point: bytes) -> None:
    """What everybody's secret makes of it is the same, and would be the key.

    A device sees it before it pays. The list is that of RFC 7748, Section 7, and Bernstein's.
    """
    with pytest.raises(ValueError, match="low order"):
        crypto.x25519(PRIVATE, point)
    assert crypto.has_low_order(point)
    assert not crypto.has_low_order(PUBLIC)
    device, budget = node()
    assert device.answer(message(sealed_round(key=point)), lambda grid: (0, 0)) is None
    assert "low order" in device.refusal
    assert budget.spent == 0


def test_a_message_is_the_rfcs() -> None:
    """RFC 9180, A.2.2: the keys between, and the ciphertext of its first message."""
    secret, public, psk, name, text = map(
        bytes.fromhex,
        (
            "0c35fdf49df7aa01cd330049332c40411ebba36e0c718ebc3edf5845795f6321",
            "13640af826b722fc04feaa4de2f28fbd5ecc03623b317834e7ff4120dbe73062",
            "0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82",
            "456e6e796e20447572696e206172616e204d6f726961",
            "4265617574792069732074727574682c20747275746820626561757479",
        ),
    )
    enc, info = crypto.x25519(secret, crypto.BASE), b"Ode on a Grecian Urn"
    shared = crypto.x25519(secret, public)
    key, nonce = central.derive_key_nonce(shared, enc, public, psk, name, info)
    sealed = central.seal((secret, enc), public, psk, name, info, b"Count-0", text)

    assert enc.hex() == "2261299c3f40a9afc133b969a97f05e95be2c514e54f3de26cbe5644ac735b04"
    assert key.hex() == "600d2fdb0313a7e5c86a9ce9221cd95bed069862421744cfb4ab9d7203a9c019"
    assert nonce.hex() == "112e0465562045b7368653e7"
    assert sealed[32:].hex() == (
        "4a177f9c0d6f15cfdf533fb65bf84aecdc6ab16b8b85b4cf65a370e07fc1d78d28fb073214525276f4a89608ff"
    )


def test_what_is_read_opens_for_the_rounds_key_alone() -> None:
    """The same bytes when the Round comes again, one charge, and the true cell in it."""
    device, budget = node()
    plan = sealed_round()
    frames = {device.answer(message(plan), lambda grid: (2, 1)) for _ in range(3)}
    (frame,) = frames

    assert payload(frame, plan) == [7, 7]
    assert budget.spent == disk_limits.price(LIMITS, 1, 1)
    with pytest.raises(ValueError, match="does not open"):
        payload(frame, plan, private=bytes(range(32)))
    with pytest.raises(ValueError, match="does not open"):
        payload(frame, sealed_round(2))


def test_what_a_report_is_sealed_for_is_as_stated() -> None:
    """Round, site, device, topic and numbers, byte by byte: another gateway must find the same."""
    body = wire.round_body(sealed_round())
    info, aad = central.bind_report(sealed_round(), "lab", "n007", 3, 258)

    assert info == b"heatveil-seal-v1" + hashlib.sha256(body).digest() + b"\3lab\4n007"
    assert aad == b"heatveil/1/lab/n007/data" + bytes(7) + b"\3" + bytes(6) + b"\1\2"


def test_every_frame_of_a_round_has_one_length() -> None:
    """Also where nothing could be read, which would tell where a receiver hears nothing."""
    readers: list[Callable[[object], tuple[int, int]]] = [
        lambda grid: (0, 0),
        lambda grid: (4, 3),
        lambda grid: (-99, 10**9),
        Mock(side_effect=OSError("no fix")),
    ]
    plan = sealed_round()
    frames = [node()[0].answer(message(plan), reader) for reader in readers]

    assert len({len(frame or b"") for frame in frames}) == 1
    assert [payload(frame, plan) for frame in frames] == [[7, 0], [7, 19], [7, 15], []]


@pytest.mark.parametrize(
    "told",
    [ZeroDivisionError(), MemoryError(), [7, 1 << 63], [7, 0, 0], None],
    ids=["fault", "memory", "too-large", "too-many", "none"],
)
def test_whatever_fails_with_what_was_read_a_frame_goes_out(
    told: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for, and a frame that is missing would tell of the place."""

    def report(*_: object) -> object:
        if isinstance(told, Exception):
            raise told
        return told

    plan = sealed_round()
    right = node()[0].answer(message(plan), lambda grid: (0, 0))
    monkeypatch.setattr(tally, "report", report)
    frame = node()[0].answer(message(plan), lambda grid: (0, 0))

    assert payload(frame, plan) == []
    assert len(frame or b"") == len(right or b"")


def test_what_fails_in_sealing_is_not_said_of_the_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would look for it there; and of the sensor nothing is ever said."""
    device, _ = node()
    monkeypatch.setattr(central, "seal", Mock(side_effect=MemoryError))

    assert device.answer(message(sealed_round()), lambda grid: (0, 0)) is None
    assert device.refusal == "its report could not be sealed"


def lost_place(grid: object) -> tuple[int, int]:
    """Raise as a receiver without a fix does."""
    raise OSError


LINE = (4, 1, 1, 4, 2)  # of ranks; the points of a user follow


@pytest.mark.parametrize(
    ("mechanism", "shape", "params", "why"),
    [
        ("ranks", (8, 8), (*LINE, 2032), ""),
        ("ranks", (8, 8), (*LINE, 2033), "a gateway reads"),
        ("ranks", (8, 8), (*LINE, 1 << 62), "a gateway reads"),
        ("ranks", (0, 8), (*LINE, 1), "0 x 8 cells"),
        ("pyramid", (8, 8), (1024, 1016, 4, 0, 1, 1, 1), ""),
        ("pyramid", (8, 8), (1024, 1017, 4, 0, 1, 1, 1), "a gateway reads"),
        ("pyramid", (8, 8), (1 << 31, 1, 4, 0, 1, 1, 1), "params"),
        ("pyramid", (8, 0), (1024, 1, 4, 0, 1, 1, 1), "8 x 0 cells"),
    ],
)
def test_what_could_not_be_sealed_is_refused_before_it_is_paid(
    mechanism: str,
    shape: tuple[int, int],
    params: tuple[int, ...],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a frame goes out or not by what was read; and the longest is one that gateways read."""
    monkeypatch.undo()  # the device's own table
    plan = sealed_round(mechanism=mechanism, grid=Grid(shape, 0), params=params)
    signed = post.pack_round(plan, SITE_KEY, wire.round_topic("lab", mechanism))
    frames, spent = [], []
    for read in (lambda grid: (3, 4), lost_place):
        device, budget = node(mechanism, mechanism)
        frames.append(len(device.answer(signed, read) or b""))
        spent.append(budget.spent)
        assert why in device.refusal

    assert [*map(bool, frames), *map(bool, spent)] == [not why] * 4
    assert frames[0] == frames[1] <= post.REPORT_BYTES


def test_no_two_messages_share_a_key() -> None:
    """A second message under one stream would give away what both say."""
    device, _ = node()
    answers = [device.answer(message(sealed_round(i)), lambda grid: (0, 0)) for i in (1, 2, 3)]
    reports = [post.unpack_report(one, rootkeys.mac_key(ROOT), DATA, "n007") for one in answers]

    assert len({one.payload[:32] for one in reports}) == 3


@pytest.mark.parametrize("allowed", ["", "ranks"])
def test_who_is_not_enrolled_for_it_by_name_refuses(allowed: str) -> None:
    """The default is no; nothing is read or charged, and `meta` says so to everybody."""
    asked: list[object] = []
    device, budget = node(allowed)

    assert device.answer(message(sealed_round()), asked.append) is None
    assert device.refusal.startswith("central-not-allowed: ")
    assert (asked, budget.spent, device.meta()["central"]) == ([], 0, False)
    assert node()[0].meta()["central"] is True


LOCAL = tally.PROMISE._replace(trust="local")
CHEAP = tally.PROMISE._replace(epsilon=(1, 2))


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (tally.a_round(), "no key"),
        (sealed_round(guarantee=LOCAL), "trust is not central"),
        (sealed_round(guarantee=CHEAP), "states less"),
        (sealed_round(params=(2, 1)), "less noise"),
        (sealed_round(params=(0, 1)), "is none"),
        (sealed_round(params=(1,)), "other params"),
        (sealed_round(0), ""),
    ],
    ids=["no-key", "local", "understated", "loud", "no-epsilon", "params", "as-enrolled"],
)
def test_a_round_that_is_not_as_enrolled_costs_nothing(plan: object, why: str) -> None:
    """Whoever has the site key can sign one: the device holds it against its own limits."""
    device, budget = node()
    frame = device.answer(message(plan), lambda grid: (0, 0))

    assert (frame is None) == bool(why)
    assert why in device.refusal
    assert (budget.spent == 0) == bool(why)


def test_a_payload_keeps_numbers_of_64_bits_with_their_sign() -> None:
    """One that does not fit is refused and not cut short."""
    told = [-(1 << 63), -1, 0, (1 << 63) - 1]
    assert central.unpack(central.pack_padded(told, 5)) == told
    for number in (-(1 << 63) - 1, 1 << 63):
        with pytest.raises(ValueError, match="64 bits do not hold"):
            central.pack_padded([number], 5)


@pytest.mark.parametrize(("sensors", "other"), [(2, False), (1, True)])
def test_who_measures_temperatures_tells_no_place(sensors: int, other: bool) -> None:
    """A place is one sensor's."""
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7, central="tally")
    with pytest.raises(ValueError, match="A place is one sensor's"):
        central.make_sealer("tally", who._replace(sensors=sensors), other)


def test_no_number_is_answered_twice_with_another_key() -> None:
    """A gateway that lost its store could else ask again, and have both data and noise twice.

    Nor after a power cut, which costs nothing here: each answer is written, and no lease.
    """
    slots, other = Ram(), crypto.x25519(bytes(32), crypto.BASE)
    provision(slots, rootkeys.state_key(ROOT), rootkeys.first_chain(ROOT), LIMITS)
    for number in (1, 2, 3):
        device, budget = node(slots=slots)
        assert device.answer(message(sealed_round(number)), lambda grid: (0, 0))
        spent = budget.spent
        assert spent == number * disk_limits.price(LIMITS, 1, 1)
        for again, left in ((device, budget), node(slots=slots)):
            refused = again.answer(message(sealed_round(number, key=other)), lambda grid: (0, 0))
            assert refused is None
            assert "already answered" in again.refusal
            assert left.spent == spent


def test_no_limits_are_taken_that_let_the_epsilons_of_sealed_reports_grow() -> None:
    """Cheaper answers out of the same budget are more of them, and more epsilon in all."""
    device, budget = node()
    limits = LIMITS._replace(version=2, variance=4 * LIMITS.variance)
    config_key, where = rootkeys.config_key(ROOT), tightening.topic("lab", "n007")
    ack = device.tighten(post.pack_limits(limits, config_key, where))

    assert not ack["taken"]
    assert "add up to more" in ack["why"]
    assert budget.limits == LIMITS


def test_whoever_keeps_the_root_is_not_allowed_it() -> None:
    """The key of each message comes from a stream that a key holder repeats."""
    with pytest.raises(ValueError, match="keeps its root key"):
        rootkeys.identity("lab", "n", ROOT, SITE_KEY, 0, "keyholder", central="tally")
    device, budget = node(mode="keyholder")  # by whatever file

    assert device.answer(message(sealed_round()), lambda grid: (0, 0)) is None
    assert "holds its root" in device.refusal
    assert budget.spent == 0


def test_keys_of_messages_come_from_the_stream_of_the_boot() -> None:
    """A board's own entropy may be poor: the host's secret is in what makes the pair."""
    secret, public = central.draw_key_pair(entropy.Tape(b"pair"))

    assert secret == entropy.Tape(b"pair").below(1 << 256).to_bytes(32, "little")
    assert public == crypto.x25519(secret, crypto.BASE)


def test_ranks_is_sealed_as_it_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its round's key opens is its own report; it is known by name alone."""
    monkeypatch.undo()  # the device's own table
    ranks = mechanisms.find_mechanism("ranks")
    plan = SealedRound(
        *(*ranks.plan(ranks.query(grid=Grid((8, 8), 0), epsilon=(1, 1)), []), PUBLIC)
    )
    device, _ = node("ranks", "ranks")
    where = wire.round_topic("lab", "ranks")
    frame = device.answer(post.pack_round(plan, SITE_KEY, where), lambda grid: (3, 5))

    assert device.refusal == ""
    assert payload(frame, plan) == ranks.report(plan, Reading(7, (3, 5)), None)


@pytest.mark.parametrize("slow", [False, True])
def test_an_answer_counts_in_the_bucket_that_it_is_read_in_or_is_not_given(slow: bool) -> None:
    """However the noise comes about, a window holds what the device has paid for in it."""
    slots, key, now_ms = Ram(), rootkeys.state_key(ROOT), [0]
    provision(slots, key, rootkeys.first_chain(ROOT), LIMITS, pack_first(86_400, LIMITS.budget))
    budget = open_budget(slots, key, 1, SimpleNamespace(now_ms=lambda: now_ms[0]))
    budget.boot()
    who = rootkeys.identity("lab", "n007", ROOT, SITE_KEY, 7, central="tally")
    device, answers = Node(who, budget, mechanism="tally"), []

    def read(grid: object) -> tuple[int, int]:
        now_ms[0] += 1000 * step_of(86_400) * slow
        return 0, 0

    for number in range(1, 100):  # one an hour, of a clock that runs as fast as it may
        if device.answer(message(sealed_round(number)), read) is not None:
            answers.append(now_ms[0] / 1.02)
        now_ms[0] += 3_672_000

    assert (device.refusal == budget.LAPSED) == slow
    assert (answers == []) == slow
    for since in answers:
        assert sum(since <= at <= since + 86_400_000 for at in answers) <= 10
