"""Ranks: people whose gateway sorts their places and blurs sums of them; its record."""

from edge.mechanisms import ranks as device
from recovery import ranks as analyst
from recovery.ranks import cases
from recovery.ranks.query import Query

from ..record import CENTRAL, PURE, SEALED, Exported, Mechanism, Module, Serving, join_halves
from ..words import PLACES, TRUSTED

_crowd = Module(__name__, "crowd")
_words = Module(__name__, "words")
_CAUTION = (
    "In a plane, and for how many people are in an area, counting in fixed squares is more exact "
    "than sorting places; sorting needs no grid, and is as good on a line.",
    "In der Ebene, und dafür, wie viele in einem Bereich sind, ist Zählen in festen Quadraten "
    "genauer als Ordnen von Orten; dieses braucht kein Gitter und ist auf einer Linie gleich gut.",
)
_PAGE = {
    **TRUSTED,
    "caution": _CAUTION,
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "wire-note": (
        "The gateway saw where every device was. It numbered all squares along an imaginary "
        "winding line, sorted the devices by the number of their square, split the row of devices "
        "into groups, added up these numbers in each group, published each sum with a random "
        "number added (from these sums the map is worked out), and forgot the places.",
        "Das Gateway sah, wo jedes Gerät war. Es nummerierte alle Quadrate entlang einer "
        "gedachten gewundenen Linie, ordnete die Geräte nach der Nummer ihres Quadrats, teilte "
        "die Reihe der Geräte in Gruppen, addierte in jeder Gruppe die Nummern der Quadrate, "
        "zählte zu jeder Summe eine Zufallszahl hinzu, veröffentlichte das Ergebnis (daraus "
        "entsteht die Karte) und vergaß die Orte.",
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
    *join_halves(device, analyst, cases),
    **CENTRAL,
    reads="place",
    query=Query,
    bits=device.bits,
    serving=Serving(**PURE, payload_fault=device.make_payload_check, exported=_EXPORTED),
    cautions=lambda query: [_CAUTION[0]],
    words=PLACES._replace(page=_PAGE, has_sd=False),
    world=_crowd.load_crowd,
    stand=_crowd.make_standing_crowd,
    vector_length=lambda round: device.count_numbers(round) - 1,
    judge=_words.judge_map,
    read_release=_crowd.read_release,
    panels=_words.make_panels,
    calibrated=_words.describe_groups,
)
