"""The wiring pictures: every pin that is named there is where the board's maker says it is."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import edge

PICTURES = Path(str(edge.__file__)).parent / "pictures"
NAMES = sorted(path.name for path in PICTURES.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
# Raspberry Pi, Pico W data sheet, figure 2: from pin 21 up to pin 40.
PICO = (
    "GP16 GP17 GND GP18 GP19 GP20 GP21 GND GP22 RUN GP26 GP27 GND GP28 VREF 3V3 EN GND VSYS VBUS"
)
PINS = dict(enumerate(PICO.split(), 21))
# Espressif, ESP32-DevKitC V4 user guide: the right side from the aerial on, to its seventh pin.
DEVKITC = ["GND", "23", "22", "TX", "RX", "21", "GND"]
# Raspberry Pi, 40-pin header.
HEADER = {1: "3.3 V", 3: "SDA", 5: "SCL", 9: "GND"}


def texts(name: str) -> list[tuple[str, float]]:
    """Return each text of a picture, and how far down its group it is written."""
    root = ElementTree.parse(PICTURES / name).getroot()
    return [(item.text or "", float(item.get("y", "0"))) for item in root.iter(f"{SVG}text")]


def test_there_is_a_picture_of_each_sensor_that_is_wired() -> None:
    """Five, each for the boards that can have it."""
    assert NAMES == ["amg8833.svg", "ds18b20.svg", "gps.svg", "mlx90640.svg", "tmp117-sht4x.svg"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small_and_fetches_and_runs_nothing(name: str) -> None:
    """A picture in a README is shown to strangers; and whoever cannot see it is told."""
    text = (PICTURES / name).read_text()
    root = ElementTree.fromstring(text)

    assert len(text) < 6000
    assert not re.search(r"<script|<image|href|url\(|@import|<!ENTITY", text)
    assert len(root.findtext(f"{SVG}desc") or "") > 100
    assert "GND" in (root.findtext(f"{SVG}desc") or "")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "mlx90640.svg"])
def test_the_pins_of_a_pico_are_the_makers(name: str) -> None:
    """Number and name, and drawn as far down as its number says."""
    found = [(text.split(), y) for text, y in texts(name) if re.fullmatch(r"\S+ \d\d", text)]

    assert len(found) in (3, 4)
    for (label, number), y in found:
        assert PINS[int(number)] == label
        assert y == 16 + 12 * (40 - int(number))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "mlx90640.svg"])
def test_the_pins_of_an_esp32_are_the_makers(name: str) -> None:
    """By name, for its boards differ; drawn where they are on the maker's own."""
    drawn = [(text, y) for text, y in texts(name) if text in ("GND", "22", "21") and y < 96]
    drawn = [(text, y) for text, y in drawn if (y - 18) % 12 == 0]

    assert len(drawn) >= 2
    assert all(DEVKITC[int(y - 18) // 12] == text for text, y in drawn)


def test_the_pins_of_a_raspberry_pi_are_the_makers() -> None:
    """The kernel's first I2C bus: pins 3 and 5."""
    found = dict(re.findall(r">(\d)  ([^<]+)</text>", (PICTURES / "mlx90640.svg").read_text()))

    assert {int(pin): what for pin, what in found.items()} == HEADER


@pytest.mark.parametrize("name", ["amg8833.svg", "tmp117-sht4x.svg"])
def test_the_words_of_the_config_are_those_of_the_wires(name: str) -> None:
    """GP20 and GP21 are the first bus of an RP2040: even is SDA, the next one SCL."""
    said = [re.findall(r"\d+", text) for text, _ in texts(name) if text.startswith("sda")]
    labels = {text for text, _ in texts(name)}

    assert said == [["20", "21"], ["21", "22"]]
    assert {"GP20 26", "GP21 27", "21", "22"} <= labels
    assert (20 & 1, 20 >> 1 & 1, 21 & 1, 21 >> 1 & 1) == (0, 0, 1, 0)  # ports/rp2/machine_i2c.c


def test_a_receiver_is_heard_on_the_pin_that_is_said() -> None:
    """Its TX is our rx: GP21 of an RP2040 is UART1 RX, and GP20 its TX; an ESP32 may have any."""
    said = [re.findall(r"\d+", text) for text, _ in texts("gps.svg") if text.startswith("uart")]
    labels = {text for text, _ in texts("gps.svg")}

    assert said == [["1", "20", "21"], ["2", "22", "21"]]
    assert {"GP21 27", "21", "TX", "RX"} <= labels
    assert (21 % 4, 20 % 4, (21 + 4) // 8 & 1) == (1, 0, 1)  # ports/rp2/machine_uart.c
