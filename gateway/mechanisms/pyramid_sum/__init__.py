"""A heatmap of devices of which a gateway learns sums alone; its record."""

from edge.mechanisms import pyramid_sum as device
from recovery import pyramid_sum as analyst
from recovery.pyramid_sum import Query, cases

from ..record import PURE, SQUARES, Exported, Mechanism, Module, Serving
from ..words import PLACES, SUMS

_crowd = Module(__name__, "crowd")
_sums = Module("gateway.mechanisms", "sums")
_PAGE = {
    **SUMS,
    "wire-note": (
        "The map is cut into large squares, these into smaller ones, and so on. Each device "
        "writes one number for each square, large or small: zero if it is not in that square. It "
        "adds a small random number to each and encrypts them. For each square only the sum over "
        "many devices can be read; that is published.",
        "Die Karte ist in große Quadrate geteilt, diese in kleinere, und so weiter. Jedes Gerät "
        "schreibt für jedes Quadrat, groß oder klein, eine Zahl: null, wenn es nicht darin ist. "
        "Zu jeder zählt es eine kleine Zufallszahl hinzu und verschlüsselt sie. Für jedes Quadrat "
        "lässt sich nur die Summe über viele Geräte lesen; sie ist veröffentlicht.",
    ),
}

MECHANISM = Mechanism(
    device.NAME,
    analyst.plan,
    device.report,
    _crowd.release_shards,
    analyst.recover,
    cases,
    trust="distributed",
    cautions=_sums.list_cautions,
    reporter=_sums.make_reporter,
    reads="place",
    query=Query,
    bits=lambda round: 16 if device.params_of(round).bits <= 16 else 32,
    vector_length=device.count_sums,
    serving=Serving(**{**PURE, "check_held": _sums.check_enrolled}, exported=Exported(**SQUARES)),
    words=PLACES._replace(has_sd=False, page=_PAGE),
    world=_crowd.load_crowd,
    judge=_crowd.judge_map,
    calibrated=_crowd.describe_levels,
)
