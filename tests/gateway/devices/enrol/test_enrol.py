"""Who is enrolled, with which keys; and beside whom in a secure sum."""

import json
import os
import random
import stat
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.budget import Limits
from edge.core.entropy import Tape
from edge.core.records import Grid
from edge.host import rootkeys
from gateway.devices.enrol import enrol
from gateway.devices.enrol.roster import (
    bound_second_eigenvalue,
    compute_second_eigenvalue,
    draw_neighbours,
    draw_rosters,
    find_degree,
)
from gateway.faults import OperatorFault
from gateway.service.rounds import Place
from gateway.settings.deployment import Mqtt
from recovery.noise.sums import shard_of
from recovery.quadtree.query import Query
from tests.sums import drawn

# Keys: the parts fit, and no file gives away what it must not.

Save = Callable[[enrol.Enrolment, Path], None]

# The three files of an enrolment: the gateway's, the devices', and the owner's.
SAVES: dict[str, Save] = {
    "mac keys": lambda made, path: enrol.save_devices(
        enrol.derive_gateway_half(made.secrets), path
    ),
    "device keys": lambda made, path: enrol.save_secrets(made.secrets, path),
    "owner's keys": enrol.save_roots,
}


def test_the_gateways_half_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Every key and place, or a device would be refused after a restart."""
    devices = enrol.derive_gateway_half(enrol.enrol_fleet("lab", 12).secrets)
    enrol.save_devices(devices, tmp_path / "devices.json")

    assert enrol.load_devices(tmp_path / "devices.json", "lab") == devices
    assert devices.by_name["node-07"].place == Place(7, 1)


@pytest.mark.parametrize("keyholder", [False, True])
def test_the_devices_half_comes_back_as_it_was_written(tmp_path: Path, keyholder: bool) -> None:
    """With another key a device could not even read its own budget."""
    secrets = enrol.enrol_fleet("lab", 12, keyholder=keyholder).secrets
    enrol.save_secrets(secrets, tmp_path / "secrets.json")

    assert enrol.load_secrets(tmp_path / "secrets.json", "lab") == secrets


def test_each_part_holds_what_its_owner_needs_and_no_more(tmp_path: Path) -> None:
    """Whoever has a root can take the noise off; who has a state key can forge a budget."""
    made = enrol.enrol_fleet("lab", 3, keyholder=True)
    root = made.roots["node-1"]
    hidden = {
        "root": root,
        "chain": rootkeys.first_chain(root),
        "state": rootkeys.state_key(root),
        "link": rootkeys.link_key(root),
        "config": rootkeys.config_key(root),
        "mac": rootkeys.mac_key(root),
    }
    found = {}
    for holds, save in SAVES.items():
        save(made, tmp_path / "keys.json")
        text = (tmp_path / "keys.json").read_text()
        found[holds] = {name for name, key in hidden.items() if key.hex() in text}

    assert found == {
        "mac keys": {"mac", "config"},
        "device keys": {"mac", "config", "state", "link"},
        "owner's keys": {"root"},
    }


def test_every_key_is_another() -> None:
    """One key for two devices would be one noise for two readings."""
    made = enrol.enrol_fleet("lab", 100)
    several = [key for who, link in made.secrets.devices for key in (link, *who[6:9])]

    assert len({*made.roots.values(), made.secrets.site_key}) == 101
    assert len(set(several)) == 400


@pytest.mark.parametrize("holds", SAVES)
def test_key_files_are_for_their_owner_alone(tmp_path: Path, holds: str) -> None:
    """Also when the file was there before, open to all."""
    path = tmp_path / "keys.json"
    path.write_text("{}")
    path.chmod(0o644)
    SAVES[holds](enrol.enrol_fleet("lab", 1), path)

    assert json.loads(path.read_text())["holds"] == holds
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_other_keys_is_not_taken(tmp_path: Path) -> None:
    """A path mixed up must not bring device keys into the gateway, nor another site's keys."""
    path = tmp_path / "fleet.json"
    enrol.save_secrets(enrol.enrol_fleet("lab", 1).secrets, path)
    with pytest.raises(OperatorFault, match="holds the device keys of site lab, but the mac keys"):
        enrol.load_devices(path, "lab")
    with pytest.raises(OperatorFault, match="of site attic must be in it"):
        enrol.load_secrets(path, "attic")


