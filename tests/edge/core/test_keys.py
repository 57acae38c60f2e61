"""Keys are what their page says, one for each job, and a past boot's cannot be made again."""

import hashlib
import hmac
from typing import Any

import pytest

from edge.core import entropy
from edge.core.entropy import Tape, epoch_key, keyed, open_epoch, ratchet, sealed
from edge.host import rootkeys

ROOT = bytes(range(32))
JOBS = {
    rootkeys.mac_key: b"heatveil-mac-v1",
    rootkeys.config_key: b"heatveil-config-v1",
    rootkeys.state_key: b"heatveil-state-v1",
    rootkeys.link_key: b"heatveil-link-v1",
    rootkeys.first_chain: b"heatveil-chain-v1",
}


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def test_each_key_is_the_documented_hmac_of_the_root() -> None:
    """Whoever must rebuild a key in ten years has the page and no more."""
    assert {make(ROOT) for make in JOBS} == {mac(ROOT, label) for label in JOBS.values()}
    assert all(make(ROOT) == mac(ROOT, label) for make, label in JOBS.items())
    assert rootkeys.key_id(ROOT) == mac(ROOT, b"heatveil-id-v1")[:4]


def test_the_chain_of_a_boot_is_the_root_s_ratcheted() -> None:
    """What a device reached step by step, the holder of the root must reach at once."""
    chain = mac(ROOT, b"heatveil-chain-v1")
    for epoch in range(1, 6):
        assert rootkeys.chain_at(ROOT, epoch) == chain
        chain = mac(chain, b"heatveil-ratchet-v1")


def test_there_is_no_chain_before_the_first_boot() -> None:
    """Epoch 0 is a device that never started: a frame that names it is a lie."""
    for epoch in (0, -1):
        with pytest.raises(ValueError, match="count from 1"):
            rootkeys.chain_at(ROOT, epoch)


def test_an_epoch_key_opens_its_own_epoch_and_no_other() -> None:
    """Handed out for one afternoon, it must say nothing of the next."""
    chain = rootkeys.chain_at(ROOT, 7)
    key = epoch_key(chain, 7)
    ours = [keyed(chain, "attic-3", 7, seq, 2).below(1 << 256) for seq in range(3)]
    next_chain = ratchet(chain)

    assert key == mac(mac(chain, b"heatveil-noise-v1"), (7).to_bytes(8, "big"))
    assert [open_epoch(key, "attic-3", 7, seq, 2).below(1 << 256) for seq in range(3)] == ours
    assert open_epoch(key, "attic-3", 8, 0, 2).below(1 << 256) != (
        keyed(next_chain, "attic-3", 8, 0, 2).below(1 << 256)
    )


def test_an_identity_holds_every_key_but_those_of_the_noise() -> None:
    """What a device stores for life must not give away the noise of boots that are over."""
    made = rootkeys.identity("lab", "n007", ROOT, bytes(32), 3, "keyholder", 64)

    assert (made.site, made.name, made.sensor, made.sensors) == ("lab", "n007", 3, 64)
    assert made.mode == "keyholder"
    assert made.key_id == rootkeys.key_id(ROOT)
    assert (made.mac_key, made.config_key, made.state_key) == (
        rootkeys.mac_key(ROOT),
        rootkeys.config_key(ROOT),
        rootkeys.state_key(ROOT),
    )
    assert not {ROOT, rootkeys.first_chain(ROOT), rootkeys.link_key(ROOT)} & set(made)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_size_is_refused(size: int) -> None:
    """A short key is guessed, and a missing one is the shortest."""
    short = bytes(size)
    calls: list[Any] = [
        lambda: rootkeys.mac_key(short),
        lambda: ratchet(short),
        lambda: epoch_key(short, 1),
        lambda: open_epoch(short, "n", 1, 1, 0),
        lambda: rootkeys.identity("lab", "n", short, bytes(32), 0),
        lambda: rootkeys.identity("lab", "n", ROOT, short, 0),
        lambda: keyed(short, *READING),
        lambda: sealed(short),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=rf"{size} bytes but must have 32"):
            call()


def test_a_mode_that_is_not_known_is_refused() -> None:
    """Whom readings are hidden from must never be a guess."""
    with pytest.raises(ValueError, match="sealed"):
        rootkeys.identity("lab", "n", ROOT, bytes(32), 0, "open")


