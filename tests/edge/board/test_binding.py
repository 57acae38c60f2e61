"""A board's parts put together from its file, and bound to their own board."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import assemble, binding, config, drivers
from edge.core.budget import COUNT, Budget, Copies, Files, Limits, Lost
from edge.core.window import pack_first as first_window
from edge.host import rootkeys
from edge.host.enrol import Ram, provision
from edge.linux import place as linux
from gateway.audit.attacks.power import PowerCut

# A budget and its board: another board with a copy of the flash answers nothing.

ROOT = bytes(range(32))
WHO = rootkeys.identity("lab", "n", ROOT, bytes(32), 3)
LIMITS = Limits(1, 8, 1, 500_000, 10**6, 0)
OURS, THEIRS = b"\x01\x02\x03", b"\x01\x02\x04"
CONFIG: Any = config.Config(WHO, {}, None, {}, 100, 0, None, False, "thermal", None, None, None)


def enrolled(place: Any, window: bytes = b"") -> Any:
    """Return the slots as a host wrote them."""
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), LIMITS, window)
    return place


def bound(place: Any, number: bytes) -> Any:
    """Return slots as a board of that number has them."""
    return binding.Bound(place, WHO.state_key, number)


def boot(folder: Path, number: bytes) -> Budget:
    """Return the budget as a start of a board of that number finds it."""
    found: Budget = assemble.budget_of(CONFIG, str(folder), numbers=[number])
    return found


def test_a_copy_answers_nothing_and_the_true_board_goes_on(tmp_path: Path) -> None:
    """Whatever the copy does, no epoch is used twice and no slot is written by it."""
    enrolled(Files(str(tmp_path), "budget"))
    assert boot(tmp_path, OURS).charge(1000, 1)
    before = [(tmp_path / f"budget.{i}").read_bytes() for i in range(3)]

    copy = boot(tmp_path, THEIRS)
    assert copy.fault == binding.COPIED
    with pytest.raises(Lost, match="bound to another board"):
        copy.charge(1000, 2)
    place = Files(str(tmp_path), "budget")
    with pytest.raises(Lost):
        Budget(bound(place, THEIRS), WHO.state_key).boot()
    assert before == [(tmp_path / f"budget.{i}").read_bytes() for i in range(3)]
    again = boot(tmp_path, OURS)
    assert (again.fault, again.epoch, again.charge(1000, 2)) == ("", 2, True)


def test_slots_of_an_earlier_version_open_and_are_bound(tmp_path: Path) -> None:
    """Nobody who updates a board has to enrol it again; what it spent and its epoch go on."""
    place = enrolled(Files(str(tmp_path), "budget"))
    earlier = Budget(place, WHO.state_key)
    earlier.boot()
    assert earlier.charge(1000, 7)

    now = boot(tmp_path, OURS)
    assert (now.epoch, now.round, now.spent) == (2, 7, 8000)
    assert boot(tmp_path, THEIRS).fault == binding.COPIED
    with pytest.raises(Lost):  # nor does a version that knows no binding go on with them
        Budget(place, WHO.state_key).boot()


def test_a_window_is_bound_too() -> None:
    """Its record fills a slot to the last byte, so the binding must take no room."""
    place = enrolled(Ram(), first_window(86_400, LIMITS.budget))
    copies = Copies(bound(place, OURS), WHO.state_key)
    record = copies.read_newest()
    copies.put(1, 0, -1, record.chain, LIMITS)

    assert [len(place.read(i)) for i in range(3)] == [254] * 3
    assert Copies(bound(place, OURS), WHO.state_key).read_newest().window == record.window
    assert bound(place, THEIRS).is_copied()


class Cut(Ram):
    """Power fails at one byte of one write."""

    def __init__(self, place: Ram, write: int, byte: int, rest: bytes) -> None:
        super().__init__()
        self._held = [place.read(i) for i in range(COUNT)]
        self._left, self._byte, self._rest = write, byte, rest

    def write(self, i: int, data: bytes) -> None:
        if not self._left:
            size = len(data) - self._byte
            self._held[i] = data[: self._byte] + (self._rest * size)[:size]
            raise PowerCut
        self._left -= 1
        super().write(i, data)


@pytest.mark.parametrize("starts", [0, 1])
@pytest.mark.parametrize("rest", [b"", b"\xff", b"\x00", b"\x5a"])
def test_no_power_cut_while_it_is_bound_costs_the_key(starts: int, rest: bytes) -> None:
    """At every byte of every write of a start, the first, which binds, and the one after."""
    whole = enrolled(Ram())
    for _ in range(starts):
        Budget(bound(whole, OURS), WHO.state_key).boot()
    size = len(whole.read(0))
    for write in range(COUNT):
        for byte in range(size + 1):
            place = Cut(whole, write, byte, rest)
            with pytest.raises(PowerCut):
                Budget(bound(place, OURS), WHO.state_key).boot()
            place._left = -1
            assert not bound(place, OURS).is_copied()
            again = Budget(bound(place, OURS), WHO.state_key)
            again.boot()
            assert again.epoch >= starts + 1
            assert bound(place, THEIRS).is_copied()


def test_a_copy_says_so_once_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true board has its name at the broker, and is thrown off each time that it comes."""
    said: list[bytes] = []

    class Client:
        connected, reconnects = True, 0

        async def publish(self, topic: str, payload: bytes, *_: Any) -> bool:
            said.append(payload)
            self.reconnects += 1
            return True

        async def stop(self) -> None:
            self.connected = False

    async def wait(client: Any, fault: str) -> None:
        work = assemble.alert(client, WHO, lambda: None, fault)
        await asyncio.wait([asyncio.ensure_future(work)], timeout=0.05)

    monkeypatch.setattr(assemble, "sleep_ms", lambda ms: asyncio.sleep(0.001))
    asyncio.run(wait(Client(), binding.COPIED))
    assert said == [b"alert"]
    asyncio.run(wait(Client(), "another fault"))
    assert len(said) > 3


