"""The table of mechanisms, and `play` as the definition of the whole protocol."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.mechanisms import MECHANISMS, Mechanism, Verbs, named, play
from recovery.maps.guarantee import sentences
from recovery.maps.heatmap import from_npz
from tests.contract.cases import WORDS


def test_a_name_mistyped_is_answered_with_the_nearest() -> None:
    """One line that helps."""
    with pytest.raises(OperatorFault, match=r"termal is not a mechanism.*did you mean thermal\?"):
        named("termal")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_every_promise_says_for_whom_it_holds_and_what_it_does_not_protect(
    mechanism: Mechanism,
) -> None:
    """A promise is only as good as what its reader takes it for."""
    assert mechanism.subject is not None
    for _, query in mechanism.subject.rooms():
        promise = mechanism.plan(query, ()).guarantee
        said = " ".join(sentences(promise))
        parts = (promise.neighbours, promise.trust, promise.unit, promise.unprotected)
        held = getattr(query, "keyholder", False)

        assert all(part and part in said for part in parts)
        assert "somebody is there" in promise.unprotected
        if mechanism.trust == "central":
            assert promise.trust.startswith("central: the gateway sees")
            continue
        assert ("nobody has a key" in promise.trust, "holder" in promise.trust) == (not held, held)


def test_play_asks_until_the_plan_is_done_and_hands_everything_on() -> None:
    """Two rounds of a mechanism of our own: each verb sees what the one before gave."""
    heard: list[Any] = []

    def plan(query: int, releases: list[Any]) -> str | None:
        return f"round {len(releases)}" if len(releases) < query else None

    def report(round: str, reading: int, rng: Any) -> list[int]:
        return [reading + rng]

    def release(round: str, payloads: list[list[int]], rng: Any) -> tuple[str, int]:
        return round, sum(payload[0] for payload in payloads)

    def recover(query: int, releases: list[Any]) -> Any:
        return releases

    def readings(round: str) -> Iterable[int]:
        heard.append(round)
        return [1, 2, 3]

    counting = Verbs("counting", plan, report, release, recover)

    assert play(counting, 2, readings, 10) == [("round 0", 36), ("round 1", 36)]
    assert heard == ["round 0", "round 1"]


@pytest.mark.long
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_what_is_published_leads_to_the_same_map(
    mechanism: Mechanism, heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Play, publish, recover, with every file: the whole way, of each mechanism in the table."""
    names = ("map.npz", "scores.json", "map.png", "public.json")
    out, scores, plot, public = (tmp_path / name for name in names)
    written = ("--out", out, "--scores", scores, "--plot", plot, "--published", public)
    words = WORDS[mechanism.name].split()
    said = heatveil("play", mechanism.name, *words, "--seed", 1, *written)
    assert (said.status, said.err) == (0, "")
    again = heatveil("recover", public, "--out", tmp_path / "again.npz", "--plot", plot)
    assert (again.status, again.err) == (0, "")

    once, twice = from_npz(out), from_npz(tmp_path / "again.npz")
    assert (once.mass == twice.mass).all()
    assert json.loads(public.read_text())["mechanism"] == mechanism.name
    assert json.loads(scores.read_text())["reports"] > 0
    assert said.out.splitlines()[-3:] == again.out.splitlines()[-3:]  # the promise
