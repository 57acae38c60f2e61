"""A release over the air, whole: a real MicroPython, a real broker, a real gateway."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from edge.board import release
from edge.core.budget import unpack
from edge.host.updates import count_flash
from gateway.devices import bundle
from gateway.devices.broker import embedded
from gateway.devices.kit import modules, provisioning, settings
from gateway.devices.kit import releases as on_board
from gateway.devices.kit.boardfile import load_board_file as load_board
from gateway.devices.kit.connect import StandInBoard
from gateway.devices.kit.provisioning import Kit
from gateway.devices.owner import releases
from gateway.devices.owner.releases import ReleaseProgress, SignedRelease
from gateway.faults import LinkFault, OperatorFault
from gateway.service.mqtt.connection import Message
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from tests import sites
from tests.gateway.devices.kit.conftest import Desk, Ran, budget_place, held, running
from tests.processes import find_free_port


@pytest.mark.long
def test_a_release_is_fetched_tried_and_confirmed_and_a_bad_one_goes_back(
    desk: Desk, brokers: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was there before: the keys, the budget, and epochs that only go forward."""
    monkeypatch.setattr(StandInBoard, "runs_on", True)
    owner, folder = desk.path.parent / "owner.json", desk.path.parent / "board"
    text = desk.path.read_text().replace("readings = 3", "readings = 60")
    desk.path.write_text(text.replace("every_s = 12", "every_s = 6"))
    for name in ("devices.json", "secrets.json", "limits.json"):
        desk.path.with_name(name).unlink()
    shutil.rmtree(desk.path.with_name("state"))
    assert desk.run("enrol").status == desk.run("device", "remove", "node-5").status == 0
    board = desk.board(lives=True)
    where = f"folder:{folder}"
    words = ("--board", where, "--settings", desk.own, "--updates", owner)
    first = desk.run("provision", "attic", *words)
    assert "from its owner's number 1 on" in first.success
    with brokers(desk.path), running(desk.path, "serve"):
        board.restart()
        try:
            fetch_and_go_back(desk, owner, folder)
        finally:
            board.stop()

    again = desk.run("provision", "attic", "--board", where)
    assert "from its owner's number 3 on" in again.success
    assert not [path for path in folder.iterdir() if path.name.startswith("release")]


def fetch_and_go_back(desk: Desk, owner: Path, folder: Path) -> None:
    """Send a good release, then one whose start fails."""
    broker = config.load_deployment(desk.path).mqtt
    good = bundle.shrink_sources(bundle.pick_release_modules("thermal"))
    sent = releases.sign_release(owner, "seen", {**good, "edge/word.txt": b"new"}, 0)
    seen = releases.send_release(broker, sent, 180)
    assert seen.running == {"attic"}, (seen.refused, seen.coming)
    assert (folder / "release.a/edge/word.txt").read_bytes() == b"new"
    assert release_of(folder) == (1, 1, 0)

    spoilt = b"raise ImportError\n"
    sent = releases.sign_release(owner, "seen", {**good, "edge/board/start.py": spoilt}, 0)
    why = "it was tried here and went back by itself; sign a newer one"
    assert releases.send_release(broker, sent, 180).refused == {"attic": why}
    assert (folder / "release.b/edge/board/start.py").read_bytes() == spoilt
    assert release_of(folder) == (1, 1, 0)
    held = load_board(desk.path.parent / "attic.device.json", "seen", "attic")
    assert held is not None
    place = budget_place(folder, held)
    found = [unpack(place.read(i), held.identity.state_key) for i in range(3)]
    assert min(one.epoch for one in found) == 3, "each start of a device is a boot, whosever"


def release_of(folder: Path) -> tuple[int, int, int]:
    """Return slot, number and tries of what a board starts."""
    found = [release.unpack((folder / f"release.{i}").read_bytes()) for i in (0, 1)]
    newest = max((one for one in found if one is not None), key=lambda one: one.seq)
    return newest.slot, newest.number, newest.tries


def test_a_signed_release_is_carried_without_the_key(tmp_path: Path) -> None:
    """The owner signs where nobody else is; what goes to the broker holds nothing secret."""
    owner, who = tmp_path / "owner.json", identity("attic")
    told = releases.admit_board(owner, who, {})
    assert told["release"] == 0
    signed = releases.sign_release(owner, "seen", {"edge/a.py": b"x" * 3000}, 0)
    releases.save_release(tmp_path / "release.json", signed)
    text = (tmp_path / "release.json").read_text()

    assert releases.load_release(tmp_path / "release.json", "seen", ["attic"]) == signed
    assert str(told["update_key"]) not in text
    assert json.loads(owner.read_text())["root"] not in text
    assert owner.stat().st_mode & 0o77 == 0
    with pytest.raises(OperatorFault, match="release of site seen"):
        releases.load_release(tmp_path / "release.json", "lab", ["attic"])
    with pytest.raises(OperatorFault, match="stays with its owner"):
        releases.load_release(owner, "seen", ["attic"])
    with pytest.raises(OperatorFault, match="'attic' too, which is no device"):
        releases.load_release(tmp_path / "release.json", "seen", ["cellar"])


