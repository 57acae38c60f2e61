"""What walls are made of: conductivity and heat capacity of each material.

Source: EN ISO 10456:2007, table 3 (design values): gypsum plasterboard of 900 kg/m3, concrete of
medium density 2000 kg/m3, glass, softwood of 500 kg/m3, mineral wool of 40 kg/m3. Solid brick of
1700 kg/m3 is between 0.6 and 0.8 W/(m K) in makers' data; the middle is taken. A surface's still
air: EN ISO 6946:2017, table 7, horizontal heat flow.
"""

from typing import NamedTuple

import numpy as np

from ..places import Floats


class Material(NamedTuple):
    """How a material passes heat, and how much it takes up."""

    conductivity_w_per_mk: float
    capacity_j_per_m3k: float


MATERIALS = {
    "plasterboard": Material(0.25, 900 * 1000.0),
    "brick": Material(0.7, 1700 * 940.0),
    "concrete": Material(1.35, 2000 * 1000.0),
    "glass": Material(1.0, 2500 * 750.0),
    "wood": Material(0.13, 500 * 1600.0),
    "insulation": Material(0.04, 40 * 1030.0),
}

# Of a vertical surface inside a room, m2 K/W: the air that clings to it and its radiation.
SURFACE_M2K_PER_W = 0.13


def across(
    material: Material, thickness_m: float, drawn_m: float, layers: int, air_j_per_m3k: float
) -> tuple[float, Floats]:
    """Return the conductivity and the capacity of each layer of cells that stand for a wall.

    The drawn wall has the resistance of the true one from air to air, both surfaces with it, and
    takes up as much heat:

        k' = drawn / (thickness / k + 2 R),   the sum of C' over the depth = C thickness

    Its layers have equal shares of the resistance, the outer ones of the surfaces' first, so a
    layer has the capacity of what material lies within its share; where none does, the air's.
    Heat is then taken up when it truly is, as far as there are layers: from four on within a
    sixth of the true heat after half an hour. One alone has all in its middle, and is late: in
    100 mm it has taken 0.57 of the true heat then in plasterboard, 0.76 in brick. Two are early
    where a wall conducts well: by 8 % in plasterboard, 43 % in brick.

    Args:
        material: what it is made of.
        thickness_m: how thick it is.
        drawn_m: how deep the cells are that stand for it, together.
        layers: how many cells that is.
        air_j_per_m3k: the capacity of the room's air, and what goes with it.

    Source: EN ISO 6946:2017, section 6.7.1, with the same surface resistance on both sides.
    """
    resistance = thickness_m / material.conductivity_w_per_mk + 2 * SURFACE_M2K_PER_W
    surface = SURFACE_M2K_PER_W / resistance
    borders = np.clip((np.arange(layers + 1) / layers - surface) / (1 - 2 * surface), 0, 1)
    heat = material.capacity_j_per_m3k * thickness_m  # of a square metre, J/(m2 K)
    capacity = np.maximum(np.diff(borders) * heat * layers / drawn_m, air_j_per_m3k)
    return drawn_m / resistance, capacity * heat / (capacity.mean() * drawn_m)
