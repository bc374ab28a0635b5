"""docs/operations.md: the tests, commands, settings and ports that it names are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from admin.cli.main import app
from contracts.kafka_topics import KafkaTopics
from edge.gateway import kafka_clients
from routing import generations, supervision
from sinks import log
from tests.docs.deployment.product import DEPLOY, METRICS_PORT, admin_port, gateway_ports, gateway_variables

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
TEXT = PAGE.read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED)))
def test_each_test_is_there(file: str, test: str) -> None:
    assert re.search(rf"^\s*(async )?def {test}\(", (ROOT / "tests" / file).read_text("utf-8"), re.MULTILINE)


def test_there_is_much_to_show() -> None:
    rows = [row for row in TEXT.splitlines() if row.startswith("| **")]
    assert len(rows) >= 9
    assert len(set(NAMED)) >= 15
    assert not re.findall(r"`test_\w+`", TEXT), "not to be found"


def test_commands_are_the_products() -> None:
    found = set(re.findall(r"`sluicemq ([a-z]+)(?: ([a-z]+))?", TEXT))
    assert {("topics", "create"), ("share", "mend"), ("unauthorized", "list")} <= found
    for name, sub in found:
        command: Any = get_command(app)
        assert name in command.commands
        group = command.commands[name]
        assert not hasattr(group, "commands") or not sub or sub in group.commands, (name, sub)


def test_settings_are_the_gateways() -> None:
    named = set(re.findall(r"`((?:SLUICEMQ|MQTT|LISTENER|TB)_\w+)`", TEXT))
    assert named
    assert named <= gateway_variables()


def test_ports_are_those_that_are_listened_on() -> None:
    table = TEXT.partition("## Ports")[2].partition("\n## ")[0]
    ports = {
        int(port) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for port in row.split(",")
    }
    manifests = [
        one for path in (DEPLOY / "kubernetes").glob("*.yaml") for one in yaml.safe_load_all(path.read_text())
    ]
    [service] = [one for one in manifests if one["kind"] == "Service" and one["metadata"]["name"] == "router"]
    driver = {port["port"] for port in service["spec"]["ports"]}
    assert ports == {*gateway_ports().values(), admin_port(), METRICS_PORT, *driver, 9092, 6379, 5432}


def test_kafka_topics_are_named_as_they_are() -> None:
    there = {topic.name for topic in KafkaTopics().shared()}
    assert set(re.findall(r"`(tbmq\.[a-z.]*[a-z])`", TEXT)) <= there


@pytest.mark.parametrize(
    ("said", "module"),
    [
        ("has no topic", kafka_clients),
        ("Kafka topics are missing and get no records until they exist", supervision),
        ("waiting for Kafka at", supervision),
        ("is damaged or missing", supervision),
        ("cannot be read", generations),
        ("but it ends at", log),
    ],
)
def test_sentences_are_what_the_parts_say(said: str, module: Any) -> None:
    assert said in TEXT
    assert said in Path(module.__file__).read_text("utf-8")


def test_links_lead_somewhere() -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", TEXT):
        page = PAGE.parent / target if target else PAGE
        assert page.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }
