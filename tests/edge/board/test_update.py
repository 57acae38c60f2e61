"""A release over the air: taken from its owner alone, and old or new after every power cut."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from edge.board import firmware, release, renewal, update
from edge.board.renewal import Updates
from edge.board.update import Update
from edge.core.records import Grid, Round
from edge.host import rootkeys, updates
from edge.mechanisms import thermal_half
from gateway.audit.attacks.power import PowerCut

OWNER = bytes(range(64, 96))
WHO = rootkeys.identity("lab", "attic-3", bytes(range(32)), bytes(32), 3)
KEY = updates.update_key(OWNER, "lab", "attic-3", WHO.key_id)
NEW = {"edge/board/firmware.py": b"new" * 500, "edge/core/noise.py": b"x", "edge/words.txt": b"w"}
MANIFEST = update.topic("lab", "attic-3")


class Medium:
    """A flash whose power can be cut within any one thing that is written, with any ending."""

    def __init__(self) -> None:
        self.done, self.cut, self.ending = 0, -1, 0.0

    def hurt(self, doing: Callable[..., Any], path: str, *data: bytes) -> None:
        """Do it; or a part of it, where it is the one that is cut."""
        self.done += 1
        if self.done - 1 != self.cut:
            doing(path, *data)
            return
        if data:
            doing(path, data[0][: int(len(data[0]) * self.ending)])
        elif self.ending:
            with suppress(OSError):
                doing(path)
        raise PowerCut


@pytest.fixture
def medium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Medium:
    """Return the flash of a board with an old release in its base, at `tmp_path`."""
    made = Medium()
    root = str(tmp_path)
    monkeypatch.setattr(release, "RECORD", f"{root}/release.")
    monkeypatch.setattr(release, "ROOTS", (root, f"{root}/release.a", f"{root}/release.b"))
    monkeypatch.setattr(firmware, "RELEASES", f"{root}/release.0")
    monkeypatch.setitem(sys.modules, "machine", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(release, "sys", SimpleNamespace(path=[], modules={}))
    os_ = {name: getattr(os, name) for name in ("listdir", "statvfs")}
    for name in ("mkdir", "remove", "rmdir"):
        doing = getattr(os, name)
        os_[name] = lambda path, doing=doing: made.hurt(doing, path)
    monkeypatch.setattr(update, "os", SimpleNamespace(**os_))
    for module, name in (
        (release, "write_durably"),
        (update, "write_durably"),
        (update, "add_durably"),
    ):
        doing = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *what, doing=doing: made.hurt(doing, *what))
    (tmp_path / "edge/board/sensors").mkdir(parents=True)
    (tmp_path / "edge/board/firmware.py").write_bytes(b"old")
    (tmp_path / "edge/board/sensors/yours.py").write_bytes(b"the owner's driver")
    return made


def manifest(number: int = 5, files: Any = NEW, mpy: int = 0, key: bytes = KEY) -> bytes:
    return bytes(updates.pack_manifest(number, files, mpy, key, "lab", "attic-3"))


def fetch(files: Any = NEW, number: int = 5, served: Any = None, least: int = 3) -> list[Any]:
    """Return what a board says of a release whose blocks the broker holds."""
    one, said, now_ms = Update(WHO, KEY, least), [], 0
    blocks = updates.address_blocks("lab", updates.cut_blocks(files)) if served is None else served
    said.append(one.take(MANIFEST, manifest(number, files)))
    while wanted := one.poll(now_ms):
        now_ms += update.WAIT_MS
        said.append(wanted[2])
        if wanted[0] is not None and wanted[0] in blocks:
            said.append(one.take(wanted[0], blocks[wanted[0]]))
    assert not one.busy
    return [ack for ack in said if ack is not None]


def start() -> Any:
    """Return the Record by which a board starts now; what it names is whole."""
    release.sys.path.clear()
    assert release.choose() == bool(release.sys.path)
    root = Path(release.sys.path[0] if release.sys.path else release.ROOTS[0])
    held, there = release.read(), {}
    for path in NEW:
        there[path] = (root / path).read_bytes() if (root / path).exists() else b""
    assert held.slot or there["edge/board/firmware.py"] == b"old"
    assert not held.slot or there == NEW
    return held


def live() -> None:
    """From the old release to the new one, confirmed."""
    if start().slot == 0:
        fetch()
    held = start()
    assert (held.slot, held.number) == (1, 5)
    release.write(held._replace(tries=0))
    assert start().tries == 0


def test_every_cut_ends_in_the_old_release_or_the_new(medium: Medium, tmp_path: Path) -> None:
    """Whatever is written when the power fails, and however much of it: it starts and goes on."""
    live()
    writes = medium.done
    assert writes > 15
    for cut in range(writes):
        for ending in (0.4, 1.0):
            shutil.rmtree(tmp_path / "release.a", ignore_errors=True)
            for i in (0, 1):
                (tmp_path / f"release.{i}").unlink(missing_ok=True)
            medium.done, medium.cut, medium.ending = 0, cut, ending
            with pytest.raises(PowerCut):
                live()
            medium.cut = -1
            live()

            assert (tmp_path / "edge/board/firmware.py").read_bytes() == b"old"
            own = tmp_path / "release.a/edge/board/sensors/yours.py"
            assert own.exists()
            assert own.read_bytes() == b"the owner's driver"


def test_a_record_that_is_cut_at_any_byte_leaves_the_one_before(
    medium: Medium, tmp_path: Path
) -> None:
    """Also where a longer line lay there, and the next record is whole again."""
    for number in (100, 2, 30):
        release.write(release.read()._replace(number=number))
        before, line = release.read(), release.pack(release.read()._replace(seq=9))
        for byte in range(len(line)):
            medium.cut, medium.done, medium.ending = 0, 0, byte / len(line)
            with pytest.raises(PowerCut):
                release.write(before._replace(number=7))
            assert release.read() == before
        medium.cut = -1


def test_a_release_that_is_not_confirmed_goes_back_by_itself(medium: Medium) -> None:
    """A board in a ceiling has nobody to press its button; and it is not tried twice."""
    fetch()
    starts = [start() for _ in range(release.TRIES + 2)]

    assert [one.slot for one in starts] == [1] * (release.TRIES - 1) + [0, 0, 0]
    assert "went back by itself" in fetch()[-1]["why"]
    assert fetch(number=6)[-1]["taken"]
    assert start().number == 6


def test_a_trial_that_cannot_be_counted_does_not_begin(
    medium: Medium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worn flash would let it start for ever."""
    fetch()
    monkeypatch.setattr(release, "write_durably", Mock(side_effect=OSError(28)))
    assert release.choose() is False
    assert not Updates(WHO, KEY, 3).trial, "or the base would confirm what never ran"


