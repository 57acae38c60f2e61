"""A slip of the hand costs nothing: board and settings are looked at before the enrolment."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from edge.board.binding import Bound
from edge.board.config import load
from edge.core.budget import COUNT
from edge.host import rootkeys
from edge.host.enrol import Ram
from edge.mechanisms import thermal_half
from gateway.cli.devices.provision import check_never_heard
from gateway.devices import bundle
from gateway.devices.enrol import enrol
from gateway.devices.kit import boardfile, needs, provisioning, settings, siting
from gateway.devices.kit.boardfile import BoardFile
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal.deployment import plan_first_round
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service.intake.outcomes import HeardMessage
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.store.store import Store
from tests.gateway.devices.kit.test_tells import park as park

BOARD = "attic"


def kept(desk: Any) -> dict[str, bytes]:
    """Return what an enrolment or new keys would change."""
    folder = desk.path.parent
    return {file.name: file.read_bytes() for file in folder.glob("*.json*")}


@pytest.mark.parametrize(
    ("driver", "more", "says"),
    [
        ('name = "sht4x"', (), "adc_step"),
        ('name = "tmp177"', (), "tmp117"),
        ('name = "tmp117"', ("--sensors", 2), "reads 1 sensors, but attic has 2"),
        ('name = "ds18b20"\npin = 4\nroms = ["28ff641e8216041c"]', ("--sensors", 2), "reads 1"),
        ('name = "ds18b20"\npin = 4\nempty = "warm"', (), "empty"),
        pytest.param('name = "ds18b20"\ntick_ms = 1900', (), "out: it is then 2000", id="tick"),
    ],
)
def test_what_the_settings_say_is_held_against_the_deployment_first(
    desk: Any, driver: str, more: tuple[Any, ...], says: str
) -> None:
    """A device that would refuse every round, or whose readings have no place, is none of ours."""
    assert desk.run("device", "remove", "node-4").status == 0
    name, _, tick = driver.partition("\ntick_ms")
    desk.own.write_text(f"{tick and 'tick_ms' + tick}\n[driver]\n{name}\n")
    before = kept(desk)
    where = ("--board", f"folder:{desk.path.parent / 'bare'}", "--settings", desk.own)
    said = desk.run("provision", BOARD, *where, *more)
    assert said.status == 1
    assert says in " ".join(said.err.split())
    assert kept(desk) == before


@pytest.mark.long
def test_old_keys_are_worth_something_until_the_new_ones_can_be_brought(
    desk: Any, made: tuple[str, str]
) -> None:
    """Another's board, or settings that it would refuse: they stay, and what to do is said."""
    before = kept(desk)
    other = desk.run("rotate", "node-3", *made, "--keys")
    assert (other.status, "Plug in its own board" in other.err) == (1, True)
    assert "--replace" not in other.err

    desk.own.write_text('[driver]\nname = "sht4x"\n')
    wrong = desk.run("rotate", BOARD, *made, "--keys", "--settings", desk.own)
    assert (wrong.status, "adc_step" in wrong.err) == (1, True)
    nobody = desk.run("rotate", "attik", *made, "--keys")
    assert (nobody.status, "no device attik is enrolled" in nobody.err) == (1, True)
    assert kept(desk) == before


# What a board is told of an array: whether it may draw from tables, and how long its tick is.

OWN: dict[str, Any] = {"driver": {"name": "yours"}}


def enrolled(folder: Path, asks: bool, planned: str = "") -> tuple[Deployment, Any, BoardFile]:
    """Return a deployment, the Round that it asks first, and the file of an array of it."""
    path = folder / "gateway.toml"
    text = config.make_sample().replace("ca_file", "# ca_file").replace("# insecure", "insecure")
    text = text.replace('adc_step = "1/128"', planned)
    path.write_text(text.replace("# sampler", "sampler") if asks else text)
    deployment = config.load_deployment(path)
    query = config.make_query(deployment)
    none = enrol.Devices(deployment.site.name, bytes(range(32)), {})
    made = enrol.enrol_device(none, "wall", 0, keyholder=False, sensors=16)
    link = enrol.make_link_settings(deployment.mqtt, "wall", made.password, "wall-x")
    limits, more = make_first_limits(query, 0.0), siting.derive_settings(deployment)
    who, chain = made.secret.identity, rootkeys.first_chain(made.root)
    enrol.save_board_file(folder / "wall.device.json", who, chain, limits, link, more)
    held = boardfile.load_board_file(folder / "wall.device.json", deployment.site.name, "wall")
    assert held is not None
    return deployment, plan_first_round(query), held


def test_a_level_follows_by_what_its_enrolment_was_priced_for(tmp_path: Path) -> None:
    """The limits of its key hold that noise; what the deployment says later changes neither."""
    following = 'background = "following"\nslew = "1/64"'
    deployment, asked, held = enrolled(tmp_path, False, following)
    _, recorded, other = enrolled(tmp_path, False)

    path, told = tmp_path / "heatveil.json", []
    for one in (held, other):
        path.write_bytes(settings.make_board_config(one, OWN))
        told.append(load(str(path)).following)
    assert told == [[1, 64, deployment.privacy.readings], None]
    assert thermal_half.objection(asked, held.identity, held.limits, 0) == ""
    assert "less noise" in thermal_half.objection(recorded, held.identity, held.limits, 0)


@pytest.mark.parametrize("plane", [None, [1, 2, 3, 4, 5, 6, 7, 8]])
def test_a_new_link_leaves_the_rest_of_a_board_s_file(
    tmp_path: Path, plane: list[int] | None
) -> None:
    """Its level and its tables are what its limits are made for."""
    following = 'background = "following"\nslew = "1/64"'
    deployment, _, held = enrolled(tmp_path, True, following)
    boardfile.replace_link_or_plane(held, {"host": "elsewhere"}, plane)
    again = boardfile.load_board_file(held.path, deployment.site.name, "wall")

    asked = {**held.more, "plane": plane} if plane else held.more
    assert held.more.keys() == {"tables", "following"}
    assert again == held._replace(link={"host": "elsewhere"}, more=asked)


def test_a_copy_of_its_file_makes_no_second_device(tmp_path: Path) -> None:
    """Wherever the copy lies, and though it says that nobody took it; its own board goes on."""
    deployment, _, held = enrolled(tmp_path, False)
    marks, copy = deployment.site.devices, tmp_path / "elsewhere" / held.path.name
    copy.parent.mkdir()
    shutil.copy(held.path, copy)
    copied = boardfile.load_board_file(copy, deployment.site.name, "wall")
    assert copied is not None
    boardfile.bind_to_chip(held, "aa", marks)

    with pytest.raises(OperatorFault, match=r"are on board aa.*rotate"):
        boardfile.bind_to_chip(copied, "bb", marks)
    with pytest.raises(OperatorFault, match="are on board aa"):
        boardfile.bind_to_chip(copied._replace(chip="bb"), "bb", marks)  # bound elsewhere
    assert boardfile.bind_to_chip(copied, "aa", marks).chip == "aa"
    new = copied._replace(identity=copied.identity._replace(key_id=b"new!"))
    assert boardfile.bind_to_chip(new, "bb", marks).chip == "bb"
    with pytest.raises(OperatorFault, match="are on board aa"):  # new keys forget no old ones
        boardfile.bind_to_chip(copied, "bb", marks)


def test_slots_are_bound_as_they_are_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the board has started once, a copy of its flash opens on no other."""
    _, _, fresh = enrolled(tmp_path, False)
    held, given = fresh._replace(chip="aa"), Ram()

    def copy_files(_: Any, files: dict[str, bytes]) -> None:
        for i, path in enumerate(bundle.SLOTS):
            given.write(i, files[path])

    monkeypatch.setattr(provisioning, "list_files", lambda *_: [])
    monkeypatch.setattr(provisioning, "remove_files", lambda *_: None)
    monkeypatch.setattr(provisioning, "copy_files", copy_files)
    board: Any = None
    provisioning._ensure_budget_slots(board, held, lambda _: None)

    for chip, own in ((b"\xaa", True), (b"\xbb", False)):
        place = Bound(given, held.identity.state_key, chip)
        assert place.is_copied() is not own
        assert (tuple(place.read(i) for i in range(COUNT)) == held.make_first_slots()) is own


def test_a_file_whose_keys_were_heard_is_a_copy(tmp_path: Path) -> None:
    """Brought to a Raspberry Pi it leaves no mark here, but its frames do; no board is touched."""
    deployment, _, held = enrolled(tmp_path, False)
    check_never_heard(deployment, held)
    store = Store.open_for(deployment)
    store.keep_batch(
        [], more=[HeardMessage("wall", 1, 1, b"none", b"frame", held.identity.key_id)]
    )
    store.close()

    with pytest.raises(OperatorFault, match="an old copy"):
        check_never_heard(deployment, held)
    check_never_heard(deployment, held._replace(chip="aa"))


def test_a_tick_that_is_shorter_than_an_answer_is_refused(tmp_path: Path) -> None:
    """One of an older config becomes longer; what somebody writes now is told to be wrong."""
    held, path = enrolled(tmp_path, False)[2], tmp_path / "heatveil.json"
    path.write_bytes(settings.make_board_config(held, OWN | {"tick_ms": 100}))
    needed = load(str(path)).tick_ms
    settings.check_tick(held, OWN | {"tick_ms": needed})

    assert needed > 215  # what an emulated RP2040 takes for less
    with pytest.raises(
        OperatorFault, match=f"settings is {needed - 1}, but .*it is then {needed}"
    ):
        settings.check_tick(held, OWN | {"tick_ms": needed - 1})


def test_a_tick_beyond_the_longest_is_refused_for_what_makes_it_so_long(tmp_path: Path) -> None:
    """Nobody looks for a secure sum where a sensor is slow, or where they wrote the tick."""
    held, slow = enrolled(tmp_path, False)[2], needs.BoardTimes(40_000, 1)

    with pytest.raises(OperatorFault, match="may take 4. s, to read its sensor.*a faster sensor"):
        settings.choose_board_tick_ms(held, OWN, slow)
    with pytest.raises(OperatorFault, match="settings is 60001, but a tick is 60 s at most"):
        settings.choose_board_tick_ms(held, OWN | {"tick_ms": 60_001})
    assert settings.choose_board_tick_ms(held, OWN | {"tick_ms": 60_000}) == 60_000


def test_a_converter_behind_the_one_that_is_seen_is_planned_for_too(tmp_path: Path) -> None:
    """A board's driver says both; noise for the finer one alone would hide a part of a move."""
    (own := tmp_path / "mine.py").write_text("step, behind = (1, 100), (1, 5)\n")
    words = {"driver": {"name": "yours", "file": str(own)}}
    step, behind = (provisioning.find_converter_step(words, word) for word in ("step", "behind"))
    fine, both = 'adc_step = "1/100"', 'adc_step = "1/100"\nadc_behind = "1/5"'
    others = (fine, both.replace("1/5", "1/6"), both.replace("1/5", "1/4"), 'adc_step = "21/100"')
    for planned in others:
        with pytest.raises(OperatorFault, match='adc_step = "1/100" and adc_behind = "1/5"'):
            provisioning.check_would_answer(*enrolled(tmp_path, False, planned), step, behind)

    deployment, asked, held = enrolled(tmp_path, False, both)
    assert siting.derive_steps(deployment, held.limits.exponent) == ((1, 100), (1, 5))
    provisioning.check_would_answer(deployment, asked, held, step, behind)
    with pytest.raises(OperatorFault, match="Write step = NUM, DEN"):
        provisioning.check_would_answer(deployment, asked, held, None, behind)


@pytest.mark.parametrize(
    "planned", ['adc_step = "1/100"\nadc_behind = "1/250"', 'adc_step = "1/50"']
)
def test_a_step_that_divides_grains_and_not_the_planned_step_is_refused(
    tmp_path: Path, planned: str
) -> None:
    """Such a device would answer, and show more of a move than its noise is made for."""
    with pytest.raises(OperatorFault, match='Write adc_step = "1/128" under'):
        provisioning.check_would_answer(*enrolled(tmp_path, False, planned), (1, 128))
