"""Melexis MLX90640: 32 by 24 pixels, through the library that its computer has.

The chip sends what its calibration, some hundred numbers a pixel, makes into degrees; that is
done by Adafruit's `adafruit_mlx90640` on a Raspberry Pi, or by a firmware of one's own. Those
compute with floats. Here they become whole hundredths of a kelvin, rounded down, before anything
else looks at them.

Behind the degrees is the chip's own converter, whose step is coarser than a hundredth: one count
of a pixel is 1 / (4 alpha T**3), which at 25 degrees is 0.08 K for the pixel of the data sheet's
example (alpha 1.19e-7, 18 bits as delivered), and more in a corner of the view or a cold room. A
move may flip it on every pixel at once, and the host's computing rounds what it shows once more.
So a deployment of one promises for steps of a hundredth (`adc_step`) of what a converter `behind`
them shows in counts of at most a fifth (`adc_behind`).

camera: whatever has `getFrame(list)`, which fills 768 places with degrees Celsius.

Source: Melexis, MLX90640 data sheet 3901090640, sections 1 and 11.2.2; Adafruit's library for
what `getFrame` does.
"""

from ...core.pixels import subtract_baseline
from . import bus

LOWEST, HIGHEST = -100, 500  # degrees: it measures from -40 to 300
NOTHING = LOWEST - 1  # refused, where a place was not filled
UNIT = (1, 100)


class Sensor:
    """The array. empty: its counts of the empty room, or None for 20 degrees."""

    step = UNIT
    behind = (1, 5)
    sensors = 768

    def __init__(self, camera, empty=None):
        self._camera = camera
        self._empty = bus.level(empty, 2000, self.sensors)
        self._degrees = [NOTHING] * self.sensors

    def counts(self):
        """Return 768 counts, row by row, in hundredths of a degree Celsius."""
        found = self._degrees
        for i in range(self.sensors):
            found[i] = NOTHING  # a place that is not filled must not show the frame before
        gone = False
        try:
            self._camera.getFrame(found)
        except Exception:
            gone = True
        if gone:
            raise OSError(bus.GONE)
        if len(found) != self.sensors:
            raise ValueError(bus.RUBBISH)
        bus.possible(found, LOWEST, HIGHEST)  # and what is no number is not between them
        return [int((degrees - LOWEST) * 100) + LOWEST * 100 for degrees in found]

    def read(self, params):
        """Return the grains of each pixel above the empty room."""
        return subtract_baseline(self.counts(), self._empty, params.exponent, UNIT)
