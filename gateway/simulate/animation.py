"""A short animation of the day: true warmth, what was last sent, what was last recovered."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ..output import Stage
from .clocks import clock
from .panels import Panels, titles
from .records import Moment, Played

PER_S = 8  # frames a second: a day of quarter hours takes twelve
_COLOURS = 128  # half of the bytes, and nobody sees it
FRAMES = 96  # at most, and the first


def animate(played: Played, path: Path, stage: Stage = lambda name: None) -> None:
    """Write the day as an animated GIF, a frame for each that was kept."""
    columns, lived = len(titles(played)), played.lived
    width, height = played.room.size_m
    wide = max(10.2, 3.4 * columns)
    tall = np.clip(0.9 * wide / columns * height / width, 1.5, 6.0) + 0.75
    figure = Figure(figsize=(wide, tall), layout="constrained", dpi=80)
    canvas = FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    frames = np.unique(np.linspace(0, len(lived.frames_s) - 1, FRAMES + 1).round().astype(int))
    panels, drawn = Panels(axes, played, frames.tolist()), []
    for nth, frame in enumerate(frames.tolist()):
        stage(f"drawing the animation, {nth / len(frames):.0%}")
        at_s = float(lived.frames_s[frame])
        moment = last(played.moments, at_s)
        panels.show(frame, moment, _words(played, panels, at_s, moment))
        canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        drawn.append(Image.fromarray(pixels).convert("RGB").quantize(_COLOURS))
    first, *others = drawn
    first.save(path, "GIF", save_all=True, append_images=others, duration=1000 // PER_S, loop=0)


def last(moments: tuple[Moment, ...], at_s: float) -> Moment | None:
    """Return the round that was closed last at this time; None before the first."""
    past = [moment for moment in moments if moment.at_s <= at_s]
    return past[-1] if past else None


def _words(played: Played, panels: Panels, at_s: float, moment: Moment | None) -> list[str]:
    first, *others = titles(played)
    words = [f"{clock(at_s)}  {first}, to {panels.warmest_k:.1f} K", *others]
    if len(played.places_m):
        words[1] += f", to {panels.sent_k:.1f} K"
    if moment is not None:
        words[1:3] = [f"Round of {clock(moment.at_s)}: {_lower(word)}" for word in words[1:3]]
    return words


def _lower(word: str) -> str:
    return word[0].lower() + word[1:]