@pytest.mark.parametrize("place", ["blocks", "manifests"])
def test_a_release_that_was_damaged_on_its_way_is_not_sent(tmp_path: Path, place: str) -> None:
    """Devices would refuse it, and the broker would keep it in place of a good one."""
    owner, carried = tmp_path / "owner.json", tmp_path / "release.json"
    releases.admit_board(owner, identity("attic"), {})
    releases.save_release(
        carried, releases.sign_release(owner, "seen", {"edge/a.py": b"x" * 3000}, 0)
    )
    body = json.loads(carried.read_text())
    at = "attic" if place == "manifests" else 1
    first = body[place][at][0]
    body[place][at] = ("B" if first == "A" else "A") + body[place][at][1:]
    carried.write_text(json.dumps(body))
    with pytest.raises(OperatorFault, match="damaged"):
        releases.load_release(carried, "seen", ["attic"])


def test_a_release_goes_to_those_who_are_named(tmp_path: Path) -> None:
    """Whoever means one board does not reach them all."""
    owner = tmp_path / "owner.json"
    for name in ("attic", "cellar"):
        releases.admit_board(owner, identity(name), {})
    signed = releases.sign_release(owner, "seen", {"edge/a.py": b""}, 0)
    assert list(releases.select_devices(signed, ["cellar"]).manifests) == ["cellar"]
    assert releases.select_devices(signed, []) == signed
    with pytest.raises(OperatorFault, match="was not signed for celar"):
        releases.select_devices(signed, ["celar"])


