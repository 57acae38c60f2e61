"""Where a device keeps what it is and what it spent, and that nobody else can get at either.

    heatveil.json    what its host told it once, keys included: for its owner alone
    budget.0 to .2   the three slots, which are the device's memory: never copied, never restored
    frames.0, .1     frames without a receipt, noised as they are

Under systemd the first is a credential, encrypted to the machine's TPM where there is one
(`systemd-creds encrypt`), and the rest the service's state. One process at a time.
"""

import fcntl
import os
import stat

CONFIG = "heatveil.json"
# What tells one computer from another: a Raspberry Pi's own number first, for the image of its
# card has the machine's id in it.
NUMBERS = ("/sys/firmware/devicetree/base/serial-number", "/etc/machine-id")


def computer_numbers(folder):
    """Return what tells this folder of this computer from all others, the strongest first.

    A number that is all zeros, or not made yet, is none. A computer that has neither is told by
    the folder alone.
    """
    found = []
    for path in NUMBERS:
        try:
            with open(path, "rb") as file:
                found.append(file.read(256).strip(b"\0\n "))
        except OSError:
            continue
    # Where `DynamicUser` keeps what was /var/lib/NAME when somebody ran it by hand.
    place = os.path.realpath(folder).replace("/var/lib/private/", "/var/lib/", 1).encode()
    known = [number for number in found if number.strip(b"0") not in (b"", b"uninitialized")]
    return [number + b" " + place for number in known] or [place]


def lock_folder(folder):
    """Return a handle that keeps all other processes off this folder as long as it is open.

    ValueError where one is there already: two that share a budget would use the same noise.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle
    except OSError:
        os.close(handle)
    raise ValueError(
        "another process has %s open; a device is one process, for two of one budget would use "
        "the same noise. Stop the other one" % folder
    )


def config_path(folder):
    """Return where the config is: among the credentials of the service, or in the folder."""
    given = os.environ.get("CREDENTIALS_DIRECTORY")
    if given and os.path.exists("%s/%s" % (given, CONFIG)):
        return "%s/%s" % (given, CONFIG)
    return "%s/%s" % (folder, CONFIG)


def check_private(path):
    """Raise ValueError where somebody else on this computer can read a file of keys, or change it.

    systemd lets the service's user read a credential by a list (ACL), which shows as its group.
    """
    given = os.environ.get("CREDENTIALS_DIRECTORY")
    others = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP
    if not (given and path.startswith(given + "/")):
        others |= stat.S_IRGRP
    found = os.stat(path)
    if found.st_mode & others or found.st_uid not in (0, os.getuid()):
        raise ValueError(
            "%s is of mode %o and of user %d; it has keys in it, so it must be for the user that "
            "runs the device alone, or whoever reads it can take its place. Do: chmod 600, chown"
            % (path, stat.S_IMODE(found.st_mode), found.st_uid)
        )
