"""Whether a chip has the serial line that a board's settings name, on those pins.

No other pin ever becomes one, whatever is wired there: the board would stop at it, or hear nothing
for good. What is known is looked up here; of any other chip nothing is said.

Source: Raspberry Pi, datasheets of RP2040 and RP2350, GPIO functions of bank 0; MicroPython,
ports/rp2/machine_uart.c. Espressif, ESP-IDF, soc_caps.h of the ESP32, and its datasheet for the
pins of the flash; MicroPython, ports/esp32/machine_uart.c, for line 0, which is its prompt.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...faults import OperatorFault
from .interpreter import Found

READ = ("gps", "yours")  # the drivers that may be at a serial line


class Lines(NamedTuple):
    """The serial lines of a chip. pins(word, line): what tx or rx of that line can be.

    why: why there is not another one, where one would look for it.
    """

    numbers: tuple[int, ...]
    pins: Callable[[str, int], tuple[int, ...]]
    why: str = ""


def _pico(count: int, step: int) -> Callable[[str, int], tuple[int, ...]]:
    """Return the pins of a chip whose lines have one in `step` for tx, and the next for rx."""

    def pins(word: str, line: int) -> tuple[int, ...]:
        own = [pin for pin in range(count) if (pin + 4) // 8 % 2 == line]
        return tuple(pin for pin in own if pin % step == (word == "rx"))

    return pins


def _esp32(word: str, line: int) -> tuple[int, ...]:
    """Return all but those of the prompt (1, 3) and the flash (6 to 11); 34 to 39 only hear."""
    both = (0, 2, 4, 5, *range(12, 24), 25, 26, 27, 32, 33)
    return both if word == "tx" else (*both, *range(34, 40))


CHIPS: Mapping[str, Lines] = {
    "RP2040": Lines((0, 1), _pico(30, 4)),
    "RP2350": Lines((0, 1), _pico(48, 2)),
    "ESP32": Lines((1, 2), _esp32, "; 0 is the cable's, by which it is provisioned"),
}


def check_line(found: Found, own: Mapping[str, Any]) -> None:
    """Check that a board has the serial line that its settings name.

    Raises:
        OperatorFault: its chip has none of that number, or none on those pins.
    """
    driver, lines = own.get("driver"), CHIPS.get(found.kind)
    if lines is None or not isinstance(driver, dict) or driver.get("name") not in READ:
        return
    line = driver.get("uart")
    if line is None:
        return  # it is at a bus or a pin, or the config's own reader says what is missing
    said = f"the driver {driver['name']} of the settings has uart = {line}"
    if line not in lines.numbers:
        raise OperatorFault(
            f"{said} and an {found.kind} has {' and '.join(map(str, lines.numbers))} for a sensor"
            f"{lines.why}; what is wired to another is never heard. Mend it under [driver], with "
            "tx and rx of that line, as under the picture in edge/README.md"
        )
    for word in ("tx", "rx"):
        pin, those = driver.get(word), lines.pins(word, line)
        if pin is not None and pin not in those:
            raise OperatorFault(
                f"{said} with {word} = {pin}, and an {found.kind} has that {word} on "
                f"{_listed(those)} alone; another pin is never that, or it is the flash's, or the "
                "prompt's. Wire it to one of these, and name that under [driver]: as under the "
                "picture in edge/README.md"
            )


def _listed(pins: tuple[int, ...]) -> str:
    """Return numbers in rising order as one says them.

    >>> _listed((0, 2, 4, 5, 12, 13, 14))
    '0, 2, 4, 5, 12 to 14'
    """
    runs: list[list[int]] = []
    for pin in pins:
        if runs and runs[-1][-1] == pin - 1:
            runs[-1].append(pin)
        else:
            runs.append([pin])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )
