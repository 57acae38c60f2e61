"""What a stranger may do: hardly anything, and nothing that costs the gateway much."""

import http.client
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from gateway.faults import OperatorFault
from gateway.service.operate.health import Health
from gateway.service.operate.metrics import Metrics
from gateway.settings import deployment
from gateway.web import access, server
from gateway.web.access import Door
from gateway.web.operations import OPERATIONS
from gateway.web.records import Refusal
from gateway.web.server import Page

Ask = Callable[..., Any]
TOKEN = "correct-horse-battery"
VIEWERS = "battery-staple-correct"
BEARER, VIEWER = f"Bearer {TOKEN}", f"Bearer {VIEWERS}"
JSON = "application/json"
API = [f"/api/v1{one.path}" for one in OPERATIONS]


@pytest.fixture
def locked(known: Any) -> Iterator[Page]:
    """Return a page with a token of each kind."""
    words: Any = {"reader": known, "metrics": Metrics()}
    words["probed"] = "127.0.0.1", 0
    with Page("127.0.0.1", 0, token=TOKEN, viewer_token=VIEWERS, **words) as page:
        yield page


def test_whoever_watches_needs_a_token_too(locked: Page) -> None:
    """Its port is told by default to this machine alone, and where not, metrics tell who is in."""
    told = []
    for path, token in (("livez", ""), ("metrics", ""), ("readyz", ""), ("metrics", VIEWER)):
        with closing(http.client.HTTPConnection(urlsplit(locked.probes_url).netloc)) as link:
            link.request("GET", f"/{path}", headers={"Authorization": token})
            told.append(link.getresponse().status)

    assert told == [200, 401, 401, 200]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/rounds", "/api/v1/events", "/api/v1/openapi.json", "/readyz", "/metrics",
     "/nothing", "/api/v1/devices?x=1"],
)  # fmt: skip
def test_without_the_token_nothing_is_told(locked: Page, ask: Ask, path: str) -> None:
    """Not even which addresses there are."""
    answer = ask(locked, path)

    assert (answer.status, answer.json["code"]) == (401, "token")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert ask(locked, path, Authorization="Bearer wrong").status == 401


def test_a_browser_gets_a_cookie_for_the_token(locked: Page, ask: Ask) -> None:
    """It is out of reach of scripts and of other sites, and opens everything."""
    wrong = ask(locked, "/api/v1/session", "POST", b'{"token":"x"}', Content_Type=JSON)
    body = b'{"token":"%s"}' % TOKEN.encode()
    right = ask(locked, "/api/v1/session", "POST", body, Content_Type=JSON)
    cookie = right.headers["set-cookie"]
    held = cookie.split(";")[0]

    assert wrong.status == 401
    assert "set-cookie" not in wrong.headers
    assert right.status == 200
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.lower().split("; "))
    assert ask(locked, "/api/v1/rounds", Cookie=held).status == 200
    assert ask(locked, "/api/v1/session", Cookie=held).json["open"]
    assert ask(locked, "/api/v1/session").json == {"open": False}
    left = ask(locked, "/api/v1/session", "DELETE", Cookie=held)
    assert left.headers["set-cookie"].startswith(held.split("=")[0] + '="";')
    assert ask(locked, "/api/v1/rounds", Cookie=held).status == 401  # a copy opens nothing more


# What names a device: written out here, so that what is new is an operator's until somebody looks.
OPERATORS = {f"/api/v1/{one}" for one in ("state", "ledger", "devices", "refused", "quarantine")}


@pytest.mark.parametrize(
    ("path", "names_devices"),
    [
        *((path, path.split("/{name}")[0] in OPERATORS) for path in API),
        ("/readyz", False),
        ("/metrics", False),
    ],
)
def test_a_viewer_sees_all_that_names_no_device(
    locked: Page, ask: Ask, path: str, names_devices: bool
) -> None:
    """What would tell of one device, and so of who carries or passes it, is an operator's."""
    locked.feed.put_event({"kind": "map", "number": 6})
    asked = path.format(number=3, name="north")
    viewer, operator = (ask(locked, asked, Authorization=one) for one in (VIEWER, BEARER))

    assert operator.status in (200, 503)  # /readyz: the health of this page is not known
    assert viewer.status == (403 if names_devices else operator.status)
    if names_devices:
        assert viewer.json["code"] == "role"
        assert "for operators" in viewer.json["detail"]
    else:
        assert not {b"north", b"south", b"west"} & set(re.findall(rb"\w+", viewer.body))


