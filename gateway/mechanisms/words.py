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
    of_all: str  # what a share is a part of, on the page
    page: Mapping[str, str]  # texts of the page, by the id of their element


_PAGE = {
    "map-title": "Where people are",
    "sources-title": "Fullest cells",
    "within": "Give or take",
    "strength": "People",
    "sensors-title": "Devices",
    "sensors-note": "No device has been heard of yet.",
    "sensor-head": "Device",
    "wire-title": "What the devices answered",
    "wire-note": "What was published of the latest round: whole numbers, with the noise in them.",
    "not": (
        "This map shows no person: only the shares of many are to be seen, each with what it "
        "may be off by, and of nobody where they were."
    ),
}
PLACES = Words(
    most_of="the people are",
    who_answers="Devices",
    who="device",
    announced=("Fullest place", "Share of people in the fullest cell", "mdi:account-group"),
    has_sd=True,
    of_all="of all people ",
    page=_PAGE,
)
SUMS = {  # on the page of a mechanism whose gateway learns sums alone
    **_PAGE,
    "sensors-note": "Who took part in which sum is not kept.",
    "wire-title": "What was published",
    "not": (
        "The gateway cannot read what a device says, unless more devices help it than the promise "
        "allows for. This map is made of the published sums alone, and shows no person."
    ),
}
