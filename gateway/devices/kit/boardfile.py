"""The file of one board on the host: what it is given, which board took it, and when it is done.

    NAME.device.json   as `heatveil device add` wrote it: keys, limits, the first chain key
    the same, chip     these keys are that board's and nobody else's; its slots may be written
    NAME.board.json    handed over: no chain key any more, so no second device can come of it
    boards.json        of all, beside the devices file: a copy of NAME.device.json is known by it

Each step is on the disk before the board sees what it allows. The first chain key is the one
thing from which a device could be made twice; two of them would use the same noise, and the
difference of two readings would lie open.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from edge.core.budget import COUNT, Limits
from edge.core.entropy import Identity
from edge.host.enrol import ASKED, Ram, provision

from ...faults import OperatorFault
from ...mechanisms import USUAL, find_mechanism
from ..enrol import keyfile
from ..enrol.enrol import HOLDS, make_identity

LINK = "the link of one device"  # as `enrol.save_link_file` writes it
HANDED = "what is left of one device's file"
MARKS, MARKED = "boards.json", "which board each device's keys went to"  # beside the devices file


class BoardFile(NamedTuple):
    """What a host has for a board. No chain: it was handed over. No chip: nobody took it yet."""

    path: Path
    identity: Identity
    limits: Limits
    link: dict[str, Any]
    chain: bytes
    chip: str
    more: Mapping[str, Any] = MappingProxyType({})  # what its deployment asks: `placing.asked_by`

    @property
    def tables(self) -> bool:
        """Say whether it may draw noise from tables: the deployment's promise, not its own."""
        return bool(self.more.get("tables"))

    @property
    def mechanism(self) -> str:
        """Return what it answers for the life of its key."""
        return str(self.more.get("mechanism", USUAL))

    @property
    def reads(self) -> str:
        """What its mechanism reads, "temperature" or "place"; OperatorFault for an unknown one."""
        return find_mechanism(self.mechanism).reads

    @property
    def given(self) -> bool:
        """Say whether the board has all of it, so that nothing of it may be given again."""
        return not self.chain

    def make_first_slots(self) -> tuple[bytes, ...]:
        """Return the first records of its budget, the same in every run."""
        place = Ram()
        window = bytes.fromhex(self.more.get("window", ""))
        provision(place, self.identity.state_key, self.chain, self.limits, window)
        return tuple(bytes(place.read(i)) for i in range(COUNT))


def locate_board_file(device_file: Path, name: str) -> Path:
    """Return where a device's file goes once it is handed over."""
    return device_file.with_name(f"{name}.board.json")


def load_board_file(device_file: Path, site: str, name: str) -> BoardFile | None:
    """Return what there is for a device; None where it has no file at all.

    Raises:
        OperatorFault: a file cannot be read, or is another device's.
    """
    done = locate_board_file(device_file, name)
    fresh = None
    if device_file != done and device_file.exists() and read_holds(device_file) != LINK:
        fresh = _read_held(device_file, HOLDS, site, name)
    given = _read_held(done, HANDED, site, name) if done.exists() else None
    if fresh and given and fresh.identity.key_id == given.identity.key_id:
        device_file.unlink()  # it was handed over, and then the machine stopped
        return given
    return fresh or given


def read_holds(path: Path) -> str:
    """Return what a file says it holds, or "" where it cannot be read."""
    try:
        return str(json.loads(path.read_text("utf-8"))["holds"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # what is wrong with it is said by who reads it


def bind_to_chip(held: BoardFile, chip: str, marks: Path | None = None) -> BoardFile:
    """Return the file as that board's own; what is known of it is on the disk.

    Args:
        marks: the deployment's devices file, beside which is kept what was handed out: a copy of
            a device's file, wherever it lies, is known by it.

    Raises:
        OperatorFault: another board has it.
    """
    name, key_id = held.identity.name, held.identity.key_id
    given = _read_marks(marks, held.identity.site) if marks is not None else {}
    marked = given.get((name, key_id), "")
    others = [one for one in (held.chip, marked) if one not in ("", chip)]
    if others:
        raise OperatorFault(
            f"the keys of {name} are on board {others[0]}, and this is board {chip}; two boards "
            "with one key would repeat the same noise, which gives their readings away. Plug in "
            f"that board, or make new keys for this one: heatveil device rotate {name} --keys"
        )
    if marks is not None and not marked:
        rows = [
            {"name": one, "key_id": key, "chip": where}
            for (one, key), where in {**given, (name, key_id): chip}.items()
        ]
        keyfile.write_key_file(marks.with_name(MARKS), MARKED, held.identity.site, rows)
    if held.chip:
        return held
    taken = held._replace(chip=chip)
    _write(taken, HOLDS)
    return taken


def _read_marks(devices: Path, site: str) -> dict[tuple[str, bytes], str]:
    """Return which key of each device went to which board, ended keys too."""
    path = devices.with_name(MARKS)
    if not path.exists():
        return {}

    def parse(_: keyfile.Row, row: keyfile.Row) -> tuple[tuple[str, bytes], str]:
        return (str(row["name"]), keyfile.parse_key(row, "key_id", 4)), str(row["chip"])

    return dict(keyfile.read_key_file(path, MARKED, site, parse)[1])


def erase_chain_key(held: BoardFile) -> BoardFile:
    """Return the file without its chain key, which from now on only the board has."""
    if held.given:
        return held
    done = held._replace(path=locate_board_file(held.path, held.identity.name), chain=b"")
    _write(done, HANDED)
    held.path.unlink()
    return done


def replace_link_or_plane(
    held: BoardFile, link: dict[str, Any], plane: list[int] | None = None
) -> BoardFile:
    """Return the file with another way to the broker, or with its grid elsewhere on the earth."""
    more = held.more if plane is None else {**held.more, "plane": plane}
    found = held._replace(link=link, more=more)
    _write(found, HANDED if held.given else HOLDS)
    return found


def _write(held: BoardFile, what: str) -> None:
    row = {key: value for key, value in held.identity._asdict().items() if key != "site"}
    site_key = row.pop("site_key")
    row |= {"limits": list(held.limits), "link": held.link, "chip": held.chip}
    row |= held.more
    if held.chain:
        row["chain"] = held.chain
    keyfile.write_key_file(held.path, what, held.identity.site, [row], site_key=site_key)


def _read_held(path: Path, what: str, site: str, name: str) -> BoardFile:
    def make(body: keyfile.Row, row: keyfile.Row) -> BoardFile:
        ours = [body["site"], str(row["name"]), int(row["sensor"]), int(row["sensors"])]
        ours += [str(row["mode"]), keyfile.parse_key(body, "site_key")]
        ours += [keyfile.parse_key(row, word) for word in ("mac_key", "config_key", "state_key")]
        who = make_identity([*ours, keyfile.parse_key(row, "key_id", 4)], row)
        chain = keyfile.parse_key(row, "chain") if what == HOLDS else b""
        chip = str(row.get("chip", ""))
        more = {word: row[word] for word in (*ASKED, "window", "steps") if word in row}
        return BoardFile(path, who, Limits(*row["limits"]), dict(row["link"]), chain, chip, more)

    _, rows = keyfile.read_key_file(path, what, site, make)
    if len(rows) != 1 or rows[0].identity.name != name:
        raise OperatorFault(
            f"{path} is not the board file of {name}; with another device's file the board would "
            "report in its name. Name the right file with --out"
        )
    return rows[0]
