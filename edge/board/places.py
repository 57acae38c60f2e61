"""What tells a device its place, opened and kept at hand; loaded by no thermometer.

Whether a device answers, and when, must not depend on where it is. So it does not look for its
place when it is asked: what tells it is heard all the time, the last place of this run counts
however old it is, and nothing is worked out between an answer and its tick. Without any place
yet, that is before the first fix, there is no answer, as of a thermometer that vanished; or the
one that the config names (`until_mm`), and then nothing of the reception shows.

What is received is in memory alone: not on flash, not in a fault, not in `diag`. A place that the
config names (`cell`, `place_mm`, `until_mm`) is on flash with the config, for that is where it is.
"""

from ..core.compat import Uptime
from ..core.records import check_whole
from .drivers import require_bus
from .sensors.bus import GONE, RUBBISH

NAMES, POLL_MS = ("gps", "fixed", "yours"), 200  # ms: 9600 baud fill 192 bytes in that time
BUFFER = 1024  # bytes of the firmware's own, for the while that a draw takes


def open_place(config, line=None, i2c=None, analog=None):
    """Return what the config's driver tells, as a `Held`; ValueError where it cannot tell.

    line, i2c, analog: functions that open what it is connected to, or None, as for drivers.
    """
    if why := objection(config):
        raise ValueError(
            "%s; a device must know its place however it is received there, and tell it in the "
            "grid's own measure. Mend [driver], and run heatveil provision" % why
        )
    find_opener(config.driver, line, i2c, analog)  # what is not there at all is no silence later
    parts = config.driver, config.plane, line, i2c, analog
    return Held(lambda: open_sensor(*parts), config.driver["until_mm"], config.tick_ms)


def open_on_board(config, machine):
    """Return what the config's driver tells, by the pins of a board; as `open_place`."""
    from .drivers import make_analog_opener, make_i2c_opener

    return open_place(
        config, make_uart_opener(machine), make_i2c_opener(machine), make_analog_opener(machine)
    )


def objection(config):
    """Return why a device with this config could not tell its place, or "" where it could."""
    driver, name = config.driver, config.driver["name"]
    if name not in NAMES:
        return "%s tells no place; %s do" % (name, ", ".join(NAMES))
    for word in ("cell", "place_mm", "until_mm"):
        if driver[word] is not None and not _pair(driver[word]):
            return "its %s is not two whole numbers" % word
    if name == "fixed":
        if (driver["cell"] is None) == (driver["place_mm"] is None):
            return "fixed needs one of cell and place_mm"
        return ""
    if config.wake_s and driver["until_mm"] is None:
        return (
            "%s is asleep in between and forgets its place, so whether it answers would show "
            "where it is: wake_s goes with until_mm alone" % name
        )
    if name == "gps":
        from .sensors import plane

        return plane.objection(config.plane)
    return ""


def open_sensor(driver, plane, line=None, i2c=None, analog=None):
    """Return the sensor of a driver's words; OSError where it is silent."""
    name = driver["name"]
    if name == "fixed":
        from .sensors import fixed

        unit, told = ("mm", driver["place_mm"]) if driver["place_mm"] else ("cell", driver["cell"])
        return fixed.Sensor(told, unit)
    wire = find_opener(driver, line, i2c, analog)(driver)
    if name == "gps":
        from .sensors import gps

        return gps.Sensor(wire, plane)
    from .sensors import yours

    return yours.Sensor(wire, plane)


def find_opener(driver, line=None, i2c=None, analog=None):
    """Return what opens what it is wired to, None if nothing is; ValueError if it is not here."""
    name, found = driver["name"], analog
    if name == "gps" or driver["uart"] is not None or driver["port"] is not None:
        found = line
    elif any([driver[word] is not None for word in ("bus", "sda", "scl")]):
        found = i2c
    return None if name == "fixed" else require_bus(found, name)


def make_uart_opener(machine):
    """Return what opens a serial line of a board; pins that are not named are the port's usual."""

    def opening(driver):
        pins = {one: machine.Pin(driver[one]) for one in ("tx", "rx") if driver[one] is not None}
        number, baud = 1 if driver["uart"] is None else driver["uart"], driver["baud"] or 9600
        return machine.UART(number, baudrate=baud, timeout=0, rxbuf=BUFFER, **pins)

    return opening


class Held:
    """The place of a device: what it was told last in this run.

    opening: opens the sensor, with no argument. until_mm: the place until it has one, or None.
    """

    step = None  # as of drivers.Held, for the device

    def __init__(self, opening, until_mm, tick_ms):
        self._opening = opening
        self._sensor = None
        self._there = None  # till the first look
        self._last = None if until_mm is None else ("mm", tuple(until_mm))
        self._clock = Uptime()
        self._still_ms = 2 * tick_ms
        self._quiet_ms = 0  # before this moment nothing is worked out: a frame may wait

    def read(self, grid):
        """Return the cell (x, y) of a Round's grid; one plain OSError or ValueError if not.

        To hear first takes the longer the more there is to hear, which could cost a tick.
        """
        if self._there is None:
            self._look()
        self._quiet_ms = self._clock.now_ms() + self._still_ms
        if self._there:
            try:
                return cell_of(grid, self._last)
            except Exception:  # which holds what came, perhaps
                pass
        raise ValueError(RUBBISH) if self._there else OSError(GONE)

    def poll(self):
        """Hear what tells the place, but not while a frame may wait for its tick."""
        if self._clock.now_ms() >= self._quiet_ms:
            self._look()

    async def run(self, sleep_ms):
        """Have the place at hand, for ever."""
        while True:
            self.poll()
            await sleep_ms(POLL_MS)

    def find_state(self):
        """Return whether it is there, and whether it has had a place in this run."""
        return bool(self._there), self._last is not None

    def _look(self):
        try:
            if self._sensor is None:
                self._sensor = self._opening()
            found = self._sensor.where()
            self._there = found is None or _pair(found)
            if self._there and found:
                self._last = self._sensor.unit, found
        except Exception:  # whatever it was, the next look opens it anew
            self._sensor = None
            self._there = False


def cell_of(grid, told):
    """Return the cell of a place ("mm" or "cell", (x, y)), or beyond; cells must have a side."""
    unit, (x, y) = told
    return (x // grid.cell_mm, y // grid.cell_mm) if unit == "mm" else (x, y)


def _pair(told):
    try:
        return bool(check_whole(told, 2))
    except ValueError:
        return False
