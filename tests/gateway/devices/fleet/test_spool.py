"""What a device's frames become on the way: counted once each, and kept by whoever comes next.

What a device keeps until its receipt: over the end of its process, and over a torn write.
"""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.devices.fleet.spool import (
    Counts,
    Lasting,
    Shelf,
    Spool,
    add_counts,
    keep_in_folder,
    summarize,
)

KEPT = [bytes([number]) * (20 + number) for number in range(4)]


def test_a_frame_is_counted_once_however_often_it_is_sent() -> None:
    """A resent frame is no second one, or a lossy link would look busy and not lossy."""
    counts = Counts()
    for frame in (KEPT[0], KEPT[0], KEPT[1], KEPT[1]):
        counts.once("sent", frame)
    counts.once("acknowledged", KEPT[0])

    assert (counts.sent, counts.acknowledged) == (2, 1)


def test_what_waits_is_what_was_made_and_neither_received_nor_lost() -> None:
    """Of this process or of the one before."""
    shelf = Shelf(Spool(2), "n", counts := Counts(found=1))
    for frame in KEPT[:3]:
        shelf.put(frame)
    freed = shelf.free(KEPT[0]), shelf.free(KEPT[1])

    assert freed == (False, True)
    assert (counts.made, counts.lost, counts.received, counts.waiting) == (3, 1, 1, 2)
    assert shelf.overwritten == 1
    assert add_counts([counts, counts]).made == 6
    assert "1 lost" in summarize(counts, 0, 0)
    assert "12 times and came back 11" in summarize(counts, 12, 11)


def test_a_full_disk_costs_one_frame_and_not_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes out at its tick all the same, once; the next one finds room again."""
    spool = Lasting(tmp_path / "one.spool")
    shelf = Shelf(spool, "n", counts := Counts())
    with monkeypatch.context() as patched:
        patched.setattr("os.write", lambda file, data: 0)
        shelf.put(KEPT[0])
    shelf.put(KEPT[1])

    assert (counts.made, counts.lost, len(shelf)) == (2, 1, 1)
    assert shelf.oldest() == KEPT[1]


@pytest.mark.parametrize(("lasting", "lost"), [(True, 0), (False, 2)])
def test_who_dies_loses_what_is_in_memory_alone(tmp_path: Path, lasting: bool, lost: int) -> None:
    """And it is counted, for nobody else knows of it."""
    spool = Lasting(tmp_path / "one.spool") if lasting else Spool()
    shelf = Shelf(spool, "n", counts := Counts())
    for frame in KEPT[:2]:
        shelf.put(frame)
    shelf.abandon()

    assert counts.lost == lost
    assert len(Lasting(tmp_path / "one.spool")) == (2 if lasting else 0)


FRAMES = [bytes([number]) * (20 + number) for number in range(5)]


@pytest.mark.parametrize("freed", range(4))
def test_the_next_process_finds_what_had_no_receipt(tmp_path: Path, freed: int) -> None:
    """Nothing is closed here: kill -9 leaves no time for it."""
    first = Lasting(tmp_path / "one.spool")
    for frame in FRAMES[:3]:
        first.put(frame)
    for _ in range(freed):
        if first.oldest is not None:
            first.free()

    assert Lasting(tmp_path / "one.spool").frames() == FRAMES[freed:3]


def test_a_write_torn_at_any_byte_costs_that_frame_alone(tmp_path: Path) -> None:
    """The power fails where it likes; what was kept before is kept, and the next is too."""
    path = tmp_path / "one.spool"
    spool = Lasting(path)
    spool.put(FRAMES[0])
    before = path.stat().st_size
    spool.put(FRAMES[1])
    whole = path.read_bytes()
    for cut in range(before, len(whole)):
        path.write_bytes(whole[:cut])
        torn = Lasting(path)
        torn.put(FRAMES[2])

        assert Lasting(path).frames() == [FRAMES[0], FRAMES[2]]


def test_a_byte_that_turned_is_not_sent(tmp_path: Path) -> None:
    """Behind it nothing can be trusted either."""
    path = tmp_path / "one.spool"
    for frame in FRAMES[:2]:
        Lasting(path).put(frame)
    whole = bytearray(path.read_bytes())
    whole[-6] ^= 1
    path.write_bytes(whole)

    assert Lasting(path).frames() == FRAMES[:1]


def test_the_file_does_not_grow_with_the_years(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipted or not: what is no longer needed is cleared away."""
    monkeypatch.setattr("gateway.devices.fleet.spool.LONGEST_BYTES", 500)
    path = tmp_path / "one.spool"
    spool, most = Lasting(path, 3), 0
    for number in range(200):
        spool.put(FRAMES[number % 5])
        most = max(most, path.stat().st_size)
    left = Lasting(path, 3)

    assert most < 600
    assert left.frames() == spool.frames() == [FRAMES[number % 5] for number in (197, 198, 199)]
    for _ in range(3):
        left.free()
    assert path.stat().st_size == 0


def test_a_new_key_begins_a_new_spool(tmp_path: Path) -> None:
    """The gateway gives no receipt for what an old key signed; it would block what comes after."""
    spools = keep_in_folder(tmp_path)
    spools("node-1", b"old!").put(FRAMES[0])

    assert spools("node-1", b"new!").frames() == []
    assert spools("node-1", b"old!").frames() == [FRAMES[0]]


def test_what_could_not_be_flushed_is_not_left_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not kept, so a short write after it cuts off no other's bytes, nor the next frame."""
    path = tmp_path / "one.spool"
    spool = Lasting(path)
    spool.put(FRAMES[0])
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output"):
        spool.put(FRAMES[1])
    monkeypatch.undo()
    spool.put(FRAMES[2])
    real: Any = __import__("os").write
    monkeypatch.setattr("os.write", lambda file, data: real(file, data[:7]))
    with pytest.raises(OSError, match="No space"):
        spool.put(FRAMES[3])
    monkeypatch.undo()
    spool.put(FRAMES[1])

    assert Lasting(path).frames() == spool.frames() == [FRAMES[0], FRAMES[2], FRAMES[1]]