def test_a_viewer_hears_nothing_of_a_device(locked: Page) -> None:
    """Neither as it happens nor when it comes back, nor by an event of a kind that is new.

    Once the session is ended it hears nothing at all.
    """
    door = Door(TOKEN, VIEWERS)
    session = door.try_token("192.0.2.1", VIEWERS)
    cookie = f"heatveil-{urlsplit(locked.url).port}={door.make_cookie(session)}"
    for event in ({"kind": "map"}, {"kind": "alarm", "alarms": [{"device": "north"}]}):
        locked.feed.put_event(event)
    heard = [b"", b"", b""]
    for i in range(3):  # it is new, is back after an event of ours, and after one of another start
        start = re.findall(rb"id: (\w+):", heard[0])[:1]
        query = (
            "",
            f"?last_event_id={start and start[0].decode()}:0",
            "?last_event_id=ffffffff:1",
        )
        with closing(http.client.HTTPConnection(*urlsplit(locked.url).netloc.split(":"))) as link:
            link.request("GET", f"/api/v1/events{query[i]}", headers={"Cookie": cookie})
            answer = link.getresponse()
            while b"map" not in heard[i]:
                heard[i] += answer.readline()
            locked.feed.put_event({"kind": "quarantine", "devices": [{"device": "north"}]})
            locked.feed.put_event({"kind": "of-a-later-version", "of": "north"})
            locked.feed.put_event({"kind": "done", "why": "over"})
            while b"over" not in heard[i]:
                heard[i] += answer.readline()
            if i == 2:
                link_out = http.client.HTTPConnection(*urlsplit(locked.url).netloc.split(":"))
                link_out.request("DELETE", "/api/v1/session", headers={"Cookie": cookie})
                assert link_out.getresponse().status == 204
                link_out.close()
                locked.feed.put_event({"kind": "done", "why": "after the end"})
                heard[i] += answer.read()

    assert b"north" not in b"".join(heard)
    assert [b"reset" in one for one in heard] == [False, False, True]
    assert heard[2].endswith(b'event: bye\ndata: {"kind":"bye"}\n\n')
    assert b"after the end" not in heard[2]


def test_two_roles_need_two_tokens() -> None:
    """Else whoever looks on is an operator, and nobody notices."""
    with pytest.raises(OperatorFault, match="Make another one"):
        Page("127.0.0.1", 0, token=TOKEN, viewer_token=TOKEN)
    with pytest.raises(ValidationError, match="Add a token_file"):
        deployment.Page(viewer_token_file=Path("viewer.token"))


def test_behind_a_proxy_with_tls_the_cookie_stays_there(locked: Page, ask: Ask) -> None:
    """A browser then never sends it in the clear; without TLS it would not send it at all."""
    plain = ask(locked, "/api/v1/session", Authorization=BEARER)
    behind = ask(locked, "/api/v1/session", Authorization=BEARER, X_Forwarded_Proto="https")

    assert "secure" not in plain.headers["set-cookie"].lower()
    assert behind.headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", JSON, 400),
        (b'{"token": 3}', JSON, 400),
        (b'{"token": "a", "b": 1}', JSON, 400),
        (b"\xff", JSON, 400),
        (b"[" * 4000, JSON, 400),
        (b'{"token": "a"}', "text/plain", 415),
        (b" " * 5000, JSON, 413),
    ],
)
def test_what_is_no_token_is_refused(
    locked: Page, ask: Ask, body: bytes, kind: str, status: int
) -> None:
    """In the same shape as every other error, and without anything having been compared."""
    answer = ask(locked, "/api/v1/session", "POST", body, Content_Type=kind)

    assert answer.status == status
    assert answer.json["do"]


