"""What the light says, to somebody who counts its flashes."""

from types import SimpleNamespace

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


def test_a_sensor_that_is_gone_shows_once_it_matters() -> None:
    """A fault of the sensor is told where all else is well; worse is not hidden by it."""
    faults = [0]
    led = Led()
    led.ill = lambda: faults[0]
    led.show("ready")
    seen = []
    for faults[0], word in (
        (0, "ready"),
        (1, "ready"),
        (1, "alert"),
        (1, "joining"),
        (0, "alert"),
    ):
        led.show(word)
        shown = []
        for now_ms in range(ROUND_MS, 2 * ROUND_MS, 10):
            led.look(now_ms)
            shown.append(led._level)
        seen.append(sum(b and not a for a, b in zip([0, *shown], shown, strict=False)))

    assert seen == [1, 4, 4, 20, 3]


def test_it_is_dark_before_a_sleep() -> None:
    """A light left on would be most of what a battery gives."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.look(0)
    led.dark()

    assert told == [1, 0]


def test_the_board_s_files_load_on_every_interpreter(interpreter) -> None:
    """Without pins and radios too: what needs them asks for them when it runs."""
    names = ["boot", "config", "drivers", "firmware", "led", "main", "nap", "net", "pins", "power"]
    script = "".join(f"import edge.board.{name}\n" for name in names)

    assert interpreter.run(script + "print('all')") == "all\n"
