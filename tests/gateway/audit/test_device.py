"""The end-to-end layer passes real devices, and rejects every device that says too much.

The faults are put into the running code, between a Round and its release; `tests/mutants` puts
them, and many more, into the source.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from edge import ahead, entropy, thermal, veil
from edge.node import Node
from gateway.audit import device
from gateway.audit.claim import Claim, Effort
from gateway.audit.scenes import Scenes, exact_mu, scenes
from gateway.mechanisms import MECHANISMS

THERMAL = MECHANISMS[0]
ROOMS = {room.name: room for room in scenes(THERMAL)}
ROOM = next(room for room in ROOMS.values() if len(room.below) == 20)
TRIES = 400
Draw = Callable[[int, int, Any], list[int]]


def failed(claims: Iterable[Claim]) -> list[str]:
    """Return what does not hold."""
    return [claim.sentence for claim in claims if not claim.holds]


def audited(room: Scenes = ROOM) -> list[str]:
    return failed(device.told_apart(room, THERMAL, Effort(), TRIES))


def drawn(change: Callable[[list[int], int, Any], list[int]]) -> Draw:
    """Return a draw that does the right thing and then changes it."""
    draw: Draw = thermal.draw
    return lambda variance, count, rng: change(draw(variance, count, rng), variance, rng)


def sigma_of(variance: int) -> float:
    return variance**0.5


def uniform(noise: list[int], variance: int, rng: Any) -> list[int]:
    reach = int((3 * variance) ** 0.5)
    return [rng.below(2 * reach + 1) - reach for _ in noise]


FAULTS: dict[str, tuple[Callable[[list[int], int, Any], list[int]], str]] = {
    "half sigma": (lambda z, s, rng: [x // 2 for x in z], "no smaller than promised"),
    "sigma for sigma squared": (
        lambda z, s, rng: [x // int(sigma_of(s) ** 0.5) for x in z],
        "no further apart",
    ),
    "one sensor bare": (lambda z, s, rng: [*z[:-1], 0], "every sensor has noise"),
    "one noise for all": (lambda z, s, rng: z[:1] * len(z), "no two sensors share"),
    "half normal": (lambda z, s, rng: [abs(x) for x in z], "law of the discrete Gaussian"),
    "uniform": (uniform, "law of the discrete Gaussian"),
    "no noise at all": (lambda z, s, rng: [0] * len(z), "no further apart"),
    "one off": (lambda z, s, rng: [x + int(sigma_of(s)) // 8 for x in z], "law of"),
    "a capped tail": (
        lambda z, s, rng: [
            max(min(x, int(2.2 * sigma_of(s))), -int(2.2 * sigma_of(s))) for x in z
        ],
        "law of the discrete Gaussian",
    ),
}


@pytest.mark.long
def test_real_devices_pass() -> None:
    """Without a fault nothing may be found, in any room."""
    for room in ROOMS.values():
        assert audited(room) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_noise_is_rejected(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these has been the bug of somebody's release."""
    change, words = FAULTS[fault]
    monkeypatch.setattr(veil, "draw", drawn(change))

    assert any(words in sentence for sentence in audited()), fault


@pytest.mark.long
@pytest.mark.parametrize("percent", [90, 111])
def test_a_sigma_ten_per_cent_off_is_rejected(
    percent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who sees releases alone, with 20,000 of them a side, and noise wasted is seen too."""
    monkeypatch.setattr(veil, "draw", drawn(lambda z, s, rng: [x * percent // 100 for x in z]))
    found = failed(device.singly_told(ROOM, THERMAL, Effort(), 20_000))

    words = "no further apart than promised" if percent < 100 else "no noise is wasted"
    assert [sentence for sentence in found if words in sentence]


@pytest.mark.long
def test_a_sigma_as_promised_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test without the fault."""
    assert failed(device.singly_told(ROOM, THERMAL, Effort(), 20_000)) == []


def test_noise_reused_over_a_boot_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter that lives in memory alone starts again, and so does its noise."""
    whole = entropy.opened
    monkeypatch.setattr(
        entropy, "opened", lambda key, name, epoch, seq, at: whole(bytes(32), name, 1, seq, at)
    )
    room = next(room for room in ROOMS.values() if room.round.params[6])

    assert any("no boot's noise" in sentence for sentence in audited(room))


def test_a_retry_with_fresh_noise_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks ten times gets the mean, with a third of the noise."""
    whole = Node.answer

    def forgetful(self: Any, message: bytes, *rest: Any, **more: Any) -> Any:
        self._name, self._budget.round = None, -1
        return whole(self, message, *rest, **more)

    monkeypatch.setattr(Node, "answer", forgetful)

    assert any("asked again gets the same bytes" in sentence for sentence in audited())


def test_noise_that_all_devices_share_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key on every board, and the difference of two sensors has no noise at all."""

    class Shared(ahead.Ahead):
        def _stream(self) -> Any:
            return entropy.Tape(f"{self._epoch} {self.seq}".encode())

    monkeypatch.setattr("edge.node.Ahead", Shared)
    found = failed(device.in_company(ROOM, THERMAL, Effort(), 60))

    assert any("no two sensors share noise" in sentence for sentence in found)


def test_noise_per_sensor_instead_of_for_all_together_is_rejected() -> None:
    """Each sensor alone is hidden, and all of them together are not: eps 7 instead of 1."""
    variance = ROOM.round.params[4] // len(ROOM.below)
    params = (*ROOM.round.params[:4], variance, *ROOM.round.params[5:])
    square = ROOM.round.guarantee.rho[0] // len(ROOM.below)
    promise = ROOM.round.guarantee._replace(rho=(square, 2 * variance))
    room = ROOM._replace(
        round=ROOM.round._replace(params=params, guarantee=promise), sigma=variance**0.5
    )

    assert any("no further apart" in sentence for sentence in audited(room))


def test_the_promise_is_read_off_the_exact_curve() -> None:
    """Balle and Wang: sigma 3.7306 for epsilon 1, delta 1e-5; 0.4999 for 10 and 1e-5."""
    assert 1 / exact_mu(1, 1e-5) == pytest.approx(3.7306, abs=1e-3)
    assert 1 / exact_mu(10, 1e-5) == pytest.approx(0.4999, abs=1e-3)
