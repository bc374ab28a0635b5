"""When a gateway asks who its clients are; and what that costs where it does not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from edge.gateway.config import GatewayConfig


@pytest.mark.parametrize(
    ("environment", "asks"),
    [
        ({}, False),
        ({"SLUICEMQ_AUTH_PROVIDERS": " "}, False),
        ({"SLUICEMQ_AUTH_PROVIDERS": "jwt"}, True),
        ({"sluicemq_auth_providers": "jwt"}, True),
        ({"SLUICEMQ_DATABASE": "sqlite:///x"}, True),
    ],
)
def test_asks_who(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], asks: bool) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert GatewayConfig(node="gw1", kafka="k:1").asks_who is asks


def test_no_one_reads_the_databases_password() -> None:
    config = GatewayConfig(node="gw1", kafka="k:1", database="postgresql://u:secret@h/d")  # type: ignore[arg-type]
    assert "secret" not in f"{config!r}{config}"
    assert config.database is not None
    assert config.database.get_secret_value() == "postgresql://u:secret@h/d"


def test_a_gateway_that_asks_nobody_loads_nothing_for_it() -> None:
    code = (
        "import sys, edge.gateway.gateway; "
        "print([n for n in ('identity.settings', 'argon2', 'jwt', 're2', 'httpx', 'scramp') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"