def test_what_is_spoilt_on_the_flash_while_the_rest_comes_is_fetched_again(
    medium: Medium, tmp_path: Path
) -> None:
    """A digest that was right when a file came says nothing of what would start."""
    files = {**NEW, "edge/core/noise.py": bytes(5000)}
    blocks = updates.address_blocks("lab", updates.cut_blocks(files))
    first, last = tmp_path / "release.a/edge/board/firmware.py", list(blocks)[-1]

    class Served(dict[str, bytes]):
        def __getitem__(self, where: str) -> bytes:
            if where == last and first.read_bytes() == NEW["edge/board/firmware.py"]:
                first.write_bytes(b"spoilt")
            return super().__getitem__(where)

    assert fetch(files, served=Served(blocks))[-1]["why"] == "it is whole, and is tried now"
    assert first.read_bytes() == NEW["edge/board/firmware.py"]


@pytest.mark.parametrize(
    ("numbers", "soft"),
    [((0, 1, 2, 3), False), ((0, 1), False), ((-1,), True)],
    ids=["esp32", "esp32c3", "soft"],
)
def test_the_base_ends_a_trial_of_a_release_that_hangs(
    medium: Medium, monkeypatch: pytest.MonkeyPatch, numbers: tuple[int, ...], soft: bool
) -> None:
    """Its own code would not: the timer is made before anything of the release is loaded."""
    made: dict[str, Any] = {}
    resets: list[int] = []

    class Timer:
        ONE_SHOT = 0

        def __init__(self, number: int) -> None:
            if number not in numbers:
                raise ValueError("no such timer")

        def init(self, **words: Any) -> None:
            if "hard" in words and not soft:
                raise TypeError("extra keyword arguments given")
            made.update(words)

    machine = SimpleNamespace(Timer=Timer, reset=lambda: resets.append(1))
    monkeypatch.setitem(sys.modules, "machine", machine)  # type: ignore[arg-type]
    fetch()
    start()
    assert made.get("period") == release.TRIAL_MS
    assert (made.get("hard") is False) is soft, "a hard one may not allocate"
    made["callback"](None)
    assert (resets, start().slot) == ([1], 0)
    made["callback"](None)
    assert resets == [1], "after the trial nothing goes back"