def test_guessing_over_the_wire_ends_soon(locked: Page, ask: Ask) -> None:
    """Headers and the form are one account, and what is refused says for how long."""
    for number in range(10):
        if number % 2:
            ask(locked, "/api/v1/rounds", Authorization="Bearer wrong")
        else:
            ask(locked, "/api/v1/session", "POST", b'{"token":"x"}', Content_Type=JSON)
    answer = ask(locked, "/api/v1/rounds", Authorization=BEARER)

    assert (answer.status, answer.json["code"]) == (429, "attempts")
    assert 0 < int(answer.headers["retry-after"]) <= 7


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST", 200),
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.0.2.1", 421),
        ("", 421),
        ("a b", 421),
    ],
)
def test_a_strangers_name_that_points_here_is_refused(
    live: Page, ask: Ask, host: str, status: int
) -> None:
    """Else any web site could have a browser on this machine read the page for it."""
    port = str(urlsplit(live.url).port)

    assert ask(live, "/api/v1/rounds", Host=host.format(port=port)).status == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_the_network_reads_nothing_without_a_token(host: str) -> None:
    """The page names devices: it is for this machine, or for those who have the token."""
    with pytest.raises(OperatorFault, match="without a token"):
        Page(host, 0)


@pytest.mark.parametrize("path", ["/", "/api/v1/rounds", "/nothing", "/readyz", "/page.js"])
def test_every_answer_is_closed_to_other_pages(live: Page, ask: Ask, path: str) -> None:
    """No frame, no other origin, no cache, no guess at the kind, and not who answers."""
    headers = ask(live, path).headers

    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    # The page's own files hold nothing of anybody: kept, and asked for anew each time.
    own = path in ("/", "/page.js")
    assert headers["cache-control"] == ("no-cache" if own else "no-store")
    assert not {"server", "access-control-allow-origin"} & set(headers)


def test_loads_are_refused(live: Page, ask: Ask) -> None:
    """A body that nobody asked for, and headers without end."""
    body = ask(live, "/api/v1/rounds", "GET", b"x" * 5000)
    headers = ask(live, "/api/v1/rounds", Cookie="x" * 70_000)

    assert (body.status, body.json["code"]) == (413, "size")
    assert headers.status == 431
    assert ask(live, "/livez").status == 200


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("framing", "answers"),
    [
        (CHUNKED, [b"405", b"200"]),
        (b"Content-Length: 5\r\n" + CHUNKED, [b"400"]),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", [b"400"]),
    ],
)
def test_no_request_is_hidden_in_another(live: Page, framing: bytes, answers: list[bytes]) -> None:
    """A proxy that reads the other length would send a second request that nobody looked at."""
    place, host = ("127.0.0.1", urlsplit(live.url).port or 0), b"Host: 127.0.0.1\r\n"
    hidden = b"GET /livez HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n"
    with socket.create_connection(place) as link:
        link.settimeout(60)
        link.sendall(b"POST /livez HTTP/1.1\r\n" + host + framing + hidden)
        said = b""
        while got := link.recv(65_536):
            said += got

    assert [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]] == answers


@pytest.mark.parametrize(
    "path",
    ["/%2e%2e/config.py", "/..%2fconfig.py", "//page.js", "/page.js%00", "/app.py", "/page.js/",
     "/api/v1/rounds/", "/api/v1/rounds/..%2f..%2fx", "http://evil.example/page.js"],
)  # fmt: skip
def test_an_address_leads_to_what_is_listed_and_nowhere_else(
    live: Page, ask: Ask, path: str
) -> None:
    """No file by another way, and no redirect whose aim whoever asks may choose."""
    answer = ask(live, path)

    assert answer.status in (400, 404, 421)
    assert "location" not in answer.headers


ACTIVE = b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HEALTHY = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def said(place: tuple[str, int], asked: bytes, source: str = "127.0.0.1") -> bytes:
    """Return how the answer to a request begins, b"" where the connection is closed."""
    try:
        with socket.create_connection(place, 10, (source, 0)) as link:
            link.sendall(asked)
            return link.recv(12)
    except ConnectionError:  # at once, or while we ask
        return b""


