"""The device halves of mechanisms, a file each, and who has which name."""


def module_of(name):
    """Return the device half of a mechanism by its name, loaded when it is asked for, or None."""
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
