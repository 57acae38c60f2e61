"""The channel as a convolution, held against every chance written out one by one."""

import numpy as np
import pytest

from edge.core.records import Grid
from physics.crowds.disk import make_footprint
from recovery.disk import Query, plan
from recovery.disk import channel as channels
from recovery.disk.channel import Channel, channel_of, compute_square_laws, sum_blocks

SHAPES = [
    ((5, 5), 2),
    ((7, 4), 3),
    ((4, 7), 1),
    ((9, 1), 4),
    ((1, 6), 2),
    ((1, 1), 3),
    ((6, 6), 0),
]


def disk(shape: tuple[int, int], radius: int, scheme: str = "dam") -> Channel:
    """The channel of a planned Round; shape is (columns, rows)."""
    planned = plan(Query(Grid(shape, 1000), (7, 5), scheme=scheme, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def written_out(channel: Channel) -> np.ndarray:
    """Every chance from its definition, (outer cells, cells): four loops and no convolution."""
    matrix = np.zeros((*channel.support.shape, channel.rows, channel.columns))
    for y, x in np.ndindex(channel.rows, channel.columns):
        for i, j in np.argwhere(channel.support):
            k, m = i - y, j - x
            inside = 0 <= k < channel.kernel.shape[0] and 0 <= m < channel.kernel.shape[1]
            matrix[i, j, y, x] = channel.base + (channel.kernel[k, m] if inside else 0)
    return matrix.reshape(channel.support.size, -1)


@pytest.fixture(params=["matrix", "transform"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have every channel computed in one way, however small it is."""
    monkeypatch.setattr(channels, "_ENTRIES_MAX", 10**9 if request.param == "matrix" else 0)
    return str(request.param)


@pytest.mark.parametrize(("shape", "radius"), SHAPES)
def test_all_ways_compute_the_enumerated_matrix(
    way: str, shape: tuple[int, int], radius: int
) -> None:
    """Rows and columns, or a border that wraps round, are confused here if anywhere."""
    channel = disk(shape, radius)
    world = np.random.default_rng(1)
    mass = world.random((channel.rows, channel.columns))
    values = world.normal(size=channel.support.shape)
    matrix = written_out(channel)

    assert channel.forward(mass).ravel() == pytest.approx(matrix @ mass.ravel(), abs=1e-12)
    assert channel.adjoint(values).ravel() == pytest.approx(values.ravel() @ matrix, abs=1e-12)
    assert channel.matrix() == pytest.approx(matrix, abs=1e-15)


@pytest.mark.parametrize(("shape", "radius"), [((40, 40), 9), ((61, 17), 12), ((300, 1), 40)])
def test_large_channels_are_adjoint_and_keep_mass(
    way: str, shape: tuple[int, int], radius: int
) -> None:
    """Expectation maximisation is wrong by whatever the transpose is wrong by."""
    channel = disk(shape, radius)
    world = np.random.default_rng(2)
    mass = world.random((channel.rows, channel.columns))
    values = world.normal(size=channel.support.shape)
    there = float(np.vdot(values, channel.forward(mass)))
    back = float(np.vdot(channel.adjoint(values), mass))

    assert there == pytest.approx(back, rel=1e-12)
    assert channel.forward(mass).sum() == pytest.approx(mass.sum(), rel=1e-12)
    assert channel.adjoint(np.ones_like(values)) == pytest.approx(np.ones_like(mass))
    assert not channel.forward(mass)[~channel.support].any()
    assert (channel.forward(mass)[channel.support] > 0).all()


def test_a_support_that_leaves_out_what_is_answered_is_refused() -> None:
    """All adds to one, and yet the corner's answers are lost: EM would draw them elsewhere."""
    kernel, support = np.zeros((3, 3)), np.ones((6, 6), dtype=np.bool_)
    support[0, 0] = False
    kernel[0, 0], base = 0.3, 0.7 / 35
    with pytest.raises(ValueError, match="reaches 1 places outside the support"):
        Channel(4, 4, kernel, base, support)
    kernel[:] = kernel[::-1, ::-1]  # now the last corner's answers lie at the other end
    assert Channel(4, 4, kernel, base, support).matrix().sum(axis=0) == pytest.approx(1)


@pytest.mark.parametrize("shape", [(12, 9), (7, 7), (5, 1), (3, 11)])
@pytest.mark.parametrize(("step", "block"), [(1, 1), (1, 2), (2, 2), (3, 2), (4, 5), (20, 3)])
@pytest.mark.parametrize("radius", [0, 1, 4])
def test_the_law_of_a_square_is_that_of_its_cells(
    shape: tuple[int, int], step: int, block: int, radius: int
) -> None:
    """Against the channel's own law, however it is filled; the last ones are smaller."""
    planned = plan(Query(Grid(shape, 0), (3, 2), radius=radius), [])
    assert planned is not None
    channel = channel_of(planned)
    filled = np.random.default_rng(1).random((channel.rows, channel.columns))
    kept = sum_blocks(channel.support.astype(float), block) > 0
    corners = [
        (y, x) for y in range(0, channel.rows, step) for x in range(0, channel.columns, step)
    ]
    for mass in (None, filled):
        found = compute_square_laws(channel, step, block, mass)

        assert found.sum(axis=0) == pytest.approx(1)
        for place, (y, x) in enumerate(corners):
            square = np.zeros_like(filled)
            part = np.s_[y : y + step, x : x + step]
            square[part] = 1 if mass is None else mass[part]
            law = sum_blocks(channel.forward(square / square.sum()), block)[kept]
            assert found[:, place] == pytest.approx(law, abs=1e-9)


@pytest.mark.parametrize("scheme", ["dam", "dam-ns", "area", "huem", "krr"])
def test_the_crowd_and_the_channel_read_a_round_alike(scheme: str) -> None:
    """Two rooms decode the same numbers, each for itself; so does the device."""
    round = plan(Query(Grid((6, 6), 0), (7, 5), scheme=scheme), [])  # type: ignore[arg-type]
    assert round is not None
    law = make_footprint(round)
    chances = np.zeros((*law.domain.shape, 36))
    for cell in range(36):
        chances[law.domain, cell] = law.far
        spot = chances[cell // 6 :, cell % 6 :, cell][: len(law.weights), : len(law.weights)]
        np.copyto(spot, law.weights, where=law.weights > 0)

    assert channel_of(round).matrix() == pytest.approx(chances.reshape(-1, 36) / law.total)
