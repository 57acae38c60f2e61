"""A sensor of your own: copy this over itself, and change what is not true of yours.

As it stands it is a TMP36 on a Pico, ten millivolts a kelvin and 500 mV at zero degrees: of the
4096 counts of the pin's converter in 3.3 V each is 165/2048 of a kelvin, and 869 are 20 degrees.
What you get is that converter, or the I2C bus where the config names one: `bus`, `sda` or `scl`.
Return whole counts, as they come, nothing scaled: the promise is made for this order. A fault is
raised without the number in it, which `bus` does for you. Where the counts are of what another
converter rounded, say the greatest count of that one too, beside `step`: `behind = (1, 250)`.

Source: Analog Devices, TMP35/TMP36/TMP37 data sheet: 10 mV a kelvin, 750 mV at 25 degrees.
"""

from . import bus


class Sensor:
    """One sensor, read as a voltage. device: `machine.ADC`. empty: its count of the empty room."""

    step, sensors = (165, 2048), 1

    def __init__(self, device, empty=None):
        self._device, self._empty = device, bus.level(empty, 869, 1)

    def counts(self):
        """Return the counts of the sensors, whole numbers: twelve bits are all that there are."""
        return bus.possible((self._device.read_u16() >> 4,), 124, 2172)

    def read(self, params):
        """Return the grains above the empty room."""
        return bus.subtract_baseline(self.counts(), self._empty, params.exponent, self.step)
