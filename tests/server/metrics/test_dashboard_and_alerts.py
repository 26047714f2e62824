"""What config/ has for Grafana and Prometheus asks for nothing that brokers do not serve."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafkapy.server.metrics.metric import BrokerMetric, Kind
from kafkapy.server.metrics.table import METRICS

CONFIG = Path(__file__).parents[3] / "config"
ALERTS, DASHBOARD = CONFIG / "prometheus-alerts.yml", CONFIG / "grafana-dashboard.json"

OF_PROMETHEUS = {"up"}
SUFFIXES = {Kind.SUMMARY: ("", "_count", "_sum"), Kind.HISTOGRAM: ("_bucket", "_count", "_sum")}
SERIES = {metric.name + suffix: metric for metric in METRICS for suffix in SUFFIXES.get(metric.kind, ("",))}

NOT_NAMES = re.compile(r'"[^"]*"|\[[^]]*\]|\b(?:by|without) *\([^)]*\)')
"""Values of labels, times, labels."""
LABELS = re.compile(r"\{([^}]*)\}")
FUNCTIONS_AND_WORDS = {"and", "or", "unless"}


def names(expression: str) -> set[str]:
    """Metrics of an expression in PromQL."""
    bare = LABELS.sub("", NOT_NAMES.sub("", expression))
    return set(re.findall(r"\b[a-z_]+\b(?! *\()", bare)) - FUNCTIONS_AND_WORDS


def labels_asked_for(expression: str) -> set[str]:
    return {label for inside in LABELS.findall(expression) for label in re.findall(r"(\w+) *(?:=|!)", inside)}


def alerts() -> dict[str, str]:
    """Name and expression of each."""
    text = re.sub(r"\n {10,}(?=\S)(?!summary|action)", " ", ALERTS.read_text())  # continuation lines
    return dict(re.findall(r"- alert: (\w+)\n +expr: (.+)", text))


def panels() -> list[Any]:
    found: list[Any] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def check(where: str, expression: str) -> list[BrokerMetric]:
    used = names(expression) - OF_PROMETHEUS
    missing = used - SERIES.keys()
    assert not missing, f"{where}: no metrics {missing}"
    metrics = [SERIES[name] for name in used]
    known = {label for metric in metrics for label in metric.labels} | {"instance", "job", "le", "quantile"}
    assert labels_asked_for(expression) <= known, where
    return metrics


def test_names_of_an_expression() -> None:
    expression = 'sum by (a_b) (rate(x_total{q="0.5",i=~"$i"}[5m])) / y > 5 and predict_linear(z[1h], 60) < 0'
    assert names(expression) == {"x_total", "y", "z"}
    assert labels_asked_for(expression) == {"q", "i"}


def test_the_dashboard_shows_what_there_is() -> None:
    shown = panels()
    assert len({panel["id"] for panel in shown}) == len(shown) > 25
    for panel in shown:
        for target in panel["targets"]:
            assert names(target["expr"]), panel["title"]
            check(panel["title"], target["expr"])


def test_alerts_are_made_of_what_is_never_cut() -> None:
    found = alerts()
    assert len(found) == ALERTS.read_text().count("- alert:") > 20
    for alert, expression in found.items():
        for metric in check(alert, expression):
            assert "partition" not in metric.labels, f"{alert}: {metric.name} is bounded by kafkapy.metrics.max.series"


def test_alerts_say_what_they_are_about() -> None:
    for rule in ALERTS.read_text().split("- alert: ")[1:]:
        assert re.search(r"severity: (warning|critical)", rule), rule
        assert 'summary: "' in rule


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool comes with Prometheus")
def test_promtool_accepts_the_alerts() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(ALERTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
