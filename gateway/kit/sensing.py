"""Whether the sensor answers that a board was told of. What it says stays on the board."""

from .board import Board, BoardFault
from .parts import CONFIG

_ASK = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from edge.board import config, drivers, pins
held = config.load(%r)


class Params:
    exponent = 8


try:
    import machine
    ways = pins.i2c(machine), pins.one_wire(machine), pins.analog(machine)
    sensor = drivers.opened(held.driver, *ways)
    print("sensors", sensor.sensors, held.identity.sensors)
    sensor.read(Params)
except (OSError, ValueError) as why:
    print("fault", why)
except Exception as why:
    print("fault", "its driver stops with", type(why).__name__)
"""


def ailing(board: Board) -> str:
    """Return what is wrong with a board's sensor, and what to do; "" where nothing is.

    Raises:
        BoardFault: the board cannot be asked.
    """
    try:
        said = board.run(_ASK % CONFIG)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return f"it cannot be asked for: {fault.raised}"
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in said.splitlines())}
    counts = lines.get("sensors", "").split()
    if len(counts) == 2 and counts[0] != counts[1]:
        return (
            f"{counts[0]} sensors answer and the device is enrolled for {counts[1]}; each reading "
            "has one place in the room. Say which as roms under [driver], or wire one alone"
        )
    return lines.get("fault", "")
