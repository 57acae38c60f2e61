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
    "sources-title": ("Fullest cells", "Vollste Zellen"),
    "within": ("Give or take", "Auf so viel genau"),
    "strength": ("People", "Personen"),
    "sensors-title": ("Devices", "Geräte"),
    "sensors-note": (
        "No device has been heard of yet.",
        "Von keinem Gerät wurde bisher gehört.",
    ),
    "sensor-head": ("Device", "Gerät"),
    "wire-title": ("What the devices answered", "Was die Geräte geantwortet haben"),
    "wire-note": (
        "What was published of the latest round: whole numbers, with the noise in them.",
        "Was von der letzten Runde veröffentlicht wurde: ganze Zahlen, mit Rauschen darin.",
    ),
    "not": (
        "This map shows no person: only the shares of many are to be seen, each with what it "
        "may be off by, and of nobody where they were.",
        "Diese Karte zeigt keine Person: zu sehen sind nur Anteile von vielen, je mit ihrer "
        "Unsicherheit, und von niemandem, wo er war.",
    ),
}
PLACES = Words(
    most_of="the people are",
    who_answers="Devices",
    who="device",
    announced=("Fullest place", "Share of people at the fullest place", "mdi:account-group"),
    has_sd=True,
    of_all=("of all people are in the fullest cell", "aller Personen sind in der vollsten Zelle"),
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
        "The gateway cannot read what a device says, unless more devices help it than the promise "
        "allows for. This map is made of the published sums alone, and shows no person.",
        "Das Gateway kann nicht lesen, was ein Gerät sagt, es sei denn, mehr Geräte helfen ihm, "
        "als das Versprechen erlaubt. Diese Karte entsteht nur aus den veröffentlichten Summen "
        "und zeigt keine Person.",
    ),
}
