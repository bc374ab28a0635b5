"""docs/deploy.md and the manifests beside it: what a cluster is told is what Kubernetes and our programs take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from admin.stack.router import slots_for
from admin.stack.spark_submit import spark_defaults
from edge.gateway.config import GatewayConfig
from routing.job import parse_arguments as parse_router
from sinks.job import parse_arguments as parse_sink

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "deploy.md"
MANIFESTS = sorted((DOCS / "deploy").glob("*.yaml"))


def resources() -> list[Any]:
    return [resource for path in MANIFESTS for resource in yaml.safe_load_all(path.read_text())]


def nameof(resource: Any) -> str:
    return f"{resource['kind']}-{resource['metadata'].get('name', 'template')}"


def containers() -> Iterator[tuple[str, Any]]:
    for resource in resources():
        spec = resource.get("spec", {}).get("template", resource).get("spec", {})
        for container in spec.get("containers", []) if isinstance(spec, dict) else []:
            yield nameof(resource), container


def command_of(name: str) -> list[str]:
    return next(container["command"] for found, container in containers() if found == name)


@pytest.mark.parametrize("resource", resources(), ids=nameof)
def test_kubernetes_accepts_it(resource: Any) -> None:
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def test_what_one_part_names_another_has() -> None:
    """Config maps, secrets, volumes and service accounts."""
    there = {nameof(resource) for resource in resources()}
    for _, container in containers():
        for source in container.get("envFrom", []):
            assert f"ConfigMap-{source['configMapRef']['name']}" in there
        for variable in container.get("env", []):
            if "secretKeyRef" in (origin := variable.get("valueFrom", {})):
                [secret] = [found for found in resources() if found["kind"] == "Secret"]
                assert origin["secretKeyRef"]["key"] in secret["stringData"]
    for resource in resources():
        spec = resource.get("spec", {}).get("template", resource).get("spec", {})
        if isinstance(spec, dict) and (account := spec.get("serviceAccountName")):
            assert f"ServiceAccount-{account}" in there


def test_gateways_know_their_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that they need is in the environment."""
    [gateway] = [container for name, container in containers() if name == "StatefulSet-gw"]
    [shared] = [resource["data"] for resource in resources() if resource["kind"] == "ConfigMap"]
    values = shared | {variable["name"]: variable.get("value", "gw-0") for variable in gateway["env"]}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    config = GatewayConfig()  # type: ignore[call-arg]
    assert (config.node, config.kafka, config.host) == ("gw-0", "kafka:9092", "0.0.0.0")  # noqa: S104
    known = {
        str(name)
        for field in GatewayConfig.model_fields.values()
        for name in getattr(field.validation_alias, "choices", [field.validation_alias])
    }
    assert values.keys() <= known


def test_jobs_take_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEMQ_STORE", "redis://redis")
    router, sink = command_of("StatefulSet-router"), command_of("Deployment-sink")
    assert parse_router(router[router.index("/opt/sluicemq/router.py") + 1 :]).trigger == "realtime"
    assert parse_sink(sink[sink.index("/opt/sluicemq/sink.py") + 1 :]).trigger == "microbatch"


def test_there_are_enough_task_slots() -> None:
    topics = command_of("Job-topics")
    settings = dict(re.findall(r"--conf=(\S+?)=(\S+)", "\n".join(command_of("StatefulSet-router"))))
    slots = int(settings["spark.executor.instances"]) * int(settings["spark.executor.cores"])
    assert slots >= slots_for(int(topics[topics.index("--partitions") + 1]))


def test_every_setting_of_spark_defaults_is_explained() -> None:
    set_there = re.findall(r"^(spark\.\S+)", spark_defaults().read_text(), re.MULTILINE)
    section = PAGE.read_text().partition("## What each setting is for")[2].partition("\n## ")[0]
    explained = [
        name
        for row in re.findall(r"^\| (`.+?) \| \S", section, re.MULTILINE)
        for name in re.findall(r"`(spark\.\S+)`", row)
    ]
    assert sorted(explained) == sorted(set_there)


def test_the_page_names_each_file() -> None:
    text = PAGE.read_text()
    for path in (DOCS / "deploy").iterdir():
        assert f"deploy/{path.name}" in text
