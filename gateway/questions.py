"""The commands that ask a query without a broker: play, recover, calibrate."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from . import flags


def play(
    mechanism: Annotated[str, typer.Argument(help="Which protocol; there is thermal.")],
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    epsilon: flags.Epsilon = "1/1",
    delta: flags.Delta = "1/100000",
    calibration: flags.Calibration = "exact",
    estimator: flags.Estimator = "l1",
    settings: flags.Settings = None,
    seed: flags.Seed = None,
    out: flags.Out = None,
    scores: Annotated[Path | None, typer.Option(help="Write the scores here, as JSON.")] = None,
    plot: flags.Plot = None,
    published: Annotated[
        Path | None, typer.Option(help="Write here what is public, for heatveil recover.")
    ] = None,
) -> None:
    """Play one protocol in memory and hold its map against the truth."""
    from . import choices, playing

    query_of = partial(
        choices.query,
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        estimator=estimator,
        settings=settings or (),
    )
    lines = playing.play(
        mechanism,
        query_of,
        sources=sources,
        sources_random=sources_random,
        seed=seed,
        files=playing.Files(out, scores, plot, published),
    )
    typer.echo("\n".join(lines))


def recover(
    file: Annotated[Path, typer.Argument(help="What play --published wrote, or a .csv.")],
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    sigma: Annotated[
        str, typer.Option(help="The noise on each reading of a .csv, as a ratio such as 1/10.")
    ] = "",
    delta: flags.Delta = "1/100000",
    estimator: flags.Estimator = "l1",
    settings: flags.Settings = None,
    out: flags.Out = None,
    plot: flags.Plot = None,
) -> None:
    """Draw the map of readings that are public already.

    The flags of room and noise are for a .csv (sensor,reading); a JSON file has its own.
    """
    from . import choices, recovering

    query_of = partial(
        choices.query,
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        delta=delta,
        estimator=estimator,
        settings=[*(settings or ()), *([f"sigma={sigma}"] if sigma else [])],
    )
    typer.echo("\n".join(recovering.recovered(file, query_of, out, plot)))


def calibrate(
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    epsilon: flags.Epsilon = "1/1",
    delta: flags.Delta = "1/100000",
    calibration: flags.Calibration = "exact",
    settings: flags.Settings = None,
    config: Annotated[
        Path | None, typer.Option(help="A deployment file instead of these flags.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say which noise a promise needs, and what it hides and does not hide."""
    from . import calibrating, choices

    if config is None:
        query = choices.query(
            cells=cells,
            length=length,
            sensors=sensors,
            spread=spread,
            epsilon=epsilon,
            delta=delta,
            calibration=calibration,
            settings=settings or (),
        )
    else:
        from .config import load
        from .config import query as query_of

        query = query_of(load(config))
    typer.echo("\n".join(calibrating.calibrated(query, as_json)))
