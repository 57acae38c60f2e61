"""Who is guilty is thrown off a real broker, stays off, and comes back when freed."""

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker import control
from gateway.devices.broker.control import BrokerControl, NoAnswerFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.operate import quarantine
from gateway.service.operate.quarantine import FLOOD, FORGED, Guard, Quarantine, Verdict
from gateway.settings.deployment import Guard as Settings
from gateway.settings.deployment import Mqtt
from gateway.store.store import Store
from tests.waiting import eventually, may_come

NAMES = [f"node-{number}" for number in range(4)]
LIMITS = Settings(messages_per_s=20, burst=50, forged=5)


class Ward:
    """A quarantine with its guard and its store, that can be started again."""

    def __init__(self, folder: Path, pump: Pump, mqtt: Mqtt | None, **words: Any) -> None:
        self.store = Store(folder / "heatveil.sqlite", "testsite")
        self.guard = Guard(LIMITS, NAMES)
        self.events: list[dict[str, Any]] = []
        self.control = None if mqtt is None else BrokerControl(mqtt, "ward", pump)
        self.quarantine = Quarantine(
            self.store, self.control, self.guard, self.events.append, **words
        )

    def flood(self, name: str) -> None:
        now_s = time.monotonic()
        for _ in range(LIMITS.burst + 1):
            self.guard.may_pass(name, 100, now_s)

    def close(self) -> None:
        self.quarantine.close()
        if self.control is not None:
            self.control.close()
        self.store.close()


@pytest.fixture
def wards(tmp_path: Path, pump: Pump) -> Iterator[Callable[..., Ward]]:
    """Return what starts a ward; each ends with the test, if not before."""
    made: list[Ward] = []

    def ward(mqtt: Mqtt | None, **words: Any) -> Ward:
        made.append(Ward(tmp_path, pump, mqtt, **words))
        return made[-1]

    yield ward
    for one in made:
        one.close()


def test_a_flood_is_cut_off_at_the_broker_kept_and_told(
    doors: Any, pump: Pump, wards: Callable[..., Ward]
) -> None:
    """The neighbour may come as before."""
    with doors.run():
        ward = wards(doors.comes("gateway"))
        assert eventually(lambda: ward.control and ward.control.up)
        lost: list[str] = []
        guilty = Link(
            doors.comes("node-1"),
            "node-1",
            pump,
            on_state=lambda up, why: None if up else lost.append(why),
        ).wait_connected()
        ward.flood("node-1")
        assert eventually(lambda: lost)
        assert eventually(lambda: "node-1" in ward.store.list_quarantined())
        assert eventually(lambda: ward.events and ward.events[-1]["devices"])
        (row,) = ward.events[-1]["devices"]
        assert (row["device"], row["why"]) == ("node-1", FLOOD)
        assert abs(row["since_s"] - time.time()) < 60
        assert not may_come(pump, doors.comes("node-1"))
        assert may_come(pump, doors.comes("node-2"))
        guilty.close()


