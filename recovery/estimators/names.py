"""The estimators' names: a file that loads nothing, for a command's help must not wait."""

from collections.abc import Mapping
from types import MappingProxyType

# name: the module that holds it. A module may need what takes long to load.
HOMES: Mapping[str, str] = MappingProxyType(
    {
        "auto": "choose",
        "posterior": "posterior",
        "map": "map_sources",
        "lmmse": "lmmse",
        "entropy": "maximum_entropy",
        "lasso": "lasso",
        "l1": "least_l1",
        "l1-printed": "least_l1_printed",
        "bregman": "bregman",
        "frank-wolfe": "frank_wolfe",
        "nnls": "nnls",
        "tikhonov": "tikhonov",
        "mixture": "mixture",
    }
)
