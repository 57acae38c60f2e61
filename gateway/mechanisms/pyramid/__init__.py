"""Pyramid: a heatmap of devices whose gateway is trusted with the noise; its record."""

from edge.mechanisms import pyramid as device
from recovery import pyramid as analyst
from recovery.pyramid import cases
from recovery.pyramid.query import Query

from ..record import CENTRAL, PURE, SQUARES, Exported, Mechanism, Module, Serving, join_halves
from ..words import PLACES, TRUSTED

_crowd = Module(__name__, "crowd")
_CAUTION = (
    "Where up to some thousand people spread over many places, another method (an adaptive grid) "
    "is often more exact than this map at equal privacy; with more people it is not.",
    "Wo bis zu etwa tausend Personen über viele Orte verteilt sind, ist ein anderes Verfahren "
    "(ein adaptives Gitter) bei gleichem Schutz oft genauer als diese Karte; bei mehr nicht.",
)
_PAGE = {
    **TRUSTED,
    "caution": _CAUTION,
    "wire-note": (
        "How many people the gateway counted in the latest round in each large square and in the "
        "smaller squares inside it. A random number was added to each count, so it can be below "
        "zero. To count them the gateway saw where every device was.",
        "Wie viele Personen das Gateway in der letzten Runde in jedem großen Quadrat und in den "
        "kleineren Quadraten darin gezählt hat. Zu jeder Zahl kam eine Zufallszahl, daher kann "
        "sie unter null liegen. Um zu zählen, musste das Gateway sehen, wo jedes Gerät war.",
    ),
}

MECHANISM = Mechanism(
    *join_halves(device, analyst, cases),
    **CENTRAL,
    reads="place",
    query=Query,
    bits=device.bits,
    serving=Serving(**PURE, payload_fault=device.make_payload_check, exported=Exported(**SQUARES)),
    cautions=lambda query: [_CAUTION[0]],
    words=PLACES._replace(has_sd=False, page=_PAGE),
    world=_crowd.load_crowd,
    vector_length=lambda round: device.count_numbers(round) - 1,
    check_possible=_crowd.check_release_is_whole,
    calibrated=_crowd.describe_levels,
)
