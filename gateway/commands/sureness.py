"""How sure a map is, in words."""

import numpy as np

from physics.places import cell_places
from recovery.maps.heatmap import Credible, Heatmap, Verdict
from recovery.proofs.certified import certified_distance


def number_line(credible: Credible) -> str:
    """Return how many sources there are and how likely that is, the likeliest first.

    >>> number_line(Credible(0.9, np.ones((1, 2)), np.array([0.02, 0.18, 0.8])))
    'Number of sources: 2 (80 %), 1 (18 %).'
    """
    order = np.argsort(-credible.numbers, kind="stable")
    likely = [int(count) for count in order if credible.numbers[count] >= 0.05][:4]
    listed = ", ".join(f"{count} ({100 * credible.numbers[count]:.0f} %)" for count in likely)
    return f"Number of sources: {listed}."


def doubt_lines(verdict: Verdict | None) -> list[str]:
    """Return why a map is not to be trusted, one line or none."""
    if verdict is None or verdict.fits:
        return []
    return [f"Do not trust this map: {verdict.why}."]


def sure_lines(found: Heatmap) -> list[str]:
    """Return how a map was drawn and how sure it is, a line each."""
    lines = []
    if found.why:
        lines.append(f"Drawn by {found.estimator}: {found.why}.")
    lines += doubt_lines(found.verdict)
    credible, unit = found.credible, " m" if found.grid.cell_mm else " of the side"
    if credible is not None and found.total:
        lines.append(number_line(credible))
        if found.expected_error is not None:
            lines.append(
                f"It is off by about {found.expected_error:.2g}{unit}, if sources are as the "
                "query says."
            )
    if found.certified is not None and found.total:
        places = np.asarray(cell_places(found.grid)).ravel()
        off = certified_distance(found.certified, found.mass.ravel(), places)
        lines.append(
            f"It is off by at most {off:.2g}{unit}, for any heat that the query allows, wherever "
            "it is, if heat has spread exactly as long as it says and between the walls that it "
            f"says (at least {found.certified.level:.0%} of all readings keep to that)."
        )
    return lines
