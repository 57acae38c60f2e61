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
    "Where up to some thousand people spread over many places, an adaptive grid is often nearer "
    "than this map at the same epsilon; with more it is not.",
    "Wo bis zu etwa tausend Personen über viele Orte verteilt sind, ist ein adaptives Gitter bei "
    "gleichem Epsilon oft genauer als diese Karte; bei mehr Personen nicht.",
)
_PAGE = {
    **PLACES.page,
    "wire-note": (
        "How many parts of people were counted in each square of each level in the latest round, "
        "with the noise that the gateway drew. The gateway saw every report before that.",
        "Wie viele Teile von Personen in der letzten Runde in jedem Quadrat jeder Stufe gezählt "
        "wurden, mit dem Rauschen des Gateways. Das Gateway sah davor jede Meldung.",
    ),
    "not": (
        "The gateway is trusted here: it saw where every device was, and blurred the sums. "
        "Who sees this map alone sees shares of many, and of nobody where they were. "
        f"{_CAUTION[0]}",
        "Dem Gateway wird hier vertraut: es sah, wo jedes Gerät war, und verwischte die Summen. "
        "Wer nur diese Karte sieht, sieht Anteile von vielen und von niemandem, wo er war. "
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
