"""The two files of a broker without the plugin, changed by one device and by no other."""

from pathlib import Path

import pytest

from gateway.devices.broker import mosquitto
from gateway.devices.broker.doors import Plain
from gateway.faults import OperatorFault

WORDS = {"gateway": "g", "node-0": "a", "node-1": "b"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of a gateway and two devices, and somebody's dashboard."""
    salts = [bytes([number]) * 12 for number in range(len(WORDS))]
    (tmp_path / "passwords").write_text(mosquitto.render_passwords(WORDS, salts))
    rules = mosquitto.render_access("lab", "gateway", ["node-0", "node-1"])
    (tmp_path / "acl").write_text(rules + "\nuser ada\ntopic read heatveil/1/lab/map/#\n")
    return tmp_path


def rules(folder: Path, name: str) -> list[str]:
    """Return the lines of one user, as mosquitto reads them: up to the next one."""
    found: list[str] = []
    user = ""
    for line in (folder / "acl").read_text().splitlines():
        if line.startswith("user "):
            user = line.removeprefix("user ")
        elif line and not line.startswith("#") and user == name:
            found.append(line)
    return found


def test_a_device_comes_and_goes_and_the_others_are_as_they_were(folder: Path) -> None:
    """Bytes of everybody else are the same, rights and passwords alike."""
    door, before = Plain("lab", folder), (folder / "passwords").read_text()
    others = {name: rules(folder, name) for name in ("gateway", "node-0", "node-1", "ada")}
    assert not door.knows("attic")
    door.add("attic", "sesame")

    held = (folder / "passwords").read_text()
    assert door.knows("attic")
    assert mosquitto.holds(held, {"attic": "sesame"})
    assert held.startswith(before)
    assert "topic write heatveil/1/lab/attic/data" in rules(folder, "attic")
    assert "topic read heatveil/1/lab/attic/cmd/#" in rules(folder, "attic")
    assert {name: rules(folder, name) for name in others} == others

    door.remove("attic")
    assert not door.knows("attic")
    assert (folder / "passwords").read_text() == before
    assert rules(folder, "attic") == []
    assert {name: rules(folder, name) for name in others} == others


def test_a_password_that_is_renewed_lets_the_old_one_in_no_more(folder: Path) -> None:
    """One row a name: mosquitto takes the first that it finds."""
    door = Plain("lab", folder)
    door.rotate("node-1", "another")
    held = (folder / "passwords").read_text()

    assert mosquitto.parse_names(held).count("node-1") == 1
    assert mosquitto.holds(held, {"node-1": "another", "node-0": "a", "gateway": "g"})
    assert not mosquitto.holds(held, {"node-1": "b"})


def test_a_name_that_begins_another_is_not_taken_for_it(folder: Path) -> None:
    """node-1 goes, and node-10 stays."""
    door = Plain("lab", folder)
    door.add("node-10", "c")
    door.remove("node-1")

    assert rules(folder, "node-1") == []
    assert rules(folder, "node-10") != []
    assert door.knows("node-10")


def test_it_says_that_it_shuts_nobody_out(folder: Path) -> None:
    """An operator must know that the device goes on to come in."""
    before = (folder / "passwords").read_text()

    assert "goes on to let it in" in Plain("lab", folder).disable("node-0")
    assert (folder / "passwords").read_text() == before


def test_files_that_are_none_are_told(folder: Path) -> None:
    """And nothing is made in their place."""
    (folder / "acl").write_bytes(b"\xff")
    with pytest.raises(OperatorFault, match="acl cannot be read"):
        Plain("lab", folder).add("attic", "sesame")

    assert "attic" not in (folder / "passwords").read_text()


def test_somebody_whom_the_operator_let_in_is_not_overwritten(folder: Path) -> None:
    """Else a device of that name would take her place, and to remove it would cut her off."""
    files = [folder / "passwords", folder / "acl"]
    files[0].write_text(
        files[0].read_text() + mosquitto.render_passwords({"ada": "x"}, [bytes(12)])
    )
    before, door = [file.read_text() for file in files], Plain("lab", folder)
    for do in (lambda: door.knows("ada"), lambda: door.add("ada", "sesame")):
        with pytest.raises(OperatorFault, match="no device of ours"):
            do()

    assert [file.read_text() for file in files] == before


def test_a_last_line_without_an_end_keeps_its_password(folder: Path) -> None:
    """A file that somebody wrote in an editor: two names in one line would let neither in."""
    path = folder / "passwords"
    path.write_text(path.read_text().rstrip("\n"))
    Plain("lab", folder).add("attic", "sesame")

    assert mosquitto.holds(path.read_text(), {**WORDS, "attic": "sesame"})