# Streams are what their docstring says, block by block, and never the same twice.

READING = ("attic-3", 7, 41, 12)


def test_a_keyed_stream_is_the_documented_hmac() -> None:
    """A key holder in any language must be able to rebuild it from the page alone."""
    label = b"heatveil-noise-v1"
    epoch_key = mac(mac(ROOT, label), (7).to_bytes(8, "big"))
    start = label + b"\x07attic-3" + (7).to_bytes(8, "big") + (41).to_bytes(8, "big") + b"\x00\x0c"
    blocks = b"".join(mac(epoch_key, start + i.to_bytes(4, "big")) for i in range(3))
    rng = keyed(ROOT, *READING)
    widths = [1, 7, 8, 200, 256, 90]
    got = "".join(f"{rng.bits(width):0{width}b}" for width in widths)

    assert got == f"{int.from_bytes(blocks, 'big'):0768b}"[: sum(widths)]


def test_changing_any_part_of_the_name_changes_the_stream() -> None:
    """Two readings under one stream give away their exact difference."""
    others = [
        keyed(bytes(31) + b"\x01", *READING),
        keyed(ROOT, "attic-4", 7, 41, 12),
        keyed(ROOT, "attic-3", 8, 41, 12),
        keyed(ROOT, "attic-3", 7, 42, 12),
        keyed(ROOT, "attic-3", 7, 41, 13),
    ]
    streams = {stream.below(1 << 256) for stream in [keyed(ROOT, *READING), *others]}

    assert len(streams) == 6


def test_a_sealed_stream_is_never_repeated() -> None:
    """Not even by the host that knows the secret and the boot counter."""
    first, second = sealed(ROOT, b"\x01"), sealed(ROOT, b"\x01")

    assert first.below(1 << 256) != second.below(1 << 256)


def test_a_stream_ends_and_does_not_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numbers that are too large for their bytes are cut, block 2**32 would be block 0."""

    class Cut(int):
        def to_bytes(self, size: int, order: str) -> bytes:  # type: ignore[override]
            return (int(self) % (1 << 8 * size)).to_bytes(size, "big")

        def __add__(self, other: int) -> "Cut":
            return Cut(int(self) + other)

    stream = Tape(b"long")
    monkeypatch.setattr(stream, "_counter", Cut((1 << 32) - 1))
    stream.bits(256)

    with pytest.raises(ValueError, match="at its end"):
        stream.bits(1)


def test_dead_system_entropy_still_leaves_two_boots_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some boards return the same bytes at every start."""
    monkeypatch.setattr(entropy, "os_entropy", lambda size: bytes(size))
    boots = {sealed(ROOT, bytes([boot])).below(1 << 256) for boot in range(4)}

    assert len(boots) == 4


@pytest.mark.parametrize("at", range(32))
def test_all_of_the_system_s_entropy_is_in_the_stream(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A host that kept the secret would try what is left: 256 bits are, not fewer."""
    streams = set()
    for bit in range(8):
        given = bytearray(64)
        given[at] = 1 << bit
        monkeypatch.setattr(entropy, "os_entropy", lambda size, given=given: bytes(given[:size]))
        streams.add(sealed(ROOT).below(1 << 256))

    assert len(streams) == 8


def test_no_system_entropy_refuses_to_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host could repeat such a stream, so calling it sealed would be untrue."""
    monkeypatch.setattr(entropy, "os_entropy", lambda size: b"")

    with pytest.raises(ValueError, match=r"os\.urandom"):
        sealed(ROOT)


def test_device_names_that_would_share_a_stream_are_refused() -> None:
    """The name's length goes into the stream in one byte."""
    for name in ("", "n" * 256):
        with pytest.raises(ValueError, match="1 to 255"):
            keyed(ROOT, name, 1, 1, 0)


def test_a_tape_repeats_and_differs_by_seed() -> None:
    """Experiments are repeatable; two experiments are not the same one."""
    first = [Tape(b"a").below(1000), Tape(b"b").below(1 << 200)]

    assert first == [Tape(b"a").below(1000), Tape(b"b").below(1 << 200)]
    assert Tape(b"a").below(1 << 200) != first[1]


def test_below_needs_room() -> None:
    """There is no whole number below nothing."""
    with pytest.raises(ValueError, match="at least 1"):
        Tape(b"").below(0)
