"""A radio that lies, hangs and refuses: every wait ends, and the watchdog is fed."""

import asyncio
from typing import Any

import pytest

from edge.board import net

WIFI = {"ssid": "ours", "password": "hunter3", "country": None}


class Radio:
    """A `network.WLAN`: comes in after so many looks, never if None; `faults` raise."""

    PM_NONE = 0

    def __init__(self, looks: int | None, *faults: str) -> None:
        self.looks, self.faults = looks, faults
        self.calls: list[str] = []
        self._left: int | None = None

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call in self.faults:
            raise OSError(1)

    def active(self, on: bool) -> None:
        self._note(f"active {on}")

    def config(self, **_: Any) -> None:
        self._note("config")

    def connect(self, ssid: str, password: str) -> None:
        self._note(f"connect {ssid}")
        self._left = self.looks

    def disconnect(self) -> None:
        self._note("disconnect")
        self._left = None

    def isconnected(self) -> bool:
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0


class Time:
    """Counts the milliseconds that were waited, and how long the watchdog was not fed."""

    def __init__(self) -> None:
        self.now_ms = self.fed_ms = self.hungry_ms = 0

    async def sleep_ms(self, ms: int) -> None:
        self.now_ms += ms
        self.hungry_ms = max(self.hungry_ms, self.now_ms - self.fed_ms)
        await asyncio.sleep(0)

    def feed(self) -> None:
        self.fed_ms = self.now_ms


def station(radio: Radio) -> tuple[net.Station, Time]:
    """Return a station on this radio, and its time."""
    time = Time()
    return net.Station(radio, WIFI, time.sleep_ms, time.feed), time


def test_a_join_that_takes_its_time_succeeds() -> None:
    """Four seconds is usual."""
    made, time = station(Radio(20))

    assert asyncio.run(made.try_join())
    assert time.now_ms == 4000
    assert (made.joins, made.failures) == (1, 0)


def test_a_join_that_never_ends_is_ended_and_the_radio_turned_off() -> None:
    """Else a wrong password hangs the board till somebody pulls the plug."""
    radio = Radio(None)
    made, time = station(radio)

    assert not asyncio.run(made.try_join())
    assert net.JOIN_MS <= time.now_ms <= net.JOIN_MS + net.LOOK_MS
    assert radio.calls[-2:] == ["disconnect", "active False"]


@pytest.mark.parametrize("fault", ["active True", "connect ours", "config", "disconnect"])
def test_a_radio_that_refuses_is_tried_again(fault: str) -> None:
    """Drivers raise OSError when they are out of memory or half way through something else."""
    made, _ = station(Radio(None, fault))

    assert not asyncio.run(made.try_join())
    assert made.failures == 1


def test_waits_grow_to_a_minute_and_differ() -> None:
    """A hundred boards must not knock together; none waits longer than it must."""
    for failures in range(1, 40):
        whole = min(1000 * 2 ** (failures - 1), 60000)
        waits = {net.pause_ms(failures) for _ in range(30)}
        assert whole // 2 <= min(waits)
        assert max(waits) < whole
        assert len(waits) > 10


def test_it_comes_back_after_every_loss_and_says_so() -> None:
    """Kept for a while over a radio that drops it: joined again each time."""
    radio = Radio(3)
    made, time = station(radio)
    said: list[str] = []

    async def hour() -> None:
        keeper = asyncio.create_task(made.stay_joined(said.append, lambda: True))
        while time.now_ms < 60_000:
            await asyncio.sleep(0)
            if made.joins and time.now_ms // 10_000 > radio.calls.count("disconnect"):
                radio.disconnect()
        keeper.cancel()

    asyncio.run(hour())

    assert made.joins >= 5
    assert said[:2] == ["joining", "disconnected"]


def test_the_watchdog_is_never_hungry_for_long() -> None:
    """It bites after 8 s, and a join with its pause takes a minute and more."""
    made, time = station(Radio(None))

    async def hour() -> None:
        with pytest.raises(OSError, match="name and password"):
            await made.stay_joined(lambda word: None, lambda: False)

    asyncio.run(hour())

    assert time.hungry_ms <= 1000
    assert made.failures == net.HOPELESS
    assert 20 * 60_000 < time.now_ms < 60 * 60_000  # a reset then, and it is a boot: not often
    assert "hunter3" not in repr(made)


@pytest.mark.parametrize(("reached", "renewed"), [(True, 0), (False, 6)])
def test_a_radio_that_goes_quiet_is_turned_off_and_on(reached: bool, renewed: int) -> None:
    """It says that it is in, and nothing gets through: the broker is what shows it."""
    radio = Radio(0)
    made, time = station(radio)

    async def while_quiet() -> None:
        keeper = asyncio.create_task(made.stay_joined(lambda word: None, lambda: reached))
        while time.now_ms < 20 * 60_000:
            await asyncio.sleep(0)
        keeper.cancel()

    asyncio.run(while_quiet())

    assert radio.calls.count("active False") == renewed
    assert made.joins == renewed + 1
    assert made.failures == 0


def test_how_strong_it_hears_is_looked_at_once_a_join() -> None:
    """Each minute it would show who walks between: that is how one watches a room by its radio."""
    radio, levels = Radio(0), iter([-61, -74])
    made, _ = station(radio)
    asyncio.run(made.try_join())
    assert made.describe() == {"joins": 1, "rssi": None}  # this radio knows no status

    radio.status = lambda what: {"rssi": next(levels)}[what]  # type: ignore[attr-defined]
    asyncio.run(made.try_join())
    assert [made.describe() for _ in range(3)] == [{"joins": 2, "rssi": -61}] * 3
    asyncio.run(made.try_join())
    assert made.describe() == {
        "joins": 3,
        "rssi": -61,
    }  # or who makes it join would hear who walks


def test_before_a_sleep_the_chip_of_the_radio_is_off_too() -> None:
    """Whatever it refuses; and where the port has no such word, without it."""
    radio = Radio(0, "disconnect")
    station(radio)[0].turn_off(True)
    assert radio.calls == ["disconnect", "active False"]

    radio.deinit = lambda: radio.calls.append("deinit")  # type: ignore[attr-defined]
    station(radio)[0].turn_off(True)
    assert radio.calls[2:] == ["disconnect", "active False", "deinit"]
