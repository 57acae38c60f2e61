"""The device's modules, brought into memory one by one, from the bottom up, with nothing between.

A board compiles what it imports, and what that needs for a moment lies where the next thing is to
stay. Loaded as they ask for each other, they take a heap half as large again as loaded so.

    from edge import loading
    loading.load()

For boards: elsewhere memory is plenty, and to tidy up takes long.
"""

import gc

ORDER = "compat cbor records wire limits pair keys entropy noise veil refusals ahead budget node"
MORE = " saying ticker slots receipts"


def load(names=ORDER + MORE):
    """Load these modules of this package, and tidy up behind each."""
    for name in names.split():
        __import__("edge." + name)
        gc.collect()