@pytest.mark.parametrize("name", ["round", "sum", "+", "../a", "a/data"])
@pytest.mark.parametrize("load", [enrol.load_devices, enrol.load_secrets])
def test_no_device_is_named_like_a_topic_of_the_gateways(
    tmp_path: Path, load: Callable[[Path, str], Any], name: str
) -> None:
    """A file may be written by hand: such a device could ask in the gateway's place."""
    path = tmp_path / "fleet.json"
    holds = "mac keys" if load is enrol.load_devices else "device keys"
    SAVES[holds](enrol.enrol_fleet("lab", 1), path)
    assert load(path, "lab")
    path.write_text(path.read_text().replace('"node-0"', f'"{name}"'))
    with pytest.raises(OperatorFault, match="can be no device's name"):
        load(path, "lab")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"holds": "device keys", "site": "lab", "format": 2, "devices": 3}',
        '{"holds": "device keys", "site": "lab", "format": 2, "devices": [{"name": "a"}]}',
        "SPOILT mac_key ff",
        "SPOILT mode open",
        "SPOILT name ../a",
    ],
)
def test_a_file_that_is_no_key_file_is_the_operators_fault(tmp_path: Path, content: str) -> None:
    """And it is left as it is: it may be all that somebody has."""
    path = tmp_path / "fleet.json"
    if content.startswith("SPOILT"):
        enrol.save_secrets(enrol.enrol_fleet("lab", 1).secrets, path)
        body: dict[str, Any] = json.loads(path.read_text())
        _, name, value = content.split()
        body["devices"][0][name] = value
        content = json.dumps(body)
    path.write_text(content)
    with pytest.raises(OperatorFault, match=r"fleet\.json cannot be read"):
        enrol.load_secrets(path, "lab")
    with pytest.raises(OperatorFault, match=r"nowhere\.json cannot be read"):
        enrol.load_secrets(tmp_path / "nowhere.json", "lab")

    assert path.read_text() == content


@pytest.mark.parametrize(
    ("works", "words", "holds"),
    [
        (0, "is unchanged", "old"),  # flushes that succeed: none, then that of the file
        (1, "may bring back the old one", "owner's keys"),
    ],
)
def test_keys_that_cannot_be_written_are_the_operators_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: int, words: str, holds: str
) -> None:
    """And nothing of them is left about; what there is now is said as it is."""
    path = tmp_path / "keyholder.json"
    path.write_text("old")
    flushes = iter(range(works))

    def flush(_: int) -> None:
        if next(flushes, None) is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(OperatorFault, match=rf"No space left on device.*{words}"):
        enrol.save_roots(enrol.enrol_fleet("lab", 1), path)

    assert holds in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_devices_outside_the_room_or_on_one_sensor_are_refused() -> None:
    """Their readings would stand in the wrong place, or two in one."""
    devices = enrol.derive_gateway_half(enrol.enrol_fleet("lab", 3).secrets)
    double = {**devices.by_name, "spy": devices.by_name["node-1"]._replace(name="spy")}
    enrol.check_fleet(devices, 3, keyholder=False)
    with pytest.raises(OperatorFault, match="node-2 is enrolled for sensor 2, not 0 to 1"):
        enrol.check_fleet(devices, 2, keyholder=False)
    with pytest.raises(OperatorFault, match="spy is enrolled for sensor 1, which node-1 reads"):
        enrol.check_fleet(devices._replace(by_name=double), 3, keyholder=False)


def test_a_fleet_that_would_refuse_every_round_is_refused_first() -> None:
    """The rounds would be paid for, and nobody would answer them."""
    devices = enrol.derive_gateway_half(enrol.enrol_fleet("lab", 2, keyholder=True).secrets)
    enrol.check_fleet(devices, 2, keyholder=True)
    with pytest.raises(OperatorFault, match="device node-0 is not enrolled as sealed"):
        enrol.check_fleet(devices, 2, keyholder=False)
    with pytest.raises(OperatorFault, match="no device is enrolled as sealed"):
        enrol.check_fleet(devices._replace(by_name={}), 2, keyholder=False)


LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


@pytest.fixture
def devices() -> enrol.Devices:
    """Return a fleet of four."""
    return enrol.derive_gateway_half(
        enrol.enrol_fleet("lab", 4, fresh=random.Random(7).randbytes).secrets
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "+",
        "#",
        "$SYS",
        "a b",
        ".hidden",
        "-x",
        "a..b",
        "é",
        "x" * 64,
        "a\n",
        "map",
        "gateway",
        "ha",
    ],
)
def test_a_name_that_would_reach_further_than_its_own_topics_is_none(
    devices: enrol.Devices, name: str
) -> None:
    """In a topic, in an access list and on a disk; plain ones are, which is the control."""
    with pytest.raises(OperatorFault, match="cannot be a device's name"):
        enrol.check_name_is_free(name, devices, "hub")
    for good in ("attic-3", "A.b_c", "7", "x" * 63):
        enrol.check_name_is_free(good, devices, "hub")


