"""Whether the sensor answers that a board was told of. What it says stays on the board.

Of what tells a place it is asked for some seconds whether it talks, and whether it has had a fix.
"""

from typing import NamedTuple

from .board import Board, BoardFault
from .parts import CONFIG, FOLDER

_ASK = """
import gc
import time
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from edge.board import config, drivers, pins
from edge.records import whole
held = config.load(%r)


class Params:
    exponent = 8


WHOLE = "a part of a count would show in whether an answer comes. Return the converter's counts"


def tells(machine):
    from edge.board import places
    from edge.board.sensors.bus import GONE
    sensor = places.of_board(held, machine)
    for _ in range(40):
        sensor.poll()
        if sensor.seen() == (True, True):
            break
        time.sleep_ms(100)
    there, known = sensor.seen()
    print("place", "known" if known else "unknown")
    if not there:
        raise OSError(GONE)


try:
    import machine
    if held.mechanism == "disk":
        tells(machine)
    else:
        ways = pins.i2c(machine), pins.one_wire(machine), pins.analog(machine)
        begun = time.ticks_ms()
        sensor = drivers.opened(held.driver, *ways)
        spent = time.ticks_diff(time.ticks_ms(), begun)
        print("sensors", sensor.sensors, held.identity.sensors)
        for gives in ("counts", "read"):
            if gives == "read" or hasattr(sensor, gives):
                begun = time.ticks_ms()
                found = sensor.read(Params) if gives == "read" else sensor.counts()
                if gives == "read":
                    print("took", spent + time.ticks_diff(time.ticks_ms(), begun))
                kinds = [type(one).__name__ for one in found if type(one) is not int]
                if kinds:
                    print("fault", "its", gives, "gives", kinds[0], "and must give int:", WHOLE)
                    break
                if len(whole(found, len(found))) != sensor.sensors:
                    print("fault", "its", gives, "gives", len(found), "of", sensor.sensors)
                    break
except (OSError, ValueError) as why:
    print("fault", why)
except Exception as why:
    print("fault", "its driver stops with", type(why).__name__)
"""


_WRITE = """
import os
import time
from edge.copies import Copies
from edge.limits import Limits
from edge.slots import COUNT, Files
folder, name = %r


def gone():
    for i in range(COUNT):
        try:
            os.remove("%%s/%%s.%%d" %% (folder, name, i))
        except OSError:
            pass


try:
    os.mkdir(folder)
except OSError:
    pass
gone()  # of a look that was cut off
try:
    slots = Copies(Files(folder, name), bytes(32))
    begun = time.ticks_ms()
    slots.put(0, 0, 0, bytes(32), Limits(0, 0, 0, 0, 0, 0))
    print(time.ticks_diff(time.ticks_ms(), begun))
finally:
    gone()
"""


WELL = "it answers; what it says stays on the board"
NOWHERE = (
    "it talks, and has had no fix in these seconds. Under the sky the first one takes a minute or "
    "so; before it the device answers nothing, or until_mm if its settings have it"
)


class Looked(NamedTuple):
    """What a look at a sensor showed. wrong: with what to do, or ""; else how it is.

    took_ms: to open and read it, where it was measured.
    """

    wrong: str
    how: str = WELL
    took_ms: int | None = None


def looked(board: Board, told: str = CONFIG) -> Looked:
    """Return what is wrong with a board's sensor, or how it is.

    Args:
        told: the file on the board that says which it is.

    Raises:
        BoardFault: the board cannot be asked.
    """
    try:
        said = board.run(_ASK % told)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return Looked(f"it cannot be asked for: {fault.raised}")
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in said.splitlines())}
    counts = lines.get("sensors", "").split()
    if len(counts) == 2 and counts[0] != counts[1]:
        return Looked(
            f"{counts[0]} sensors answer and the device is enrolled for {counts[1]}; each reading "
            "has one place in the room. Say which as roms under [driver], or wire one alone"
        )
    how = NOWHERE if lines.get("place") == "unknown" else WELL
    took_ms = int(lines["took"]) if "took" in lines else None
    return Looked(lines.get("fault", ""), how, took_ms)


def slots_ms(board: Board) -> int:
    """Return how long a board takes to write all slots of a budget: others, gone afterwards.

    Raises:
        BoardFault: it cannot write them.
    """
    return int(board.run(_WRITE % ((FOLDER, "trial"),)))
