"""`heatveil keys`: single boots handed out, old ones forgotten, and no key ever shown."""

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from edge.core.entropy import epoch_key
from edge.host import rootkeys
from gateway.devices.owner import keyring
from gateway.devices.owner.keyring import FURTHEST, BootKeys, KeyChain, parse_boots
from gateway.faults import OperatorFault

Heatveil = Callable[..., Any]
ROOT = bytes(range(32))


def run(heatveil: Heatveil, owned: Any, verb: str, *words: object) -> Any:
    """Run one of the commands on a site."""
    return heatveil("keys", verb, "--config", owned.config, *words)


def opened(heatveil: Heatveil, owned: Any, key_file: Path) -> set[tuple[str, int]]:
    """Return the (device, boot) that a file of keys opens, each reading right."""
    out = owned.folder / f"{key_file.name}.sqlite"
    said = heatveil("unveil", "--config", owned.config, "--keys", key_file, "--out", out)
    if said.status:
        assert "no frame could be opened" in said.err
        return set()
    with sqlite3.connect(out) as file:
        found = file.execute(
            "SELECT device, epoch, seq, round, sensor, grains FROM readings WHERE note = ''"
        ).fetchall()
    out.unlink()
    assert all(owned.seen[row[:5]] == row[5] for row in map(tuple, found))
    return {(row[0], row[1]) for row in found}


def test_a_chain_walks_to_the_same_keys_in_any_order() -> None:
    """Rows come by boot; a restart of the walk must not change a key."""
    chain = KeyChain.from_root(ROOT)
    straight = {n: bytes(epoch_key(rootkeys.chain_at(ROOT, n), n)) for n in (1, 2, 5, 9)}

    for epoch in (1, 5, 2, 9, 9, 1):
        assert chain.find_boot_key(epoch) == straight[epoch]
    assert chain.find_boot_key(0) is None
    assert chain.find_boot_key(FURTHEST + 2) is None


@pytest.mark.parametrize("text", ["", "3-", "7-3", "a", "1-99999999", "-2", "3;4"])
def test_boots_that_mean_nothing_are_refused(text: str) -> None:
    """Whose readings are given away must not rest on a guess."""
    with pytest.raises(OperatorFault, match="is not a list of boots"):
        parse_boots(text)


def test_keys_are_not_shown_when_they_are_printed() -> None:
    """A traceback or a log line must not hold one."""
    whole = KeyChain.from_root(ROOT)
    some = BootKeys(whole.key_id, {1: ROOT})

    assert ROOT.hex() not in repr(whole) + repr(some)
    assert "\\x01\\x02" not in repr(whole) + repr(some)


def test_the_list_shows_what_opens_what_and_no_key(heatveil: Heatveil, owned: Any) -> None:
    """An owner with three files in hand must see which is which."""
    run(heatveil, owned, "shred", "--before", 2, "--device", "node-2")
    granted = owned.folder / "epochs.json"
    run(heatveil, owned, "grant", "--device", "node-1", "--epochs", "2-3", "--out", granted)
    said = run(heatveil, owned, "list")
    other = run(heatveil, owned, "list", "--keys", granted)
    by_device = {line.split()[0]: line for line in said.out.splitlines()}

    assert by_device["node-0"].endswith("keyholder  every boot")
    assert by_device["node-2"].endswith("keyholder  boots from 2 on")
    assert owned.devices.by_name["node-0"].key_id.hex() in by_device["node-0"]
    assert "boots 2-3 alone" in other.out
    assert other.out.count("nothing") == 2
    shown = said.out + other.out
    for name, root in owned.made.roots.items():
        device = owned.devices.by_name[name]
        for secret in (root, device.mac_key, device.config_key, rootkeys.first_chain(root)):
            assert secret.hex() not in shown


