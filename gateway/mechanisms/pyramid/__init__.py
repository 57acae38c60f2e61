"""Pyramid: a heatmap of devices whose gateway is trusted with the noise; its record."""

from edge.mechanisms import pyramid as device
from recovery import pyramid as analyst
from recovery.pyramid import cases
from recovery.pyramid.query import Query

from ..record import CENTRAL, PURE, SEALED, Exported, Mechanism, Module, Serving, halves
from ..words import PLACES

_words = Module(__name__, "words")
_crowd = Module(__name__, "crowd")
_CAUTION = (
    "Where up to some thousand people spread over many places, another method (an adaptive grid) "
    "is often more exact than this map at equal privacy; with more people it is not.",
    "Wo bis zu etwa tausend Personen über viele Orte verteilt sind, ist ein anderes Verfahren "
    "(ein adaptives Gitter) bei gleichem Schutz oft genauer als diese Karte; bei mehr nicht.",
)
_PAGE = {
    **PLACES.page,
    "wire-note": (
        "How many people, in fractions, the gateway counted in each square in the latest round, "
        "from large squares to small ones, with random noise added. Before that it saw every "
        "device's place.",
        "Wie viele Personen, in Bruchteilen, das Gateway in der letzten Runde in jedem Quadrat "
        "gezählt hat, von großen zu kleinen, mit zufälligem Rauschen. Davor sah es den Ort jedes "
        "Geräts.",
    ),
    "not": (
        "The gateway must be trusted here: it saw where every device was, and blurred the sums. "
        "Whoever sees only this map sees shares of many people, and not where any one was. "
        f"{_CAUTION[0]}",
        "Dem Gateway muss man hier vertrauen: es sah, wo jedes Gerät war, und verwischte die "
        "Summen. Wer nur diese Karte sieht, sieht Anteile von vielen Personen und nicht, wo eine "
        "einzelne war. "
        f"{_CAUTION[1]}",
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
    *halves(device, analyst, cases),
    **CENTRAL,
    reads="place",
    query=Query,
    bits=device.bits,
    serving=Serving(**PURE, payload_fault=device.wrong, exported=_EXPORTED),
    cautions=lambda query: [_CAUTION[0]],
    words=PLACES._replace(has_sd=False, page=_PAGE),
    world=_crowd.crowd_of,
    vector_length=lambda round: device.numbers(round) - 1,
    check_possible=_crowd.check_possible,
    calibrated=_words.calibrate,
)
