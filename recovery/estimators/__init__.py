"""Every way to a map, of one signature: readings that have passed the veil in, heat out.

This file lists them and loads nothing, for a command's help must not wait.
"""

from collections.abc import Mapping
from types import MappingProxyType

# name: module and function. A module may need what takes long to load.
HOMES: Mapping[str, str] = MappingProxyType(
    {
        "auto": "table.estimate_by_chosen",
        "posterior": "posterior.estimate",
        "robust": "robust.estimate",
        "entropy": "atoms.estimate_by_entropy",
        "lasso": "convex.estimate_by_lasso",
        "l1": "convex.estimate_by_l1",
        "l1-printed": "convex.estimate_as_printed",
    }
)
