"""Streams are what their docstring says, block by block, and never the same twice."""

import hashlib
import hmac

import pytest

from edge.core import entropy
from edge.core.entropy import Tape, keyed, sealed

ROOT = bytes(range(32))
READING = ("attic-3", 7, 41, 12)


def test_a_keyed_stream_is_the_documented_hmac() -> None:
    """A key holder in any language must be able to rebuild it from the page alone."""

    def mac(key: bytes, data: bytes) -> bytes:
        return hmac.new(key, data, hashlib.sha256).digest()

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


def test_no_system_entropy_refuses_to_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host could repeat such a stream, so calling it sealed would be untrue."""
    monkeypatch.setattr(entropy, "os_entropy", lambda size: b"")

    with pytest.raises(ValueError, match=r"os\.urandom"):
        sealed(ROOT)


def test_keys_of_the_wrong_size_are_refused() -> None:
    """A short key is guessed."""
    for key in (b"", bytes(31), bytes(33)):
        with pytest.raises(ValueError, match="32"):
            keyed(key, *READING)
        with pytest.raises(ValueError, match="32"):
            sealed(key)


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
