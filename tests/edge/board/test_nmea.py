"""Sentences of a receiver, whole, spoilt and cut: angles in whole numbers, or nothing at all."""

from fractions import Fraction
from functools import reduce
from pathlib import Path

import pytest

from edge.board.sensors import nmea

CODE = (Path(__file__).parents[3] / "edge" / "board" / "sensors" / "nmea.py").read_text("utf-8")
# The two of 1994 that every text on NMEA shows, and those of u-blox, M8 protocol, section 31.
PRINTED = {
    "GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47": ("48 7.038", "11 31"),
    "GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A": ("48 7.038", "11 31"),
    "GPGGA,092725.00,4717.11399,N,00833.91590,E,1,08,1.01,499.6,M,48.0,M,,*5B": (
        "47 17.11399",
        "8 33.91590",
    ),
    "GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57": (
        "47 17.11437",
        "8 33.91522",
    ),
}
NOWHERE = [
    "GPGGA,123519,,,,,0,00,99.99,,,,,,",
    "GPRMC,123519,V,,,,,,,230394,,,N",
    "GPRMC,123519,V,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W",
    "GPGGA,123519,4807.038,N,01131.000,E,0,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,N,01131.000,E,8,08,0.9,545.4,M,46.9,M,,",
    "GPRMC,123519,A,4807.038,N,01131.000,E,0,0,230394,,,S",
    "GPGGA,123519,4860.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,9100.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,9000.001,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,N,18000.001,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,X,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,NS,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,+807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.-38,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519",
    "GPRMC,123519,A",
    "GPGSV,3,1,11,03,03,111,00,04,15,270,00,06,01,010,00,13,06,292,00",
    "",
]


def signed(body: str) -> bytes:
    """Return a sentence with the sum of its bytes, as the standard makes it."""
    return f"{body}*{reduce(lambda held, letter: held ^ ord(letter), body, 0):02X}".encode()


def angle(text: str) -> Fraction:
    """Return degrees of what is printed as degrees and minutes."""
    degrees, minutes = text.split()
    return Fraction(degrees) + Fraction(minutes) / 60


@pytest.mark.parametrize("sentence", PRINTED)
def test_what_the_manuals_print_is_read(sentence: str) -> None:
    """To the unit of 1e-7 degree, which is 11 mm: their own checksums, their own places."""
    north, east = PRINTED[sentence]
    found = nmea.fix_of(sentence.encode())

    assert found
    assert abs(found[0] - angle(north) * 10**7) <= Fraction(1, 2)
    assert abs(found[1] - angle(east) * 10**7) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("sides", "signs"), [("NE", (1, 1)), ("NW", (1, -1)), ("SE", (-1, 1)), ("SW", (-1, -1))]
)
def test_south_and_west_are_negative(sides: str, signs: tuple[int, int]) -> None:
    """Whatever stars are above: GN and others talk as GP does."""
    body = f"GNGGA,000000,3351.6,{sides[0]},15112.34567891,{sides[1]},4,20,0.5,5,M,0,M,,"

    assert nmea.fix_of(signed(body)) == (signs[0] * 338600000, signs[1] * 1512057613)


@pytest.mark.parametrize("body", NOWHERE)
def test_without_a_fix_there_is_no_place(body: str) -> None:
    """No sky, a place that somebody typed in, one that is on no globe, another kind."""
    assert nmea.fix_of(signed(body)) is None


def test_every_spoilt_byte_is_noticed() -> None:
    """One byte of a line that is torn: never another place; the sum holds against each of them."""
    right = next(iter(PRINTED)).encode()
    place = nmea.fix_of(right)
    for i in range(len(right)):
        for byte in (0, 42, 44, 48, 57, 69, 255, right[i] ^ 1):
            spoilt = right[:i] + bytes([byte]) + right[i + 1 :]
            found = nmea.fix_of(spoilt)
            assert found is nmea.SPOILT or (found == place and spoilt == right), spoilt
        assert nmea.fix_of(right[:i]) is nmea.SPOILT
        assert nmea.fix_of(right[i + 1 :]) is nmea.SPOILT
    assert nmea.fix_of(right.partition(b"*")[0]) is nmea.SPOILT


SCRIPT = """
{code}
for line in {lines}:
    print(fix_of(line))
state = 1
for _ in range(2000):
    line = bytearray(nothing)
    for i in range(len(line)):
        state = (state * 1103515245 + 12345) % 2147483648
        line[i] = state >> 16 & 127
    body = bytes(line)
    sum = 0
    for byte in body:
        sum ^= byte
    found = fix_of(body + b"*%02X" % sum)
    if found not in (None, False):
        print("a place of", body)
print("done")
"""


def test_every_interpreter_reads_them_alike(interpreter) -> None:
    """Small words, big words: and a thousand sentences of nothing, with a right sum, are none."""
    lines = [line.encode() for line in PRINTED] + [signed(body) for body in NOWHERE]
    script = "nothing = 24\n" + SCRIPT.format(code=CODE, lines=lines)
    expected = [str(nmea.fix_of(line)) for line in lines]

    assert interpreter.run(script).splitlines() == [*expected, "done"]
