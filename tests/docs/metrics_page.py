"""docs/metrics.md as data, and what a scrape gives in the same terms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(
    r"^\| `(?P<name>sluicemq_\w+)` \| (?P<type>\w+) \| (?P<labels>[^|]*)\| (?P<meaning>[^|]+) \|$", re.M
)
_LABEL = re.compile(r"`(\w+)`(?:: (?P<values>[\w, ]+))?")


def page_metrics(part: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Of a part (the second word of its metrics' names), each metric's type and labels, as the page has them."""
    rows = _ROW.finditer((DOCS / "metrics.md").read_text("utf-8"))
    return {
        row["name"]: (row["type"], frozenset(found[1] for found in _LABEL.finditer(row["labels"])))
        for row in rows
        if row["name"].split("_")[1] == part
    }


def page_label_values() -> dict[tuple[str, str], frozenset[str]]:
    """(metric, label) → its values, where the page lists them."""
    return {
        (row["name"], found[1]): frozenset(found["values"].strip(" ,").split(", "))
        for row in _ROW.finditer((DOCS / "metrics.md").read_text("utf-8"))
        for found in _LABEL.finditer(row["labels"])
        if found["values"]
    }


def families(scrape: str) -> list[Metric]:
    """What a scrape says, as Prometheus reads it."""
    return list(text_string_to_metric_families(scrape))


def scraped_metrics(scrape: str, part: str) -> dict[str, tuple[str, frozenset[str]]]:
    """The same of a scrape; of a metric without samples the labels are not known."""
    return {
        shown_name(family): (family.type, _labels(family))
        for family in families(scrape)
        if family.name.split("_")[1:2] == [part] and family.name.startswith("sluicemq_")
    }


def shown_name(family: Metric) -> str:
    """A metric's name as its samples have it."""
    return f"{family.name}_total" if family.type == "counter" else family.name


def sample_names(families: Iterable[Metric]) -> set[str]:
    """The names that expressions may use."""
    return {sample.name for family in families for sample in family.samples}


def _labels(family: Metric) -> frozenset[str]:
    return frozenset(label for sample in family.samples for label in sample.labels if label != "le")
