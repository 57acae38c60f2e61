"""A computer becomes the device once: cut off anywhere it goes on, and never becomes it twice."""

import json
from pathlib import Path

import pytest

from edge.board.binding import Bound
from edge.board.config import load
from edge.core import slots
from edge.core.budget import Budget, Lost
from edge.linux.enrol import enrol, main, words
from edge.linux.place import computer_numbers
from edge.net.spill import File


def budget(folder: Path) -> Budget:
    """Return the booted budget that the folder holds."""
    key = load(f"{folder}/heatveil.json")[0].state_key
    files = slots.Files(str(folder), "budget")
    with pytest.raises(Lost):  # bound as it was written: elsewhere nothing begins
        Budget(Bound(files, key, b"another computer"), key).boot()
    found = Budget(Bound(files, key, *computer_numbers(str(folder))), key)
    found.boot()
    return found


def test_the_file_becomes_a_device_and_is_gone(device_file: Path, tmp_path: Path) -> None:
    """Config and budget are there, for their owner alone; the chain key is in the slots only."""
    home = tmp_path / "node"
    chain = json.loads(device_file.read_text())["devices"][0]["chain"]

    assert main([str(device_file), str(home), "tmp117", "bus=1", "empty=2700"]) == 0
    config = load(str(home / "heatveil.json"))

    assert not device_file.exists()
    assert config.identity.name == "attic-3"
    assert (config.driver["name"], config.driver["bus"], config.driver["empty"]) == (
        "tmp117",
        1,
        2700,
    )
    assert chain not in (home / "heatveil.json").read_text()
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert budget(home).epoch == 1


def test_a_second_device_cannot_be_made_of_one_file(device_file: Path, tmp_path: Path) -> None:
    """A copy of the file that was kept would give the same noise again."""
    copy, home = tmp_path / "kept.json", tmp_path / "node"
    copy.write_text(device_file.read_text())
    enrol(str(device_file), str(home), {"name": "tmp117"})
    before = budget(home)

    with pytest.raises(ValueError, match="made once"):
        enrol(str(copy), str(home), {"name": "tmp117"})
    assert copy.exists()
    assert budget(home).epoch == before.epoch + 1


@pytest.mark.parametrize("name", ["gps", "fixed", "tmp711"])
def test_a_thermometer_needs_a_driver_of_warmth(
    device_file: Path, tmp_path: Path, name: str
) -> None:
    """Found out before the device's file is gone, of which there is no second."""
    before = device_file.read_bytes()
    with pytest.raises(ValueError, match=f"the driver {name} came and the device is to measure"):
        enrol(str(device_file), str(tmp_path / "node"), {"name": name})
    assert device_file.read_bytes() == before
    assert not (tmp_path / "node").exists()


@pytest.mark.parametrize("step", range(7))
def test_cut_off_anywhere_it_goes_on(
    device_file: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power fails before the file, config, frames or a slot is written or removed."""
    from edge.linux import enrol as module

    home, writes = tmp_path / "node", 0

    def write(call):
        def cut(*args):
            nonlocal writes
            if writes == step:
                raise OSError("no power")
            writes += 1
            return call(*args)

        return cut

    with monkeypatch.context() as power:
        power.setattr(module, "write_durably", write(module.write_durably))
        power.setattr(module.Files, "write", write(module.Files.write))
        power.setattr(module.os, "unlink", write(module.os.unlink))
        with pytest.raises(OSError, match="no power"):
            enrol(str(device_file), str(home), {"name": "tmp117"})
    if step:  # from then on it is that folder's, whatever is on the medium there
        with pytest.raises(ValueError, match="another board or folder already"):
            enrol(str(device_file), str(tmp_path / "other"), {"name": "tmp117"})
        assert not (tmp_path / "other").exists()
    enrol(str(device_file), str(home), {"name": "tmp117"})

    assert budget(home).epoch == 1
    assert not list(tmp_path.glob(f"{device_file.name}*"))


def test_frames_of_an_older_key_are_gone(device_file: Path, tmp_path: Path) -> None:
    """No receipt would come for them, and all that is answered later would wait behind."""
    home = tmp_path / "node"
    home.mkdir()
    File(f"{home}/frames", 1024).put(b"of another key")
    enrol(str(device_file), str(home), {"name": "tmp117"})

    assert len(File(f"{home}/frames", 1024)) == 0


@pytest.mark.parametrize("change", [{"devices": []}, {"devices": [{}]}, {"site": 7}])
def test_another_file_makes_nothing(device_file: Path, tmp_path: Path, change: dict) -> None:
    """The gateway's own key files look alike."""
    device_file.write_text(json.dumps(json.loads(device_file.read_text()) | change))

    assert main([str(device_file), str(tmp_path / "node"), "tmp117"]) == 1
    assert not (tmp_path / "node").exists()
    assert device_file.exists()


def test_words_of_a_driver_are_read_or_named() -> None:
    """A mistyped pin must not be taken for nothing."""
    assert words("ds18b20", ["roms=28aa,28bb", "empty=1,2", "pin=0x4"]) == {
        "name": "ds18b20",
        "roms": ["28aa", "28bb"],
        "empty": [1, 2],
        "pin": 4,
    }
    with pytest.raises(ValueError, match="adress"):
        words("tmp117", ["adress=72"])
