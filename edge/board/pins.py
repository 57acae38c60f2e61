"""What a sensor is connected to, by the firmware's own `machine`: buses and pins, opened.

Each function here returns one that opens such a thing from a driver's words in the config, for
`drivers.open_sensor`. On Linux the kernel has these: `edge.linux`.
"""


def i2c(machine):
    """Return what opens the I2C bus; pins that are not named are the port's usual ones."""

    def opened(driver):
        pins = {}
        for word in ("sda", "scl"):
            if driver[word] is not None:
                pins[word] = machine.Pin(driver[word])
        return machine.I2C(driver["bus"] or 0, freq=1000 * (driver["khz"] or 100), **pins)

    return opened


def one_wire(machine):
    """Return what opens the one-wire bus on a pin."""

    def opened(driver):
        import ds18x20
        import onewire

        return ds18x20.DS18X20(onewire.OneWire(machine.Pin(driver["pin"])))

    return opened


def analog(machine):
    """Return what opens a pin's converter: its counts are sixteen bits, however many it has."""

    def opened(driver):
        return machine.ADC(machine.Pin(driver["pin"]))

    return opened
