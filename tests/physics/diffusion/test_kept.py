"""Runs on disk: to the same bits as never having stopped, or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from physics.diffusion.kept import fingerprint, resume, save
from physics.diffusion.medium import Drive, Medium, Sides
from physics.diffusion.run import Run

SHAPE = (8, 11)


def room(door: float = 12.0) -> Medium:
    conductivity = np.full(SHAPE, 12.0)
    conductivity[:, 5] = 0.2
    conductivity[4, 5] = door
    films: Sides = ((np.linspace(0, 3, 8), 0.3), (np.inf, 0.0))
    return Medium((0.3, 0.25), conductivity, np.full(SHAPE, 3e3), np.full(SHAPE, 0.4), films, 2.5)


def driven(count: int, batch: tuple[int, ...]) -> Drive:
    world = np.random.default_rng(count)
    return Drive(world.uniform(0, 75, (*batch, *SHAPE)), ((-5.0, 1.0), (2.0, 0.0)), -3.0)


@pytest.mark.parametrize("stops", [0, 1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize(
    ("batch", "solver", "always_damped"),
    [((), "auto", False), ((2,), "multigrid", False), ((), "direct", True)],
)
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    stops: int, batch: tuple[int, ...], solver: str, always_damped: bool, tmp_path: Path
) -> None:
    """Within the damped start and after it, before a door opens and after: field and balance."""
    start = np.random.default_rng(9).normal(size=(*batch, *SHAPE))
    media = [room()] * 5 + [room(0.2)] * 5
    whole = Run(media[0], start, 0.1, solver, always_damped)
    half = Run(media[0], start, 0.1, solver, always_damped)
    for count in range(10):
        if count == stops:
            save(half, tmp_path / "half.npz")
            half = resume(tmp_path / "half.npz", half.medium)
        for run in (whole, half):
            run.step(driven(count, batch), 10.1, media[count])

    assert half.field_k.tobytes() == whole.field_k.tobytes()
    assert half.at_s == whole.at_s
    assert half.solver == whole.solver
    for mine, other in zip(half.balance, whole.balance, strict=True):
        assert np.array_equal(mine, other)
    assert [path.name for path in tmp_path.iterdir()] == ["half.npz"]


def test_a_start_that_was_over_would_be_noticed_if_it_began_again(tmp_path: Path) -> None:
    """Control for the test above: damping once more changes the bits."""
    runs = [Run(room()), Run(room())]
    for run in runs:
        for count in range(4):
            run.step(driven(count, ()), 10.0)
    runs[1].damp()
    for run in runs:
        run.step(driven(5, ()), 10.0)

    assert runs[0].field_k.tobytes() != runs[1].field_k.tobytes()


def test_media_are_told_apart_by_every_part_of_them() -> None:
    """And are the same where a film is written once or for every cell."""
    one = room()
    others = [
        replace(one, cell_m=(0.3, 0.26)),
        replace(one, conductivity=np.nextafter(one.conductivity, 99)),
        replace(one, capacity=2 * one.capacity),
        replace(one, loss=0 * one.loss),
        replace(one, films=(one.films[0], (0.0, np.inf))),
        replace(one, films=((one.films[0][0], 0.31), one.films[1])),
        replace(one, beyond=2.6),
    ]
    same = replace(one, films=(one.films[0], (np.full(11, np.inf), np.zeros(11))))

    assert len({fingerprint(medium) for medium in (one, *others)}) == 8
    assert fingerprint(same) == fingerprint(one) == fingerprint(room())


def test_a_run_of_another_medium_is_refused(tmp_path: Path) -> None:
    """Temperatures belong to cells of a material."""
    save(Run(room()), tmp_path / "run.npz")

    with pytest.raises(ValueError, match=r"run\.npz is a run in another medium .* last step"):
        resume(tmp_path / "run.npz", room(0.2))


def test_every_broken_file_is_refused(tmp_path: Path) -> None:
    """Cut short anywhere, any byte changed, not there, or something else altogether."""
    path = tmp_path / "run.npz"
    run = Run(room())
    run.step(driven(0, ()), 10.0)
    save(run, path)
    good = path.read_bytes()
    world = np.random.default_rng(6)
    broken = [good[:cut] for cut in (0, 1, 100, len(good) // 2, len(good) - 1)]
    for place in world.integers(0, len(good), 60):
        one = bytearray(good)
        one[place] ^= 1 << int(world.integers(8))
        broken.append(bytes(one))
    said = []
    for bad in broken:
        path.write_bytes(bad)
        try:
            again = resume(path, run.medium)
        except ValueError as fault:
            said.append(str(fault))
        else:  # a byte of the archive that says nothing, such as a date
            assert again.field_k.tobytes() == run.field_k.tobytes()
            assert again.balance == run.balance
    path.write_bytes(good)
    with np.load(path) as archive:
        parts = dict(archive)
    np.savez(path, **{**parts, "field_k": parts["field_k"] + 1.0})
    with pytest.raises(ValueError, match="seal does not fit"):
        resume(path, run.medium)
    np.savez(path, field_k=np.zeros(SHAPE))
    for place in (path, tmp_path / "nowhere.npz"):
        with pytest.raises(ValueError, match="is no whole run"):
            resume(place, run.medium)

    assert len(said) > 40
    assert all("is no whole run" in one and "Take an older copy" in one for one in said)


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All or nothing: a full disk costs no run."""
    path = tmp_path / "run.npz"
    save(Run(room()), path)
    old = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(Run(room(), at_s=5.0), path)

    assert path.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 1
