"""What a thermal array sees of people: the share of each pixel that they cover, and how warm.

    pixel = background + share covered * emissivity * (surface - background)

An array sees surfaces, never air: the warm air about a person, which thermometers feel, is not
in its picture, and the floor that a person has warmed would be, if a field of it is given. In the
model: where people stand, their size from above, how warm their clothes and hair are, pixels of
an equal angle. Not in it: arms and chairs, sides of a body seen obliquely at the border of a
wide view, somebody hidden behind another, reflections, and clothes that warm up indoors.
"""

import numpy as np
from numpy.typing import ArrayLike

from .. import places
from .arrays import footprints
from .records import Preset
from .shares import pixels, positive

# Of hair and shoulders above a doorway at 21 degC: with this, and beams, the blur of a person
# 0.9 m below a Grid-EYE is within a tenth of the recorded one, 1.3 pixels wide, 5.8 K at its
# middle. A square is plainer than a person: a Gaussian misses it by 0.46 K, recorded ones by 0.60
# to 0.65 K.
SURFACE_K = 4.7
# A square of the area that shoulders and head cover from above.
SIDE_M = 0.4
HEAD_M = 1.6
EMISSIVITY = 0.97  # of skin and clothes in the far infrared; the rest is reflected background


def covered(
    people_m: ArrayLike,
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
    head_m: float = HEAD_M,
    side_m: float = SIDE_M,
    beam: bool = False,
) -> places.Floats:
    """Return the share of each pixel that people cover, (pixels,), at most one.

    Each is a square with its sides along x and y, flat at the height of the head.

    Args:
        people_m: (people, 2), x and y in the plan; none at all is (0, 2).
        at_m: (x, y) of the array at the ceiling, which looks straight down.
        height_m: of the array above the floor.
        head_m: height at which people are looked at.
        side_m: of the square that one person covers.
        beam: as for `arrays.array_axes`.

    Raises:
        ValueError: no array, one that hangs below the heads, or places that are not finite.
    """
    positive("side_m", side_m)
    stand = np.asarray(people_m, dtype=float).reshape(-1, 2)
    if not np.isfinite(stand).all():
        raise ValueError(
            "a person stands at a place that is not finite but must be somewhere, or no pixel "
            "can be said to see them. Look for a gap in the positions."
        )
    across, down = footprints(preset, at_m, height_m - head_m)
    seen = np.zeros((len(down) - 1, len(across) - 1))
    for x, y in stand.tolist():
        near = np.array([-side_m / 2, side_m / 2])
        seen += pixels(down, y + near, beam) * pixels(across, x + near, beam).T
    return np.minimum(seen, 1.0).ravel()


def people_seen(
    people_m: ArrayLike,
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
    background_k: ArrayLike = 0.0,
    surface_k: float = SURFACE_K,
    head_m: float = HEAD_M,
    side_m: float = SIDE_M,
    emissivity: float = EMISSIVITY,
    beam: bool = False,
) -> places.Floats:
    """Return what each pixel sees, (pixels,), in kelvin above the baseline.

    Args:
        background_k: of each pixel, or of all: what it sees where nobody is, from
            `arrays.array_axes` and a field of the floor where that is known.
        surface_k: of clothes and hair above the baseline.
        emissivity: within 0 and 1.
        people_m, preset, at_m, height_m, head_m, side_m, beam: as for `covered`.

    Raises:
        ValueError: as for `covered`, or an emissivity beyond its range.
    """
    if not 0 <= emissivity <= 1:
        raise ValueError(
            f"emissivity is {emissivity:g} but must be within 0 and 1, for nothing shines "
            "brighter than its temperature. Cloth and skin have about 0.97."
        )
    share = covered(people_m, preset, at_m, height_m, head_m, side_m, beam)
    behind = np.asarray(background_k, dtype=float)
    return np.asarray(behind + emissivity * share * (surface_k - behind))
