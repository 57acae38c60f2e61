"""What things are called on the page and in Home Assistant, where a mechanism reads places."""

from collections.abc import Mapping
from typing import NamedTuple


class Words(NamedTuple):
    """What a map and who answers are called: for the service, the page and Home Assistant."""

    most_of: str  # what is mapped, with its verb
    who_answers: str  # many of them, at the beginning of a sentence
    who: str  # one of them
    announced: tuple[str, str, str]  # the place with most, the share that is there, and its icon
    has_sd: bool  # whether a share has a standard deviation, and there are no sources
    of_all: tuple[str, str]  # what the share of the fullest cell is, on the page: English, German
    page: Mapping[str, tuple[str, str]]  # of its elements by their id: English, German


_PAGE = {
    "map-title": ("Where people are", "Wo Personen sind"),
    "sources-title": ("Fullest places", "Wo die meisten sind"),
    "within": ("Off by at most (68 % sure)", "Höchstens daneben (zu 68 % sicher)"),
    "strength": ("People", "Personen"),
    "sensors-title": ("Devices", "Geräte"),
    "sensors-note": (
        "No device has been heard of yet.",
        "Von keinem Gerät wurde bisher gehört.",
    ),
    "sensor-head": ("Device", "Gerät"),
    "wire-title": ("What the devices answered", "Was die Geräte geantwortet haben"),
    "wire-note": (
        "What was published of the latest round: whole numbers, with chance mixed in.",
        "Was von der letzten Runde veröffentlicht wurde: ganze Zahlen, mit beigemischtem Zufall.",
    ),
    "not": (
        "This map shows no single person. It shows roughly which part of many people was where, "
        "and how far that may be off.",
        "Diese Karte zeigt keine einzelne Person. Sie zeigt ungefähr, welcher Teil von vielen wo "
        "war, und wie weit das danebenliegen kann.",
    ),
}
PLACES = Words(
    most_of="the people are",
    who_answers="Devices",
    who="device",
    announced=("Fullest place", "Share of people at the fullest place", "mdi:account-group"),
    has_sd=True,
    of_all=("of all people are in the fullest square", "aller Personen sind im vollsten Quadrat"),
    page=_PAGE,
)
SUMS = {  # on the page of a mechanism whose gateway learns sums alone
    **_PAGE,
    "sensors-note": (
        "Who took part in which sum is not kept.",
        "Wer an welcher Summe teilnahm, wird nicht aufbewahrt.",
    ),
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "not": (
        "This map shows no single person. The gateway sees only sums over many devices; it could "
        "read what one says only if more devices helped it than the promise allows for.",
        "Diese Karte zeigt keine einzelne Person. Das Gateway sieht nur Summen über viele Geräte; "
        "was eines sagt, könnte es nur lesen, wenn mehr Geräte ihm hülfen, als das Versprechen "
        "erlaubt.",
    ),
}
