"""Letters, filters, quarantine, forgetting: what stands in the store beside its rounds."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gateway.service.intake.door import authenticate
from gateway.service.intake.outcomes import Asked, DeadLetter, Heard, Kept, Letter
from gateway.service.mqtt.connection import Message
from gateway.store import message_rows
from gateway.store.places import Place
from gateway.store.reader import Reader
from gateway.store.store import Store

DAY_S = 86_400
KEY = b"key1"


def letter(topic: str, payload: bytes, retain: bool = True) -> Letter:
    return Letter(0, topic, payload, retain)


def test_a_retained_letter_takes_the_place_of_an_older_one(store: Store) -> None:
    """After a night without a broker nobody needs every map of it; what is not retained, all."""
    store.post([letter("map", b"1"), letter("say", b"1", False), letter("state", b"1")])
    store.post([letter("map", b"2"), letter("say", b"2", False)])

    waiting = store.letters()
    assert [(one.topic, one.payload) for one in waiting] == [
        ("say", b"1"),
        ("state", b"1"),
        ("map", b"2"),
        ("say", b"2"),
    ]
    assert store.letters(1) == waiting[:1]
    store.posted([one.id for one in waiting[:3]])
    assert store.letters() == waiting[3:]


def test_who_posted_an_old_letter_does_not_strike_out_the_new(store: Store) -> None:
    """The broker acknowledges the old one when the new one waits already; SQLite reuses ids."""
    store.post([letter("map", b"old")])
    (old,) = store.letters()
    store.post([letter("map", b"new")])
    store.posted([old.id])

    assert [one.payload for one in store.letters()] == [b"new"]


def test_who_is_shut_out_stays_so_over_a_start(store: Store, place: Place) -> None:
    """A device that floods must not be let in again by a restart; the first reason is kept."""
    store.quarantine("north", "it floods")
    since_s = store.quarantined()["north"][1]
    store.quarantine("north", "still")
    store.quarantine("south", "forged")
    store.close()
    found = Store(place, "lab")

    assert found.quarantined()["north"] == ("it floods", since_s)
    found.free("south")
    assert set(found.quarantined()) == {"north"}
    found.close()


def _lived(store: Store, home: Any) -> dict[int, float]:
    """Let three rounds come and two close; return when by number."""
    closed = {}
    for number in (1, 2, 3):
        name = b"nam%d" % number
        asked = Asked(name, name, home.round(number), b"message", Fraction(1, 7))
        store.open_round(asked, Fraction(1))
        store.keep(
            [Kept(f"node-{n}", 1, number, name, b"frame", KEY) for n in range(25)],
            [DeadLetter("a/b", "why", b"bytes")],
            [],
            [Heard("node-0", 2, number, name, b"late", KEY)],
        )
        if number < 3:
            store.close_round(name, [number], 25)
            store.keep_map(name, f'{{"number": {number}}}')
    return closed


def test_what_is_forgotten_and_what_never_is(
    store: Store, place: Place, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readings of closed rounds and old maps go; charges, numbers and what is open stay."""
    monkeypatch.setattr("gateway.store.store.SOME", 10)
    _lived(store, home)
    reader = Reader(place)
    now_s = reader.rounds()[0].opened_s + 10 * DAY_S
    charges, newest = store.charges(), store.newest()

    assert store.retain(now_s, 11, 11) == 0
    assert store.retain(now_s, None, 1) == 3
    assert reader.refused() == []
    assert [len(reader.answers(number)) for number in (1, 2, 3)] == [25, 25, 25]

    assert store.retain(now_s, 1, 1) == 25 + 25 + 3 + 1
    assert [len(reader.answers(number)) for number in (1, 2, 3)] == [0, 0, 25]
    assert reader.map(1) is None
    assert reader.map() == {"number": 2}  # else the page would have nothing to show
    assert store.charges() == charges
    assert store.newest() == newest
    assert [store.release(b"nam%d" % n) for n in (1, 2, 3)] == [([1], 25), ([2], 25), None]
    assert [row.reports for row in reader.devices()][:2] == [3, 3]
    assert store.retain(now_s, 1, 1) == 0
    reader.close()


# Dead letters are evidence of what strangers sent: readable, and of bounded size.

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
