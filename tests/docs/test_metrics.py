"""Alerts and dashboard: Prometheus' grammar, Grafana's model, and no name that docs/metrics.md does not have.

That the page has what a scrape gives, and nothing else, is seen on running parts (tests/live/test_metrics.py), and for
the administration here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from admin.api.metrics import ApiMetrics
from tests.docs.metrics_page import DOCS, page_metrics, scraped_metrics
from tests.telemetry.scraping import served

ALERTS = DOCS / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = DOCS / "deploy" / "grafana" / "sluicemq.json"
FOREIGN = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}
"""What Prometheus itself and prometheus_client's process collector give."""


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return found


def queries() -> Iterator[tuple[str, str]]:
    """(panel, expression) of the dashboard; what Grafana fills in is filled in."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


def known_names() -> set[str]:
    names = set(FOREIGN)
    for part in ("process", "health", "gateway", "router", "sink", "admin"):
        for name, (kind, _) in page_metrics(part).items():
            names |= (
                {f"{name}_{end}" for end in ("bucket", "sum", "count")} if kind == "histogram" else {name}
            )
    return names


def names_in(expression: str) -> set[str]:
    """The metrics that an expression asks for."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.add(node.name or "")

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


def test_names_are_found_in_expressions() -> None:
    assert names_in("sum by (a) (rate(b_total{c='d'}[5m])) > 3 and on (e) f == 1") == {"b_total", "f"}
    with pytest.raises(ValueError):
        names_in("sum by (a (b)")


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alerts(rule: dict[str, Any]) -> None:
    assert names_in(rule["expr"]) <= known_names()
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    if "for" in rule:
        promql_parser.parse_duration(rule["for"])
    # What the texts show, the expression's result must have.
    shown = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    aggregated = re.search(r"(?:by|without) \(([^)]*)\)", rule["expr"])
    if aggregated and "by (" in rule["expr"]:
        assert shown <= set(aggregated[1].split(", "))


def test_alerts_have_names_of_their_own() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) >= 10


@pytest.mark.parametrize(("panel", "expression"), list(queries()))
def test_each_query_of_the_dashboard(panel: str, expression: str) -> None:
    assert names_in(expression) <= known_names(), panel


def test_grafana_takes_the_dashboard() -> None:
    """Its model reads all of it, and gives all of it back: what it does not know it would leave out."""
    ours = dashboard()
    theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(ours)))
    assert lost(ours, theirs) == []
    ids = [panel["id"] for panel in ours["panels"]]
    assert len(set(ids)) == len(ids)


def test_the_dashboard_shows_every_part() -> None:
    names = {name.split("_")[1] for _, expression in queries() for name in names_in(expression)}
    assert names >= {"gateway", "router", "sink", "admin", "health"}


def test_no_two_panels_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_what_the_administration_tells() -> None:
    metrics = ApiMetrics()
    metrics.answered("GET", "/api/v1/users", 200, 0.01)
    with served(metrics.registry, {}) as scrape:
        assert scraped_metrics(scrape.metrics(), "admin") == page_metrics("admin")


def lost(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Where in a document something is missing, or other."""
    if isinstance(ours, dict):
        if not isinstance(theirs, dict):
            return [where]
        # Grafana leaves out what is empty, or as it is by default.
        return [
            place
            for key, value in ours.items()
            if value not in ({}, [], None, False, "")
            for place in lost(value, theirs.get(key), f"{where}/{key}")
        ]
    if isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            return [where]
        return [
            place
            for number, value in enumerate(ours)
            for place in lost(value, theirs[number], f"{where}/{number}")
        ]
    return [] if ours == theirs else [where]


def test_files_are_where_the_page_says() -> None:
    text = (DOCS / "metrics.md").read_text("utf-8")
    links = re.findall(r"\]\((deploy/[^)]+)\)", text)
    assert links
    for link in links:
        assert (DOCS / Path(link)).is_file()
