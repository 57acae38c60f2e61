"""What a play of recorded frames says in words: the array, the map, and why it is no better."""

import math
from collections.abc import Sequence

import numpy as np

from recovery.maps.guarantee import sentences
from recovery.thermal import Query, calibration, operator
from recovery.thermal.curve import curve
from recovery.thermal.query import protected_cells

from ..mechanisms.thermal.words import found_lines
from .recorded import Clips, Recorded
from .table import Row, begins, epsilon_text
from .veiled import Drawn


def array_lines(array: Recorded, clips: Clips) -> list[str]:
    """Return what was played, and what is taken for known of the array."""
    blur, side = array.blur, array.counts.shape[1]
    return [
        *array.notes,
        f"A person is a blur {blur.deviation * side:.2f} pixels wide (standard deviation), "
        f"{blur.peak:.1f} K at the middle, fitted on {blur.frames} frames of {clips.fit}; it "
        f"misses them by up to {blur.misfit:.2f} K.",
        f"For both, {clips.background} and {clips.fit} are taken as public"
        + (
            ", and so is all that is played here."
            if clips.clip in (clips.fit, clips.background)
            else "."
        ),
        f"The noise is made for people up to {blur.heat_max / blur.heat:.2f} times as warm as "
        "that, as the warmest of those frames is: an assumption about the world.",
    ]


def window_lines(query: Query, window: Drawn) -> list[str]:
    """Return the map of all frames under one budget, and its promise."""
    return [
        f"All {query.readings} frames under one budget, {calibration(query).sigma:.3g} K of noise "
        f"on each pixel. People counted in their mean: {int(window.people.sum())}. "
        + " ".join(found_lines(window.found)),
        *sentences(window.found.guarantee),
    ]


def why_lines(query: Query, rows: Sequence[Row]) -> list[str]:
    """Return from which epsilon on a frame is of use, and why not before."""
    side = query.grid.shape[0]
    made = calibration(query)
    matrix = operator(query)
    person = query.intensity_max * float(
        np.linalg.norm(matrix - matrix.mean(axis=0), axis=0).max()
    )
    whole = math.sqrt(made.sensitivity_squared) * 2.0**-made.exponent
    further = []
    if protected_cells(query) < side - 1:
        (far,) = curve(query, (side - 1,))
        further.append(
            "And it is one step: what all frames together hide with epsilon "
            f"{epsilon_text(made.epsilon)} is hidden with epsilon {epsilon_text(far.epsilon)} "
            f"when it moves by up to {far.cells} pixels."
        )
    beats = [
        f"{what} {'at no epsilon here' if least is None else f'from epsilon {least} a frame on'}"
        for what, least in (
            ("the map", begins(rows, "nearer_map")),
            ("the people counted", begins(rows, "nearer_people")),
        )
    ]
    return [
        "Where somebody is seen at all, a blind guess is beaten in most frames by "
        + ", by ".join(beats)
        + ".",
        f"Why not before: the protected step changes the picture by {whole:.2g} K over all pixels "
        f"together ({made.sensitivity:.2g} K by heat, the rest by rounding to the converter's "
        f"steps), and somebody's whole picture is {person:.2g} K. To hide the step is nearly to "
        "hide the person.",
        *further,
        "Nobody recorded where people stood, so distances are to the map of the same frame "
        "without the veil, in sides of the picture, over the frames in which that map shows "
        "somebody.",
    ]
