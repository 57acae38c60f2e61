"""What a device's frames become on the way: counted once each, and kept by whoever comes next."""

from pathlib import Path
from typing import Any

import pytest

from edge.spill import File
from gateway.devices.fleet.counts import Counts, added, summary
from gateway.devices.fleet.handover import FLASH_BYTES, spill_of, to_spill, to_spools
from gateway.devices.fleet.shelf import Shelf
from gateway.devices.fleet.spool import Lasting, Spool

FRAMES = [bytes([number]) * (20 + number) for number in range(4)]
KEY = b"\1\2\3\4"


def test_a_frame_is_counted_once_however_often_it_is_sent() -> None:
    """A resent frame is no second one, or a lossy link would look busy and not lossy."""
    counts = Counts()
    for frame in (FRAMES[0], FRAMES[0], FRAMES[1], FRAMES[1]):
        counts.once("sent", frame)
    counts.once("acknowledged", FRAMES[0])

    assert (counts.sent, counts.acknowledged) == (2, 1)


def test_what_waits_is_what_was_made_and_neither_received_nor_lost() -> None:
    """Of this process or of the one before."""
    shelf = Shelf(Spool(2), "n", counts := Counts(found=1))
    for frame in FRAMES[:3]:
        shelf.put(frame)
    freed = shelf.free(FRAMES[0]), shelf.free(FRAMES[1])

    assert freed == (False, True)
    assert (counts.made, counts.lost, counts.received, counts.waiting) == (3, 1, 1, 2)
    assert shelf.overwritten == 1
    assert added([counts, counts]).made == 6
    assert "1 lost" in summary(counts, 0, 0)
    assert "12 times and came back 11" in summary(counts, 12, 11)


def test_a_full_disk_costs_one_frame_and_not_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes out at its tick all the same, once; the next one finds room again."""
    spool = Lasting(tmp_path / "one.spool")
    shelf = Shelf(spool, "n", counts := Counts())
    with monkeypatch.context() as patched:
        patched.setattr("os.write", lambda file, data: 0)
        shelf.put(FRAMES[0])
    shelf.put(FRAMES[1])

    assert (counts.made, counts.lost, len(shelf)) == (2, 1, 1)
    assert shelf.oldest() == FRAMES[1]


@pytest.mark.parametrize(("lasting", "lost"), [(True, 0), (False, 2)])
def test_who_dies_loses_what_is_in_memory_alone(tmp_path: Path, lasting: bool, lost: int) -> None:
    """And it is counted, for nobody else knows of it."""
    spool = Lasting(tmp_path / "one.spool") if lasting else Spool()
    shelf = Shelf(spool, "n", counts := Counts())
    for frame in FRAMES[:2]:
        shelf.put(frame)
    shelf.abandon()

    assert counts.lost == lost
    assert len(Lasting(tmp_path / "one.spool")) == (2 if lasting else 0)


def test_frames_go_from_one_kind_of_fleet_to_the_other_and_back(tmp_path: Path) -> None:
    """In their order; left where they were, they would look like an earlier boot years later."""
    spool: Any = to_spools(tmp_path)("n", KEY)
    for frame in FRAMES:
        spool.put(frame)
    to_spill(tmp_path, "n", KEY)
    held = File(spill_of(tmp_path, "n", KEY), FLASH_BYTES)
    there = held.oldest(), len(held), len(Lasting(tmp_path / f"n.{KEY.hex()}.spool"))
    back: Any = to_spools(tmp_path)("n", KEY)

    assert there == (FRAMES[0], 4, 0)
    assert back.frames() == FRAMES
    assert len(File(spill_of(tmp_path, "n", KEY), FLASH_BYTES)) == 0
