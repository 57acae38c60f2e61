"""A thermometer's modules, brought into memory with nothing left between them.

A board compiles what it imports, and what that needs for a moment lies where the next thing is to
stay. So facts about lines are left out, and each is tidied up behind.

    from edge import loading
    loading.load()

For boards: elsewhere memory is plenty, and to tidy up takes long.
"""

import gc


def load():
    """Load what a device and its link need, and tidy up behind each of them."""
    level = _lines(3)
    from .net import mqtt as mqtt

    gc.collect()
    from .net import device as device

    gc.collect()
    from .mechanisms import thermal_half as thermal_half

    gc.collect()
    from .net import ring as ring

    gc.collect()
    _lines(level)


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
