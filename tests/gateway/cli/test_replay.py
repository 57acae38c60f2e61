"""`heatveil replay`: what was recorded gives the same results again, and bad lines are named."""

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edge.core import wire
from gateway.cli.records import replay as replaying
from gateway.cli.records.replay import Rehearsal, fold_answers
from tests import processes

PROGRAM = Path(sys.executable).with_name("heatveil")
Heatveil = Callable[..., Any]


class Recording(NamedTuple):
    """Two rounds over a real broker: the deployment, its export, and the results as stored."""

    config: Path
    file: Path
    results: dict[int, list[int]]

    def lines(self) -> list[dict[str, Any]]:
        """Return the messages."""
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def write(self, lines: list[dict[str, Any]]) -> None:
        """Put other messages in their place."""
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def pause_s() -> float:
    """Return a pause that no test waits for."""
    return 0.1


@pytest.fixture
def recording(
    living: Path, fleet: subprocess.Popen[str], heatveil: Heatveil, tmp_path: Path
) -> Recording:
    """Run two rounds and export what went over the broker, and what came of it."""
    command = [PROGRAM, "serve", "--rounds", "2", "--config", living]
    processes.run(command, check=True, timeout=60, capture_output=True)
    fleet.kill()
    results: dict[int, list[int]] = {}
    for what in ("messages", "releases"):
        words = ("--config", living, "--what", what, "--out", tmp_path / f"{what}.jsonl")
        assert heatveil("export", *words).status == 0
    for line in (tmp_path / "releases.jsonl").read_text().splitlines():
        row = json.loads(line)
        results.setdefault(row["round"], []).append(row["grains"])
    return Recording(living, tmp_path / "messages.jsonl", results)


def _results(said: str) -> dict[int, list[int]]:
    found = re.findall(r"^round (\d+) gives (\[.*\])$", said, re.MULTILINE)
    return {int(number): json.loads(values) for number, values in found}


def _disk(config: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in config.parent.glob("heatveil.sqlite")
    }


@pytest.mark.long
def test_a_store_replayed_gives_what_it_holds_and_bad_messages_are_named(
    recording: Recording, heatveil: Heatveil
) -> None:
    """The same input, the same results, to the last bit; and every other input is told apart."""
    whole, disk = recording.lines(), _disk(recording.config)
    words = ("replay", recording.file, "--config", recording.config)
    said = heatveil(*words)
    assert said.status == 0, said.out + said.err
    assert sorted(recording.results) == [1, 2]
    assert _results(said.out) == recording.results
    assert said.out.count("6 of 6 devices, 0 refused; as in the store") == 2
    assert said.out.splitlines()[-1].startswith("12 reports taken, 0 messages that came again")
    assert _disk(recording.config) == disk, "a dry run has written"

    # One bit of one frame: it is refused by its line and reason, and the result is another one.
    (first, *_) = (at for at, line in enumerate(whole) if line["topic"].endswith("/data"))
    flipped = [dict(line) for line in whole]
    frame = bytearray.fromhex(flipped[first]["payload"])
    frame[20] ^= 1
    flipped[first]["payload"] = frame.hex()
    recording.write(flipped)
    said = heatveil(*words)
    assert said.status == 1
    assert f"line {first + 1} is refused: forged: " in said.out
    assert "round 1: 5 of 6 devices, 1 refused; NOT as in the store" in said.out
    assert _results(said.out)[2] == recording.results[2]

    # Frames twice, a round by a stranger, a report too late, and what is for somebody else.
    asked = whole[0]["payload"]
    forged = asked[:-2] + ("01" if asked.endswith("00") else "00")
    stranger = {"topic": whole[0]["topic"], "payload": forged}
    late = whole[first]
    others = {"topic": late["topic"].replace("/data", "/receipt"), "payload": "00"}
    closing = next(at for at, line in enumerate(whole) if not line["payload"])
    without = [line for line in whole[: closing + 1] if line is not late]
    recording.write([others, stranger, *whole[: first + 1], *whole[first:closing]])
    said = heatveil(*words)
    assert "line 2 is refused: it is no round that this site has asked" in said.success
    assert "6 reports taken, 1 messages that came again, 1 refused, 1 not" in said.out
    assert "ends within round 1" in said.out
    assert _results(said.out) == {1: recording.results[1]}
    recording.write([*without, late])
    said = heatveil(*words)
    assert said.status == 1
    assert f"line {len(without) + 1} is refused: late: " in said.out


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b"[]",
        b"null",
        b'{"topic": "a"}',
        b'{"topic": 1, "payload": ""}',
        b'{"topic": "a", "payload": "0"}',
        b'{"topic": "a", "payload": [1]}',
        b'{"topic": "a", "payload": 5}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"9" * 10_000,
    ],
    ids=range(11),
)
def test_a_line_that_is_no_message_ends_it_by_its_number(
    site: Path, heatveil: Heatveil, line: bytes
) -> None:
    """Half of a recording must not pass for the whole."""
    file = site.with_name("bad.jsonl")
    good = b'{"topic": "heatveil/1/seen/node-0/state", "payload": "", "more": 1}\n'
    file.write_bytes(good + b"\n" + line + b"\n" + good)
    said = heatveil("replay", file, "--config", site)

    assert f"line 3 of {file} is no recorded message" in said.refusal
    assert len(said.err.splitlines()) == 1


def test_a_rehearsal_judges_as_the_gateway_does(
    home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Second answers, changed bytes, numbers that go back, and rounds that are over."""
    plan = home.round(1)
    asked = wire.round_topic("testsite", "thermal")
    data = {name: wire.topic("testsite", name, "data") for name in home.devices.by_name}
    frames = {name: home.answer(name, plan) for name in data}
    twin = home.fresh("node-1", 2).answer(home.message(plan), lambda _params: [5])
    rehearsal = Rehearsal(home.devices)

    def hears(topic: str, payload: bytes) -> tuple[str, str]:
        outcome = rehearsal.take_message(topic, payload)
        return outcome.word, outcome.why.partition(":")[0]

    assert hears(data["node-0"], frames["node-0"]) == ("refused", "other-round")
    assert hears(asked, home.message(plan)) == ("opened", "")
    assert hears(asked, home.message(plan)) == ("again", "")
    assert hears(data["node-0"], frames["node-0"]) == ("again", "")  # heard, and did not count
    assert hears(data["node-1"], frames["node-1"]) == ("taken", "")
    assert hears(data["node-1"], frames["node-1"]) == ("again", "")
    assert hears(data["node-1"], bytes(twin)) == ("refused", "second")
    assert hears(data["node-2"], frames["node-1"]) == ("refused", "forged")
    assert hears("heatveil/1/testsite/node-9/data", b"") == ("refused", "unknown")
    assert hears("heatveil/1/elsewhere/node-1/data", b"") == ("other", "")
    ended = rehearsal.take_message(asked, b"").ended
    assert sorted(ended.reports) == ["node-1"]
    assert hears(asked, home.message(plan)) == (
        "refused",
        "round 1 is over; it is not asked twice",
    )
    assert hears(data["node-3"], frames["node-3"]) == ("refused", "late")
    # Noise that the gateway draws is not drawn a second time for one round.
    assert fold_answers(ended) is not None
    central = plan._replace(guarantee=plan.guarantee._replace(trust="central"))
    ended.plan = central
    assert fold_answers(ended) is None
    # And what a secure sum has hidden cannot be added up again: no result is held against it.
    ended.plan = plan._replace(guarantee=plan.guarantee._replace(trust="distributed: sums"))
    assert replaying._tell_ended(ended, Counter(), None)
    assert "a secure sum" in capsys.readouterr().out
