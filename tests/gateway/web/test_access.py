"""The token: only its owner gets in, and nobody gets to try for ever."""

from pathlib import Path

import pytest

from gateway.faults import OperatorFault
from gateway.web import access
from gateway.web.access import Door
from gateway.web.records import Refusal

TOKEN = "correct horse battery".replace(" ", "-")


class Clock:
    """Shows what it is set to."""

    now_s = 1e9

    def __call__(self) -> float:
        return self.now_s


def _refused(held: Door, authorization: str = "", cookie: str = "", at: str = "192.0.2.1") -> int:
    """Return the status a visitor gets; 0 when let in."""
    try:
        held.check(at, authorization, cookie)
    except Refusal as fault:
        return fault.status
    return 0


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 0),
        (f"bearer {TOKEN}", 0),
        ("", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer ", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer \xe4", 401),
    ],
)
def test_only_the_token_opens(authorization: str, status: int) -> None:
    """All of it and nothing else."""
    assert _refused(Door(TOKEN), authorization) == status


def test_a_cookie_is_good_for_a_week_and_for_one_token() -> None:
    """It cannot be made longer, nor used where the token is another; a restart is no matter."""
    clock = Clock()
    cookie = Door(TOKEN, clock).cookie()
    until, signed = cookie.split(".")
    again = Door(TOKEN, clock)
    forged = [
        f"{int(until) + 1}.{signed}",
        f"{until}.",
        until,
        ".",
        f"-1.{signed}",
        "x.y",
        "",
        "².",
    ]

    assert _refused(again, cookie=cookie) == 0
    assert {_refused(again, cookie=one) for one in forged} == {401}
    assert _refused(Door(TOKEN + "2", clock), cookie=cookie) == 401
    clock.now_s += access.WEEK_S - 1
    assert _refused(again, cookie=cookie) == 0
    clock.now_s += 1
    assert _refused(again, cookie=cookie) == 401


def test_who_guesses_is_not_listened_to_for_a_while() -> None:
    """After ten wrong ones not even the right one is heard from there; a cookie still is."""
    clock = Clock()
    held = Door(TOKEN, clock)
    tried = [_refused(held, "Bearer wrong") for _ in range(15)]
    meanwhile = _refused(held, f"Bearer {TOKEN}"), _refused(held, cookie=held.cookie())
    elsewhere = _refused(held, f"Bearer {TOKEN}", at="192.0.2.2")
    clock.now_s += access.EVERY_S
    later = _refused(held, f"Bearer {TOKEN}")

    assert tried == [401] * 10 + [429] * 5
    assert meanwhile == (429, 0)
    assert elsewhere == 0
    assert later == 0


def test_guessers_fill_no_memory() -> None:
    """A million addresses are a thousand remembered; of IPv6 a customer's network is one."""
    held = Door(TOKEN)
    for number in range(3000):
        _refused(held, "Bearer wrong", at=f"10.0.{number >> 8}.{number & 255}")
    customer = [_refused(held, "Bearer wrong", at=f"2001:db8::{number:x}") for number in range(11)]

    assert len(held._wrong) == access.ADDRESSES
    assert customer[-1] == 429


@pytest.mark.parametrize("text", ["", "short", "fifteen-letters", "sixteen letters!", "ü" * 20])
def test_a_token_that_keeps_nobody_out_is_refused(tmp_path: Path, text: str) -> None:
    """Short ones are guessed, and others no header can carry."""
    path = tmp_path / "token"
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(OperatorFault, match="needs to be 16 or more"):
        access.read(path)


def test_a_token_is_read_without_its_last_line_end(tmp_path: Path) -> None:
    """As editors and openssl write it; a missing file is said."""
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n", "utf-8")

    assert access.read(path) == TOKEN
    assert access.read(None) is None
    with pytest.raises(OperatorFault, match="No such file"):
        access.read(tmp_path / "nothing")
