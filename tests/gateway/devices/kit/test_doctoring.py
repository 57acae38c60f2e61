"""`heatveil doctor` and `heatveil rotate`, on a real MicroPython."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from edge.core.budget import Budget, Limits, unpack
from gateway.cli.devices import change as devices
from gateway.cli.devices.doctor import _list_state_faults, report_board
from gateway.cli.devices.provision import BoardJob, renew_device
from gateway.devices import bundle
from gateway.devices.enrol import enrol
from gateway.devices.kit import boardfile, state
from gateway.faults import LinkFault
from tests.gateway.devices.kit.conftest import budget_place, held
from tests.waiting import eventually

NAME = "attic"
Made = tuple[str, str]


def folder(desk: Any) -> Path:
    return Path(desk.path.parent / "board")


def boot(desk) -> Budget:
    budget = Budget(budget_place(folder(desk), held(desk)), held(desk).identity.state_key)
    budget.boot()
    return budget


@pytest.mark.long
def test_a_board_that_is_well(desk, made) -> None:
    """It says what is left, spends no epoch, writes nothing, and tells no key."""
    boot(desk).charge(1000, 7)
    before = {file: file.read_bytes() for file in folder(desk).rglob("*") if file.is_file()}
    said = desk.run("doctor", *made)
    told = json.loads(desk.run("doctor", *made, "--json").out)

    assert said.status == 0, said.out
    assert "boot 1, round 7" in said.out
    lost = told["device"]["at_risk"]
    assert (f"ends this look, and costs up to {lost} answers" in said.out) == (lost > 0)
    assert (told["device"]["state"], told["device"]["ours"], told["faults"]) == ("ready", True, [])
    assert told["device"]["left"] == told["device"]["limits"]["budget"] - 8000
    assert told["selftest"]["digest"]
    assert before == {f: f.read_bytes() for f in folder(desk).rglob("*") if f.is_file()}
    who = held(desk).identity
    for key in (who.site_key, who.mac_key, who.config_key, who.state_key):
        assert key.hex() not in said.out + json.dumps(told)


@pytest.mark.long
def test_a_board_keeps_still_while_it_is_looked_at(desk, made) -> None:
    """Its watchdog would reset it in the middle, and each start costs; then it goes on."""
    seen = []
    board = desk.board()
    main = folder(desk) / "main.py"

    class Watched:
        where = board.where

        def run(self, code: str) -> str:
            found = board.run(code)
            seen.append((main.exists(), board.starts))
            return found

        def put(self, path: str, data: bytes) -> None:
            raise AssertionError("nothing is written")

        def restart(self) -> None:
            board.restart()

    assert main.exists()
    assert report_board(Watched(), None, False, False, lambda _: None)
    assert seen[0] == (True, 0)
    assert {there for there, _ in seen[1:-1]} == {False}
    assert {starts for _, starts in seen[2:]} == {1}
    assert (main.exists(), board.starts) == (True, 2)


@pytest.mark.parametrize(("window", "faults"), [(0, 1), (86_400, 0)])
def test_a_window_that_is_spent_is_no_fault(window: int, faults: int) -> None:
    """It comes back by itself; who is told that it is spent for life has the room pay twice."""
    limits = Limits(1, 8, 1, 4, 1000, 0)
    there = state.BoardState(
        "", *[""] * 6, True, "", "", 1, 1, 1000, 0, limits, 0, 0, 0, window=window
    )
    assert there.budget_state == "exhausted"
    assert len(_list_state_faults(there, None, None)) == faults


@pytest.mark.long
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ({bundle.SLOTS[0]: b"torn", bundle.SLOTS[1]: b""}, "fewer than two slots verify"),
        ({bundle.CONFIG: b"[]"}, "is no whole JSON object"),
        ({bundle.CONFIG: b"{"}, "has no driver"),
        ({"edge/core/budget.py": b"oops ("}, "not whole"),
        ({"edge/net/ticker.py": b"# older\n"}, "1 of its files"),
        ({"edge/core/noise.py": b"def dgauss(*_): return 0\n"}, "self-test|its noise|stopped"),
    ],
)
def test_what_is_wrong_is_said(desk, made, spoil: dict[str, bytes], says: str) -> None:
    """Each with what to do."""
    for path, data in spoil.items():
        (folder(desk) / path).write_bytes(data)
    said = desk.run("doctor", *made)
    assert said.status == 1
    assert any(word in said.out for word in says.split("|")), said.out


@pytest.mark.long
def test_a_lost_budget_is_healed_by_new_keys_alone(desk, made) -> None:
    """Whatever else is missing: provisioning would refuse it."""
    for path in bundle.SLOTS:
        (folder(desk) / path).write_bytes(b"")
    (folder(desk) / "main.py").unlink()
    said = desk.run("doctor", *made)
    assert f"heatveil rotate {NAME} --keys" in said.out
    assert "Finish it: heatveil rotate --keys" in said.out
    assert "heatveil provision" not in said.out


@pytest.mark.long
def test_keys_of_another_enrolment_are_noticed(desk, made) -> None:
    """A frame of it would be refused, and nobody would know why."""
    assert desk.run("device", "rotate", NAME, "--keys", "--new-budget").status == 0
    said = desk.run("doctor", *made)
    assert (said.status, "not those that the gateway has" in said.out) == (1, True)


@pytest.mark.long
def test_a_new_password_comes_to_the_board(desk, made) -> None:
    """The link changes; keys and budget stay."""
    boot(desk).charge(1000, 7)
    budget = [(folder(desk) / path).read_bytes() for path in bundle.SLOTS]
    old = json.loads((folder(desk) / bundle.CONFIG).read_text())
    said = desk.run("rotate", NAME, *made)
    new = json.loads((folder(desk) / bundle.CONFIG).read_text())

    assert said.status == 0, said.err
    assert new["link"]["password"] != old["link"]["password"]
    assert new["link"] == held(desk).link
    assert {**new, "link": 0, "crc": 0} == {**old, "link": 0, "crc": 0}
    assert [(folder(desk) / path).read_bytes() for path in bundle.SLOTS] == budget
    assert not desk.path.with_name(f"{NAME}.device.json").exists()


@pytest.mark.long
def test_new_keys_come_to_the_board(desk, made) -> None:
    """And a budget that begins again, under a chain that nobody had before."""
    boot(desk)
    old = held(desk).identity
    chain = unpack(budget_place(folder(desk), held(desk)).read(0), old.state_key).chain
    said = desk.run("rotate", NAME, *made, "--keys", "--new-budget")
    assert said.status == 0, said.err
    new = held(desk)
    seen = state.read_board_state(desk.board(), new.identity.mac_key)
    devices = enrol.load_devices(desk.path.with_name("devices.json"), "seen")

    assert (seen.ours, seen.epoch, seen.budget_state) == (True, 0, "ready")
    assert seen.key == devices.by_name[NAME].key_id.hex() != old.key_id.hex()
    record = unpack(budget_place(folder(desk), new).read(0), new.identity.state_key)
    assert record.chain != chain


@pytest.mark.long
def test_keys_of_a_board_that_broke_go_to_another_as_new_ones(desk) -> None:
    """It took them and died; what was begun for it is no more, and the next one is another."""
    assert desk.run("device", "add", NAME).status == 0
    boardfile.bind_to_chip(held(desk), b"broken".hex())
    first = held(desk).identity.key_id
    desk.board()
    where = ("--board", f"folder:{folder(desk)}", "--settings", desk.own)
    refused = desk.run("provision", NAME, *where)
    assert (refused.status, "same noise" in refused.err) == (1, True)

    said = desk.run("rotate", NAME, *where, "--keys")
    assert said.status == 0, said.err
    assert held(desk).given
    assert held(desk).identity.key_id != first


# A rotation that goes on where it was cut off does what it is asked now, or says why not.


READINGS = 3  # of the deployment


def budget(desk: Any) -> int:
    return int(held(desk).limits.budget)


def files(desk: Any) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}


@pytest.mark.long
def test_keys_that_wait_with_less_are_not_taken_for_a_new_budget(
    desk: Any, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a board goes silent early which somebody believes has all of it. Each step is said."""
    whole = budget(desk)
    paid = whole // READINGS
    monkeypatch.setattr(devices, "sum_spent_nano_rho", lambda *_: paid)
    assert desk.run("device", "rotate", NAME, "--keys").status == 0
    assert budget(desk) == whole - paid
    before = files(desk)

    refused = desk.run("rotate", NAME, *made, "--keys", "--new-budget")
    assert refused.status == 1
    for words in ("--new-budget was given", f"{paid} nano-rho", "Run this without --new-budget"):
        assert words in refused.err
    assert files(desk) == before

    assert desk.run("rotate", NAME, *made, "--keys").status == 0
    assert budget(desk) == whole - paid
    assert desk.run("rotate", NAME, *made, "--keys", "--new-budget").status == 0
    assert budget(desk) == whole


