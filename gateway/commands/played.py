"""A protocol that is over: what came of it, and its picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recovery.heatmap import Heatmap, Unresolved
from recovery.uncertainty import Band, Credible

from .promise import label
from .simulated import Room
from .summary import far, sent
from .watch import Watch


@dataclass(frozen=True)
class Played:
    """A protocol that is over, and the room that it was played in."""

    room: Room
    watch: Watch
    found: Heatmap | Unresolved

    @property
    def mass(self) -> Any:
        """The map, (rows, columns), or None."""
        return self.found.mass if isinstance(self.found, Heatmap) else None

    @property
    def sure(self) -> tuple[Credible | None, Band | None]:
        """How sure the map is."""
        found = self.found
        return (found.credible, found.certified) if isinstance(found, Heatmap) else (None, None)


def picture(played: Played, numbers: dict[str, Any], path: Path) -> None:
    """Draw what was played, with how far off its map is."""
    # Imported here alone: it takes half a second, and few plays are drawn.
    from .pictures import Picture, draw

    room, carried = played.room, label(played.room.query, played.found.guarantee)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    grid = room.query.grid
    found = "no map" if score is None else f"{far(grid, score)} from the truth"
    draw(
        Picture(
            grid,
            room.heat,
            room.temperatures,
            room.sensors.places_m,
            sent(played.watch.releases),
            played.mass,
            (
                "The truth, which only the simulator knows",
                f"What the wire carried: {carried}",
                f"What was recovered: {found}"
                + (f" (a guess without data: {far(grid, guess)})" if guess is not None else ""),
            ),
            *played.sure,
        ),
        path,
    )
