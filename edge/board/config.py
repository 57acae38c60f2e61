"""What one device is told once, by its host: a file of JSON, read strictly, word by word.

    site, name, sensor, sensors, mode, key_id         who it is (`entropy.Identity`)
    site_key, mac_key, config_key, state_key          its keys, in hexadecimal
    link     host, port, tls, client_id, username, password; with tls also ca, the text of ca.pem
    wifi     ssid, password; country of two letters, if the board must know it. None: a cable
    driver   name, one of `drivers` or `places`; empty, counts of the empty room; recorded_s, when
             they were recorded, in seconds of the epoch; and the pins that it has
    tick_ms  how long a tick is, twice an answer as `heatveil provision` has it; if not said 5000,
             longer than any board's (`ticker`)
    wake_s   asleep so long between answers, 0 (never) if not said
    led      a pin's number or name; the board's own light if not said
    tables   true: an array may draw noise from tables, if a Round asks; false if not said
    mechanism  what it answers for the life of its key: thermal if not said, disk, its place, or
             one of central trust, or of secure sums
    central  the name of that one, and seal_key, its key: where it is allowed to answer it
    roster   of a device of secure sums, with static_key and roster_key: who is in its shard
    update_key  of the manifests of releases over the air (`update`), where it takes any; with
             release, the number that a newer one must be above
    plane    of a device that tells its place: from angles to the site's grid (`sensors.plane`)
    following  of a level that follows the readings (`background`), for which the enrolment's
             limits were made: num and den of the slew in kelvin, and how many answers; else none
    crc      of the text before it (`pack`); who writes by hand leaves it out

A root or a chain key is refused: a device holds no root, and of the chain only what its budget
holds, or whoever finds the file has the noise of all boots. A word too many is refused as well:
it is one that somebody thought would do something.

Power that fails while this is written leaves the old file or the new one on littlefs; on FAT also
a piece of it, or the start of the one and the end of the other, which the CRC tells apart.
"""

import json
import os
from binascii import crc32, unhexlify
from collections import namedtuple

from .. import mechanisms
from ..core.compat import read_whole
from ..core.entropy import Identity

PLACE = "/heatveil.json"
CRC = b', "crc": "'
TICK_MOST = 60000  # ms
LONGEST = 16384  # bytes: an array of 768 pixels and its empty room, and a certificate
KEYS = ("site_key", "mac_key", "config_key", "state_key")
LINK = {"host": str, "port": int, "tls": bool, "client_id": str, "username": str, "password": str}
DRIVER = {"name": str, "empty": (int, list), "address": int, "bus": int, "sda": int, "scl": int}
DRIVER.update({"pin": int, "roms": list, "khz": int, "recorded_s": int})
DRIVER.update({"uart": int, "tx": int, "rx": int, "baud": int, "port": str})
DRIVER.update({"cell": list, "place_mm": list, "until_mm": list})

Config = namedtuple(
    "Config",
    "identity link wifi driver tick_ms wake_s led tables mechanism plane updates following",
)


def load(path=PLACE):
    """Return the Config that the file holds; ValueError says what is wrong with it, and where.

    No fault holds what stands in the file: it has the keys in it.
    """
    size = _size(path)
    if not size:
        raise fault(path, "is not there, or empty", "one that heatveil provision wrote")
    if size > LONGEST:
        raise fault(path, "is too long", "%d bytes at most" % LONGEST)
    # No more than that: a board takes the room before it reads.
    return check(unpack(read_whole(path, size), path), path)


def unpack(text, path=PLACE):
    """Return what the file's bytes say, without their CRC, which must be right if there is one."""
    try:
        body = json.loads(text)
    except Exception:  # what a port calls it, with the text in it
        body = None
    if not isinstance(body, dict):
        raise fault(path, "is no whole JSON object", "whole: its writing was cut off, perhaps")
    if "crc" in body and _crc(text[: text.rfind(CRC)]) != body.pop("crc"):
        raise fault(path, "has a checksum that is wrong", "as it was written, to the last byte")
    return body


def pack(body):
    """Return the bytes of the file, with a CRC, of what a host tells a device."""
    text = json.dumps(body).encode()[:-1]
    return text + CRC + ('%s"}' % _crc(text)).encode()


def _size(path):
    try:
        return os.stat(path)[6]
    except OSError:
        return 0


def _crc(text):
    return "%08x" % (crc32(text) & 0xFFFFFFFF)


