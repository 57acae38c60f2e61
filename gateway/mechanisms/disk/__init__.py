"""Disk: people in cells, a device each, and answers near the true cell; its record."""

from edge.mechanisms import disk as device
from recovery import disk as analyst
from recovery.disk import cases
from recovery.disk.query import Query

from ..record import PURE, Exported, Mechanism, Module, ReportFold, Serving, join_halves
from ..words import PLACES

_calibrate = Module(__name__, "calibrate")
_deployment = Module(__name__, "deployment")
_words = Module(__name__, "words")
_CELL = {"cell": int, "row": int, "column": int}
_AROUND = "of the map, from 0; below 0 or beyond it where nobody can be"


_EXPORTED = Exported(
    report=_CELL,
    reported=_deployment.make_report_exporter,
    release={**_CELL, "answers": int},
    released=_deployment.make_count_exporter,
    units={
        "cell": "of all that may be answered, row by row, from 0",
        "row": _AROUND,
        "column": _AROUND,
        "answers": "devices that answered this cell, wherever they were",
    },
)
_PAGE = {
    **PLACES.page,
    "wire-note": (
        "The brighter a square, the more devices named it in the latest round. To hide where it "
        "is, a device (a phone, for example) names a square at random: often one near it, "
        "sometimes a far one, even outside the frame, where nobody can be. Nobody learns more of "
        "a device in a round than such a random square, not even a person who reads the "
        "messages on their way.",
        "Je heller ein Quadrat, desto mehr Geräte nannten es in der letzten Runde. Um zu "
        "verbergen, wo es ist, nennt ein Gerät (etwa ein Telefon) ein zufälliges Quadrat: oft ein "
        "nahes, manchmal ein fernes, sogar außerhalb des Rahmens, wo niemand sein kann. Mehr als "
        "ein solches zufälliges Quadrat je Runde erfährt niemand von einem Gerät, auch nicht, wer "
        "die Nachrichten unterwegs mitliest.",
    ),
    "not": (
        "This map shows no single person: each device answered with a place that was shifted at "
        "random from its own. The map shows roughly how many people were where, and by how many "
        "that may be wrong.",
        "Diese Karte zeigt keine einzelne Person: jedes Gerät nannte einen Ort, der gegenüber "
        "seinem wirklichen Ort zufällig verschoben war. Die Karte zeigt ungefähr, wie viele "
        "Personen wo waren, und um wie viele das danebenliegen kann.",
    ),
}

MECHANISM = Mechanism(
    *join_halves(device, analyst, cases),
    trust="local",
    reads="place",
    query=Query,
    bits=device.bits,
    serving=Serving(
        **PURE,
        payload_fault=_deployment.make_payload_check,
        fold=ReportFold(_deployment.list_slots, _deployment.release_sums),
        page_values=_deployment.make_page_values,
        exported=_EXPORTED,
    ),
    refused_keys={
        ("room", "plan"): "no warmth is followed through a room",
        ("room", "walls"): "no warmth spreads between walls",
        ("room", "furniture"): "every cell can be answered",
        ("privacy", "delta"): "its promise is epsilon alone and never fails",
        ("privacy", "protect_distance_m"): "it hides one place among all, however far",
        ("privacy", "keyholder"): "a device whose draws somebody can repeat hides no place",
        ("rounds", "estimator"): "who draws the map stands under [disk] estimator",
        ("rounds", "calibration"): "there is no noise to calibrate",
        ("rounds", "sampler"): "it draws from the weights that its Round carries",
    },
    query_of=_deployment.make_query,
    words=PLACES._replace(page=_PAGE),
    promise=_words.describe_promise,
    reporter=_deployment.make_reporter,
    judge=_words.judge_map,
    panels=_words.make_panels,
    read_release=_deployment.read_release,
    calibrated=_calibrate.describe_weights,
)