def test_granted_boots_are_opened_and_no_other(heatveil: Heatveil, owned: Any) -> None:
    """The key of one boot gives away neither the one before nor the one after."""
    granted = owned.folder / "epochs.json"
    said = run(heatveil, owned, "grant", "--device", "node-0", "--epochs", "2", "--out", granted)

    assert "boots 2 of node-0" in said.success
    assert granted.stat().st_mode & 0o777 == 0o600
    assert opened(heatveil, owned, granted) == {("node-0", 2)}
    text = granted.read_text()
    for epoch in (1, 2, 3):
        chain = rootkeys.chain_at(owned.root("node-0"), epoch)
        assert chain.hex() not in text
        assert (epoch_key(chain, epoch).hex() in text) == (epoch == 2)
    assert owned.root("node-0").hex() not in text


def test_what_was_shredded_is_never_opened_again(heatveil: Heatveil, owned: Any) -> None:
    """Frames that somebody recorded years ago stay blurred, whoever gets the file now."""
    everything = {(name, boot) for name in owned.nodes for boot in (1, 2, 3)}
    assert opened(heatveil, owned, owned.holder) == everything
    roots = [root.hex() for root in owned.made.roots.values()]
    said = run(heatveil, owned, "shred", "--before", 3)

    assert "copy or a backup" in said.success
    assert opened(heatveil, owned, owned.holder) == {(name, 3) for name in owned.nodes}
    text = owned.holder.read_text()
    assert not [root for root in roots if root in text]
    for name in owned.nodes:
        for boot in (1, 2):
            assert rootkeys.chain_at(owned.root(name), boot).hex() not in text
    for before in (2, 3):
        again = run(heatveil, owned, "shred", "--before", before)
        assert "keys only step on" in again.refusal


def test_the_noughts_are_on_the_disk_before_shredding_is_said_to_be_done(
    heatveil: Heatveil, owned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cache alone they would be lost with the power, and the old keys be there again."""
    flushed, sync = {}, os.fsync

    def noted(handle: int) -> None:
        sync(handle)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode):
            flushed[found.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

    old = owned.holder.stat()
    monkeypatch.setattr(os, "fsync", noted)
    run(heatveil, owned, "shred", "--before", 2)

    assert flushed[old.st_ino] == bytes(old.st_size)


def test_behind_a_link_it_is_the_file_that_is_shredded(heatveil: Heatveil, owned: Any) -> None:
    """Somebody keeps the keys on a stick and links to them."""
    stick = owned.folder / "stick.json"
    owned.holder.rename(stick)
    owned.holder.symlink_to(stick)
    run(heatveil, owned, "shred", "--before", 2)

    assert owned.holder.is_symlink()
    assert owned.root("node-0").hex() not in stick.read_text()


def test_a_shredding_that_cannot_be_written_keeps_every_key(
    heatveil: Heatveil, owned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk must not cost the keys that were to be kept."""
    before = owned.holder.read_bytes()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    said = run(heatveil, owned, "shred", "--before", 2)

    assert "No space left" in said.refusal
    assert owned.holder.read_bytes() == before
    assert not owned.holder.with_name("keyholder.json.new").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("grant", "--device", "node-9", "--epochs", "1", "--out", "o.json"), "has no key of"),
        (
            ("grant", "--device", "node-1", "--epochs", "0", "--out", "o.json"),
            "is not a list of boots",
        ),
        (
            ("grant", "--device", "node-1", "--epochs", "9999999", "--out", "o.json"),
            "boot 9999999 of node-1 cannot be granted",
        ),
        (("shred", "--before", "3000000"), "cannot be shredded"),
        (("shred", "--before", "2", "--device", "node-x"), "has no key of"),
    ],
)
def test_what_is_not_there_cannot_be_given_or_forgotten(
    heatveil: Heatveil, owned: Any, words: tuple[str, ...], why: str
) -> None:
    """Refused in one line, and the owner's file is as it was."""
    before = owned.holder.read_bytes()
    placed = [owned.folder / word if word.endswith(".json") else word for word in words]
    said = run(heatveil, owned, *placed)

    assert why in said.refusal
    assert said.err.count("\n") == 1
    assert owned.holder.read_bytes() == before
    assert not (owned.folder / "o.json").exists()


