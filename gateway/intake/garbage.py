"""How often Python looks for garbage that counting references does not free.

A batch makes thousands of records, none of which refers back to another, and lets go of all of
them. Looked through at the usual pace, with everything that was imported behind them, they cost
as much as their MACs do: 7 us of the 45 that a reading takes.
"""

import gc

BETWEEN = (50_000, 20, 20)  # records made and not let go of, before one looks: some megabytes


def seldom() -> None:
    """Look seldom from now on, and never again at what is there; call it when all is loaded."""
    gc.freeze()
    gc.set_threshold(*BETWEEN)
