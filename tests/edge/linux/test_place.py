"""Keys that others can read are refused, and a folder has one process."""

import os
import socket
from pathlib import Path

import pytest

from edge.linux import place
from edge.linux.run import Notify


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_its_own_is_taken(tmp_path: Path, mode: int) -> None:
    """As `enrol` writes it."""
    (tmp_path / "c").write_text("")
    (tmp_path / "c").chmod(mode)
    place.check_private(str(tmp_path / "c"))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """Whoever reads the keys can take the device's place."""
    (tmp_path / "c").write_text("")
    (tmp_path / "c").chmod(mode)
    with pytest.raises(ValueError, match=f"{mode:o}"):
        place.check_private(str(tmp_path / "c"))


def test_a_credential_may_show_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """systemd gives its list of who may read as the group's bits, and nobody else gets in."""
    credential = tmp_path / "heatveil.json"
    credential.write_text("")
    credential.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))

    assert place.config_path("/nowhere") == str(credential)
    place.check_private(str(credential))
    credential.chmod(0o444)
    with pytest.raises(ValueError, match="444"):
        place.check_private(str(credential))


def test_a_folder_has_one_process(tmp_path: Path) -> None:
    """Two of one budget would use the same noise; when the first ends, the next one may."""
    held = place.alone(str(tmp_path))
    with pytest.raises(ValueError, match="another process"):
        place.alone(str(tmp_path))
    os.close(held)
    os.close(place.alone(str(tmp_path)))


def test_systemd_hears_that_it_is_ready_and_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ready once, with its state; nobody to tell is no fault."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "s"))
        heard.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "s"))
        told = Notify()
        for word in ("ready", "ready", "exhausted"):
            told.show(word)
        told.feed()
        said = [heard.recv(99).decode() for _ in range(3)]

    assert said == ["READY=1\nSTATUS=ready", "STATUS=exhausted", "WATCHDOG=1"]
    told.feed()
    monkeypatch.delenv("NOTIFY_SOCKET")
    Notify().feed()
