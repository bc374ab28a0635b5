"""The image descriptions under docs/deploy/images: what they copy is there, and what they start is ours."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from admin.stack import wheel
from telemetry.settings import LISTEN_VARIABLE
from tests.docs.deployment.dockerfiles import IMAGES, Image, instructions, read_image
from tests.docs.deployment.product import (
    DEPLOY,
    METRICS_PORT,
    admin_port,
    check_command,
    gateway_ports,
    gateway_variables,
)

ROOT = DEPLOY.parents[1]
EXTRAS = {"gateway": {"postgresql"}, "admin": {"admin", "postgresql"}, "spark": {"spark", "postgresql"}}


@pytest.mark.parametrize("path", IMAGES.values(), ids=IMAGES)
def test_a_linter_that_reads_as_docker_does_finds_nothing(path: Path) -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run([str(hadolint), "--no-color", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", IMAGES)
def test_it_copies_what_a_wheel_is_built_from(name: str) -> None:
    copied = {
        source.rstrip("/")
        for instruction, rest in instructions(IMAGES[name])
        if instruction == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert copied == {*wheel.packages(), *wheel.DESCRIPTION, "docs/deploy/install.sh"}
    assert all((ROOT / source).exists() for source in copied)


@pytest.mark.parametrize("name", IMAGES)
def test_it_stands_on_versions_and_runs_as_nobody(name: str) -> None:
    arguments = [rest for instruction, rest in instructions(IMAGES[name]) if instruction == "ARG"]
    if name == "spark":
        arguments.remove("DELTA")  # whether it has the jars of Delta Lake; that is no version
    assert arguments
    assert all(re.fullmatch(r"\w+=[\w./]+:\d+\.\d+\.\d+[\w.-]*", argument) for argument in arguments)
    assert int(read_image(name).user) > 0


@pytest.mark.parametrize("name", IMAGES)
def test_it_installs_extras_that_there_are(name: str) -> None:
    [run] = [rest for instruction, rest in instructions(IMAGES[name]) if "install.sh /opt" in rest]
    extras = set(run.removesuffix(' ${DELTA:+"${DELTA}"}').split()[-1].split(","))
    assert extras == EXTRAS[name]
    assert extras <= set(wheel.settings()["options.extras_require"])


def test_a_gateway_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    image = read_image("gateway")
    own = {name: value for name, value in image.environment.items() if name in gateway_variables()}
    assert own.keys() - {LISTEN_VARIABLE} == {
        f"LISTENER_{kind}_BIND_ADDRESS" for kind in ("TCP", "SSL", "WS", "WSS")
    }
    needed = own | {"TB_SERVICE_ID": "gw1", "TB_KAFKA_SERVERS": "kafka:9092"} | observed_at(image)
    check_command([*image.entrypoint, *image.command], needed, monkeypatch)
    assert set(image.ports) == {*gateway_ports().values(), METRICS_PORT}


@pytest.mark.parametrize("name", IMAGES)
def test_its_health_is_asked_where_it_tells(name: str) -> None:
    image = read_image(name)
    [url] = re.findall(r"http://127\.0\.0\.1:(\d+)/health/ready", image.healthcheck[-1])
    assert image.environment[LISTEN_VARIABLE] == f"0.0.0.0:{url}"
    assert int(url) == METRICS_PORT
    assert METRICS_PORT in image.ports
    asked = re.findall(r"exclude=(\w+)", image.healthcheck[-1])
    assert set(asked) <= {"router", "store"}, "what a gateway can be without"


def observed_at(image: Image) -> dict[str, str]:
    return {LISTEN_VARIABLE: image.environment[LISTEN_VARIABLE]}


def test_the_administration_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    image = read_image("admin")
    own = {
        name: value for name, value in image.environment.items() if name not in ("PATH", "PYTHONUNBUFFERED")
    }
    needed = own | {"SLUICEMQ_DATABASE": "sqlite:////tmp/identity.db"}
    check_command([*image.entrypoint, *image.command], needed, monkeypatch)
    assert image.ports == [admin_port(), METRICS_PORT]


_IMPORTS = """
import importlib, sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
absent = set(sys.argv[1].split(","))

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in absent else super().find_spec(name, path, target)

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Installed]
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("gateway", ["edge.gateway.server", "edge.gateway.access.access", "stores.redis", "stores.sql"]),
        (
            "admin",
            [
                "admin.api.app",
                "admin.console.mount",
                "admin.cluster.cluster",
                "admin.clients.administered",
                "uvicorn",
            ],
        ),
    ],
)
def test_what_it_runs_needs_no_more_than_it_installs(name: str, modules: list[str]) -> None:
    """As if nothing else were installed: neither Spark nor what only tests need."""
    installed = _installed(EXTRAS[name])
    owners = packages_distributions()
    absent = {
        top for top, found in owners.items()
        if not installed & {canonicalize_name(owner) for owner in found} and top not in wheel.packages()
    }  # fmt: skip
    assert "pyspark" in absent
    subprocess.run(
        [sys.executable, "-c", _IMPORTS, ",".join(sorted(absent)), "admin.cli.main", *modules],
        check=True, cwd=ROOT,
    )  # fmt: skip


def _installed(extras: set[str]) -> set[str]:
    """The names of all that comes with the package and these extras."""
    settings = wheel.settings()
    texts = [
        settings["options"]["install_requires"],
        *(settings["options.extras_require"][extra] for extra in extras),
    ]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    waiting = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        found.add(canonicalize_name(one.name))
        for text in requires(one.name) or []:
            needed = Requirement(text)
            wanted = [{"extra": extra} for extra in one.extras] or [{"extra": ""}]
            if needed.marker is None or any(needed.marker.evaluate(each) for each in wanted):
                waiting.append(needed)
    return found
