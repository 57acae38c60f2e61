"""The file that a device is told everything in: what is right is read, all else is named.

Every fault must say where, and never show what stands there: the file holds keys.
"""

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from edge.board.config import Config, load, pack
from edge.core.keys import Identity

RIGHT: dict[str, Any] = {
    "site": "lab",
    "name": "attic-3",
    "sensor": 3,
    "sensors": 1,
    "mode": "sealed",
    "site_key": "5e" * 32,
    "mac_key": "a1" * 32,
    "config_key": "c0" * 32,
    "state_key": "57" * 32,
    "key_id": "1d" * 4,
    "link": {
        "host": "broker.example",
        "port": 8883,
        "tls": True,
        "client_id": "attic-3-7ab2",
        "username": "attic-3",
        "password": "hunter2",
        "ca": "-----BEGIN CERTIFICATE-----",
    },
    "wifi": {"ssid": "ours", "password": "hunter3"},
    "driver": {"name": "tmp117", "sda": 4, "scl": 5, "empty": 2700},
}
NOTHING = object()


def written(folder: Path, *changes: tuple[str, Any]) -> str:
    """Return the path of a right file with these changes: `link.port` names a word of a table."""
    body = copy.deepcopy(RIGHT)
    for where, what in changes:
        *tables, word = where.split(".")
        table = body
        for name in tables:
            table = table[name]
        if what is NOTHING:
            del table[word]
        else:
            table[word] = what
    (folder / "heatveil.json").write_text(json.dumps(body))
    return str(folder / "heatveil.json")


def test_a_right_file_is_read_whole(tmp_path: Path) -> None:
    """What is not said has its usual value, and keys are bytes."""
    found = load(written(tmp_path))

    keys = (b"\x5e" * 32, b"\xa1" * 32, b"\xc0" * 32, b"\x57" * 32, b"\x1d" * 4)
    assert isinstance(found, Config)
    assert found.identity == Identity("lab", "attic-3", 3, 1, "sealed", *keys)
    assert found.link["port"] == 8883
    assert found.wifi == {"ssid": "ours", "password": "hunter3", "country": None}
    assert (found.driver["name"], found.driver["empty"]) == ("tmp117", 2700)
    assert (found.tick_ms, found.wake_s, found.led) == (5000, 0, None)


def test_the_file_that_a_host_writes_is_read(tmp_path: Path) -> None:
    """Its CRC is a word of it, so that whatever else reads JSON can read it too."""
    path = tmp_path / "heatveil.json"
    path.write_bytes(pack(RIGHT))

    assert json.loads(path.read_bytes()).keys() - RIGHT.keys() == {"crc"}
    assert load(str(path)) == load(written(tmp_path))


def test_two_halves_of_two_files_are_told_apart(tmp_path: Path) -> None:
    """FAT writes sector by sector: the start of the new file before the end of the old one.

    Both halves are JSON, and together they are a device that nobody enrolled.
    """
    old, new = pack(RIGHT), pack(RIGHT | {"mac_key": "a2" * 32, "state_key": "58" * 32})
    assert len(old) == len(new)
    path, read = tmp_path / "heatveil.json", set()
    for at in range(len(old) + 1):
        path.write_bytes(new[:at] + old[at:])
        with suppress(ValueError):
            found = load(str(path)).identity
            read.add((found.mac_key[0], found.state_key[0]))

    assert read == {(0xA1, 0x57), (0xA2, 0x58)}
    bare = json.dumps(RIGHT), json.dumps(RIGHT | {"mac_key": "a2" * 32, "state_key": "58" * 32})
    at = bare[0].index("state_key") - 5
    path.write_text(bare[1][:at] + bare[0][at:])
    mixed = load(str(path)).identity  # as it was without the CRC
    assert (mixed.mac_key[0], mixed.state_key[0]) == (0xA2, 0x57)


