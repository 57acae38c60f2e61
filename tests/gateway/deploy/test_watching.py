"""The dashboard, the scrape and the alerts ask for what a gateway counts, and for nothing else."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gateway import deploy
from gateway.service.intake.outcomes import KINDS
from gateway.service.operate.metrics import Metrics
from tests import processes

HERE = Path(deploy.__file__).parent
DASHBOARD = json.loads((HERE / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((HERE / "alerts.yml").read_text())["groups"][0]["rules"]
OURS = re.compile(r"\bheatveil_\w+")
SUFFIXES = {
    "counter": ("_total", "_created"),
    "histogram": ("_bucket", "_sum", "_count"),
    "gauge": ("",),
}


def counted() -> set[str]:
    """Return the series that a gateway has, by the names under which Prometheus keeps them."""
    found = set()
    for family in text_string_to_metric_families(Metrics().text().decode()):
        found |= {family.name + suffix for suffix in SUFFIXES.get(family.type, ())}
    return found


def expressions() -> list[str]:
    """Return every expression of dashboard and alerts."""
    shown = [one["expr"] for panel in DASHBOARD["panels"] for one in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in RULES)]


@pytest.mark.parametrize("expression", expressions())
def test_what_is_asked_for_is_counted(expression: str) -> None:
    """A panel of a series that nobody writes is empty, and an alert on one never comes."""
    named = set(OURS.findall(expression))

    assert named <= counted()
    assert named or expression.startswith("up{")


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_closes_what_it_opens(expression: str) -> None:
    """The nearest to promtool's parser where there is none."""
    stack = []
    for letter in re.sub(r'"[^"]*"', "", expression):
        if letter in "({[":
            stack.append(letter)
        elif letter in ")}]":
            assert stack
            assert stack.pop() + letter in ("()", "{}", "[]")
    assert stack == []
    # A counter is looked at by its rise: its value says when the gateway was last started.
    for name in OURS.findall(expression):
        if name.endswith(("_total", "_bucket")):
            assert re.search(rf"(rate|increase)\({name}", expression)


def test_promtool_has_nothing_to_say(tmp_path: Path, need: Callable[[str], str]) -> None:
    """Prometheus' own check of the configuration and the rules."""
    promtool = need("promtool")
    for name in ("prometheus.yml", "alerts.yml"):
        (tmp_path / name).write_text((HERE / name).read_text())
    (tmp_path / "page.token").write_text("x" * 16)
    for words in (["config", "prometheus.yml"], ["rules", "alerts.yml"]):
        ran = processes.run([promtool, "check", *words], cwd=tmp_path, capture_output=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_kinds_and_labels_are_those_of_the_gateway() -> None:
    """`kind=~"forgd"` matches nothing and says nothing."""
    labels = {
        "heatveil_refused_total": "kind",
        "heatveil_rounds_total": "outcome",
    }
    for expression in expressions():
        for kinds in re.findall(r'kind=~"([^"]*)"', expression):
            assert set(kinds.split("|")) <= set(KINDS)
        for label in re.findall(r"by \((\w+)\)", expression):
            names = OURS.findall(expression)
            assert label in ("le", "site") or label == labels[names[0]]
    registry = Metrics()
    assert registry.refused._labelnames == ("kind",)
    assert registry.rounds._labelnames == ("outcome",)


def test_no_panel_and_no_alert_is_of_one_device() -> None:
    """When a thermometer speaks shows when somebody is in its room."""
    text = json.dumps(DASHBOARD) + (HERE / "alerts.yml").read_text()

    assert not re.search(r"by \([^)]*device", text)
    assert "{{device}}" not in text


def test_the_dashboard_is_one_that_grafana_lays_out() -> None:
    """Panels have ids of their own, do not cover each other, and choose source and site."""
    panels = DASHBOARD["panels"]
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        own = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert not own & cells
        cells |= own
        assert panel["datasource"]["uid"] == "${source}"
        assert all('site="$site"' in one["expr"] for one in panel["targets"])
        refs = [one["refId"] for one in panel["targets"]]
        assert len(set(refs)) == len(refs)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert [one["name"] for one in DASHBOARD["templating"]["list"]] == ["source", "site"]
    titles = " ".join(panel["title"].lower() for panel in panels)
    for wanted in ("lag", "refused", "budget", "rounds", "ready"):
        assert wanted in titles


def test_the_scrape_finds_the_gateway_and_its_rules() -> None:
    """Path, token and labels as the page and the dashboard have them."""
    scrape = yaml.safe_load((HERE / "prometheus.yml").read_text())
    (job,) = scrape["scrape_configs"]

    assert scrape["rule_files"] == ["alerts.yml"]
    assert job["metrics_path"] == "/metrics"
    assert "site" in job["static_configs"][0]["labels"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule: Any) -> None:
    """Who is woken at night must not have to think."""
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["do"].endswith(".")
