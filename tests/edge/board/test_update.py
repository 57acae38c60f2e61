"""An update: signed, never a step back, and after a cut anywhere a whole program runs."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from edge.board.update import TRIES, Programs, Refused, pack, read_manifest, unpack
from edge.core import cbor, wire
from gateway.audit.attacks.power import PowerCut

OWNER, STATE, TOPIC = bytes(32), bytes(range(32)), wire.topic("lab", "attic-3", "cmd/update")
OLD = {"edge/one.py": b"one of the first", "edge/core/two.py": b"two"}
NEW = {"edge/one.py": b"one of the second version", "edge/core/two.py": b"2", "edge/more.py": b"3"}


def manifest(version: int = 8, files: Any = NEW, key: bytes = OWNER, firmware: str = "rp2") -> Any:
    """Return the message of an update."""
    rows = [[path, len(data), hashlib.sha256(data).digest()] for path, data in files.items()]
    body = {0: 1, 1: version, 2: firmware, 3: rows}
    return bytes(wire.sign(cbor.encode(body), key, TOPIC))


class Medium:
    """Two slots and two folders; the power fails at the `cut`th write, which leaves an ending."""

    def __init__(self, cut: int = -1, ending: Callable[[bytes], bytes] = bytes) -> None:
        self.slots = [b"", b""]
        self.programs: list[dict[str, bytes]] = [dict(OLD), {}]
        self.cut, self.ending = cut, ending

    def change(self, do: Callable[[], None], torn: Callable[[], None]) -> None:
        self.cut -= 1
        if self.cut == -1:
            torn()
            raise PowerCut
        do()

    def read(self, i: int) -> bytes:
        return self.slots[i]

    def write(self, i: int, data: bytes) -> None:
        self.change(
            lambda: self.slots.__setitem__(i, data),
            lambda: self.slots.__setitem__(i, self.ending(data)),
        )

    def folder(self, at: int) -> Any:
        """Return one of the folders."""
        medium, held = self, self.programs[at]

        class Folder:
            def erase(self) -> None:
                for path in list(held):
                    medium.change(lambda path=path: held.pop(path), lambda: None)

            def write(self, path: str, at: int, data: bytes) -> None:
                new = held.get(path, b"")[:at] + data
                medium.change(
                    lambda: held.__setitem__(path, new),
                    lambda: held.__setitem__(path, medium.ending(new)),
                )

            def read(self, path: str, size: int) -> list[bytes]:
                return [held.get(path, b"")[i : i + 4] for i in range(0, size, 4)]

        return Folder()

    def boot(self, least: int = 7) -> Programs:
        """Return what a start of the board makes of it."""
        return Programs(self, STATE, [self.folder(0), self.folder(1)], least)

    def bring(self, programs: Programs, version: int = 8, files: Any = NEW) -> None:
        """Bring an update to it, in pieces, up to its trial."""
        programs.offer(read_manifest(manifest(version, files), OWNER, TOPIC), "rp2")
        for path, data in files.items():
            for at in range(0, len(data), 9):
                programs.write(path, at, data[at : at + 9])
        programs.finish()


def updated(medium: Medium) -> None:
    """Two updates, one on top of the other, each tried and found good, or brought again."""
    for version, files in ((8, NEW), (9, OLD)):
        while (programs := medium.boot()).standing.version < version:
            if programs.start() != programs.standing.good:
                programs.settle()
            elif not programs.standing.trial:
                medium.bring(programs, version, files)


def writes_of_both() -> int:
    medium = Medium(10**6)
    updated(medium)
    return 10**6 - medium.cut


ENDINGS = [bytes, lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"\xff" * 9]


@pytest.mark.parametrize("ending", ENDINGS, ids=["whole", "empty", "half", "erased"])
def test_after_a_cut_at_any_write_a_whole_program_runs(ending: Callable[[bytes], bytes]) -> None:
    """And the same update can be brought again, to its end."""
    for cut in range(writes_of_both()):
        medium = Medium(cut, ending)
        with pytest.raises(PowerCut):
            updated(medium)
        medium.cut = -1
        programs = medium.boot()
        before = programs.standing.version
        assert medium.programs[programs.start()] in (OLD, NEW)
        assert before >= 7
        medium.cut = -1
        updated(medium)
        last = medium.boot()
        assert medium.programs[last.start()] == OLD
        assert last.standing.version == 9


def test_a_slot_that_is_lost_in_an_update_leaves_a_whole_program() -> None:
    """Whichever it is: no folder is touched that one of both still calls good."""
    for cut in range(writes_of_both()):
        for lost in (0, 1):
            medium = Medium(cut)
            with pytest.raises(PowerCut):
                updated(medium)
            medium.cut = -1
            if unpack(medium.slots[1 - lost], STATE) is None:
                continue
            medium.slots[lost] = b""
            for _ in range(TRIES + 2):
                assert medium.programs[medium.boot().start()] in (OLD, NEW)


def test_a_program_that_does_not_answer_is_taken_back() -> None:
    """It has so many starts, each counted before it; then the old one, for good."""
    medium = Medium()
    medium.bring(medium.boot())

    assert [medium.boot().start() for _ in range(TRIES + 2)] == [1] * TRIES + [0, 0]
    assert medium.boot().standing[1:] == (0, 0, 7, 0)
    medium.bring(medium.boot())  # mended, it may come again


def test_one_that_answers_stays_and_no_older_one_comes_back() -> None:
    """Not by its own manifest, sent again, nor by one between."""
    medium = Medium()
    medium.bring(medium.boot())
    programs = medium.boot()
    assert programs.start() == 1
    programs.settle()

    assert [medium.boot().start() for _ in range(TRIES + 1)] == [1] * (TRIES + 1)
    for version in (1, 7, 8):
        with pytest.raises(Refused, match="is not above 8"):
            medium.boot().offer(read_manifest(manifest(version), OWNER, TOPIC), "rp2")


def test_below_the_version_of_its_enrolment_nothing_is_taken() -> None:
    """Though its slots say nothing, or are of an older enrolment."""
    medium = Medium()
    with pytest.raises(Refused, match="is not above 7"):
        medium.boot(least=7).offer(read_manifest(manifest(6), OWNER, TOPIC), "rp2")
    medium.slots[1] = pack(medium.boot(least=2).standing._replace(counter=1), STATE)
    with pytest.raises(Refused, match="is not above 6"):
        medium.boot(least=7).offer(read_manifest(manifest(6), OWNER, TOPIC), "rp2")


def test_while_one_is_on_trial_the_good_one_is_not_written_over() -> None:
    """Else a board whose trial fails has nothing to go back to."""
    medium = Medium()
    medium.bring(medium.boot())
    programs = medium.boot()
    programs.start()

    with pytest.raises(Refused, match="on trial"):
        programs.offer(read_manifest(manifest(9), OWNER, TOPIC), "rp2")
    assert medium.programs[0] == OLD


@pytest.mark.parametrize(
    "message",
    [
        manifest(key=STATE),
        manifest()[:-1],
        manifest(files={}),
        manifest(files={"heatveil/budget.0": b"again"}),
        manifest(files={"edge/../heatveil/budget.0": b"again"}),
        manifest(files={"/edge/one.py": b"one"}),
        manifest(files={"main.py": b"print(1)"}),
        manifest(version=-1),
    ],
    ids=["key", "cut", "empty", "budget", "around", "root", "main", "version"],
)
def test_what_is_not_the_owners_or_not_of_edge_is_refused(message: bytes) -> None:
    """Budget, epoch and keys outlive an update, because none can name them."""
    with pytest.raises(Refused, match="not whole, or not signed"):
        read_manifest(message, OWNER, TOPIC)


def test_a_piece_that_came_wrong_is_found_before_it_runs() -> None:
    """One byte, one file that is missing, or another board's."""
    programs = (medium := Medium()).boot()
    told = read_manifest(manifest(), OWNER, TOPIC)
    with pytest.raises(Refused, match="another firmware"):
        programs.offer(told, "esp32")
    programs.offer(told, "rp2")
    for path, data in NEW.items():
        programs.write(path, 0, data if path != "edge/more.py" else b"4")
    with pytest.raises(Refused, match=r"edge/more\.py is not what"):
        programs.finish()
    with pytest.raises(Refused, match="in no file"):
        programs.write("edge/more.py", 1, b"3")

    assert medium.boot().start() == 0
