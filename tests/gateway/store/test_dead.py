"""Dead letters are evidence of what strangers sent: readable, and of bounded size."""

from pathlib import Path
from typing import Any

import pytest

from gateway.service.intake.door import authenticate
from gateway.service.intake.outcomes import DeadLetter
from gateway.service.mqtt.connection import Message
from gateway.store import message_rows
from gateway.store.store import Store

SITE = "testsite"


def refused(place: Path, letters: list[DeadLetter]) -> list[DeadLetter]:
    """Return what a store makes of these, oldest first."""
    store = Store(place, SITE)
    try:
        store.keep([], letters)
        return store.refused(len(letters))[::-1]
    finally:
        store.close()


@pytest.mark.parametrize(
    "name",
    [
        "a\x1b[2Jb",
        "a\nWARNING all is well",
        "a\rb",
        "a\x00b",
        "a\u202etxt.exe",
        "a\ud800b",
        "\x9b1m",
    ],
    ids=["escape", "line", "return", "zero", "right to left", "half a character", "C1"],
)
def test_a_name_made_to_mislead_is_shown_as_what_it_is(
    home: Any, tmp_path: Path, name: str
) -> None:
    """A terminal, a log and a page show topics and reasons: none may be moved by them."""
    topic = f"heatveil/1/{SITE}/{name}/data"
    found = authenticate(Message(topic, b"x" * 40, (1, 1)), home.devices)
    assert isinstance(found, DeadLetter)
    kept = refused(tmp_path / "store.sqlite", [found])[0]

    for text in (kept.topic, kept.why):
        assert text.isprintable()
        assert "\ufffd" in text
    assert "is not enrolled" in kept.why


def test_what_people_write_is_kept_as_it_is(tmp_path: Path) -> None:
    """The control: letters of any language, spaces and signs stay."""
    letter = DeadLetter("heatveil/1/büro/Gerät 3 – öst/データ", "it says „no“", b"x")

    kept = refused(tmp_path / "store.sqlite", [letter])[0]

    assert kept[:2] == letter[:2]


def test_topics_as_long_as_mqtt_allows_do_not_fill_the_disk(tmp_path: Path) -> None:
    """Each of another topic, so that none pushes another out: their text is what is bounded."""
    place, longest = tmp_path / "store.sqlite", 65_535
    letters = [
        DeadLetter(f"{number:05}" + "x" * (longest - 5), "y" * longest, b"z" * 100_000)
        for number in range(200)
    ]
    kept = refused(place, letters)

    assert len({one.topic for one in kept}) == 200
    assert all(len(one.topic) == len(one.why) == message_rows.LONGEST for one in kept)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 200 * 4096 + (1 << 20)