def hold(stack: ExitStack, place: tuple[str, int], sent: bytes, source: str) -> None:
    """Keep a connection on which so much has been asked; what is answered is not read."""
    link = stack.enter_context(socket.create_connection(place, 10, (source, 0)))
    link.sendall(sent)
    if sent:
        link.recv(1, socket.MSG_PEEK)  # it has been asked once it is answered


@pytest.mark.parametrize(("sent", "at_the_page"), [(b"", b"HTTP/1.1 200"), (ACTIVE, b"")])
def test_health_answers_while_the_page_is_full(
    sent: bytes, at_the_page: bytes, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of connections that say nothing and of viewers that read slowly alike, from everywhere."""
    monkeypatch.setattr(server, "MOST", 12)
    health = Health("store")
    health.set_part("store", True)
    words: Any = {"reader": known, "health": health, "metrics": Metrics()}
    with Page("127.0.0.1", 0, probed=("127.0.0.1", 0), **words) as page, ExitStack() as stack:
        place, probes = (
            ("127.0.0.1", urlsplit(url).port or 0) for url in (page.url, page.probes_url)
        )
        for number in range(12):
            hold(stack, place, sent, f"127.0.0.{2 + number // 4}")
        answers = [
            said(probes, HEALTHY.replace(b"/livez", path))
            for path in (b"/livez", b"/readyz", b"/metrics", b"/api/v1/rounds")
        ]
        full = said(place, HEALTHY)

    assert answers == [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 404"]
    assert full == at_the_page


@pytest.mark.parametrize(("hosts", "answered"), [((), b""), (("heat.example",), b"HTTP/1.1 200")])
def test_one_address_leaves_room_for_the_others(
    hosts: tuple[str, ...], answered: bytes, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has half of the connections; a proxy of this machine, where one is named, has all."""
    monkeypatch.setattr(server, "MOST", 12)
    with Page("127.0.0.1", 0, reader=known, hosts=hosts) as page, ExitStack() as stack:
        place = "127.0.0.1", urlsplit(page.url).port or 0
        for _ in range(6):
            hold(stack, place, ACTIVE, "127.0.0.2")
        seventh = said(place, HEALTHY, "127.0.0.2")
        other = said(place, HEALTHY, "127.0.0.3")

    assert seventh == answered
    assert other == b"HTTP/1.1 200"


@pytest.mark.long
def test_connections_are_bounded(live: Page, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens many and asks nothing, or never ends, takes no descriptor from the store."""
    monkeypatch.setattr(server, "MOST", 20)
    monkeypatch.setattr(server, "PATIENCE_S", 0.8)
    place = ("127.0.0.1", urlsplit(live.url).port or 0)
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(place)) for _ in range(20)]
        for link in opened:
            link.sendall(b"GET /livez HTTP/1.1\r\nX: ")
        more = stack.enter_context(socket.create_connection(place))
        more.settimeout(60)
        more.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answered = more.recv(12)
        for link in opened:  # the first makes room, and the patience with the others ends
            link.settimeout(60)
            with suppress(ConnectionResetError):
                assert link.recv(1) == b""
        answer = ask(live, "/livez")

    assert answered == b"HTTP/1.1 200"  # the silent ones do not close the port to others
    assert answer.status == 200


# The token: only its owner gets in, and nobody gets to try for ever.

OWN_TOKEN = "correct horse battery".replace(" ", "-")


class Clock:
    """Shows what it is set to."""

    now_s = 1e9

    def __call__(self) -> float:
        return self.now_s


def _refused(held: Door, authorization: str = "", cookie: str = "", at: str = "192.0.2.1") -> int:
    """Return the status a visitor gets; 0 when let in."""
    try:
        held.authenticate(at, authorization, cookie)
    except Refusal as fault:
        return fault.status
    return 0


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {OWN_TOKEN}", 0),
        (f"bearer {OWN_TOKEN}", 0),
        ("", 401),
        (f"Basic {OWN_TOKEN}", 401),
        ("Bearer ", 401),
        (f"Bearer {OWN_TOKEN[:-1]}", 401),
        (f"Bearer {OWN_TOKEN}x", 401),
        ("Bearer \xe4", 401),
    ],
)
def test_only_the_token_opens(authorization: str, status: int) -> None:
    """All of it and nothing else."""
    assert _refused(Door(OWN_TOKEN), authorization) == status


@pytest.mark.parametrize("token", [OWN_TOKEN, VIEWERS])
def test_a_session_ends_and_is_of_one_token_and_role(token: str) -> None:
    """It cannot be made longer or another's, nor outlive its token; a restart is no matter."""
    clock = Clock()
    held = Door(OWN_TOKEN, VIEWERS, clock)
    session = held.try_token("192.0.2.1", token)
    cookie, again = held.make_cookie(session), Door(OWN_TOKEN, VIEWERS, clock)
    role, until, sign_in, signed = cookie.split(".")
    other = {"operator": "viewer", "viewer": "operator"}[role]
    forged = [
        f"{role}.{int(until) + 1}.{sign_in}.{signed}",
        f"{other}.{until}.{sign_in}.{signed}",
        f"{role}.{until}.x.{signed}",
        f"{role}.{until}.{sign_in}.",
        f"{role}.{until}.{sign_in}",
        f"{role}.",
        "...",
        "",
        "²",
    ]

    assert _refused(again, cookie=cookie) == 0
    assert {_refused(again, cookie=one) for one in forged} == {401}
    assert _refused(Door(OWN_TOKEN + "2", VIEWERS + "2", clock), cookie=cookie) == 401
    clock.now_s += access.SESSION_S[role] - 1
    assert _refused(again, cookie=cookie) == 0
    renewed = held.make_cookie(held.renew_session(session))
    clock.now_s += 1
    assert _refused(again, cookie=cookie) == 401
    # A wall screen goes on while it looks; who sees devices signs in again.
    assert _refused(again, cookie=renewed) == (0 if token == VIEWERS else 401)
    session = held.try_token("192.0.2.1", token)
    fresh, renewed = (held.make_cookie(one) for one in (session, held.renew_session(session)))
    assert {_refused(held, cookie=one) for one in (fresh, renewed)} == {0}
    held.end_session(fresh)
    assert {_refused(held, cookie=one) for one in (fresh, renewed)} == {401}


def test_viewers_who_sign_out_bring_no_operators_session_back() -> None:
    """Who has been signed out is remembered in bounded memory, and each role has its own."""
    held = Door(OWN_TOKEN, VIEWERS)
    left, others = (held.try_token("192.0.2.1", one) for one in (OWN_TOKEN, VIEWERS))
    cookie = held.make_cookie(left)
    held.end_session(cookie)
    for number in range(access.ENDED + 1):
        held.end_session(held.make_cookie(others._replace(sign_in=f"{number:x}")))

    assert _refused(held, cookie=cookie) == 401


def test_who_guesses_is_not_listened_to_for_a_while() -> None:
    """After ten wrong ones not even the right one is heard from there; a cookie still is."""
    clock = Clock()
    held = Door(OWN_TOKEN, clock=clock)
    cookie = held.make_cookie(held.try_token("192.0.2.1", OWN_TOKEN))
    tried = [_refused(held, "Bearer wrong") for _ in range(15)]
    meanwhile = _refused(held, f"Bearer {OWN_TOKEN}"), _refused(held, cookie=cookie)
    elsewhere = _refused(held, f"Bearer {OWN_TOKEN}", at="192.0.2.2")
    clock.now_s += access.EVERY_S
    later = _refused(held, f"Bearer {OWN_TOKEN}")

    assert tried == [401] * 10 + [429] * 5
    assert meanwhile == (429, 0)
    assert elsewhere == 0
    assert later == 0


def test_guessers_fill_no_memory() -> None:
    """A million addresses are a thousand remembered; of IPv6 a customer's network is one."""
    held = Door(OWN_TOKEN)
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
        access.read_token(path)


def test_a_token_is_read_without_its_last_line_end(tmp_path: Path) -> None:
    """As editors and openssl write it; a missing file is said."""
    path = tmp_path / "token"
    path.write_text(OWN_TOKEN + "\n", "utf-8")

    assert access.read_token(path) == OWN_TOKEN
    assert access.read_token(None) is None
    with pytest.raises(OperatorFault, match="No such file"):
        access.read_token(tmp_path / "nothing")
