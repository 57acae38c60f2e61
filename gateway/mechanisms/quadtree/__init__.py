"""Crowds in squares within squares, of whom a gateway learns sums alone; its record."""

from edge.mechanisms import quadtree as device
from recovery import quadtree as analyst
from recovery.quadtree import cases
from recovery.quadtree.query import Query

from ..record import PURE, SEALED, Exported, Mechanism, Module, Serving
from ..words import PLACES, SUMS

_crowd = Module(__name__, "crowd")
_words = Module(__name__, "words")
_sums = Module("gateway.mechanisms", "sums")
_PAGE = {
    **SUMS,
    "wire-note": (
        "Each device writes one number for each square: zero for all but the square that it is "
        "in. It adds a small random number to each and encrypts them. For each square only the "
        "sum over many devices can be read; that is published.",
        "Jedes Gerät schreibt eine Zahl für jedes Quadrat: null für alle außer dem, in dem es "
        "ist. Zu jeder zählt es eine kleine Zufallszahl hinzu und verschlüsselt sie. Für jedes "
        "Quadrat lässt sich nur die Summe über viele Geräte lesen; sie ist veröffentlicht.",
    ),
}
_EXPORTED = Exported(
    **SEALED,
    release={"number": int, "sum": int},
    units={
        "number": "of a square of the round, in their order",
        "sum": "of what devices marked in it, with noise in it",
    },
)

MECHANISM = Mechanism(
    device.NAME,
    analyst.plan,
    device.report,
    _crowd.release_shards,
    analyst.recover,
    cases,
    trust="distributed",
    reads="place",
    query=Query,
    bits=lambda round: 16 if device.params_of(round).bits <= 16 else 32,
    vector_length=device.count_sums,
    vector_most=_words.bound_numbers,
    serving=Serving(
        **{**PURE, "limits": _words.make_first_limits, "check_held": _words.check_enrolled},
        exported=_EXPORTED,
    ),
    cautions=_sums.list_cautions,
    words=PLACES._replace(page=_PAGE),
    world=_crowd.load_crowd,
    reporter=_sums.make_reporter,
    judge=_words.judge_map,
    panels=_words.make_panels,
)
