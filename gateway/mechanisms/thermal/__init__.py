"""Thermal: warmth in a room, thermometers, and noise on each reading; its record."""

from edge.mechanisms import thermal as device
from recovery import thermal as analyst
from recovery.thermal import Query, cases
from recovery.thermal.guarantee import adjust_epsilon, find_price_delta

from ..record import Exported, Mechanism, Module, ReportFold, Serving, join_halves
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
    reported=_published.make_grain_exporter,
    release=_GRAINS,
    released=_published.make_grain_exporter,
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
    *join_halves(device, analyst, cases),
    trust="local",
    unveiling=device,
    reads="temperature",
    query=Query,
    bits=device.bits,
    serving=Serving(
        limits=_granting.make_first_limits,
        remaining_limits=lambda query, limits, before: _granting.reduce_limits(limits, before),
        check_held=_deployment.check_enrolled,
        least_noise=_deployment.describe_least_noise,
        whole_budget=_deployment.describe_whole_budget,
        tighter=_deployment.tighten_limits,
        key_limit=_deployment.find_key_limit,
        fold=ReportFold(_deployment.list_slots, _deployment.release_sums),
        ledger_delta=find_price_delta,
        stay_epsilon=adjust_epsilon,
        page_values=_deployment.make_page_values,
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
    query_of=_deployment.make_query,
    words=Words(
        most_of="the warmth is",
        who_answers="Sensors",
        who="sensor",
        announced=("Warmest place", "Warmth at the warmest place", "mdi:fire"),
        has_sd=False,
        of_all=("of the warmth is at the warmest place", "der Wärme ist an der wärmsten Stelle"),
        page=_PAGE,
    ),
    promise=_words.describe_promise,
    facts=_words.list_facts,
    curve=_words.compute_guess_curve,
    silent_lines=_words.format_silent_lines,
    extra_flags=("frames", "clip", "background", "fit", "every", "frames_count", "people"),
    check_texts=_deployment.check_sensor_axes,
    check_query=_deployment.check_memory_need,
    cautions=_deployment.list_cautions,
    describe_blur=_deployment.describe_blur,
    world=_world.make_room,
    stand=_world.make_fleet_scene,
    judge=_world.judge_map,
    picture=_picture.draw_play,
    redraw=_picture.make_picture_writer,
    public_fields=_published.list_public_fields,
    read_release=_published.read_release,
    check_possible=_published.check_values_possible,
    calibrate=_calibrate.explain_calibration,
    play_frames=_arrays.play_frames,
    demo=_demo.run_demo,
    clear=_vacant.subtract_empty_room,
)