def test_a_link_lost_and_back_while_the_broker_is_asked_delays_no_verdict(
    wards: Callable[..., Ward], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question was lost with the old link: it is asked again on the new one, at once."""
    monkeypatch.setattr(quarantine, "AGAIN_S", 3600.0)
    asked: list[str] = []

    class Flapping:
        up, own, on_state = True, "gateway", staticmethod(lambda _up: None)

        def list_clients(self) -> dict[str, Any]:
            asked.append("who is shut out")
            return {}

        def run_commands(self, commands: Any) -> list[Any]:
            asked.append(commands[0]["username"])
            if asked.count("node-1") == 1:
                self.on_state(False)
                self.on_state(True)
                raise NoAnswerFault("the link is another one")
            return []

        def close(self) -> None:
            pass

    monkeypatch.setattr(sys.modules[__name__], "BrokerControl", lambda *_: Flapping())
    ward = wards(Mqtt(host="127.0.0.1", insecure=True))
    ward.flood("node-1")

    assert eventually(lambda: asked.count("node-1") == 2)
    assert eventually(lambda: "node-1" in ward.store.list_quarantined())


def test_it_survives_a_restart_and_is_over_when_the_store_says_so(
    doors: Any, pump: Pump, wards: Callable[..., Ward]
) -> None:
    """Another process may free a device there: it is let in within seconds."""
    with doors.run():
        first = wards(doors.comes("gateway"))
        assert eventually(lambda: first.control and first.control.up)
        first.flood("node-1")
        assert eventually(lambda: "node-1" in first.store.list_quarantined())
        first.close()
        assert not may_come(pump, doors.comes("node-1"))
        again = wards(doors.comes("gateway"))
        assert again.guard.explain_block("node-1") == FLOOD
        assert not again.guard.may_pass("node-1", 1, 1.0)
        assert eventually(lambda: again.events)
        again.store.let_back("node-1")
        assert eventually(lambda: again.guard.may_pass("node-1", 1, 1.0))
        assert eventually(lambda: may_come(pump, doors.comes("node-1")))
        assert eventually(lambda: again.events[-1]["devices"] == [])


@pytest.mark.long
def test_what_the_broker_missed_it_is_told_when_it_is_back(
    doors: Any, pump: Pump, wards: Callable[..., Ward]
) -> None:
    """A verdict while it is away, and a pardon while it is away."""
    ward = wards(doors.comes("gateway"))
    ward.flood("node-1")
    ward.flood("node-2")
    assert eventually(lambda: len(ward.store.list_quarantined()) == 2)
    with doors.run():
        assert eventually(lambda: not may_come(pump, doors.comes("node-1")))
        assert eventually(lambda: not may_come(pump, doors.comes("node-2")))
    ward.store.let_back("node-2")
    assert eventually(lambda: not ward.guard.explain_block("node-2"))
    with doors.run():
        assert eventually(lambda: may_come(pump, doors.comes("node-2")))
        assert not may_come(pump, doors.comes("node-1"))


@pytest.mark.long
def test_whom_the_operator_shut_out_at_the_broker_stays_out(
    doors: Any, pump: Pump, wards: Callable[..., Ward]
) -> None:
    """It has not our mark, so it is not ours to let in."""
    with doors.run():
        gate = BrokerControl(doors.comes("gateway"), "operator", pump).wait_connected()
        control.check_answers(
            gate.run_commands([{"command": "disableClient", "username": "node-3"}])
        )
        ward = wards(doors.comes("gateway"))
        ward.flood("node-1")
        assert eventually(lambda: gate.list_clients()["node-1"].get("disabled"))
        assert eventually(lambda: "node-1" in ward.store.list_quarantined())
        ward.store.let_back("node-1")
        assert eventually(lambda: not gate.list_clients()["node-1"].get("disabled"))
        assert gate.list_clients()["node-3"]["disabled"]
        gate.close()


def test_a_disk_that_will_not_is_asked_again(
    wards: Callable[..., Ward], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is not listened to meanwhile, and is written down when there is room."""
    monkeypatch.setattr("gateway.service.operate.quarantine.LOOK_S", 0.05)
    ward = wards(None)
    keep, tries = ward.store.quarantine, []

    def full(name: str, why: str) -> None:
        tries.append(name)
        if len(tries) < 3:
            raise OSError(28, "No space left on device")
        keep(name, why)

    monkeypatch.setattr(ward.store, "quarantine", full)
    ward.flood("node-1")
    assert eventually(lambda: "node-1" in ward.store.list_quarantined())
    assert tries == ["node-1"] * 3
    assert ward.guard.explain_block("node-1")


class Wall:
    """A store whose clock somebody has set; it notes how often it was looked into."""

    def __init__(self, since_s: float) -> None:
        self.rows, self.looks = {"node-1": ("it floods", since_s)}, 0

    def quarantine(self, name: str, why: str) -> None:
        self.rows[name] = why, time.time()

    def let_back(self, name: str) -> None:
        self.rows.pop(name, None)

    def list_quarantined(self) -> dict[str, tuple[str, float]]:
        self.looks += 1
        return dict(self.rows)


@pytest.mark.long
@pytest.mark.parametrize("off_s", [-1e6, 0.0, 1e6], ids=["set on", "right", "set back"])
def test_no_clock_that_is_set_lets_a_device_back_early(off_s: float) -> None:
    """Ten minutes are ten minutes of a clock that nobody can set; then it comes back all the same.

    A wall's clock that was set back says that it was shut out in the future, one that was set on
    that it was shut out days ago.
    """
    wall, guard, now_s = Wall(time.time() + off_s), Guard(LIMITS, NAMES), [50.0]
    with Quarantine(wall, None, guard, [].append, minutes=10, clock=lambda: now_s[0]) as one:
        for passed_s in (0.0, 599.0):
            now_s[0] = 50.0 + passed_s
            looks = wall.looks
            one._woken.set()
            assert eventually(lambda looks=looks: wall.looks > looks + 1)
            assert guard.explain_block("node-1")
        now_s[0] = 650.0
        assert eventually(lambda: not guard.explain_block("node-1"))
    assert wall.rows == {}


# The guard: nobody honest is shut out, nobody else is listened to for long.


@pytest.fixture
def guard() -> Guard:
    """Return a guard of two devices."""
    return Guard(LIMITS, ["a", "b"])


def sent(guard: Guard, device: str, times: int, at_s: float, size: int = 100) -> int:
    """Return how many of that many messages at one moment pass."""
    return sum(guard.may_pass(device, size, at_s) for _ in range(times))


def test_a_device_may_send_its_spool_and_its_rate_for_ever(guard: Guard) -> None:
    """A full spool, and then twenty messages a second, all pass."""
    assert sent(guard, "a", 50, 10.0) == 50
    assert all(guard.may_pass("a", 100, 10 + tick / 19) for tick in range(1, 2000))
    assert guard.pop_verdicts() == []


def test_a_flood_is_found_with_the_first_message_too_many(guard: Guard) -> None:
    """Of a thousand messages at once the burst passes; one verdict, and the other is unharmed."""
    called: list[int] = []
    guard.wake = lambda: called.append(1)
    assert sent(guard, "a", 1000, 10.0) == 50
    assert guard.pop_verdicts() == [Verdict("a", FLOOD)]
    assert guard.pop_verdicts() == []
    assert called == [1]
    assert not guard.may_pass("a", 100, 1e9), "it comes back by itself"
    assert sent(guard, "b", 50, 10.0) == 50


def test_frames_that_are_not_its_own_make_a_device_guilty_within_a_minute(guard: Guard) -> None:
    """Five in a minute are an accident, however many minutes; the sixth in one is not."""
    for minute in range(10):
        for _ in range(5):
            guard.count_forged("a", 100.0 + 60 * minute)
    assert guard.pop_verdicts() == []
    guard.count_forged("a", 100.0 + 60 * 9 + 1)
    assert guard.pop_verdicts() == [Verdict("a", FORGED)]
    assert guard.explain_block("a") == FORGED
    assert not guard.explain_block("b")


def test_strangers_share_one_bucket_and_no_memory(guard: Guard) -> None:
    """A hundred thousand names that nobody enrolled leave nothing behind and blame nobody."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    passed = sum(guard.may_pass(f"x{i}", 10, 1.0) for i in range(100_000))
    for i in range(1000):
        guard.count_forged(f"x{i}", 1.0)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert passed == 50
    assert guard.pop_verdicts() == []
    assert grown < 100_000  # less than a byte a name
    guard.shut_out("x1", "a name that is not ours")
    assert guard.may_pass("a", 10, 1.0)


def test_who_cannot_be_told_apart_is_not_blamed() -> None:
    """Where anybody may write under any name, floods do not pass and nobody is shut out."""
    guard = Guard(LIMITS, ["a"], attributable=False)
    assert sent(guard, "a", 1000, 1.0) == 50
    for _ in range(100):
        guard.count_forged("a", 1.0)
    assert guard.pop_verdicts() == []
    assert guard.may_pass("a", 10, 100.0)


def test_what_waited_at_the_broker_is_not_a_flood(guard: Guard) -> None:
    """An hour of copies, sent every five seconds, comes at once and passes; a flood does not."""
    control = Guard(LIMITS, ["a"])
    assert sent(control, "a", 720, 1.0) == 50
    assert control.pop_verdicts()
    guard.allow_backlog(3600)
    assert sent(guard, "a", 720, 1.0) == 720
    assert guard.pop_verdicts() == []
    assert sent(guard, "a", 200_000, 2.0) <= 3600 * 20 + 50 + 20
    assert guard.pop_verdicts() == [Verdict("a", FLOOD)]


def test_freed_devices_begin_anew_and_a_new_fleet_keeps_who_is_shut(guard: Guard) -> None:
    """Free gives a full bucket and a new verdict; another list of devices frees nobody."""
    sent(guard, "a", 60, 1.0)
    guard.replace_limits(LIMITS, ["a", "c"])
    assert guard.explain_block("a")
    assert len(guard.pop_verdicts()) == 1
    guard.let_back("a")
    assert sent(guard, "a", 60, 1.0) == 50
    assert guard.pop_verdicts() == [Verdict("a", FLOOD)]
    guard.shut_out("c", "by hand")
    assert guard.explain_block("c") == "by hand"
    assert not guard.may_pass("c", 10, 1.0)
    assert guard.pop_verdicts() == [], "who is shut by hand is no news"
