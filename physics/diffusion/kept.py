"""A run on disk: stopped here and resumed there, it goes on to the same bits."""

import hashlib
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..places import Floats
from .medium import Medium
from .run import Run
from .step import DAMPED_STEPS, Balance, Way

_FORMAT = "heatveil diffusion run 2"


def save(run: Run, path: str | Path) -> None:
    """Write the run as numpy's archive, all or nothing; a file of that name is replaced.

    Raises:
        OSError: it cannot be written.
    """
    state = _state(run)
    state["seal"] = np.array(_seal(state))
    half = Path(f"{path}.part")
    try:
        with half.open("wb") as file:
            np.savez(file, **state)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def resume(path: str | Path, medium: Medium) -> Run:
    """Return the run that `save` wrote, ready for its next step.

    Args:
        medium: equal to the one of the last step that was saved; where doors change it, that
            is the one before the next step's.

    Raises:
        ValueError: the file cannot be read, is broken, or is of another medium.
    """
    try:
        state = _read(path)
        if str(state["medium"]) == fingerprint(medium):
            return _run(state, medium)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{path} is no whole run ({error}) but must be one that `save` wrote, for a run goes "
            "on from every bit of it. Take an older copy, or start again."
        ) from error
    raise ValueError(
        f"{path} is a run in another medium than the one given but must be of the same cells, "
        "materials and sides, or its temperatures belong elsewhere. Give the medium of its last "
        "step, or start another run."
    )


def fingerprint(medium: Medium) -> str:
    """Return 64 hex digits that are the same for equal media, and differ otherwise."""
    hasher = hashlib.sha256()
    hasher.update(repr((medium.shape, float(medium.beyond))).encode())
    parts = (*medium.cell_m, *medium.resistance)
    for part in (*map(np.asarray, parts), medium.conductivity, medium.capacity, medium.loss):
        hasher.update(repr(part.shape).encode())
        hasher.update(_bytes(part))
    for axis, pair in enumerate(medium.films):
        for film in pair:
            hasher.update(_bytes(np.broadcast_to(film, medium.side(axis))))
    return hasher.hexdigest()


def _state(run: Run) -> dict[str, Any]:
    return {
        "format": np.array(_FORMAT),
        "medium": np.array(fingerprint(run.medium)),
        "field_k": run.field_k,
        "balance": np.array([np.broadcast_to(part, _batch(run)) for part in run.balance]),
        "at_s": np.array(run.at_s),
        # Whether the damped start is over, and what would begin it again.
        "step_s": np.array(run.step_s),
        "damped_left": np.array(run.damped_left),
        "always_damped": np.array(run.always_damped),
        # As it was solved, not as another version would choose: another solver has other bits.
        "way": np.array(run.way.name),
        "why": np.array(run.way.why),
    }


def _read(path: str | Path) -> dict[str, Any]:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        state = {name: archive[name] for name in archive.files}
    seal = str(state.pop("seal"))
    if str(state["format"]) != _FORMAT or seal != _seal(state):
        raise ValueError("its seal does not fit what it holds")
    return state


def _run(state: dict[str, Any], medium: Medium) -> Run:
    name = str(state["way"])
    run = Run(medium, state["field_k"], float(state["at_s"]), name, bool(state["always_damped"]))
    run.way = Way(name, str(state["why"]))
    run.step_s, run.damped_left = float(state["step_s"]), int(state["damped_left"])
    if not 0 <= run.damped_left <= DAMPED_STEPS or run.step_s <= 0:
        raise ValueError("its steps are out of range")
    parts = state["balance"].reshape(4, *_batch(run))
    run.balance = Balance(*(part[()] for part in parts))
    return run


def _batch(run: Run) -> tuple[int, ...]:
    return run.field_k.shape[: run.field_k.ndim - len(run.medium.shape)]


def _seal(state: dict[str, Any]) -> str:
    hasher = hashlib.sha256()
    for name in sorted(state):
        part = state[name]
        hasher.update(f"{name} {part.dtype.str} {part.shape} ".encode())
        hasher.update(np.ascontiguousarray(part).tobytes())
    return hasher.hexdigest()


def _bytes(part: Floats) -> bytes:
    return np.ascontiguousarray(part, dtype="<f8").tobytes()
