"""A short animation of the day: true warmth, what was last sent, what was last recovered."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ..commands.stages import Stage
from .panels import TITLES, Panels, clock, scale
from .records import Moment, Played

PER_S = 8  # frames a second: a day of quarter hours takes twelve


def animate(played: Played, path: Path, stage: Stage = lambda name: None) -> None:
    """Write the day as an animated GIF, a frame for each that was kept."""
    width, height = played.room.size_m
    figure = Figure(figsize=(10.2, 1.1 + 3.2 * height / width), layout="constrained", dpi=80)
    canvas = FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, 3))
    lived = played.lived
    limits = (
        scale([lived.warmth_k]),
        scale([np.abs(moment.sent_k) for moment in played.moments]),
    )
    panels, drawn = Panels(axes, played, *limits), []
    for frame, at_s in enumerate(lived.frames_s):
        stage(f"drawing the animation, {frame + 1} of {len(lived.frames_s)}")
        moment = last(played.moments, float(at_s))
        panels.show(lived.warmth_k[frame], lived.people[frame], moment, _words(played, frame))
        canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        drawn.append(image.quantize(64))  # a third of the bytes, and nobody sees it
    first, *others = drawn
    first.save(path, "GIF", save_all=True, append_images=others, duration=1000 // PER_S, loop=0)


def last(moments: tuple[Moment, ...], at_s: float) -> Moment | None:
    """Return the round that was closed last at this time; None before the first."""
    past = [moment for moment in moments if moment.at_s <= at_s]
    return past[-1] if past else None


def _words(played: Played, frame: int) -> list[str]:
    at_s = float(played.lived.frames_s[frame])
    moment = last(played.moments, at_s)
    asked = "" if moment is None else f" ({clock(moment.at_s)})"
    return [
        f"{clock(at_s)}  {TITLES[0]}",
        TITLES[1] + asked,
        TITLES[2] + asked,
    ]
