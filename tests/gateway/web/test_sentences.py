"""The gateway's own sentences have codes, and the page has a line in both languages for each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway import web
from gateway.mechanisms import MECHANISMS, find_mechanism
from gateway.service.drawing import Turnout, _describe_too_few
from gateway.service.intake import judge
from gateway.service.mqtt.connection import LinkState
from gateway.service.operate import quarantine
from gateway.service.operate.health import Health, make_health_event
from gateway.service.telling import make_alarm_event
from gateway.settings import config
from gateway.web.server import Page
from recovery.estimators import robust
from recovery.maps.guarantee import from_json, restore_codes, to_json
from recovery.maps.sentence import Wording, describe_sentence, recognise
from tests.conftest import ROOT

from .test_page import READY, Opened, Until, drawn, read

TABLE = re.compile(
    r'^  "(said|exact)\.([\w. ]+)": \[("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")\],$', re.M
)
FIELD = re.compile(r"\{(\w+)(?::\w+)?\}")


@pytest.mark.parametrize("wording", [*judge.ALARMS, *quarantine.OUT], ids=lambda one: one.code)
def test_what_the_store_keeps_as_text_has_its_code_again(wording: Wording) -> None:
    """After a start it would else be English; and what another gateway wrote stays as it is."""
    names = set(FIELD.findall(wording.text))
    said = wording(**{name: f"<{name}> 3.7" for name in names})

    assert describe_sentence(
        recognise(str(said), (*judge.ALARMS, *quarantine.OUT))
    ) == describe_sentence(said)
    assert recognise(f"{said}!", judge.ALARMS) == f"{said}!"


def _wordings() -> Iterator[Wording]:
    """Yield all that stand in the code."""
    for room in ("recovery", "gateway"):
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if "Wording(" in text else ():
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Wording":
                    yield Wording(*(ast.literal_eval(one) for one in node.args))


def test_every_code_has_both_languages() -> None:
    """And they name no field that the sentence has not."""
    text = (Path(web.__file__).parent / "page" / "words.js").read_text("utf-8")
    table = {(how, code): both for how, code, *both in TABLE.findall(text)}
    named = {one.code: set(FIELD.findall(one.text)) for one in _wordings()}
    parts = {f"verdict.other.{name}" for name in robust.WEIGHTS}

    assert len(named) > 30
    assert {code for _, code in table} - parts == set(named)
    assert {code for how, code in table if how == "exact"} >= parts
    for (how, code), both in table.items():
        assert both[0] != both[1]
        assert (both[0] == '""') == (how == "exact")
        assert set(FIELD.findall("".join(both))) <= named.get(code, set())


@pytest.mark.parametrize("name", [one.name for one in MECHANISMS if one.serving])
def test_the_promise_that_comes_as_text_is_told_by_codes(name: str, tmp_path: Path) -> None:
    """All of it, after a Round went over the wire: half a promise is none to a reader."""
    path = tmp_path / "gateway.toml"
    path.write_text(config.make_sample(name))
    query = config.make_query(config.load_deployment(path))
    made = find_mechanism(name).plan(query, []).guarantee
    said = find_mechanism(name).promise(query, restore_codes(from_json(to_json(made)), made))
    other = restore_codes(from_json(to_json(made._replace(trust="nobody"))), made)

    assert all(describe_sentence(one).get("code") for one in said)
    assert all(
        "code" in one
        for whole in said
        for one in describe_sentence(whole)["fields"].values()
        if isinstance(one, dict)
    )
    assert (other.trust, describe_sentence(other.neighbours)["code"]) == (
        "nobody",
        made.neighbours.code,
    )


@pytest.mark.long
def test_the_page_says_it_in_german(opened: Opened, until: Until) -> None:
    """What does not work, whose key is bad, why there is no map; a code of later stays English."""
    lost = LinkState("lan:1883", "gateway").trouble
    why = judge.judge_numbers(SimpleNamespace(report=(1, "attic", 3, 7)), (1, 1), True)[1]
    few = _describe_too_few(Turnout(2, 6, 0, 3))
    health = Health("broker", "disk")
    health.set_part("broker", False, lost)
    health.set_part("disk", False, "it is odd")
    with Page("127.0.0.1", 0, health=health) as page:
        page.feed.put_event(READY)
        page.feed.put_event(make_health_event(health))
        page.feed.put_event(make_alarm_event({("attic", b""): (why, 2)}))
        page.feed.put_event(
            drawn(1, 0, status="unresolved", mass=None, total=None, **describe_sentence(few))
        )
        tab = opened(f"{page.url}#lang=de")
        until(tab, "document.getElementById('empty').textContent.includes('Runde 1')")
        line = read(tab, "#trouble-line")
        tab.click("#trouble-line")

        assert read(tab, "#empty").startswith("Runde 1: 2 von 6 Geräten haben geantwortet")
        assert "Nachrichten: der Nachrichtenvermittler" in line
        assert "antwortet unter lan:1883 nicht" in line
        assert "Festplatte: it is odd" in line
        assert "attic sandte zwei verschiedene Nachrichten unter einer Nummer (3.7)" in read(
            tab, "#troubles"
        )
        assert "(2-mal)" in read(tab, "#troubles")
        assert tab.said == []
