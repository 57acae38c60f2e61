"""The device halves of mechanisms, a file each, and who has which name."""

USUAL = "thermal"  # of a device that was told nothing else
LOCAL = (USUAL, "disk")  # blurred on the device, which needs no leave of its owner for them


def find_reads(name):
    """Return what a device of this mechanism reads, "temperature" or "place"; None: the usual."""
    return "temperature" if name in (None, USUAL) else "place"


def module_of(name):
    """Return the device half of a mechanism by its name, loaded when it is asked for, or None."""
    if name in (None, USUAL):
        from . import thermal_half

        return thermal_half
    if name == "disk":
        from . import disk_half

        return disk_half
    if name == "ranks":
        from . import ranks

        return ranks
    if name == "pyramid":
        from . import pyramid

        return pyramid
    if name == "pyramid_sum":
        from . import pyramid_sum

        return pyramid_sum
    if name == "quadtree":
        from . import quadtree

        return quadtree
    return None


def make_half(name, identity, step, follower, tables):
    """Return what a `Node` that tells a place works with, and what it draws ahead before a Round.

    step, follower, tables: as of a Node; such a device has none of them.
    """
    found = module_of(name)
    if hasattr(found, "Half"):
        return found.Half(identity, step, follower, tables), None
    from . import central

    return central.make_sealer(name, identity, step or follower or tables)
