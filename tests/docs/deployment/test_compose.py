"""docs/deploy/compose.yaml, as the program that runs such files reads it: what it starts is there and takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from contracts.kafka_topics import KafkaTopics
from tests.docs.deployment.dockerfiles import IMAGES, read_image
from tests.docs.deployment.product import (
    DEPLOY,
    JOBS,
    admin_port,
    check_command,
    gateway_ports,
    gateway_variables,
)

ROOT = DEPLOY.parents[1]
FILE = DEPLOY / "compose.yaml"
EXAMPLE = DEPLOY / "compose.env.example"
SECRETS = {"POSTGRES_PASSWORD": "p0", "VALKEY_PASSWORD": "v0"}
OURS = {"gw1": "gateway", "gw2": "gateway", "topics": "gateway", "admin": "admin"} | dict.fromkeys(
    JOBS, "spark"
)


def compose(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "docker-compose"
    environment = {"PATH": os.environ["PATH"], "HOME": str(ROOT), **variables}
    return subprocess.run(
        [str(program), "--file", str(FILE), *arguments], env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    done = compose("--profile", "*", "config", "--format", "json", **SECRETS)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
    found: dict[str, Any] = json.loads(done.stdout)["services"]
    return found


def test_it_is_not_started_without_passwords() -> None:
    done = compose("config", "--quiet")
    assert done.returncode != 0
    assert all(name in done.stderr for name in SECRETS)


def test_the_example_names_what_is_to_be_set() -> None:
    named = {line.partition("=")[0] for line in EXAMPLE.read_text().splitlines() if line and line[0] != "#"}
    asked = compose("--profile", "*", "config", "--variables", "--format", "json", **SECRETS)
    assert named == json.loads(asked.stdout).keys()
    assert f"/{(DEPLOY / '.env').relative_to(ROOT)}" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", OURS)
def test_our_programs_take_command_and_environment(
    name: str, services: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, image = services[name], read_image(OURS[name])
    words = service.get("command") or image.command
    command = words if OURS[name] == "spark" else [*image.entrypoint, *words]
    own = {
        key: value
        for key, value in image.environment.items()
        if key in gateway_variables() and name[:2] == "gw"
    }
    check_command(command, own | service.get("environment", {}), monkeypatch)


def test_what_it_builds_and_mounts_is_there(services: dict[str, Any]) -> None:
    for name, image in OURS.items():
        service = services[name]
        assert Path(service["build"]["context"]) == ROOT
        assert ROOT / service["build"]["dockerfile"] == IMAGES[image]
        assert service["image"] == f"sluicemq-{image}:0.1.0"
        # As another user than root, it can write where the image has made it the owner, and nowhere else.
        made = {"spark": {"/checkpoint", "/archive"}}.get(image, set())
        assert {mount["target"] for mount in service.get("volumes", [])} <= made
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


def test_ports_are_those_that_are_listened_on_and_on_this_machine_alone(services: dict[str, Any]) -> None:
    for name, service in services.items():
        listened = {"gw": set(gateway_ports().values()), "ad": {admin_port()}}.get(name[:2], set())
        assert {port["target"] for port in service.get("ports", [])} <= listened
        assert all(port["host_ip"] == "127.0.0.1" for port in service.get("ports", []))
    published = [port["published"] for service in services.values() for port in service.get("ports", [])]
    assert len(set(published)) == len(published)


def test_all_speak_to_the_same_servers(services: dict[str, Any]) -> None:
    text = json.dumps([services[name] for name in OURS])
    for server, port in (("kafka", 9092), ("valkey", 6379), ("postgres", 5432)):
        assert f"{server}:{port}" in text
        assert services[server]["healthcheck"]["test"]
    assert services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://kafka:9092"
    assert services["valkey"]["environment"]["REDISCLI_AUTH"] in services["valkey"]["command"]
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"] == SECRETS["POSTGRES_PASSWORD"]


def test_nobody_starts_before_the_kafka_topics_are_made(services: dict[str, Any]) -> None:
    for name in OURS.keys() - {"topics"}:
        assert services[name]["depends_on"]["topics"]["condition"] == "service_completed_successfully"
    assert services["topics"]["depends_on"]["kafka"]["condition"] == "service_healthy"
    made = services["topics"]["command"]
    nodes = {made[at + 1] for at, word in enumerate(made) if word == "--node"}
    assert nodes == {services[name]["environment"]["TB_SERVICE_ID"] for name in ("gw1", "gw2")}
    assert all(KafkaTopics().of_node(node) for node in nodes)


def test_drivers_own_ports_are_for_themselves(services: dict[str, Any]) -> None:
    assert all(services[name]["environment"]["SPARK_LOCAL_IP"] == "127.0.0.1" for name in JOBS)


def test_histories_start_by_name_only(services: dict[str, Any]) -> None:
    chosen = {name for name, service in services.items() if service.get("profiles")}
    assert chosen == {"archive", "messages", "statistics"}
    assert all(services[name]["profiles"] == [name] for name in chosen)
