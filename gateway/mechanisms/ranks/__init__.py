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
    "In a plane, and for how many people are in an area, counting in fixed squares is more exact "
    "than sorting places; sorting needs no grid, and is as good on a line.",
    "In der Ebene, und dafür, wie viele in einem Bereich sind, ist Zählen in festen Quadraten "
    "genauer als Ordnen von Orten; dieses braucht kein Gitter und ist auf einer Linie gleich gut.",
)
_PAGE = {
    **PLACES.page,
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "wire-note": (
        "The gateway sees where every device is. It sorts the places along a curve, adds up "
        "groups of them, publishes each sum with random noise added, and forgets the places.",
        "Das Gateway sieht, wo jedes Gerät ist. Es ordnet die Orte entlang einer Kurve, zählt "
        "Gruppen davon zusammen, veröffentlicht jede Summe mit zufälligem Rauschen und vergisst "
        "die Orte.",
    ),
    "not": (
        "Whoever runs the gateway can see where everybody is until random noise is added. This "
        "map is made from the published sums alone, and shows no single person. "
        f"{_CAUTION[0]}",
        "Wer das Gateway betreibt, kann sehen, wo alle sind, bis zufälliges Rauschen darauf "
        "liegt. Diese Karte entsteht nur aus den veröffentlichten Summen und zeigt keine einzelne "
        "Person. "
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