def test_update_refuses_before_it_signs_or_sends(
    heatveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No option is ignored without a word, and no number is used up for a file nobody gets."""
    path, owner, out = tmp_path / "site.toml", tmp_path / "owner.json", tmp_path / "release.json"
    path.write_text(sites.small("seen", find_free_port()))
    releases.admit_board(owner, identity("node-1"), {})
    update = ("update", "--config", path)
    signing = ["--updates", owner, "--out", out]
    for more in (
        ["--send", out, "--out", out],
        ["--send", out, "--mpy"],
        [*signing, "--patience", 2400],
    ):
        refused = heatveil(*update, *more)
        assert "silently ignored" in refused.refusal
    for place in (tmp_path / "nowhere/release.json", owner):
        assert heatveil(*update, "--updates", owner, "--out", place).status == 1
    assert releases.load_owner_file(owner, "seen").newest == 0
    monkeypatch.setattr(releases, "Link", Wire)
    monkeypatch.setattr(Wire, "said", {})
    sent = heatveil(*update, "--updates", owner, "--patience", 0)
    assert "\nsending to node-1; waits for 0 s at most" in sent.out
    assert sent.out.index("sending") < sent.out.index("silent: node-1")
    signed = heatveil(*update, *signing)
    assert f"heatveil update --config {path} --send {out}" in signed.success


def test_a_broker_that_refuses_a_part_of_a_release_ends_it(
    need: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that has a part waits for the rest, and nobody would send it."""
    need("mosquitto")
    rules = tmp_path / "rules"
    rules.write_text("topic readwrite heatveil/1/seen/update/0\ntopic read heatveil/1/#\n")
    text = f"{embedded.CONFIGURATION}acl_file {rules}\nuser root\n"
    monkeypatch.setattr(embedded, "CONFIGURATION", text)
    signed = SignedRelease("seen", 1, [b"block", b"next"], {"attic": b"manifest"})
    with embedded.run_broker("mosquitto") as address:
        broker = Mqtt(host=address.host, port=address.port, insecure=True)
        with pytest.raises(LinkFault, match="took 1 of 2"):
            releases.send_release(broker, signed, 0)


def test_a_number_names_one_release_and_a_key_one_enrolment(tmp_path: Path) -> None:
    """A board that was given new keys believes nothing that was signed for its old ones."""
    owner = tmp_path / "owner.json"
    keys = [
        releases.admit_board(owner, identity(name), {})["update_key"]
        for name in ("attic", "cellar")
    ]
    keys.append(releases.admit_board(owner, identity("attic", 9), {})["update_key"])
    assert len(set(keys)) == 3
    numbers = [
        releases.sign_release(owner, "seen", {"edge/a.py": b""}, 0).number for _ in range(3)
    ]
    assert numbers == [1, 2, 3]
    assert releases.admit_board(owner, identity("late"), {})["release"] == 3
    with pytest.raises(OperatorFault, match="believes nobody's releases"):
        releases.sign_release(owner, "seen", {"edge/a.py": b""}, 0, ["atic"])
    assert releases.load_owner_file(owner, "seen").newest == 3


def test_an_old_copy_of_the_owner_s_file_goes_on_behind_what_a_board_had(tmp_path: Path) -> None:
    """Else a number would name two releases, and the board would take an old one again."""
    owner, who = tmp_path / "owner.json", identity("attic")
    told = releases.admit_board(owner, who, {})
    had = {**told, "release": 7}

    assert releases.admit_board(owner, who, had) == had
    assert releases.sign_release(owner, "seen", {"edge/a.py": b""}, 0).number == 8
    other = {"update_key": "ab" * 32, "release": 99}  # of another owner, whose numbers are others
    assert releases.admit_board(owner, who, other)["release"] == 8


def identity(name: str, seed: int = 1) -> Any:
    from edge.host import rootkeys

    return rootkeys.identity("seen", name, bytes([seed]) * 32, bytes(32), 0)


SIGNED = SignedRelease("lab", 5, [], {"node-1": b"", "node-2": b"signed"})


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"\xff", b"[" * 30_000, b'{"verb": "update"}', b'{"release": "x"}']
)
@pytest.mark.parametrize("leaf", ["ack", "meta"])
def test_what_is_no_answer_to_a_release_ends_nothing(payload: bytes, leaf: str) -> None:
    """Whoever has a device's password may say anything in its name, and nothing else."""
    seen, gone = ReleaseProgress(SIGNED), []
    link: Any = type("Wire", (), {"acknowledge": lambda self, message: gone.append(message)})()
    seen.take_message(link, Message(f"heatveil/1/lab/node-1/{leaf}", payload, (1, 1)))
    assert (len(gone), seen.running, seen.refused) == (1, set(), {})

    def say(name: str, leaf: str, **said: Any) -> None:
        body = json.dumps(said).encode()
        seen.take_message(link, Message(f"heatveil/1/lab/{name}/{leaf}", body, (1, 2)))

    say("node-1", "ack", verb="update", version=None, taken=False, why="anybody's junk")
    assert seen.refused == {}
    say("node-1", "ack", verb="update", version=5, taken=False, why="full\x1b[2J")
    assert seen.refused == {"node-1": "full [2J"}
    say("node-1", "ack", verb="update", version=4, taken=True, why="")
    assert seen.coming == set()
    say("node-1", "ack", verb="update", version=5, taken=True, why="")
    say("node-1", "meta", release=5, trial=True, update="")
    assert (seen.coming, seen.running, seen.refused) == ({"node-1"}, set(), {})
    say("node-1", "meta", release=5, trial=False, update="")
    say("node-9", "meta", release=5, trial=False, update="")
    assert seen.running == {"node-1"}
    say("node-2", "meta", release=4, trial=True, update="")
    say("node-2", "ack", verb="update", version=5, taken=False, why="release 4 is on trial")
    assert not seen.wait_for_all(0), "its trial ends, and then it looks again"
    say("node-2", "meta", release=4, trial=False, update="full\x1b[2J")
    assert seen.wait_for_all(0)
    assert seen.last_words == {"node-1": "", "node-2": "full [2J"}


class Wire:
    """A broker on which devices say one thing each, as soon as somebody listens."""

    said: ClassVar[dict[str, int]] = {}
    last: ClassVar[Any]

    def __init__(self, *_: Any, on_message: Any, **__: Any) -> None:
        self.sent_to: dict[str, bytes] = {}
        self._take = on_message
        Wire.last = self

    def wait_connected(self) -> "Wire":
        for name, number in self.said.items():
            body = json.dumps({"release": number, "trial": False}).encode()
            self._take(self, Message(f"heatveil/1/lab/{name}/meta", body, (1, 1)))
        return self

    def acknowledge(self, message: Message) -> None: ...

    def publish(self, topic: str, payload: bytes, retain: bool, on_sent: Any = None) -> None:
        assert retain
        self.sent_to[topic] = payload
        if on_sent is not None:
            on_sent()

    def wait_until_sent(self, _: float) -> bool:
        return True

    def close(self) -> None: ...


