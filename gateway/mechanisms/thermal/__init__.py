"""Thermal: warmth in a room, thermometers, and noise on each reading; its record."""

from edge.mechanisms import thermal as device
from recovery import thermal as analyst
from recovery.thermal import Query, cases
from recovery.thermal.guarantee import adjust_epsilon, delta_of_prices

from ..record import Exported, Fold, Mechanism, Module, Serving, halves
from ..words import Words

_granting = Module(__name__, "granting")
_arrays = Module(__name__, "arrays")
_demo = Module(__name__, "demo")
_vacant = Module(__name__, "vacant")
_calibrate = Module(__name__, "calibrate")
_deployment = Module(__name__, "deployment")
_picture = Module(__name__, "picture")
_published = Module(__name__, "published")
_words = Module(__name__, "words")
_world = Module(__name__, "world")
_GRAINS = {"sensor": int, "grains": int, "exponent": int}


_EXPORTED = Exported(
    report=_GRAINS,
    reported=_published.export_grains,
    release=_GRAINS,
    released=_published.export_grains,
    units={
        "sensor": "counted from 0",
        "grains": (
            "whole numbers; times 2**-exponent kelvin, or units of the unit interval's model"
        ),
        "exponent": "of the grains",
    },
)
_PAGE = {
    "map-title": ("Where the warmth is", "Wo die Wärme ist"),
    "sources-title": ("Likely sources of warmth", "Wahrscheinliche Wärmequellen"),
    "strength": ("Strength", "Stärke"),
    "sensors-title": ("Sensors", "Sensoren"),
    "sensors-note": (
        "No sensor has answered yet.",
        "Noch hat kein Sensor geantwortet.",
    ),
    "sensor-head": ("Sensor", "Sensor"),
    "wire-title": ("What the sensors sent", "Was die Sensoren gesendet haben"),
    "wire-note": (
        "Each dot is what one sensor sent in this round, blurred at random before it was sent: "
        "where the picture is a map, the brighter the warmer; where it is a row of dots, the "
        "higher the warmer. Nothing more of a round leaves the sensors.",
        "Jeder Punkt ist, was ein Sensor in dieser Runde gesendet hat, vor dem Senden zufällig "
        "verwischt. Auf einer Karte gilt: je heller, desto wärmer; in einer Punktreihe: je höher, "
        "desto wärmer. Mehr verlässt die Sensoren in einer Runde nicht.",
    ),
    "not": (
        "This map is not a picture of people: every reading was blurred before it left its "
        "sensor. It shows roughly where warmth is and never an exact place, and a dark "
        "patch does not prove that nobody was there.",
        "Diese Karte ist kein Bild von Personen: jeder Messwert wurde verwischt, bevor er den "
        "Sensor verließ. Sie zeigt ungefähr, wo Wärme ist, und nie einen genauen Ort, und eine "
        "dunkle Stelle beweist nicht, dass dort niemand war.",
    ),
}

MECHANISM = Mechanism(
    *halves(device, analyst, cases),
    trust="local",
    unveiling=device,
    reads="temperature",
    query=Query,
    bits=device.bits,
    serving=Serving(
        limits=_granting.grant,
        remaining_limits=lambda query, limits, before: _granting.reduce_budget(limits, before),
        check_held=_deployment.check_held,
        least_noise=_deployment.least_noise,
        whole_budget=_deployment.whole_budget,
        tighter=_deployment.tighten_limits,
        key_limit=_deployment.key_limit,
        fold=Fold(_deployment.slots, _deployment.release),
        ledger_delta=delta_of_prices,
        stay_epsilon=adjust_epsilon,
        page_values=_deployment.page_values,
        exported=_EXPORTED,
    ),
    tables={
        "heat": "how far warmth has spread, which the noise is made for",
        "sensors": "how many thermometers there are",
    },
    keys={("privacy", "delta"): "the probability added to its factor"},
    refused_keys={},
    live_keys={"rounds": frozenset({"estimator"})},
    sensors=lambda deployment: deployment.sensors.count,
    query_of=_deployment.query_of,
    words=Words(
        most_of="the warmth is",
        who_answers="Sensors",
        who="sensor",
        announced=("Warmest place", "Warmth at the warmest place", "mdi:fire"),
        has_sd=False,
        of_all=("of the warmth is in the warmest square", "der Wärme ist im wärmsten Quadrat"),
        page=_PAGE,
    ),
    promise=_words.in_words,
    facts=_words.facts,
    curve=_words.distance_curve,
    silent_lines=_words.silent_lines,
    extra_flags=("frames", "clip", "background", "fit", "every", "frames_count", "people"),
    check_texts=_deployment.check_axes,
    check_query=_deployment.check_size,
    cautions=_deployment.cautions,
    world=_world.room_of,
    stand=_world.make_warmth,
    judge=_world.judge,
    picture=_picture.picture,
    redraw=_picture.redraw,
    public_fields=_published.public_fields,
    read_release=_published.read_release,
    check_possible=_published.check_possible,
    calibrate=_calibrate.calibrate,
    play_frames=_arrays.play_frames,
    demo=_demo.run,
    clear=_vacant.subtract_empty_room,
)
