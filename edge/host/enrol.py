"""The first record of a device's budget, written on the host that enrols it."""

from ..core.budget import COUNT, Copies
from ..core.keys import check_key
from ..core.limits import objection


def provision(slots, state_key, chain, limits, window=b""):
    """Write the first record of a newly enrolled device into every slot, on the host.

    chain is `rootkeys.first_chain`, window `core.window.first` or b"". ValueError if the slots
    hold anything, for that could be all that is known of what was already answered.
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
