"""Whether this Python can be a device at all: asked before what would break on it is loaded.

The smallest build must still compile this file, so nothing else of edge is loaded for the asking
and no large number is written here: one whose integers are single words refuses it as it reads.

What is wrong is said on the console, and by the light for as long as there is power. The board
does not start again: nothing would be another at the next start.
"""

import os
import sys

LEAST = (1, 22)
RELEASES = "/release.0"  # there where anything came over the air: see `release`


def objection(one=1, told=sys):
    """Return why no device can run here, a sentence; "" where one can.

    one: the number 1, as this Python counts. told: its `sys`.
    """
    kind, version = told.implementation.name, told.implementation.version
    if kind != "micropython" or tuple(version[:2]) < LEAST:
        return _wrong("MicroPython %d.%d or later is needed, as edge is written for it" % LEAST)
    if not _whole(one):
        return _wrong(
            "its integers are single words, and exact noise needs larger ones: it would be wrong "
            "now and then, and nobody would notice"
        )
    try:
        import asyncio  # noqa: F401
        import binascii  # noqa: F401
        import errno  # noqa: F401
        import hashlib
        import json  # noqa: F401
        import os  # noqa: F401
        import time  # noqa: F401
    except ImportError as fault:
        return _wrong("there is %s in it, and keys or the link rest on that" % fault)
    if not hasattr(hashlib, "sha256"):
        return _wrong("it has no SHA-256, which every key and MAC rests on")
    return ""


def refuse_mode(mode, os):
    """Return why a device of this mode cannot run here; "" where it can. os: the module."""
    if mode != "sealed" or hasattr(os, "urandom"):
        return ""
    return _wrong(
        "it has no random numbers of its own, and a sealed device mixes them in, or its host "
        "could repeat its noise"
    )


def go():
    """Run the device of the release that is to start; this does not return, whatever is wrong."""
    why = objection()
    if not why and has_releases():
        from . import release

        try:
            if release.choose():
                if not release.read().tries:
                    release = None  # with all that it holds; a trial's timer is in it
                from edge.board import firmware as chosen  # not this file: that of the release

                chosen.run()
        except Exception as fault:
            why = "the release that came over the air ended with %s" % type(fault).__name__
            if release is not None:  # of the base, whatever the other release has
                try:
                    release.give_up()
                except Exception:  # its timer, or its last start, ends the trial
                    pass
    run(why)


def run(why=""):
    """Run the device of this release, unless a sentence says why not; this does not return."""
    why = why or objection()
    if not why:
        try:
            from .. import loading

            loading.load()  # from the bottom up, which takes a smaller heap
            loading = None
            from ..core.compat import forget

            forget("edge.loading")
            from . import start
        except Exception as fault:  # a file that is missing, cut off, or does not fit in memory
            why = (
                "a file of edge cannot be loaded (%s); every one must be there, whole, or it is "
                "another device than was tested. Write them again with heatveil provision"
                % type(fault).__name__
            )
    if not why:
        try:
            start.run(refuse_mode, give_up)
        except Exception as fault:  # before it had begun; later it starts again by itself
            why = "the start ended with %s; run heatveil doctor" % type(fault).__name__
    give_up()
    stop(why)


def has_releases():
    """Say whether a release ever came over the air."""
    try:
        os.stat(RELEASES)
        return True
    except OSError:
        return False


def give_up():
    """Start again with the release before, if this one is on trial."""
    if has_releases():
        try:
            from . import release

            release.give_up()
        except Exception:  # of a release that is not even whole: its trial ends all the same
            pass


def stop(why):
    """Say it, and flash for ever what the light says of a config or a firmware that is none."""
    import time

    import machine

    from .led import FLASH_MS, Led, open_pin

    sys.stdout.write("heatveil: %s\n" % why)
    light = Led(open_pin(machine, "LED"))
    light.show("fault")
    while True:
        light.refresh(time.ticks_ms())
        time.sleep_ms(FLASH_MS // 2)


def _whole(one):
    """Say whether a product that no word holds comes out whole; a shift may fail or wrap."""
    try:
        return (one << 70) >> 69 == 2 and ((one << 62) * 6) >> 63 == 3
    except Exception:
        return False


def _wrong(what):
    return (
        "this firmware is not the right one: %s. Flash the usual one for exactly this board, "
        % (what)
        + "from micropython.org/download, then run heatveil provision again"
    )