def test_a_file_that_somebody_changed_is_whole_and_not_right(tmp_path: Path) -> None:
    """One letter by an editor: it is JSON still, and nobody knows what else was touched."""
    path = tmp_path / "heatveil.json"
    path.write_bytes(pack(RIGHT).replace(b"tmp117", b"tmp118"))
    with pytest.raises(ValueError, match="has a checksum that is wrong"):
        load(str(path))


def test_a_cable_and_no_tls_are_possible(tmp_path: Path) -> None:
    """A Raspberry Pi on a network of its own has neither."""
    path = written(tmp_path, ("wifi", NOTHING), ("link.ca", NOTHING), ("link.tls", False))

    assert load(path).wifi is None


@pytest.mark.parametrize(
    ("where", "what", "said"),
    [
        ("root", "00" * 32, "root key"),
        ("chain", "00" * 32, "chain key"),
        ("site", NOTHING, "site"),
        ("sensor", "3", "sensor"),
        ("sensor", True, "sensor"),
        ("sensor", -1, "sensor"),
        ("sensors", 0, "sensors"),
        ("sensors", 1025, "sensors"),
        ("mode", "open", "mode"),
        ("mac_key", "a1" * 31, "mac_key"),
        ("mac_key", "zz" * 32, "mac_key"),
        ("key_id", "", "key_id"),
        ("link", NOTHING, "link"),
        ("link.port", 70000, "port"),
        ("link.port", "8883", "link.port"),
        ("link.tls", "true", "link.tls"),
        ("link.tls", False, "tls"),
        ("link.ca", NOTHING, "ca"),
        ("link.insecure", True, r"a word too many, link\.insecure;"),
        ("wifi.ssid", NOTHING, "wifi.ssid"),
        ("wifi.pasword", "x", r"a word too many, wifi\.pasword;"),
        ("driver.name", NOTHING, "driver.name"),
        ("driver.adress", 72, r"a word too many, driver\.adress;"),
        ("driver.empty", 20.5, "driver.empty"),
        ("driver.recorded_s", 0, "recorded_s"),
        ("driver.recorded_s", 1795500000000, "recorded_s"),
        ("driver", {"name": "tmp117", "recorded_s": 1795500000}, "recorded_s without empty"),
        ("tick_ms", 0, "tick_ms"),
        ("wake_s", -5, "wake_s"),
        ("debug", True, "a word too many, debug;"),
    ],
)
def test_a_wrong_word_is_named_and_not_shown(
    tmp_path: Path, where: str, what: object, said: str
) -> None:
    """Somebody who mistyped must find the word; who reads the console must find no secret."""
    with pytest.raises(ValueError, match=said) as caught:
        load(written(tmp_path, (where, what)))

    shown = str(caught.value)
    assert "heatveil provision" in shown
    assert not any(secret in shown for secret in ("hunter2", "hunter3", "a1a1", "5e5e", "c0c0"))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"site": "lab', "x" * 20000, "\x00" * 512])
def test_a_file_that_was_cut_off_is_told_apart(tmp_path: Path, text: str) -> None:
    """A flash that lost its power leaves halves and zeros."""
    (tmp_path / "c.json").write_text(text)

    with pytest.raises(ValueError, match="c.json (is|holds)"):
        load(str(tmp_path / "c.json"))
    with pytest.raises(ValueError, match="is not there"):
        load(str(tmp_path / "absent.json"))


SCRIPT = """
from edge.board.config import check
import json
print(sorted(check(json.loads({text!r})).link.items())[2:4])
body = json.loads({text!r})
body["link"]["tls"] = 1
try:
    check(body)
except ValueError as why:
    print(str(why)[:50])
"""


def test_every_interpreter_reads_it_alike(interpreter) -> None:
    """Strictness must not hang on CPython's json."""
    assert interpreter.run(SCRIPT.format(text=json.dumps(RIGHT))) == (
        "[('host', 'broker.example'), ('password', 'hunter2')]\n"
        "/heatveil.json has no link.tls, or not as it must \n"
    )
