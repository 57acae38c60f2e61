"""The dashboard, the scrape and the alerts ask for what a gateway counts, and for nothing else."""

import json
import re
from collections.abc import Callable
from pathlib import Path

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