def test_the_running_release_is_never_written(medium: Medium, tmp_path: Path) -> None:
    """Two folders take turns, and the base stays."""
    slots = []
    for number in (5, 6, 7):
        fetch({**NEW, "edge/words.txt": b"%d" % number}, number)
        held = release.read()
        slots.append((held.slot, held.back))
        release.write(held._replace(tries=0))

    assert slots == [(1, 0), (2, 1), (1, 2)]
    assert (tmp_path / "release.b/edge/words.txt").read_bytes() == b"6"


GATEWAY = {"site key": WHO.site_key, "mac key": WHO.mac_key, "config key": WHO.config_key}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        *((manifest(key=key), "not signed by the owner") for key in GATEWAY.values()),
        (manifest()[:-1] + b"?", "not signed by the owner"),
        (manifest(2), "only a release after 3"),
        (manifest(mpy=250), "another MicroPython"),
    ],
    ids=[*GATEWAY, "forged", "old", "another"],
)
def test_what_is_not_the_owners_or_not_newer_is_refused(
    medium: Medium, tmp_path: Path, message: bytes, why: str
) -> None:
    """Neither broker nor gateway can bring a program, nor an old one back; nothing is written."""
    one = Update(WHO, KEY, 3)
    ack = one.take(MANIFEST, message)

    assert why in ack["why"]
    assert not ack["taken"]
    assert one.done
    assert medium.done == 0


@pytest.mark.parametrize("bad", range(4))
def test_blocks_that_somebody_else_wrote_are_never_started(medium: Medium, bad: int) -> None:
    """Each file, and the index, is what the owner signed, or nothing of it is put in force."""
    files = {**NEW, "edge/words.txt": b"w" * 3000}
    blocks = updates.address_blocks("lab", updates.cut_blocks(files))
    topic = list(blocks)[bad]
    blocks[topic] = blocks[topic][:-1] + b"?"
    said = fetch(files, served=blocks)

    assert "not what the owner signed" in said[-1]["why"]
    assert not start().slot


