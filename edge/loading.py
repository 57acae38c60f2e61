"""The device's modules, brought into memory one by one, from the bottom up, with nothing between.

A board compiles what it imports, and what that needs for a moment lies where the next thing is to
stay. Loaded as they ask for each other, they take a heap half as large again as loaded so. The
device's own file comes first, for it is the largest, and needs the most room to be compiled in.

    from edge import loading
    loading.load()

For boards: elsewhere memory is plenty, and to tidy up takes long.
"""

import gc


def load():
    """Load what a device and its link need, and tidy up behind each module."""
    level = _lines(3)
    from .core import compat

    _tidy(compat)
    from .net import device

    _tidy(device)
    from .net import packets

    _tidy(packets)
    from .net import link

    _tidy(link)
    from .net import mqtt

    _tidy(mqtt)
    from .core import cbor

    _tidy(cbor)
    from .core import records

    _tidy(records)
    from .core import wire

    _tidy(wire)
    from .core import limits

    _tidy(limits)
    from .core import keys

    _tidy(keys)
    from .core import entropy

    _tidy(entropy)
    from .core import noise

    _tidy(noise)
    from .mechanisms import thermal_half

    _tidy(thermal_half)
    from .core import budget

    _tidy(budget)
    from .core import node

    _tidy(node)
    from .net import ticker

    _tidy(ticker)
    from .net import ring

    _tidy(ring)
    _lines(level)


def _tidy(loaded):
    """Free what it took to compile the module that was loaded."""
    gc.collect()


def _lines(level):
    """Compile with these facts about lines, and return with which it was; 3 leaves them out.

    They are for tracebacks, and nobody sees one here: what it could say is not for everybody.
    """
    try:
        import micropython
    except ImportError:
        return level
    before = micropython.opt_level()
    micropython.opt_level(level)
    return before
