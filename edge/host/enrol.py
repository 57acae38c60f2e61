"""The first record of a device's budget, and whether its driver may be enrolled at all.

The host's: no device loads this.
"""

from ..core.budget import COUNT, Copies, objection
from ..core.entropy import check_key

# What a deployment asks of a device for the life of its key: in its file and in its config alike.
ASKED = ("tables", "mechanism", "plane", "following")


def provision(slots, state_key, chain, limits, window=b""):
    """Write the first record of a newly enrolled device into every slot, on the host.

    chain is `rootkeys.first_chain`, window `core.window.pack_first` or b"". ValueError if the
    slots hold anything, for that could be all that is known of what was already answered.
    """
    if why := objection(limits):
        raise ValueError(why)
    for i in range(COUNT):
        if slots.read(i):
            raise ValueError(
                "slot %d already holds a budget but must be empty: writing over it would forget "
                "what was spent. Give the device a new root key and slots of its own" % i
            )
    copies = Copies(slots, check_key(state_key, "state key"))
    copies.window = window
    copies.put(0, 0, -1, check_key(chain, "chain key"), limits)


def shows_more(step, behind, planned):
    """Say whether a move may show more in a driver's readings than the noise is made for.

        ceil((dy + behind) / step) * step

    is the most that a change by dy shows (`recovery.noise.worst`). For no dy it is more than the
    planned one where the planned step is a multiple of `step` and the planned count is not below
    `behind`; nor where it is at least `step` and `behind` together, for less than dy, step and
    behind is shown. All other drivers are refused, whatever the grain.

    step, behind: of the driver, (num, den) of a kelvin. planned: the same two of the deployment,
    the first its grain where it plans for converters that are finer.
    """
    (a, b), (c, d), ((e, f), (g, h)) = step, behind, planned
    divides = e * b % (f * a) == 0
    return not ((divides and c * h <= g * d) or (a * d + c * b) * h <= g * b * d)


class Ram:
    """Slots of a budget that are gone with the process: for demonstrations and tests."""

    def __init__(self):
        self._held = [b""] * COUNT

    def read(self, i):
        """Return what slot i holds."""
        return self._held[i]

    def write(self, i, data):
        """Write slot i."""
        self._held[i] = bytes(data)
