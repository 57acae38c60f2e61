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
        "Possible error (in about 2 of 3 cases it is smaller than this)",
        "Möglicher Fehler (in etwa 2 von 3 Fällen kleiner als hier angegeben)",
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
        "This map shows no single person. It shows roughly how many people were where, and how "
        "far off that may be.",
        "Diese Karte zeigt keine einzelne Person. Sie zeigt ungefähr, wie viele Personen wo "
        "waren, und wie weit das danebenliegen kann.",
    ),
}
PLACES = Words(
    most_of="the people are",
    who_answers="Devices",
    who="device",
    announced=("Fullest place", "Share of people at the fullest place", "mdi:account-group"),
    has_sd=True,
    of_all=(
        "of the counted people are at the fullest place",
        "der gezählten Personen sind an der vollsten Stelle",
    ),
    page=_PAGE,
)
SUMS = {  # on the page of a mechanism whose gateway learns sums alone
    **_PAGE,
    "sensors-note": (
        "Which device took part in which sum is not kept.",
        "Welches Gerät an welcher Summe teilnahm, wird nicht gespeichert.",
    ),
    "wire-title": ("What was published", "Was veröffentlicht wurde"),
    "not": (
        "This map shows no single person, only roughly how many people were where. Nobody can "
        "read what one device sends, not even the gateway, as long as gateway and broker run the "
        "right programs and no more devices help them to find out than the promise allows for.",
        "Diese Karte zeigt keine einzelne Person, nur ungefähr, wie viele Personen wo waren. Was "
        "ein Gerät sendet, kann niemand lesen, auch das Gateway nicht, solange auf Gateway und "
        "Broker die richtigen Programme laufen und ihnen nicht mehr Geräte dabei helfen, als das "
        "Versprechen erlaubt.",
    ),
}
TRUSTED = {  # on the page of a mechanism whose gateway sees places
    **_PAGE,
    "not": (
        "This map shows no single person, only roughly how many people were where. The gateway "
        "alone saw where every device was, so whoever runs it must be trusted.",
        "Diese Karte zeigt keine einzelne Person, nur ungefähr, wie viele Personen wo waren. Nur "
        "das Gateway sah, wo jedes Gerät war; wer es betreibt, dem muss man also vertrauen.",
    ),
}