# A board that is looked at and not changed goes on with what it did, whatever came in between.

BEAT = b"import time\nwhile True:\n    open('/beat', 'w').close()\n    time.sleep_ms(20)\n"


@pytest.mark.long
@pytest.mark.parametrize("main", ["main.py", "main.off"])
@pytest.mark.parametrize("keys", [False, True])
def test_without_a_broker_a_rotation_leaves_the_board_at_its_work(
    desk: Any, made: Made, monkeypatch: pytest.MonkeyPatch, keys: bool, main: str
) -> None:
    """Nothing came of it, so the old password counts; a board at its prompt would be silent."""
    (folder(desk) / "main.py").unlink()
    (folder(desk) / main).write_bytes(BEAT)
    before = files(desk)
    monkeypatch.setattr(
        devices, "change_at_broker", Mock(side_effect=LinkFault("no MQTT broker at 127.0.0.1:1"))
    )
    board = desk.board(lives=True)
    try:
        with pytest.raises(LinkFault, match="no MQTT broker"):
            renew_device(BoardJob(desk.path, NAME, board, say=lambda _: None), keys, keys)

        assert (folder(desk) / "main.py").exists()
        assert board.starts == 1
        assert eventually((folder(desk) / "beat").exists)
    finally:
        board.stop()
    assert files(desk) == before
