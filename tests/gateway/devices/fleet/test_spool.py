"""What a device's frames become on the way: counted once each, and kept by whoever comes next.

How frames lie in memory and on a disk, torn writes too, is `edge.net.ring`'s own, tested there.
"""

from pathlib import Path
from unittest.mock import Mock

import pytest

from gateway.devices.fleet.spool import (
    MEMORY_BYTES,
    FrameCounts,
    Shelf,
    add_counts,
    describe_frame_counts,
    make_folder_spools,
)

KEPT = [bytes([number]) * (20 + number) for number in range(4)]


def test_a_frame_is_counted_once_however_often_it_is_sent() -> None:
    """A resent frame is no second one, or a lossy link would look busy and not lossy."""
    counts = FrameCounts()
    for frame in (KEPT[0], KEPT[0], KEPT[1], KEPT[1]):
        counts.count_once("sent", frame)
    counts.count_once("acknowledged", KEPT[0])
    both = add_counts([counts, FrameCounts(received=1, waiting=2)])

    assert both == FrameCounts(sent=2, acknowledged=1, received=1, waiting=2)
    assert "12 times and came back 11" in describe_frame_counts(both, 12, 11)


def test_what_is_pushed_out_is_counted_and_only_its_own_receipt_frees_a_frame() -> None:
    """The gateway sees the gap; the one under way may be another than the oldest by then."""
    shelf, long = Shelf("n"), bytes(MEMORY_BYTES // 2)
    for frame in (KEPT[0], long, KEPT[1]):
        shelf.put(frame)
    assert (len(shelf), shelf.overwritten) == (3, 0)
    shelf.put(long)

    assert shelf.overwritten == 2
    assert [shelf.drop_oldest(frame) for frame in KEPT[:2]] == [False, True]
    assert shelf.oldest() == long
    assert (len(shelf), shelf.received) == (1, 1)


def test_a_full_disk_costs_one_frame_and_not_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes out at its tick all the same, once; the next one finds room again."""
    shelf = Shelf("n", tmp_path / "one.spool")
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
        shelf.put(KEPT[0])
    shelf.put(KEPT[1])

    assert (shelf.overwritten, len(shelf), shelf.oldest()) == (1, 1, KEPT[1])


def test_the_next_process_finds_what_had_no_receipt_under_the_same_key(tmp_path: Path) -> None:
    """Nothing is closed here: kill -9 leaves no time for it. An old key's would block the new."""
    spools = make_folder_spools(tmp_path)
    first = spools("node-1", b"key1")
    for frame in KEPT:
        first.put(frame)
    again = spools("node-1", b"key1")
    found = []
    while (frame := again.oldest()) is not None:
        found.append(frame)
        assert again.drop_oldest(frame)

    assert found == KEPT
    assert len(spools("node-1", b"key1")) == 0
    assert len(spools("node-1", b"new!")) == 0
    assert {path.stat().st_mode & 0o77 for path in tmp_path.iterdir()} == {0}
