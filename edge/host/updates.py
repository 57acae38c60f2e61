"""The owner's half of releases over the air: keys, manifests and blocks. See `board.update`.

    update key of a device = HMAC(HMAC(the owner's root, "heatveil-update-v1"), site/name, key id)

The root is made for releases alone and lies in a file of the owner's. No gateway has it, nor
anything that it could be made from: who has it can put a program on the boards.
"""

from ..board.update import BLOCK, block_topic, topic
from ..core import wire
from ..core.compat import hmac_sha256, sha256
from ..core.entropy import derive
from ..core.wire import VERSION, sign

UNIT = 4096  # bytes of flash: what littlefs gives a file at least, and half of a folder's


def update_key(root, site, name, key_id):
    """Return the key of a device's manifests, for this enrolment of it."""
    own = derive(root, b"heatveil-update-v1")
    return hmac_sha256(own, ("%s/%s" % (site, name)).encode() + key_id)


def pack_index(files):
    """Return the index of files by their paths on a board."""
    lines = []
    for path in sorted(files):
        digest = "".join(["%02x" % byte for byte in sha256(files[path])])
        lines.append("%d %s %s\n" % (len(files[path]), digest, path))
    return "".join(lines).encode()


def address_blocks(site, blocks):
    """Return the blocks of a release by their topics, the same for all devices of a site."""
    return {block_topic(site, k): block for k, block in enumerate(blocks)}


def cut_blocks(files):
    """Return the blocks of a release in order: its index and its files, one after the other."""
    whole = pack_index(files) + b"".join([files[path] for path in sorted(files)])
    return [whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)]


def count_flash(files):
    """Return how many bytes of flash a release takes on littlefs, with its index and folders."""
    folders = {""} | {path[:at] for path in files for at in range(len(path)) if path[at] == "/"}
    units = [-(-len(data) // UNIT) for data in [pack_index(files)] + list(files.values())]
    return sum(units) * UNIT + 2 * UNIT * len(folders)


def pack_manifest(number, files, mpy, key, site, name):
    """Return the manifest of a release for one device. mpy: the version of .mpy, 0 for source."""
    index, flash = pack_index(files), count_flash(files)
    body = {0: VERSION, 1: number, 2: sha256(index), 3: len(index), 4: mpy, 5: flash}
    return sign(wire.encode(body), key, topic(site, name))