def test_a_boards_file_holds_what_it_needs_and_no_root(
    devices: enrol.Devices, tmp_path: Path
) -> None:
    """For its owner alone whatever the umask; from the root the noise of every boot follows."""
    made = enrol.enrol_device(devices, "attic", 0, keyholder=True)
    link = enrol.make_link_settings(Mqtt(insecure=True), "attic", made.password, "session")
    path, old = tmp_path / "attic.device.json", os.umask(0)
    try:
        enrol.save_board_file(
            path, made.secret.identity, rootkeys.first_chain(made.root), LIMITS, link
        )
    finally:
        os.umask(old)
    text = path.read_text()
    row: dict[str, Any] = json.loads(text)["devices"][0]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made.root.hex() not in text
    assert row["chain"] == rootkeys.first_chain(made.root).hex()
    assert row["link"]["client_id"] == "session"
    assert row["link"]["password"] == made.secret.link_key.hex()
    assert enrol.read_key_id(path, "lab") == made.secret.identity.key_id
    assert enrol.read_key_id(path, "hall") is None
    assert enrol.read_key_id(tmp_path / "none", "lab") is None


# A file of keys survives a power cut at every moment: whole as it was, or whole as it will be.


def test_a_key_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced first and flushed later, a power cut between leaves an empty file and no keys."""
    path, diary = tmp_path / "secrets.json", list[str]()
    flush, replace = os.fsync, Path.replace

    def flushed(handle: int) -> None:
        found = os.fstat(handle)
        diary.append("folder" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes")
        flush(handle)

    def replaced(beside: Path, place: Path) -> Path:
        diary.append(f"replaced by {beside.stat().st_size} bytes")
        return replace(beside, place)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", replaced)
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, path)
    size = path.stat().st_size

    assert size > 1000
    assert diary == [f"{size} bytes", f"replaced by {size} bytes", "folder"]


# Who is beside whom in a secure sum, and how many that takes.

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    ("n", "missing", "expected"),
    [
        (16, 0, (15, 15, 15)),
        (64, 30, (63, 44, 39)),
        (256, 10, (40, 22, 206)),
        (1000, 0, (26, 26, 900)),
        (1000, 10, (52, 28, 800)),
        (1000, 30, (100, 38, 600)),
        (10000, 20, (88, 39, 7000)),
    ],
)
def test_degrees_are_those_of_an_independent_calculation(
    n: int, missing: int, expected: tuple[int, int, int]
) -> None:
    """Made with the prototype, for a tenth that collude: degree, shares and divisor."""
    found = find_degree(n, TENTH, Fraction(missing, 100))

    assert (found.k, found.t, found.divisor) == expected
    assert found.threshold == n - n * missing // 100


def test_what_a_query_plans_is_what_every_roster_holds_to() -> None:
    """A Round of another threshold, or of a larger divisor, is refused by a shard's devices."""
    asked = Query(Grid((8, 8), 0), (1, 1), "zero-out", dropout=(1, 7), colluders=(1, 9), shard=30)
    for users in range(31, 80):
        made = shard_of(replace(asked, users=users))
        sizes = {users // made.shards, -(-users // made.shards)}
        held = [find_degree(size, Fraction(1, 9), Fraction(1, 7)) for size in sizes]

        assert made.threshold == min(one.threshold for one in held)
        assert made.divisor <= min(one.divisor for one in held)
        assert 7 * made.threshold >= 6 * min(sizes)


def test_what_cannot_be_kept_is_not_promised() -> None:
    """Too few stay."""
    with pytest.raises(ValueError, match="no secure sum"):
        find_degree(20, Fraction(1, 2), Fraction(1, 2))


def test_a_graph_is_regular_of_pairs_and_in_one_piece() -> None:
    """Each device has its k neighbours, which have it; and it is another one each time."""
    near = draw_neighbours(80, 20, Tape(b"one"))
    matrix = np.zeros((80, 80))
    for i, some in enumerate(near):
        matrix[i, list(some)] = 1
    values = np.sort(np.abs(np.linalg.eigvalsh(matrix)))

    assert all(len(set(some) - {i}) == 20 for i, some in enumerate(near))
    assert (matrix == matrix.T).all()
    assert values[-1] == pytest.approx(20)
    assert compute_second_eigenvalue([set(some) for some in near]) == pytest.approx(values[-2])
    assert values[-2] <= bound_second_eigenvalue(80, 20)
    assert near != draw_neighbours(80, 20, Tape(b"other"))


def test_no_device_is_in_two_shards_under_two_names() -> None:
    """It would be seen twice for one price."""
    roots = {"a": bytes(32), "b": bytes(32), "c": bytes([1]) * 32}
    with pytest.raises(ValueError, match="3 names have 2 keys"):
        draw_rosters("lab", roots, 1, 1, 16, Tape(b"twice"))


def test_shards_have_no_device_in_common() -> None:
    """Or one device's numbers would be in two sums, for the price of one."""
    shards = [one.shard for one in drawn(20, 10, 3)]
    names = [name for shard in shards for name in shard.members]

    assert sorted(names) == sorted(set(names))
    assert len(names) == 20
    assert {len(shard.members) for shard in shards} == {6, 7}
    assert len({shard.digest for shard in shards}) == 3