def test_a_number_that_a_device_is_beyond_is_told_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was signed from an old copy of the owner's file, and may be another release of it."""
    monkeypatch.setattr(releases, "Link", Wire)
    signed = SIGNED._replace(blocks=[b"one", b"two"])
    monkeypatch.setattr(Wire, "said", {"node-1": 6, "node-9": 7})
    with pytest.raises(OperatorFault, match="node-1 says that it runs release 6"):
        releases.send_release(Mqtt(), signed, 0)
    assert list(Wire.last.sent_to) == ["heatveil/1/lab/update/0", "heatveil/1/lab/update/1"]

    monkeypatch.setattr(Wire, "said", {"node-1": 5, "node-2": 4, "node-9": 7})
    assert releases.send_release(Mqtt(), signed, 0).running == {"node-1"}
    told = [topic for topic in Wire.last.sent_to if topic.endswith("cmd/update")]
    assert told == [f"heatveil/1/lab/node-{i}/cmd/update" for i in (1, 2)]
    assert Wire.last.sent_to[told[0]] == b"", "it runs there: nothing is left to be refused"


def test_what_a_board_was_told_of_releases_outlives_the_cable(desk: Desk) -> None:
    """Provisioned again without the owner's file it takes what is newer than all it had."""
    board = desk.board()
    folder = desk.path.parent / "board"
    key_id = bytes(4)
    assert on_board.read_update_settings(board, key_id) == {}
    body = {"key_id": key_id.hex(), "update_key": "ab" * 32, "release": 2}
    (folder / bundle.CONFIG).write_text(json.dumps(body))
    assert on_board.read_update_settings(board, key_id) == {"update_key": "ab" * 32, "release": 2}
    assert on_board.read_update_settings(board, b"1234") is None
    (folder / bundle.CONFIG).write_text("{")
    assert on_board.read_update_settings(board, key_id) is None
    (folder / bundle.CONFIG).write_text(json.dumps(body))
    (folder / "release.1").write_bytes(release.pack(release.NONE._replace(seq=1, newest=7)))
    (folder / "release.a/edge").mkdir(parents=True)
    (folder / "release.a/edge/a.py").write_text("")
    assert on_board.read_update_settings(board, key_id)["release"] == 7
    on_board.remove_releases(board)
    on_board.remove_releases(board)
    assert not list(folder.glob("release*"))


def test_a_board_that_runs_no_longer_than_a_command_is_given_no_owner(
    desk: Desk, tmp_path: Path
) -> None:
    """Else `update` would wait for it, and `doctor` say that it takes releases."""
    owner, words = tmp_path / "owner.json", ("--board", f"folder:{tmp_path / 'board'}")
    for command in (("provision", "attic", "--settings", desk.own), ("rotate", "node-1")):
        said = desk.run(*command, *words, "--updates", owner)
        assert "no release over the air would ever come to it" in said.refusal
    assert not owner.exists()


def test_a_board_that_takes_no_more_releases_says_so(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New keys end the update key; nobody may learn of it from a board that stays old."""
    monkeypatch.setattr(StandInBoard, "runs_on", True)
    words = ("--board", f"folder:{desk.path.parent / 'board'}")
    desk.board()
    owner = ("--updates", tmp_path / "owner.json")
    first = desk.run("provision", "attic", *words, "--settings", desk.own, *owner)
    assert first.status == 0, first.err
    ended = desk.run("rotate", "attic", "--keys", *words)
    assert "run this again with --updates FILE" in ended.success
    again = desk.run("provision", "attic", *words, *owner)
    assert "from its owner's number 1 on" in again.success
    assert "releases     newest 0, signed by its owner" in desk.run("doctor", *words).out

    typo = tmp_path / "other.json"
    changed = desk.run("provision", "attic", *words, "--updates", typo)
    assert f"made {typo}" in changed.out
    assert f"of {typo} from now on; releases of the owner before are refused" in changed.out


def test_a_board_without_heap_for_modules_on_its_flash_takes_no_releases(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its firmware they take half as much; the owner's file knows of no board that refused."""
    board = desk.board()
    assert desk.run("device", "add", "attic").status == 0
    found, calls = (
        modules.read_interpreter(board)._replace(frozen="0" * 64, heap=70 * 1024),
        list[Any](),
    )
    monkeypatch.setattr(modules, "read_interpreter", lambda board: found)
    kit = Kit(held(desk), settings.read_settings_file(desk.own), {}, owner=calls.append)
    with pytest.raises(OperatorFault, match="loaded from there"):
        provisioning.provision_board(board, kit, lambda _: None)

    assert calls == []
    modules.check_heap_for_releases(board, found._replace(heap=200 * 1024))


def test_flash_is_counted_as_littlefs_gives_it() -> None:
    """A file takes whole blocks and a folder two: what fits in bytes alone fills a flash up."""
    files = {f"edge/core/f{i}.py": b"x" for i in range(9)} | {"edge/a.py": b"x" * 4097}

    assert count_flash(files) == 4096 * (1 + 9 + 2) + 8192 * 3
