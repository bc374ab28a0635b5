"""What the product itself takes: commands, options, environment variables and ports, for what names them elsewhere.

Nothing here is a list of its own: commands come from typer, options of jobs from their parsers, variables of gateways
from pydantic, and Spark's settings from Spark's jars.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark
import pytest
from typer.main import get_command

from admin.cli.administration import DEFAULT_ADDRESS
from admin.cli.main import app
from edge.gateway.config import GatewayConfig
from identity import settings as identity_settings
from identity.setting_values import ProviderSettings
from routing import job as router
from sinks import job as sink
from sinks.archive import job as archive
from sinks.historical import job as statistics
from sinks.messages import job as messages
from telemetry.settings import FORMAT_VARIABLE, LEVEL_VARIABLE, LISTEN_VARIABLE

DEPLOY = Path(__file__).parents[3] / "docs" / "deploy"

JOBS: dict[str, Callable[[Sequence[str]], Any]] = {
    "router": router.parse_arguments,
    "sink": sink.parse_arguments,
    "archive": archive.parse_arguments,
    "messages": messages.parse_arguments,
    "statistics": statistics.parse_arguments,
}
"""Each job by the name that install.sh gives it, and what reads its command line."""
_JOB_VARIABLES = {
    "sink": {"SLUICEMQ_STORE"},
    "messages": {messages.URL_VARIABLE},
    "statistics": {statistics.URL_VARIABLE},
}
METRICS_PORT = 9464
"""Where a part alone on its machine or in its container tells of itself; there is no default."""
_TELEMETRY = {LISTEN_VARIABLE, FORMAT_VARIABLE, LEVEL_VARIABLE}
_SPARK = {"SPARK_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "JAVA_HOME"}
_PREFIX = "/opt/sluicemq/"
_VARIABLE = re.compile(r"\$[({](\w+)[)}]")
"""As Kubernetes and as systemd write one in a command."""


def check_command(
    command: Sequence[str], environment: Mapping[str, str], patch: pytest.MonkeyPatch
) -> Mapping[str, Any]:
    """Have the product read a command in its environment, and know each variable in it; returns the options."""
    with patch.context() as inside:
        for name, value in environment.items():
            inside.setenv(name, value)
        words = [_VARIABLE.sub(lambda found: environment[found[1]], word) for word in command]
        used = {name for word in command for name in _VARIABLE.findall(word)}
        if Path(words[0]).name == "spark-submit":
            name, options = _check_submit(words)
            known = _SPARK | _TELEMETRY | _JOB_VARIABLES.get(name, set())
        else:
            assert words[0] in ("sluicemq", _PREFIX + "bin/sluicemq")
            options, known = _check_sluicemq(words[1:])
    assert environment.keys() - used <= known, environment.keys() - used - known
    return options


def _check_sluicemq(words: Sequence[str]) -> tuple[Mapping[str, Any], set[str]]:
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    options = command.make_context(command.name, list(words)).params
    known = {variable for option in command.params if (variable := option.envvar)}
    if command.name == "gateway":
        GatewayConfig(node=options["node"], kafka=options["kafka"])
        identity_settings.load_settings()
        known |= gateway_variables()
    return options, known


def _check_submit(words: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    at = next(number for number, word in enumerate(words) if word.startswith(_PREFIX + "jobs/"))
    own, job = _joined(words[1:at]), Path(words[at]).stem
    assert f"--properties-file={_PREFIX}share/sluicemq/spark-defaults.conf" in own
    assert "--conf=spark.jars.packages=" in own, "nothing is to be fetched at a start"
    for option in own:
        name, _, value = option.partition("=")
        assert name in ("--master", "--deploy-mode", "--properties-file", "--conf"), name
        if name == "--conf":
            assert value.partition("=")[0] in spark_settings(), value
    return job, vars(JOBS[job](words[at + 1 :]))


def _joined(words: Sequence[str]) -> list[str]:
    """`--conf a=b` as `--conf=a=b`."""
    joined: list[str] = []
    for word in words:
        if joined and not word.startswith("--") and "=" not in joined[-1]:
            joined[-1] += "=" + word
        else:
            joined.append(word)
    return joined


def gateway_variables() -> set[str]:
    """What gateways read from the environment."""
    own = {
        str(name)
        for field in GatewayConfig.model_fields.values()
        for name in getattr(field.validation_alias, "choices", [field.validation_alias])
    }
    providers = {
        f"{kind.model_config['env_prefix']}{name}".upper()
        for kind in ProviderSettings.__subclasses__()
        for name in kind.model_fields
    }
    return own | providers


@functools.cache
def spark_settings() -> frozenset[str]:
    """The names of Spark's settings, as they stand in its classes."""
    found: set[bytes] = set()
    for module in ("core", "kubernetes"):
        [jar] = Path(pyspark.__file__).parent.glob(f"jars/spark-{module}_*.jar")
        with zipfile.ZipFile(jar) as classes:
            for name in classes.namelist():
                if name.endswith(".class"):
                    found |= set(re.findall(rb"spark\.[A-Za-z][A-Za-z.]+[A-Za-z]", classes.read(name)))
    return frozenset(name.decode() for name in found)


def gateway_ports() -> dict[str, int]:
    """Where a gateway listens unless it is told otherwise, by listener."""
    fields = GatewayConfig.model_fields
    return {
        "mqtt": fields["port"].default,
        "mqtts": fields["tls_port"].default,
        "mqtt-ws": fields["ws_port"].default,
        "mqtt-wss": fields["wss_port"].default,
    }


def admin_port() -> int:
    """Where the administration listens unless it is told otherwise."""
    return int(DEFAULT_ADDRESS.rpartition(":")[2])
