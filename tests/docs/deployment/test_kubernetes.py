"""The manifests under docs/deploy/kubernetes: what a cluster is told is what Kubernetes and our programs take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import kubernetes_validate
import pytest
import yaml

from admin.stack.router import slots_for
from telemetry.settings import LISTEN_VARIABLE
from tests.docs.deployment.product import DEPLOY, JOBS, METRICS_PORT, admin_port, check_command, gateway_ports

FOLDER = DEPLOY / "kubernetes"
FOR_CLUSTER_MODE = {"driver-template.yaml", "checkpoint.yaml"}
MANIFESTS = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")


@dataclass(frozen=True)
class Pod:
    """What makes pods of one kind."""

    name: str
    spec: Any
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def container(self) -> Any:
        [container] = self.spec["containers"]
        return container


def resources() -> list[Any]:
    """All of them, and the templates that stand in config maps."""
    found = [resource for path in MANIFESTS for resource in yaml.safe_load_all(path.read_text())]
    templates = [
        yaml.safe_load(text)
        for resource in found if resource["kind"] == "ConfigMap"
        for name, text in resource["data"].items() if name.endswith(".yaml")
    ]  # fmt: skip
    return found + templates


def nameof(resource: Any) -> str:
    return f"{resource['kind']}-{resource['metadata'].get('name', 'template')}"


def of_kind(kind: str) -> list[Any]:
    return [resource for resource in resources() if resource["kind"] == kind]


def pods() -> list[Pod]:
    return list(_pods())


def _pods() -> Iterator[Pod]:
    for resource in resources():
        made = resource if resource["kind"] == "Pod" else resource.get("spec", {}).get("template")
        if made is not None:
            about = made["metadata"]
            yield Pod(nameof(resource), made["spec"], about.get("labels", {}), about.get("annotations", {}))


def pod(name: str) -> Pod:
    return next(found for found in pods() if found.name == name)


def environment_of(found: Pod) -> dict[str, str]:
    """The variables that its container has, with what Kubernetes puts in."""
    values: dict[str, str] = {}
    for source in found.container.get("envFrom", []):
        [shared] = [
            one
            for one in of_kind("ConfigMap")
            if nameof(one) == f"ConfigMap-{source['configMapRef']['name']}"
        ]
        values |= shared["data"]
    [secret] = of_kind("Secret")
    for variable in found.container.get("env", []):
        origin = variable.get("valueFrom", {})
        if "secretKeyRef" in origin:
            assert origin["secretKeyRef"]["name"] == secret["metadata"]["name"]
            values[variable["name"]] = secret["stringData"][origin["secretKeyRef"]["key"]]
        else:
            values[variable["name"]] = variable.get("value", "gw-0")
    return values


def started() -> list[Pod]:
    return [found for found in pods() if "command" in found.container]


def running() -> list[Pod]:
    """Those that stay."""
    return [found for found in started() if not found.name.startswith("Job-")]


def submit_settings() -> dict[str, str]:
    return dict(re.findall(r"--conf=(\S+?)=(\S+)", "\n".join(pod("StatefulSet-router").container["command"])))


@pytest.mark.parametrize("resource", resources(), ids=nameof)
def test_kubernetes_accepts_it(resource: Any) -> None:
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def test_a_kustomization_has_all_of_them() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert {*listed, *FOR_CLUSTER_MODE} == {path.name for path in MANIFESTS}


@pytest.mark.parametrize("found", started(), ids=lambda found: found.name)
def test_our_programs_take_command_and_environment(found: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    check_command(found.container["command"], environment_of(found), monkeypatch)


def test_each_part_has_one() -> None:
    jobs = {
        word.rpartition("/")[2].removesuffix(".py")
        for found in started()
        for word in found.container["command"]
    }
    assert jobs >= JOBS.keys()
    assert {"StatefulSet-gw", "Deployment-admin", "Job-topics"} <= {found.name for found in started()}


@pytest.mark.parametrize("found", pods(), ids=lambda found: found.name)
def test_it_is_allowed_where_restrictions_are_enforced(found: Pod) -> None:
    """By the standard `restricted`, which the namespace demands."""
    assert found.spec["securityContext"]["runAsNonRoot"]
    assert found.spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert found.container["securityContext"]["allowPrivilegeEscalation"] is False
    assert found.container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    allowed = {"configMap", "emptyDir", "persistentVolumeClaim", "secret", "name"}
    assert all(volume.keys() <= allowed for volume in found.spec.get("volumes", []))
    if "automountServiceAccountToken" not in found.spec:
        assert found.labels["app"] == "router", "only a driver on Kubernetes needs to ask Kubernetes"


def test_what_is_mounted_is_there() -> None:
    claims = {claim["metadata"]["name"] for claim in of_kind("PersistentVolumeClaim")}
    maps = {one["metadata"]["name"] for one in of_kind("ConfigMap")}
    for found in pods():
        volumes = {volume["name"]: volume for volume in found.spec.get("volumes", [])}
        [own] = (
            [one for one in resources() if nameof(one) == found.name]
            if found.name != "Pod-template"
            else [{}]
        )
        made = {one["metadata"]["name"] for one in own.get("spec", {}).get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in found.container.get("volumeMounts", [])} == volumes.keys() | made
        for volume in volumes.values():
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
        if account := found.spec.get("serviceAccountName"):
            assert account in {one["metadata"]["name"] for one in of_kind("ServiceAccount")}


def test_ports_are_those_that_are_listened_on() -> None:
    gateway, admin = pod("StatefulSet-gw"), pod("Deployment-admin")
    ports = {port["name"]: port["containerPort"] for port in gateway.container["ports"]}
    assert ports.pop("metrics") == METRICS_PORT
    assert ports.items() <= gateway_ports().items()
    environment = environment_of(gateway)
    opened = {"mqtt": True} | {
        name: environment.get(f"LISTENER_{variable}_ENABLED") == "true"
        for name, variable in (("mqtts", "SSL"), ("mqtt-ws", "WS"), ("mqtt-wss", "WSS"))
    }
    assert ports.keys() == {name for name, is_open in opened.items() if is_open}
    assert [port["containerPort"] for port in admin.container["ports"]] == [admin_port(), METRICS_PORT]
    assert environment_of(admin)["SLUICEMQ_ADMIN_LISTEN"].endswith(f":{admin_port()}")


@pytest.mark.parametrize("found", running(), ids=lambda found: found.name)
def test_it_is_asked_for_its_health_and_scraped_where_it_tells(found: Pod) -> None:
    assert environment_of(found)[LISTEN_VARIABLE] == f"0.0.0.0:{METRICS_PORT}"
    ports = {port["name"]: port["containerPort"] for port in found.container["ports"]}
    assert ports["metrics"] == METRICS_PORT
    for probe, path in (("livenessProbe", "/health/live"), ("readinessProbe", "/health/ready")):
        asked = found.container[probe]["httpGet"]
        assert asked["path"].partition("?")[0] == path
        assert asked["port"] in ports
        left_out = set(re.findall(r"exclude=(\w+)", asked["path"]))
        assert left_out == (
            {"router", "store"} if probe[0] == "r" and found.labels["app"] == "gateway" else set()
        )
    assert found.annotations["prometheus.io/port"] == str(METRICS_PORT)


def test_services_rules_and_budgets_find_their_pods() -> None:
    kinds = [found for found in pods() if found.labels]
    selectors = [(nameof(one), one["spec"]["selector"], one["spec"]["ports"]) for one in of_kind("Service")]
    selectors += [
        (nameof(one), one["spec"]["podSelector"].get("matchLabels", {}), rule.get("ports", []))
        for one in of_kind("NetworkPolicy") for rule in one["spec"].get("ingress", [])
    ]  # fmt: skip
    for name, selector, ports in selectors:
        chosen = [found for found in kinds if selector.items() <= found.labels.items()]
        assert chosen, name
        there = {port[key] for found in chosen for port in found.container.get("ports", []) for key in port}
        assert all(port.get("targetPort", port["port"]) in there for port in ports), name
    for budget in of_kind("PodDisruptionBudget"):
        assert any(
            budget["spec"]["selector"]["matchLabels"].items() <= found.labels.items() for found in kinds
        )


def test_a_service_of_the_driver_does_not_lead_to_executors() -> None:
    [service] = [one for one in of_kind("Service") if one["metadata"]["name"] == "router"]
    [template] = [one for one in of_kind("Pod") if one["spec"]["containers"][0]["name"] == "executor"]
    assert not service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    ports = {port["name"]: str(port["port"]) for port in service["spec"]["ports"]}
    settings = submit_settings()
    assert settings["spark.driver.host"] == "router.sluicemq.svc"
    assert (settings["spark.driver.port"], settings["spark.driver.blockManager.port"]) == (
        ports["driver"],
        ports["blocks"],
    )


def test_there_are_enough_task_slots() -> None:
    topics = pod("Job-topics").container["command"]
    slots = int(submit_settings()["spark.executor.instances"]) * int(
        submit_settings()["spark.executor.cores"]
    )
    assert slots >= slots_for(int(topics[topics.index("--partitions") + 1]))


def test_drivers_and_executors_are_one_image() -> None:
    images = {found.container["image"] for found in pods() if "image" in found.container}
    built = {f"sluicemq-{path.stem}:0.1.0" for path in (DEPLOY / "images").glob("*.Dockerfile")}
    assert images == built
    assert submit_settings()["spark.kubernetes.container.image"] in built
