"""A heatmap of devices of which a gateway learns sums alone; its record."""

from edge.mechanisms import pyramid_sum as device
from recovery import pyramid_sum as analyst
from recovery.pyramid_sum import Query, cases

from ..record import PURE, SEALED, Exported, Mechanism, Module, Serving
from ..words import PLACES, SUMS

_crowd = Module(__name__, "crowd")
_words = Module(__name__, "words")
_sums = Module("gateway.mechanisms", "sums")
_PAGE = {
    **SUMS,
    "wire-note": (
        "Each device writes one number for each square: zero for all but the large square that "
        "it is in and the ever smaller ones inside that one that it is in. It adds a small random "
        "number to each and encrypts them. Only their sum over many devices can be read; that is "
        "published.",
        "Jedes Gerät schreibt eine Zahl für jedes Quadrat: null für alle außer dem großen, in dem "
        "es ist, und den immer kleineren darin, in denen es ist. Zu jeder zählt es eine kleine "
        "Zufallszahl hinzu und verschlüsselt sie. Nur die Summe über viele Geräte lässt sich "
        "lesen; sie ist veröffentlicht.",
    ),
}
_EXPORTED = Exported(
    **SEALED,
    release={"square": int, "parts": int},
    units={
        "square": "of the measured ones, level by level and row by row, from 0",
        "parts": "of people in a square, with noise in them",
    },
)

MECHANISM = Mechanism(
    device.NAME,
    analyst.plan,
    device.report,
    _crowd.release,
    analyst.recover,
    cases,
    trust="distributed",
    reads="place",
    query=Query,
    bits=lambda round: 16 if device.params_of(round).bits <= 16 else 32,
    vector_length=device.length,
    serving=Serving(
        **{**PURE, "limits": _sums.limits_of, "check_held": _sums.check_held},
        exported=_EXPORTED,
    ),
    cautions=_sums.cautions,
    words=PLACES._replace(has_sd=False, page=_PAGE),
    world=_crowd.crowd_of,
    reporter=_sums.reporter,
    judge=_words.judge,
    calibrated=_words.calibrate,
)
