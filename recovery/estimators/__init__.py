"""Every way to a map, of one signature: readings that have passed the veil in, heat out.

This file lists them and loads nothing, for a command's help must not wait.
"""

from collections.abc import Mapping
from types import MappingProxyType

# name: module and function. A module may need what takes long to load.
HOMES: Mapping[str, str] = MappingProxyType(
    {
        "auto": "table.estimate_by_choice",
        "posterior": "posterior.estimate",
        "lmmse": "atoms.estimate_by_lmmse",
        "entropy": "atoms.estimate_by_entropy",
        "lasso": "least_squares.estimate_by_lasso",
        "l1": "least_l1.estimate",
        "l1-printed": "least_l1.estimate_as_printed",
    }
)
