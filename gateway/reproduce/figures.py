"""The figures that can be made again, by name; each is a module with TITLE and make."""

from importlib import import_module

from ..faults import OperatorFault, suggestion
from .record import Maker

# Their modules are loaded when they are made: scipy and the solvers take a second.
FIGURES = {
    "disk-8": "W2 by the radius of the disk",
    "disk-9": "W2 of all mechanisms, by d and by epsilon: 20 panels",
    "disk-10": "the footprint divided into weights, ours and as printed",
    "disk-11": "the outer domain and its cells",
    "disk-12": "circle crossings, and where two theorems miscount",
    "disk-13": "the comparison on the whole domain of a real set, or of a synthetic city",
    "disk-14": "trajectories: LDPTrace, PivotTrace, and disk on their points",
}


def maker(name: str) -> Maker:
    """Return what makes a figure.

    Raises:
        OperatorFault: there is no such figure.
    """
    if name not in FIGURES:
        raise OperatorFault(
            f"{name} is not a figure that can be made again; one that is must be named, or "
            f"nothing is computed; {suggestion(name, FIGURES)}"
        )
    made: Maker = import_module(f".{name.replace('-', '_')}", __package__).make
    return made