def test_boots_that_no_device_has_begun_are_not_forgotten_by_a_slip(
    heatveil: Heatveil, owned: Any
) -> None:
    """A figure too many, and whatever comes for years would be lost, with no way back."""
    before = owned.holder.read_bytes()
    said = run(heatveil, owned, "shred", "--before", 5)

    assert "the newest that was heard of it is 3" in said.refusal
    assert "4 or less" in said.err
    assert owned.holder.read_bytes() == before
    assert run(heatveil, owned, "shred", "--before", 4, "--device", "node-0").status == 0
    assert run(heatveil, owned, "shred", "--before", 50, "--future").status == 0
    assert json.loads(owned.holder.read_text())["devices"][0]["from_epoch"] == 50


@pytest.mark.parametrize("lost", ["", "UPDATE newest SET key_id = x'00000000'"])
def test_boots_of_another_key_or_of_no_database_do_not_count(
    heatveil: Heatveil, owned: Any, lost: str
) -> None:
    """A device that was enrolled again counts its boots anew; a slip must be said to be none."""
    if lost:
        with sqlite3.connect(owned.database) as database:
            database.execute(lost)
    else:
        owned.database.unlink()
    said = run(heatveil, owned, "shred", "--before", 2)

    assert "none of it was heard here" in said.refusal
    assert run(heatveil, owned, "shred", "--before", 2, "--future").status == 0
    assert owned.database.exists() == bool(lost)


def test_who_was_given_boots_cannot_give_them_on_as_the_owner(
    heatveil: Heatveil, owned: Any
) -> None:
    """Nor shred: these keys step nowhere."""
    granted = owned.folder / "epochs.json"
    run(heatveil, owned, "grant", "--device", "node-1", "--epochs", "2", "--out", granted)
    said = run(heatveil, owned, "shred", "--before", 3, "--keys", granted)

    assert "holds the epoch keys" in said.refusal


def test_an_old_grant_is_not_overwritten(heatveil: Heatveil, owned: Any) -> None:
    """It may be the only file left that opens those boots."""
    (owned.folder / "epochs.json").write_text("precious")
    words = ("--device", "node-1", "--epochs", "2", "--out", owned.folder / "epochs.json")
    said = run(heatveil, owned, "grant", *words)

    assert said.status == 1
    assert (owned.folder / "epochs.json").read_text() == "precious"


def test_a_sealed_device_has_no_keys_to_give(heatveil: Heatveil, site_of: Any) -> None:
    """Whatever file somebody kept, its noise is mixed with what never left the board."""
    sealed = site_of(keyholder="false")
    words = ("--device", "node-1", "--epochs", "1", "--out", sealed.folder / "epochs.json")
    said = run(heatveil, sealed, "grant", *words)

    assert "as sealed" in said.refusal


@pytest.mark.parametrize("kind", ["grant", "shred"])
def test_a_damaged_key_is_noticed_before_it_is_used(
    heatveil: Heatveil, owned: Any, kind: str
) -> None:
    """With one wrong bit it would give readings that nobody ever had."""
    path = owned.holder
    if kind == "grant":
        path = owned.folder / "epochs.json"
        words = ("--device", "node-1", "--epochs", "2", "--out", path)
        run(heatveil, owned, "grant", *words)
    else:
        run(heatveil, owned, "shred", "--before", 2)
    body = json.loads(path.read_text())
    row = body["devices"][0]
    key = row["epochs"]["2"] if kind == "grant" else row["chain"]
    path.write_text(path.read_text().replace(key, ("0" if key[0] != "0" else "1") + key[1:]))

    with pytest.raises(Exception, match="its check|does not fit its keys"):
        keyring.read_key_ring(path, "owned", *keyring.KINDS)
