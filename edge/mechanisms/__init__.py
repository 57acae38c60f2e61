"""The device halves of mechanisms, a file each, and who has which name."""
# mypy: disable-error-code="no-redef"

USUAL = "thermal"  # of a device that was told nothing else
LOCAL = (USUAL, "disk")  # blurred on the device, which needs no leave of its owner for them


def find_reads(name):
    """Return what a device of this mechanism reads, "temperature" or "place"; None: the usual."""
    return "temperature" if name in (None, USUAL) else "place"


def module_of(name):
    """Return the device half of a mechanism by its name, loaded when it is asked for, or None."""
    if name in (None, USUAL):
        from . import thermal_half as found
    elif name == "disk":
        from . import disk_half as found
    elif name == "ranks":
        from . import ranks as found
    elif name == "pyramid":
        from . import pyramid as found
    elif name == "pyramid_sum":
        from . import pyramid_sum as found
    elif name == "quadtree":
        from . import quadtree as found
    else:
        return None
    return found


def make_half(name, identity, step, follower, tables):
    """Return what a `Node` that tells a place works with, and what it draws ahead before a Round.

    step, follower, tables: as of a Node; such a device has none of them.
    """
    found = module_of(name)
    if hasattr(found, "Half"):
        return found.Half(identity, step, follower, tables), None
    from . import central

    return central.make_sealer(name, identity, step or follower or tables)
