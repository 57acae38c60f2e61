"""The device's modules, brought into memory one by one, from the bottom up, with nothing between.

A board compiles what it imports, and what that needs for a moment lies where the next thing is to
stay. Loaded as they ask for each other, they take a heap half as large again as loaded so.

    from edge import loading
    loading.load()

For boards: elsewhere memory is plenty, and to tidy up takes long.
"""

import gc


def load():
    """Load what a node needs, without its link, and tidy up behind each module."""
    from . import compat

    _tidy(compat)
    from . import cbor

    _tidy(cbor)
    from . import records

    _tidy(records)
    from . import wire

    _tidy(wire)
    from . import limits

    _tidy(limits)
    from . import pair

    _tidy(pair)
    from . import keys

    _tidy(keys)
    from . import entropy

    _tidy(entropy)
    from . import noise

    _tidy(noise)
    from . import veil

    _tidy(veil)
    from . import refusals

    _tidy(refusals)
    from . import ahead

    _tidy(ahead)
    from . import budget

    _tidy(budget)
    from . import node

    _tidy(node)
    from . import saying

    _tidy(saying)
    from . import ticker

    _tidy(ticker)
    from . import slots

    _tidy(slots)
    from . import receipts

    _tidy(receipts)


def _tidy(loaded):
    """Free what it took to compile the module that was loaded."""
    gc.collect()
