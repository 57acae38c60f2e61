"""A device that is put somewhere and stays: its place is in its config, and nothing is read.

For trying, and for beacons. Each answer tells a little of the same place, so all of them together
give away what the whole budget gives away, and a new budget as much again.
"""


class Sensor:
    """The place. told: (x, y). unit: "cell", columns and rows of the grid; or "mm"."""

    def __init__(self, told, unit):
        self.unit = unit
        self._told = tuple(told)

    def where(self):
        """Return the place."""
        return self._told