def test_a_board_is_known_by_its_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot say it is bound to nothing, as before."""
    monkeypatch.setitem(sys.modules, "machine", SimpleNamespace(unique_id=lambda: OURS))  # type: ignore[arg-type]
    assert binding.board_number() == OURS
    monkeypatch.setitem(sys.modules, "machine", SimpleNamespace())  # type: ignore[arg-type]
    assert binding.board_number() == b""


def test_a_card_is_told_from_its_image_by_the_computer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image has the machine's id in it; the number of a Raspberry Pi is not on its card."""
    own, image = tmp_path / "serial", tmp_path / "machine-id"
    image.write_text("0123\n")
    monkeypatch.setattr(linux, "NUMBERS", (str(own), str(image)))
    own.write_bytes(b"0" * 16 + b"\0")  # which is none
    bare = linux.computer_numbers(str(tmp_path))
    own.write_bytes(b"10000000abcd\0")
    there = linux.computer_numbers(str(tmp_path))
    image.unlink()

    assert [number.split(b" ")[0] for number in bare] == [b"0123"]
    assert [number.split(b" ")[0] for number in there] == [b"10000000abcd", b"0123"]
    assert not set(linux.computer_numbers(str(own))) & set(there)
    enrolled(Files(str(tmp_path), "budget"))

    def start(numbers: list[bytes]) -> str:
        return str(assemble.budget_of(CONFIG, str(tmp_path), numbers=numbers).fault)

    assert start(bare) == start(there) == ""  # it told no number at first, and goes on
    assert start(bare) == binding.COPIED  # its image elsewhere, machine's id and all