def check(body, path=PLACE):
    """Return the Config of what the file's JSON says."""
    for secret in ("root", "chain"):
        if secret in body:
            raise fault(path, "holds a %s key" % secret, "without it: no device may keep one")
    text, whole = {"site": str, "name": str, "mode": str, "key_id": str}, {}
    text.update({key: str for key in KEYS})
    whole.update({"sensor": int, "sensors": int, "link": dict, "driver": dict})
    whole.update(text)
    more = {"wifi": dict, "tick_ms": int, "wake_s": int, "led": (int, str), "tables": bool}
    more.update({"mechanism": str, "plane": list, "central": str, "seal_key": str})
    more.update({"static_key": str, "roster_key": str, "roster": str})
    more.update({"update_key": str, "release": int, "following": list})
    told = _words(body, whole, more, path, "")
    if told["mode"] not in ("sealed", "keyholder"):
        raise fault(path, "has another mode", "sealed or keyholder")
    mechanism = told["mechanism"] or mechanisms.USUAL
    central, summed = told["central"] or "", told["roster"] is not None
    if summed == (mechanism in mechanisms.LOCAL + (central,)):
        usual = " or ".join(mechanisms.LOCAL)
        raise fault(path, "has another mechanism", usual + ", or one of central or a roster")
    if mechanisms.find_reads(mechanism) == "place" and (told["sensors"] != 1 or told["tables"]):
        raise fault(path, "has several sensors or tables, and tells a place", "of one sensor")
    for word, least, most in (("sensor", 0, 65535), ("sensors", 1, 1024)):
        _between(told, word, least, most, path)
    for word, default, least, most in (("tick_ms", 5000, 10, TICK_MOST), ("wake_s", 0, 0, 86400)):
        told[word] = default if told[word] is None else told[word]
        _between(told, word, least, most, path)
    link = _words(told["link"], LINK, {"ca": str}, path, "link.")
    _between(link, "port", 1, 65535, path)
    if bool(link["ca"]) != link["tls"]:
        raise fault(path, "has tls or ca, one without the other", "both or neither under link")
    wifi = told["wifi"]
    if wifi is not None:
        wifi = _words(wifi, {"ssid": str, "password": str}, {"country": str}, path, "wifi.")
    optional = {word: kind for word, kind in DRIVER.items() if word != "name"}
    driver = _words(told["driver"], {"name": str}, optional, path, "driver.")
    if driver["recorded_s"] is not None:
        _between(driver, "recorded_s", 1, (1 << 32) - 1, path)
        if driver["empty"] is None:
            raise fault(path, "has recorded_s without empty", "both: when, and what was recorded")
    who = [told[word] for word in ("site", "name", "sensor", "sensors", "mode")]
    who += [_key(told, key, 32, path) for key in KEYS]
    who.append(_key(told, "key_id", 4, path))
    if central or told["seal_key"]:
        if central != mechanism or told["mode"] != "sealed":
            raise fault(path, "has another central than its mechanism", "the same, and sealed")
        who += [central, _key(told, "seal_key", 32, path)]
    if summed:
        if told["wake_s"] or told["mode"] != "sealed":
            raise fault(path, "has wake_s or a key holder, and a roster", "awake, and sealed")
        who += [_key(told, key, 32, path) for key in ("static_key", "roster_key")]
        who.append(_key(told, "roster", len(told["roster"]) // 2, path))
    identity = _identity(who, central, summed)
    tick_ms, wake_s, led = [told[word] for word in ("tick_ms", "wake_s", "led")]
    last = [bool(told["tables"]), mechanism, told["plane"], _updates(told, path)]
    last.append(told["following"])
    return Config(identity, link, wifi, driver, tick_ms, wake_s, led, *last)


def _updates(told, path):
    """Return the key of releases over the air and the newest number had; None for no such."""
    if (told["update_key"] is None) != (told["release"] is None):
        raise fault(path, "has update_key or release, one without the other", "both or neither")
    if told["release"] is None:
        return None
    _between(told, "release", 0, (1 << 30) - 1, path)
    return _key(told, "update_key", 32, path), told["release"]


def _identity(who, central, summed):
    if summed:
        from ..mechanisms.summing import Summed  # what no thermometer needs

        return Summed(*who)
    if not central:
        return Identity(*who)
    from ..mechanisms.central import Allowed

    return Allowed(*who)


def fault(path, found, needed):
    """Return the ValueError of a file."""
    return ValueError(
        "%s %s; it must be %s, or the device would not be who it was enrolled as. Write it again "
        "with heatveil provision" % (path, found, needed)
    )


def _words(table, needed, optional, path, where):
    """Return the table's words, None for an optional one that is not there; no others."""
    said = {}
    for word in table:
        if word not in needed and word not in optional:
            raise fault(path, "has a word too many, %s%.20s" % (where, word), "without it")
    for kinds in (needed, optional):
        for word in kinds:
            said[word] = table.get(word)
            if said[word] is None and kinds is optional:
                continue
            right = isinstance(said[word], kinds[word])
            if kinds[word] is not bool and isinstance(said[word], bool):
                right = False  # true is no number, though it would pass for one
            if not right or said[word] == "":
                raise fault(path, "has no %s%s, or not as it must be" % (where, word), "whole")
    return said


def _between(told, word, least, most, path):
    if not least <= told[word] <= most:
        raise fault(path, "has a %s that is none" % word, "from %d to %d" % (least, most))


def _key(told, word, size, path):
    try:
        key = unhexlify(told[word])
    except Exception:  # with the key in it
        key = b""
    if len(key) != size:
        raise fault(path, "has no whole %s" % word, "%d bytes in hexadecimal" % size)
    return key
