"""Many users at once give the Release that their reports do; and the shuffle protocol."""

from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Round
from edge.mechanisms import pyramid as edge
from physics.crowds import shuffle
from physics.crowds.pyramid import release_points
from recovery.pyramid import Query, plan


@pytest.mark.parametrize("name", ["sparse", "dense", "tree"])
@pytest.mark.parametrize("shape", [(32, 32), (13, 20)])
def test_a_crowd_gives_the_release_of_its_reports(name: Any, shape: tuple[int, int]) -> None:
    """From one stream the numbers are equal, so that their law is, too."""
    round = plan(Query(Grid(shape, 0), (1, 1), 1, 300, name), ())
    cells = np.random.default_rng(6).integers(0, shape[0] * shape[1], 300)
    payloads = [
        edge.report(round, Reading(i, (int(cell) % shape[0], int(cell) // shape[0])), None)
        for i, cell in enumerate(cells)
    ]

    assert release_points(round, cells, Tape(b"crowd")) == edge.release(
        round, payloads, Tape(b"crowd")
    )


USERS = 20
ROUND: Round = plan(  # type: ignore[assignment]
    Query(Grid((2, 2), 0), (2, 1), 1, USERS, "sparse", kept=4, units=8, places=2), ()
)._replace(params=(8, 2, 4, 0, 2, 1, 3, 2))


def test_shares_tell_nothing_alone_and_all_together() -> None:
    """Every proper part of a sum's shares is uniform; the last is no sum without its noise."""
    mod = shuffle.modulus(ROUND, USERS)
    payload = edge.report(ROUND, Reading(0, (0, 0)), None)
    sent = shuffle.messages(ROUND, payload, USERS, 4, mod, Tape(b"split"))

    assert len(sent) == 4 * 5
    assert all(0 <= share < mod for _, share in sent)
    last = [share for at, share in sent if at == 0][3]
    assert last not in (8, 0)


@pytest.mark.parametrize(
    ("scale", "megabytes"), [(16, 6.2), (64, 6.7), (256, 7.1), (1024, 8.0), (4096, 8.5)]
)
def test_communication_is_what_the_papers_formula_gives(scale: int, megabytes: float) -> None:
    """Fifty users, epsilon 5, delta 1e-5, squares of 320 x 240; the paper says about 10 MB."""
    squares = 4 * 320 * 240 // 3

    printed = shuffle.cost(5, squares, 50, 1e-5, 50 * scale, printed=True)
    round = plan(Query(Grid((320, 240), 0), (5, 1), 1, 50, "sparse", units=scale), ())
    assert round is not None
    own = len(shuffle.coordinates(round))
    corrected = shuffle.cost(5, own, 50, 1e-5, shuffle.modulus(round, 50))

    assert printed.total_bytes / 1e6 == pytest.approx(megabytes, abs=0.05)
    assert corrected.total_bytes > 1.3 * printed.total_bytes


def test_too_few_users_are_not_mixed() -> None:
    """Among a handful a shuffler hides nobody."""
    with pytest.raises(ValueError, match="19 at the least"):
        shuffle.shares(2, 5, 18, 1e-5, 1 << 30)
