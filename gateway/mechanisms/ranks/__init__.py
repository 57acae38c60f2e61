"""Ranks: people whose gateway sorts their places and blurs sums of them; its record."""

from edge.mechanisms import ranks as device
from recovery import ranks as analyst
from recovery.ranks import cases
from recovery.ranks.query import Query

from ..record import CENTRAL, PURE, SEALED, Exported, Mechanism, Module, Serving, halves
from ..words import PLACES

_crowd = Module(__name__, "crowd")
_words = Module(__name__, "words")
_CAUTION = (
    "Counts in fixed squares err less than sorted places in a plane and in range queries; sorted "
    "places need no grid, and are as good on a line.",
    "In der Ebene und in Bereichsabfragen irren Zählungen in festen Quadraten weniger als "
    "geordnete Orte; diese brauchen kein Gitter und sind auf einer Linie gleich gut.",
)
_PAGE = {
    **PLACES.page,
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "wire-note": (
        "The gateway sees where every device is. It sorts the places along a curve, adds up "
        "groups of them, and publishes each sum with noise in it; the places are forgotten then.",
        "Das Gateway sieht, wo jedes Gerät ist. Es ordnet die Orte entlang einer Kurve, zählt "
        "Gruppen davon zusammen und veröffentlicht jede Summe mit Rauschen; dann sind die Orte "
        "vergessen.",
    ),
    "not": (
        "Who runs the gateway can see where everybody is until the noise is on. This map is made "
        "of the published sums alone, and shows no person. "
        f"{_CAUTION[0]}",
        "Wer das Gateway betreibt, sieht, wo alle sind, bis das Rauschen darauf liegt. Diese "
        "Karte entsteht nur aus den veröffentlichten Summen und zeigt keine Person. "
        f"{_CAUTION[1]}",
    ),
}
_EXPORTED = Exported(
    **SEALED,
    release={"group": int, "sum": int},
    units={
        "group": "of places in their order along the curve, from 0",
        "sum": "of the places of a group, in cells of the curve, with noise in it",
    },
)

MECHANISM = Mechanism(
    *halves(device, analyst, cases),
    **CENTRAL,
    reads="place",
    query=Query,
    bits=device.bits,
    serving=Serving(**PURE, payload_fault=device.wrong, exported=_EXPORTED),
    cautions=lambda query: [_CAUTION[0]],
    words=PLACES._replace(page=_PAGE, has_sd=False),
    world=_crowd.crowd_of,
    stand=_crowd.stand,
    vector_length=lambda round: device.numbers(round) - 1,
    judge=_words.judge,
    read_release=_crowd.read_release,
    panels=_words.panels,
    calibrated=_words.calibrate,
)