def test_a_folder_is_one_whoever_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand it is /var/lib/NAME, and `DynamicUser` puts a link there."""
    monkeypatch.setattr(linux, "NUMBERS", ())
    by_hand = linux.computer_numbers("/var/lib/heatveil-node")
    monkeypatch.setattr(linux.os.path, "realpath", lambda _: "/var/lib/private/heatveil-node")

    assert linux.computer_numbers("/var/lib/heatveil-node") == by_hand


# The parts that a config makes: what each wake costs, and a sensor that comes back.

PRICE = 1000


def told(wake_s: int = 0) -> Any:
    """Return a Config of which only this matters."""
    driver = {"name": "yours", "empty": None, "address": None}
    return config.Config(
        WHO, {}, None, driver, 100, wake_s, None, False, "thermal", None, None, None
    )


@pytest.mark.parametrize(("wake_s", "spent"), [(0, 24), (60, 3)])
def test_a_board_that_sleeps_pays_for_one_answer_a_wake(
    tmp_path: Path, wake_s: int, spent: int
) -> None:
    """Three starts and an answer each: the lease that is lost would cost seven more, each time."""
    place = Files(str(tmp_path), "budget")
    first = Limits(1, 8, 1, 500_000, 10**6, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), first)
    for wake in range(3):
        budget = assemble.budget_of(told(wake_s), str(tmp_path))
        assert (budget.epoch, budget.spent % PRICE) == (wake + 1, 0)
        assert budget.charge(PRICE, wake)
    assert assemble.budget_of(told(wake_s), str(tmp_path)).spent == spent * PRICE


@pytest.mark.parametrize(
    ("answers", "lost"), [(1, 0), (4, 0), (7, 0), (8, 1), (20, 4), (31, 6), (32, 7), (1000, 7)]
)
def test_no_start_costs_more_than_a_quarter_of_what_is_left(
    tmp_path: Path, answers: int, lost: int
) -> None:
    """A promise of a few readings must not go with the first power cut."""
    place = Files(str(tmp_path), "budget")
    held = Limits(1, 8, 1, 500_000, answers * PRICE, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), held)
    first = assemble.budget_of(told(), str(tmp_path))
    assert first.charge(PRICE, 0)

    again = assemble.budget_of(told(), str(tmp_path))
    assert again.spent - first.spent == lost * PRICE
    assert lost < max(answers / assemble.SHARE, 1)


def test_what_is_left_pays_for_each_answer_whatever_is_cut(tmp_path: Path) -> None:
    """A small budget, cut after each answer: fewer are lost the fewer there are."""
    place = Files(str(tmp_path), "budget")
    held = Limits(1, 8, 1, 500_000, 60 * PRICE, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), held)
    answered = 0
    while (budget := assemble.budget_of(told(), str(tmp_path))).charge(PRICE, answered):
        answered += 1
        assert budget.spent >= answered * PRICE

    assert answered >= 15  # eight at a time, these were eight
    assert budget.exhausted


def test_a_spoilt_budget_is_told_and_not_mended(tmp_path: Path) -> None:
    """Nothing is written over what may be evidence."""
    (tmp_path / "budget.0").write_bytes(b"spoilt")

    assert assemble.budget_of(told(), str(tmp_path)).fault
    assert (tmp_path / "budget.0").read_bytes() == b"spoilt"


def test_the_ring_holds_four_frames_of_the_largest_array(tmp_path: Path) -> None:
    """A frame that did not fit could never be sent again."""
    large = told()._replace(identity=WHO._replace(sensors=768))
    ring = assemble.ring_of(large, str(tmp_path))
    for frame in range(4):
        ring.put(bytes([frame]) * (4 * 768 + 100))

    assert ring.overwritten == 0
    assert len(ring) == 4


def test_a_sensor_that_comes_back_is_set_up_anew() -> None:
    """It lost its power, and with it the rate and the mode that were written once."""
    made: list[int] = []

    def opening() -> Any:
        made.append(1)

        def read(_: Any) -> list[int]:
            if len(made) == 1 and len(reads) == 2:
                raise OSError("-1 at 0x69")
            return [7]

        reads: list[int] = []
        return SimpleNamespace(read=lambda params: (reads.append(1), read(params))[1])

    held = drivers.Held(opening, 1, (1, 4))
    assert held.read(None) == (7,)
    with pytest.raises(OSError, match="does not answer"):
        held.read(None)
    assert held.read(None) == (7,)
    assert len(made) == 2


@pytest.mark.parametrize("said", [[1, 2], [], None])
def test_a_sensor_of_another_size_is_rubbish(said: Any) -> None:
    """Two numbers where one was enrolled: each would be held against another's noise."""
    held = drivers.Held(lambda: SimpleNamespace(read=lambda params: said), 1, (1, 4))

    with pytest.raises(ValueError, match="cannot measure"):
        held.read(None)


def test_a_driver_that_is_none_is_named_at_the_start() -> None:
    """Not at the first Round, when nobody looks at the console any more."""
    wrong = told()._replace(driver={"name": "bme680"})

    with pytest.raises(ValueError, match="no such driver"):
        assemble.sensor_of(wrong)
    with pytest.raises(ValueError, match="not read on this computer"):
        drivers.open_sensor({"name": "tmp117", "empty": None, "address": None})
