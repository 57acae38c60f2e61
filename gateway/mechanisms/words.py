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
    "within": (
        "Possible error (smaller in 68\u00a0% of cases)",
        "Möglicher Fehler (in 68\u00a0% der Fälle kleiner)",
    ),
    "strength": ("People", "Personen"),
    "sensors-title": ("Devices", "Geräte"),
    "sensors-note": (
        "No device has answered yet.",
        "Noch hat kein Gerät geantwortet.",
    ),
    "sensor-head": ("Device", "Gerät"),
    "wire-title": ("What the devices answered", "Was die Geräte geantwortet haben"),
    "wire-note": (
        "What was published of the latest round: whole numbers, with random noise added.",
        "Was von der letzten Runde veröffentlicht wurde: ganze Zahlen mit zufälligem Rauschen.",
    ),
    "not": (
        "This map shows no single person. It shows roughly where which part of many people was, "
        "and how far off that may be.",
        "Diese Karte zeigt keine einzelne Person. Sie zeigt ungefähr, wo welcher Teil von vielen "
        "Personen war, und wie weit das danebenliegen kann.",
    ),
}
PLACES = Words(
    most_of="the people are",
    who_answers="Devices",
    who="device",
    announced=("Fullest place", "Share of people at the fullest place", "mdi:account-group"),
    has_sd=True,
    of_all=(
        "of the counted people are in the fullest square",
        "der gezählten Personen sind im vollsten Quadrat",
    ),
    page=_PAGE,
)
SUMS = {  # on the page of a mechanism whose gateway learns sums alone
    **_PAGE,
    "sensors-note": (
        "Which device took part in which sum is not kept.",
        "Welches Gerät an welcher Summe teilnahm, wird nicht aufbewahrt.",
    ),
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "not": (
        "This map shows no single person. The gateway sees only sums over many devices; it could "
        "read what one device sends only if more devices helped it than the promise allows for.",
        "Diese Karte zeigt keine einzelne Person. Das Gateway sieht nur Summen über viele Geräte; "
        "was ein Gerät sendet, könnte es nur lesen, wenn ihm mehr Geräte hülfen, als das "
        "Versprechen erlaubt.",
    ),
}