def test_a_flash_that_is_full_or_fills_up_is_said(
    medium: Medium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old release runs on, and the space of its frames and budget is not taken."""
    full = os.statvfs_result((1024, 1024, 0, 90, 90, 0, 0, 0, 0, 255))
    monkeypatch.setattr(update.os, "statvfs", lambda path: full)
    assert "92160 are free" in fetch()[-1]["why"]

    monkeypatch.setattr(update.os, "statvfs", os.statvfs)
    written: list[int] = []

    def add(path: str, data: bytes) -> None:
        written.append(len(data))
        if len(written) > 1:
            raise OSError(28, "ENOSPC")

    monkeypatch.setattr(update, "add_durably", add)
    said = fetch()
    assert "cannot be kept" in said[-1]["why"]
    assert not start().slot


def test_what_is_repeated_brings_no_older_release(medium: Medium) -> None:
    """Nor does it, or anybody's junk, stop the one that is on its way."""
    fetch()
    held = start()
    release.write(held._replace(tries=0))
    new = {**NEW, "edge/words.txt": b"w" * 3000}
    one, blocks = Update(WHO, KEY, 3), updates.address_blocks("lab", updates.cut_blocks(new))
    assert one.take(MANIFEST, manifest(10, new))["taken"]
    for now_ms in range(len(blocks)):
        assert one.take(MANIFEST, manifest(5)) is None, "it runs"
        assert one.take(MANIFEST, manifest(4))["version"] == 4
        assert one.take(MANIFEST, b"junk")["version"] is None
        assert one.take(MANIFEST, manifest(9))["taken"] is False, "or two would take turns"
        said = one.take(one.poll(now_ms)[0], list(blocks.values())[now_ms])

    assert said["version"] == 10
    record = release.read()
    assert (record.number, record.newest, record.back_number) == (10, 10, 5)


def test_what_is_forged_without_end_wears_no_flash(medium: Medium) -> None:
    """Each byte of it would be a write, and a file begun anew; nor does it take turns for ever."""
    held, blocks = Updates(WHO, KEY, 3), updates.address_blocks("lab", updates.cut_blocks(NEW))
    first = update.block_topic("lab", 0)
    held.take(MANIFEST, manifest())
    held.poll(0)
    before = medium.done
    assert held.take(first, blocks[first][:1]) is None
    assert medium.done == before, "a piece is worth no write"
    for now_ms in range(0, 10**6, update.WAIT_MS):
        held.take(MANIFEST, manifest(5 + now_ms % 2))
        held.poll(now_ms)
        held.take(first, b"?" * len(blocks[first]))

    assert medium.done - before < 100
    before = medium.done
    assert held.take(first, blocks[first]) is None
    assert held.take(MANIFEST, manifest(6))["taken"] is False
    assert "until it starts again" in held.describe()["update"]
    assert (medium.done, held.busy) == (before, False)


def test_blocks_that_do_not_come_keep_no_board_awake(medium: Medium) -> None:
    """It says so, and goes on where it was when the manifest comes again."""
    held = Updates(WHO, KEY, 3)
    held.take(MANIFEST, manifest())
    said = [held.poll(now_ms) for now_ms in range(0, 20000, 100)]
    acks = [wanted[2] for wanted in said if wanted and wanted[2]]

    assert [(ack["version"], ack["taken"]) for ack in acks] == [(5, False)]
    assert "do not come" in held.describe()["update"]
    assert not held.busy
    assert fetch()[-1]["taken"]


def test_a_release_that_does_not_fit_takes_no_room_of_the_frames(
    medium: Medium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame that has no room any more is one that was paid for in vain."""

    def add(path: str, data: bytes) -> None:
        if (tmp_path / "release.a/edge/board").exists():
            raise OSError(28, "ENOSPC")
        Path(path).write_bytes(Path(path).read_bytes() + data)

    monkeypatch.setattr(update, "add_durably", add)
    assert "cannot be kept" in fetch()[-1]["why"]
    assert not (tmp_path / "release.a").exists()


def test_a_message_without_memory_for_it_ends_nothing(
    medium: Medium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is retained, and each start that it ended would be paid for by the budget."""
    held = Updates(WHO, KEY, 3)
    full = Mock(side_effect=MemoryError)
    for name in ("Update", "release"):
        with monkeypatch.context() as patch:
            patch.setattr(update, name, full if name == "Update" else SimpleNamespace(read=full))
            said = {}
            with suppress(MemoryError):
                said = held.take(MANIFEST, manifest())
            assert said.get("why") == "there is no memory to fetch it"
    assert held.take(MANIFEST, manifest())["taken"]


def test_a_record_of_a_later_release_is_read_and_junk_is_none(medium: Medium) -> None:
    """Or a board that goes back would never start again."""
    for more, found in ((b" 9 x", 5), (b"", 5)):
        line = b"3 1 5 0 0 0 5" + more
        record = release.unpack(line + b"|" + release.hexlify(release.sha256(line)[:4]))
        assert record is not None
        assert record.number == found
    for line in (b"3 1 5", b"3 1 5 0 0 0 x"):
        assert release.unpack(line + b"|" + release.hexlify(release.sha256(line)[:4])) is None


def test_a_path_of_the_index_stays_in_the_release(medium: Medium, tmp_path: Path) -> None:
    """An owner's slip must not write over a budget."""
    for path in ("heatveil/budget.0", "edge/../heatveil.json"):
        assert "none of a release" in fetch({path: b"0"}, 9)[-1]["why"]


def test_a_firmware_starts_what_is_to_start(
    medium: Medium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release's own first file; one that cannot be loaded goes back at once."""
    ran: list[str] = []
    resets: list[int] = []

    class Reset(BaseException):
        pass

    def run(why: str = "") -> None:  # which never returns
        ran.append(why)
        raise Reset

    def reset() -> None:
        resets.append(1)
        raise Reset

    machine = SimpleNamespace(reset=reset)
    monkeypatch.setitem(sys.modules, "machine", machine)  # type: ignore[arg-type]
    monkeypatch.setattr(firmware, "objection", lambda: "")
    monkeypatch.setattr(firmware, "run", run)
    with pytest.raises(Reset):
        firmware.go()
    assert (ran, resets, release.sys.path) == ([""], [], []), "the base, as long as nothing came"
    fetch()
    with pytest.raises(Reset):
        firmware.go()
    assert (ran, resets) == (["", ""], [])
    assert release.sys.path == [release.ROOTS[1]]
    broken = Mock(side_effect=ImportError)
    monkeypatch.setattr(firmware, "run", broken)
    with pytest.raises(Reset):
        firmware.go()
    assert (resets, release.read().slot) == ([1], 0)
    fetch(number=6)
    monkeypatch.setattr(release, "give_up", lambda: os.stat("/no such medium"))
    monkeypatch.setattr(firmware, "run", lambda why="": ran.append(why) if why else broken())
    with suppress(OSError):
        firmware.go()
    assert ran[-1] == "the release that came over the air ended with ImportError"


class Kept(list[Any]):
    """A ring that keeps nothing."""

    def save(self) -> None:
        pass


@pytest.fixture
def board() -> Any:
    """Return the parts of a board that runs; `told` has how often it says anew what it is."""
    told: list[int] = []
    budget = SimpleNamespace(exhausted=False)
    node = SimpleNamespace(faults=0, forged=0, alert="", refusal="", budget=budget)
    device = SimpleNamespace(node=node, receipts=0, waits=False, holds=False)
    device.announce = lambda: told.append(1)
    return SimpleNamespace(device=device, ring=Kept(), told=told)


ASKED = Round(7, "thermal", Grid((9, 1), 0), (9, 8, 0, 10000, 250000, 1, 0), None)
ANSWERED = thermal_half.objection(ASKED, WHO, None, 7)


@pytest.fixture
def asked_each_second(board: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have time pass at once, while the board holds an answer back as each second begins."""

    async def until(clock: Any, due_ms: int) -> None:
        board.now_ms = due_ms
        board.device.waits = board.device.holds = due_ms % 1000 < 400
        if due_ms > release.TRIAL_MS:
            raise PowerCut

    monkeypatch.setattr(renewal, "wait_until", until)
    board.client = SimpleNamespace(connected=False)


@pytest.mark.usefixtures("asked_each_second")
def test_a_trial_that_ends_keeps_the_frames(
    medium: Medium, board: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are paid for; and the board goes back before the base's timer would, which does not.

    Nothing is written, and nothing ends, between a draw and its tick.
    """
    kept: list[str] = []

    def give_up() -> None:
        kept.append("back")
        raise PowerCut

    monkeypatch.setattr(firmware, "give_up", give_up)
    board.ring.save = lambda: kept.append("frames")
    fetch()
    start()
    with pytest.raises(PowerCut):
        asyncio.run(Updates(WHO, KEY, 3).watch(board))

    assert kept == ["frames", "back"]
    assert board.now_ms <= release.TRIAL_MS - 60000
    assert not board.device.waits


@pytest.mark.usefixtures("asked_each_second")
def test_a_board_that_is_asked_each_second_is_judged(medium: Medium, board: Any) -> None:
    """Where each look falls into a tick a good release goes back, and does so each time."""
    fetch()
    start()
    board.device.receipts = 1
    with pytest.raises(PowerCut):
        asyncio.run(Updates(WHO, KEY, 3).watch(board))

    assert release.read().tries == 0


@pytest.mark.parametrize(
    ("calm", "device", "node", "good"),
    [
        (False, {}, {}, False),
        (False, {"receipts": 1}, {"faults": 3}, True),
        (False, {"receipts": 1, "waits": True, "holds": True}, {}, False),
        (False, {"receipts": 1, "waits": True}, {}, True),
        (True, {}, {}, True),
        (True, {}, {"faults": 1}, False),
        (True, {}, {"refusal": "it has 3 params instead of 7"}, False),
        (True, {}, {"refusal": ANSWERED}, True),
    ],
    ids=["nothing", "receipt", "held", "quiet", "calm", "fault", "refusal", "answered"],
)
def test_a_trial_ends_well_by_a_receipt_or_a_calm_while(
    medium: Medium, board: Any, calm: bool, device: Any, node: Any, good: bool
) -> None:
    """A connection alone does not show that a release answers."""
    fetch()
    start()
    held = Updates(WHO, KEY, 3)
    vars(board.device).update(device)
    vars(board.device.node).update(node)
    assert held.describe() == {"release": 5, "trial": True, "update": ""}
    held.judge(board, calm)

    assert (release.read().tries == 0) is good
    assert len(board.told) == good
    assert held.trial is not good


def test_what_fetches_is_there_only_while_there_is_something(medium: Medium) -> None:
    """A retained manifest comes with each connection, and most are old."""
    held = Updates(WHO, KEY, 3)
    assert held.take(update.block_topic("lab", 0), b"") is None
    assert held.poll(0) is None
    assert held.take(MANIFEST, manifest(2))["taken"] is False
    assert (held.busy, held.poll(0)) == (False, None)
    assert held.take(MANIFEST, manifest())["why"] == "it comes"
    assert held.poll(0) == [update.block_topic("lab", 0), None, None]
    assert held.poll(1) is None
    assert held.poll(update.WAIT_MS) == [update.block_topic("lab", 0)] * 2 + [None]
