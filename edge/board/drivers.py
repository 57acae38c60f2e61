"""The sensor that a config names, opened: where pins and buses become a driver.

Each driver is loaded where it is named, so a board needs to hold the one that it has.
"""

from binascii import unhexlify

from .sensors.bus import GONE

I2C = ("amg8833", "sht4x", "tmp117")
NAMES = I2C + ("ds18b20", "mlx90640", "yours")


def opened(driver, i2c=None, wire=None, device=None):
    """Return the sensor; ValueError where there is no such driver, OSError where it is silent.

    driver: of the Config. i2c, wire, device: functions that open what it is connected to, given
    the driver's words, or None where this computer has no such thing. `device` is for
    `mlx90640` and `yours`.
    """
    name, empty = driver["name"], driver["empty"]
    sensor = _kind(name)
    if name in I2C:
        bus = _need(i2c, name)(driver)
        if driver["address"] is None:
            return sensor(bus, empty)
        return sensor(bus, empty, driver["address"])
    if name != "ds18b20":
        return sensor(_need(device, name)(driver), empty)
    line = _need(wire, name)(driver)
    roms = driver["roms"]
    roms = sorted(line.scan()) if roms is None else [unhexlify(rom) for rom in roms]
    if not roms:
        raise OSError(GONE)
    return sensor(line, roms, empty)


def _kind(name):
    if name == "amg8833":
        from .sensors.amg8833 import Sensor
    elif name == "tmp117":
        from .sensors.tmp117 import Sensor
    elif name == "sht4x":
        from .sensors.sht4x import Sensor
    elif name == "ds18b20":
        from .sensors.ds18b20 import Sensor
    elif name == "mlx90640":
        from .sensors.mlx90640 import Sensor
    elif name == "yours":
        from .sensors.yours import Sensor
    else:
        raise ValueError(
            "there is no such driver; %s are known, and another chip's bytes would be taken for "
            "degrees. Name one of them, or write your own into sensors/yours.py" % ", ".join(NAMES)
        )
    return Sensor


def _need(opening, name):
    if opening is None:
        raise ValueError(
            "%s is not read on this computer; it needs a bus or a library that is not here, and "
            "nothing else gives its counts. Name the driver of what is wired to it" % name
        )
    return opening
