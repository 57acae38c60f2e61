"""The sensor that a config names, opened: where pins and buses become a driver.

Each driver is loaded where it is named, so a board needs to hold the one that it has.
"""

from binascii import unhexlify

from ..core.records import check_whole
from .sensors.bus import GONE, RUBBISH

I2C = ("amg8833", "bme280", "mcp9808", "mlx90614", "mlx90640", "mlx90641", "sht4x", "tmp117")
NAMES = I2C + ("ds18b20", "yours")


def open_sensor(driver, i2c=None, wire=None, analog=None):
    """Return the sensor; ValueError where there is no such driver, OSError where it is silent.

    driver: of the Config. i2c, wire, analog: functions that open what it is connected to, given
    the driver's words, or None where this computer has no such thing. A sensor of one's own
    (`yours`) gets the bus where the config names one, and else the converter of its pin.
    """
    name, empty = driver["name"], driver["empty"]
    sensor = find_driver(name)
    if name in I2C:
        bus = require_bus(i2c, name)(driver)
        if driver["address"] is None:
            return sensor(bus, empty)
        return sensor(bus, empty, driver["address"])
    if name == "yours":
        bused = any([driver[word] is not None for word in ("bus", "sda", "scl")])
        return sensor(require_bus(i2c if bused else analog, name)(driver), empty)
    line = require_bus(wire, name)(driver)
    roms = driver["roms"]
    roms = sorted(line.scan()) if roms is None else [unhexlify(rom) for rom in roms]
    if not roms:
        raise OSError(GONE)
    return sensor(line, roms, empty)


def find_driver(name):
    """Return the class of a driver by its name; ValueError where there is none."""
    if name == "amg8833":
        from .sensors import amg8833

        return amg8833.Sensor
    if name == "tmp117":
        from .sensors import tmp117

        return tmp117.Sensor
    if name == "sht4x":
        from .sensors import sht4x

        return sht4x.Sensor
    if name == "bme280":
        from .sensors import bme280

        return bme280.Sensor
    if name == "mcp9808":
        from .sensors import mcp9808

        return mcp9808.Sensor
    if name == "mlx90614":
        from .sensors import mlx90614

        return mlx90614.Sensor
    if name == "ds18b20":
        from .sensors import ds18b20

        return ds18b20.Sensor
    if name == "mlx90640":
        from .sensors import mlx90640

        return mlx90640.Sensor
    if name == "mlx90641":
        from .sensors import mlx90641

        return mlx90641.Sensor
    if name == "yours":
        from .sensors import yours

        return yours.Sensor
    raise ValueError(
        "there is no such driver; %s are known, and another chip's bytes would be taken for "
        "degrees. Name one of them, or write your own into sensors/yours.py" % ", ".join(NAMES)
    )


def find_steps(name):
    """Return a driver's step, and the counts of a converter behind that one, 0 without."""
    sensor = find_driver(name)
    return sensor.step, getattr(sensor, "behind", (0, 1))


def least_shown(step, behind):
    """Return what the least move shows in a driver's readings.

    As `recovery.noise.worst.find_least_shown`.

    step, behind: of `find_steps`, ratios (num, den) of a kelvin, as what is returned.
    """
    (num, den), (counts, parts) = step, behind
    return num * (counts * den // (parts * num) + 1), den


def require_bus(opening, name):
    """Return what opens that; ValueError where this computer has no such thing."""
    if opening is None:
        raise ValueError(
            "%s is not read on this computer; it needs a bus that is not here, and nothing "
            "else gives its counts. Name the driver of what is wired to it" % name
        )
    return opening


class Held:
    """A sensor that may vanish and come back: opened when it is needed, anew after a fault.

    opening: opens it, with no argument. sensors: how many the device was enrolled for. step: what
    the least move shows in its readings.
    """

    def __init__(self, opening, sensors, step):
        self.step = step
        self._opening = opening
        self._sensors = sensors
        self._sensor = None

    def read(self, params):
        """Return the grains of each sensor; one plain OSError or ValueError, whatever happened."""
        why = None
        try:
            if self._sensor is None:
                self._sensor = self._opening()
            return check_whole(self._sensor.read(params), self._sensors)
        except OSError:
            why = OSError(GONE)
        except Exception:
            pass
        self._sensor = None  # it may have lost its power, and with it how it was set up
        raise why or ValueError(RUBBISH)


# What a sensor is connected to on a board, by the firmware's own `machine`. Each function here
# returns one that opens such a thing from a driver's words in the config, for `open_sensor`. On
# Linux the kernel has these: `edge.linux`.


def make_i2c_opener(machine):
    """Return what opens the I2C bus; pins that are not named are the port's usual ones."""

    def opened(driver):
        pins = {}
        for word in ("sda", "scl"):
            if driver[word] is not None:
                pins[word] = machine.Pin(driver[word])
        return machine.I2C(driver["bus"] or 0, freq=1000 * (driver["khz"] or 100), **pins)

    return opened


def make_one_wire_opener(machine):
    """Return what opens the one-wire bus on a pin."""

    def opened(driver):
        import ds18x20
        import onewire

        return ds18x20.DS18X20(onewire.OneWire(machine.Pin(driver["pin"])))

    return opened


def make_analog_opener(machine):
    """Return what opens a pin's converter: its counts are sixteen bits, however many it has."""

    def opened(driver):
        return machine.ADC(machine.Pin(driver["pin"]))

    return opened
