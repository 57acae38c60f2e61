"""What the light says, why the board started, and how long it may sleep."""

from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import power
from edge.board.led import ROUND_MS, Led, lit

WORDS = ["ready", "sleeping", "disconnected", "lost", "alert", "exhausted"]
WORDS += ["starting", "joining", "fault"]


def flashes(word: str) -> int:
    """Return how often the light comes on in one round."""
    seen = [lit(word, now_ms) for now_ms in range(ROUND_MS, 2 * ROUND_MS)]
    return sum(after > before for before, after in zip([0, *seen], seen, strict=False))


def test_each_word_looks_as_the_table_says() -> None:
    """Somebody counts flashes with the README in the other hand."""
    assert {word: flashes(word) for word in WORDS} == {
        "ready": 1,
        "sleeping": 0,
        "disconnected": 8,
        "lost": 8,
        "alert": 3,
        "exhausted": 2,
        "starting": 1,  # on all the time
        "joining": 20,
        "fault": 4,
    }
    assert all(lit("starting", now_ms) for now_ms in range(9000))


def test_the_pin_is_told_only_of_changes() -> None:
    """Some lights hang on the radio's own bus, which a word each look would keep busy."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.show("ready")
    for now_ms in range(0, 2 * ROUND_MS, 30):
        led.look(now_ms)

    assert told == [1, 0, 1, 0]


def test_a_board_without_a_light_does_without() -> None:
    """No pin, no fault."""
    Led().look(0)


@pytest.mark.parametrize(("name", "word"), power.CAUSES)
def test_why_it_started_is_a_word(name: str, word: str) -> None:
    """Ports number their causes differently and name them alike."""
    machine: Any = SimpleNamespace(reset_cause=lambda: 7, **{name: 7})

    assert power.cause(machine) == word
    assert power.cause(SimpleNamespace(reset_cause=lambda: 6, **{name: 7})) == "unknown"
    assert power.cause(SimpleNamespace()) == "unknown"


def test_a_long_sleep_is_cut_to_what_every_board_can() -> None:
    """An RP2040 counts microseconds in 32 bits: beyond 71 minutes it would wake at once."""
    slept: list[int] = []
    machine = SimpleNamespace(deepsleep=slept.append)
    power.sleep(machine, 60)
    power.sleep(machine, 86400)

    assert slept == [60000, power.LONGEST_MS]
    assert power.LONGEST_MS * 1000 < 2**32


def test_the_watchdog_is_as_patient_as_the_smallest_board_allows() -> None:
    """The RP2040 refuses more than 8388 ms."""
    fed: list[int] = []
    wanted: list[int] = []

    def started(timeout: int) -> Any:
        wanted.append(timeout)
        return SimpleNamespace(feed=lambda: fed.append(1))

    power.Watchdog(SimpleNamespace(WDT=started)).feed()
    power.Watchdog(SimpleNamespace()).feed()

    assert wanted[0] <= 8388
    assert fed == [1]


def test_the_board_s_files_load_on_every_interpreter(interpreter) -> None:
    """Without pins and radios too: what needs them asks for them when it runs."""
    names = ["boot", "config", "drivers", "led", "main", "net", "power"]
    script = "".join(f"import edge.board.{name}\n" for name in names)

    assert interpreter.run(script + "print('all')") == "all\n"
