"""Makes this computer the device that a host enrolled: once, from the file it wrote.

    python -m edge.linux.enrol attic-3.device.json /var/lib/heatveil-node tmp117 bus=1

The file is what `heatveil device add` wrote. It holds the first chain key, from which the device
could be made a second time; two of them would use the same noise, so it is removed at the end, and
no copy of it may stay anywhere. Where it stops half way, it can be run again.
"""

import json
import os
import sys

from ..board import places
from ..board.binding import Bound
from ..board.config import DRIVER, check, pack
from ..board.drivers import NAMES, find_steps
from ..core.budget import COUNT, Files, Limits
from ..core.compat import write_durably
from ..host.enrol import ASKED, Ram, provision, shows_more
from ..mechanisms import find_reads
from . import uart
from .place import CONFIG, computer_numbers, lock_folder

WORDS = ("name", "sensor", "sensors", "mode", "mac_key", "config_key", "state_key", "key_id")


def enrol(path, folder, driver):
    """Return the Config of the device that now lives in the folder; the file is gone.

    ValueError where the file is no device's, or the folder is another's.
    """
    with open(path, encoding="utf-8") as file:
        body = json.load(file)
    rows = body.get("devices") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != 1 or "chain" not in rows[0]:
        raise ValueError(
            "%s is not the file of one new device; it must have its keys and its first chain key, "
            "or there is nothing to make it from. Make one: heatveil device add" % path
        )
    row = rows[0]
    numbers = computer_numbers(folder)
    homes = [number.hex() for number in numbers]
    # `heatveil provision` writes it too, before a board has anything.
    if row.get("chip") not in (None, "", *homes):
        raise ValueError(
            "%s went to another board or folder already; two devices of one key would use the "
            "same noise, and their readings would lie open. Make new keys: heatveil device rotate "
            "--keys" % path
        )
    told = {word: row.get(word) for word in WORDS}
    told["site"], told["site_key"] = body.get("site"), body.get("site_key")
    told["link"], told["driver"] = row.get("link"), driver
    for word in (*ASKED, "central", "seal_key"):
        if row.get(word):
            told[word] = row[word]
    config = check(told, path)
    _check_driver(config, row)
    fresh = Ram()
    chain, window = bytes.fromhex(row["chain"]), bytes.fromhex(row.get("window", ""))
    provision(fresh, config.identity.state_key, chain, Limits(*row["limits"]), window)
    os.makedirs(folder, 0o700, exist_ok=True)
    held = lock_folder(folder)
    try:
        place = Bound(Files(folder, "budget"), config.identity.state_key, *numbers)
        was = [place.read(i) for i in range(COUNT)]
        if any(now and now != fresh.read(i) for i, now in enumerate(was)):
            raise ValueError(
                "%s has the budget of a device already, and what that spent would be forgotten; a "
                "device is made once. Take another folder, or remove %s, which was used"
                % (folder, path)
            )
        if row.get("chip") not in homes:
            row["chip"] = homes[0]
            _bind(path, body)
        write_durably("%s/%s" % (folder, CONFIG), pack(told))
        for i in (0, 1):
            _remove("%s/frames.%d" % (folder, i))  # of an older key, and nobody takes them
        for i in range(COUNT):
            place.write(i, fresh.read(i))
    finally:
        os.close(held)
    os.unlink(path)
    return config


def _check_driver(config, row):
    """Check that it tells what the device is to answer, while the device's file is still there.

    row: of that file; its `steps` are the two converters that the noise is made for.
    """
    name = config.driver["name"]
    if find_reads(config.mechanism) == "place":
        if why := places.objection(config):
            raise ValueError(
                "%s; a device that cannot tell its place could answer no round. Name the driver "
                "gps, or fixed cell=COLUMN,ROW, or correct the words after the driver's name on "
                "the command line" % why
            )
        if config.driver["baud"] is not None:
            uart.speed_of(config.driver["baud"])
    elif name not in NAMES:
        raise ValueError(
            "the driver %s came and the device is to measure warmth; any other's bytes would be "
            "taken for degrees. Name one of %s" % (name, ", ".join(NAMES))
        )
    else:
        step, behind = find_steps(name)
        if shows_more(step, behind, row.get("steps", (step, (0, 1)))):
            raise ValueError(
                "the driver %s counts in steps of %d/%d K, of what another converter shows in "
                "counts of %d/%d K, and the deployment's noise is made for others: a move would "
                "show more than it hides. Write both as adc_step and adc_behind in the "
                "deployment, and enrol anew: that is another promise" % ((name,) + step + behind)
            )


def _bind(path, body):
    """Write the file anew with whose it is: a cut leaves the old one or the new one."""
    beside = path + ".new"
    write_durably(beside, json.dumps(body).encode())
    os.replace(beside, path)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def parse_words(name, pairs):
    """Return the driver's words from its name and pairs of word=value."""
    driver = {"name": name}
    for pair in pairs:
        word, _, value = pair.partition("=")
        if word not in DRIVER or not value:
            raise ValueError(
                "%s is no word of a driver; %s are, and what is left out has its usual value. "
                "Write it as word=value" % (pair, ", ".join(sorted(DRIVER)))
            )
        if word == "roms":
            driver[word] = value.split(",")
        elif word == "port":
            driver[word] = value
        else:
            counts = [int(part, 0) for part in value.split(",")]
            driver[word] = counts if "," in value else counts[0]
    return driver


def main(arguments):
    """Run it; return the exit status."""
    if len(arguments) < 3:
        sys.stderr.write("usage: python -m edge.linux.enrol FILE FOLDER DRIVER [word=value ...]\n")
        return 2
    try:
        config = enrol(arguments[0], arguments[1], parse_words(arguments[2], arguments[3:]))
    except (OSError, ValueError, KeyError, TypeError) as why:
        sys.stderr.write("heatveil: %s\n" % (why if isinstance(why, ValueError) else repr(why)))
        return 1
    sys.stderr.write("heatveil: %s lives in %s\n" % (config.identity.name, arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
