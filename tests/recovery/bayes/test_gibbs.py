"""One sampler written twice, over whole crowds and in loops to be compiled: one set of draws."""

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.bayes import moves
from recovery.bayes.chain import Draws, sample_posterior
from recovery.estimators.record import Prior, Seen
from recovery.kernels import available, compiled, gibbs

_SIDE = np.arange(1, 5) / 4
_PLACES = np.stack(np.meshgrid(_SIDE, _SIDE, indexing="ij"), axis=-1).reshape(-1, 2)
_OPERATOR = np.kron(*[forward(_SIDE, np.arange(1, 5) / 4, 0.03)] * 2)


def _draws(
    monkeypatch: pytest.MonkeyPatch, kernel: ModuleType | SimpleNamespace, prior: Prior, line: bool
) -> Draws:
    for module in (moves, moves, moves):
        monkeypatch.setattr(module, "tier", lambda _, worth: kernel)
    world = np.random.default_rng(3)
    heat = np.zeros(16)
    heat[[2, 9, 11]] = 1.0, 0.7, 0.9
    readings = _OPERATOR @ heat + 0.3 * world.standard_normal(16)
    places, shape = (np.arange(16.0)[:, None], (1, 16)) if line else (_PLACES, (4, 4))
    closed = np.arange(16) != 5
    seen = Seen(_OPERATOR, readings, 0.3, places, shape, prior, open=closed)
    return sample_posterior(seen, scenes=24, last_sweeps=2)


@pytest.mark.long
@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize("prior", [Prior(3, 3), Prior(0, 5), Prior(1, 5, 1.0, 0.3)])
def test_loops_and_crowds_draw_the_same(
    monkeypatch: pytest.MonkeyPatch, prior: Prior, line: bool
) -> None:
    """Whoever has a compiler gets no other map than who has none."""
    crowds = _draws(monkeypatch, gibbs, prior, line)
    # A twin of the module, so that its loops are run, as they stand.
    loops = _draws(monkeypatch, SimpleNamespace(**vars(gibbs)), prior, line)

    assert np.array_equal(crowds.cells, loops.cells)
    assert np.allclose(crowds.powers, loops.powers, atol=1e-9)
    assert np.isclose(crowds.log_evidence, loops.log_evidence)


@pytest.mark.skipif(not available(), reason="numba is not installed")
@pytest.mark.parametrize("prior", [Prior(0, 5), Prior(1, 5, 1.0, 0.3)])
def test_compiled_loops_draw_the_same(monkeypatch: pytest.MonkeyPatch, prior: Prior) -> None:
    """Compiling reorders roundings, never a draw that anyone could see."""
    crowds = _draws(monkeypatch, gibbs, prior, line=False)
    loops = _draws(monkeypatch, compiled(gibbs), prior, line=False)

    assert np.array_equal(crowds.cells, loops.cells)
    assert np.allclose(crowds.powers, loops.powers, atol=1e-9)


@pytest.mark.parametrize("value", [-2.5, -0.5, -0.2, 0.0, 0.4, 0.5, 1.5])
def test_halves_are_rounded_alike_on_both_sides(value: float) -> None:
    """Else the way back would be another way, and the law drawn from another law."""
    assert gibbs.rounded(-value) == -gibbs.rounded(value)
    assert abs(gibbs.rounded(value) - value) <= 0.5
