"""`sluicemq admin` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from admin.cli.administration import LISTENING, administration
from admin.errors import UsageError
from admin.stack.ports import free_ports
from tests.telemetry.scraping import Scrape


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A database that is not there yet."""
    return {**os.environ, "SLUICEMQ_DATABASE": f"sqlite:///{tmp_path}/identity.db"}


def test_it_serves_until_it_is_told_to_end(environment: dict[str, str]) -> None:
    """Also where no Kafka answers: what needs none goes on."""
    metrics = f"127.0.0.1:{free_ports(1)[0]}"
    command = [
        sys.executable, "-m", "admin", "admin", "--listen", "127.0.0.1:0", "--kafka", "127.0.0.1:1",
        "--listen-metrics", metrics,
    ]  # fmt: skip
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            mark, _, where = process.stdout.readline().partition(" ")
            assert mark == LISTENING
            url = json.loads(where)["http"]
            assert httpx.get(f"{url}/health/ready", timeout=60).json() == {"status": "up"}
            assert httpx.get(f"{url}/api/v1/users", timeout=60).status_code == 401
            assert "SluiceMQ" in httpx.get(f"{url}/api/v1/openapi.json", timeout=60).text
            refused = httpx.post(f"{url}/api/v1/session", json={"name": "x", "password": "y"}, timeout=60)
            assert refused.status_code == 401
            scrape = Scrape(f"http://{metrics}")
            assert scrape.ready()[0] == 200
            text = scrape.metrics()
            for shown in (
                'sluicemq_admin_requests_total{method="GET",route="/api/v1/users",status="401"} 1.0',
                'sluicemq_admin_logins_refused_total{reason="password"} 1.0',
                'sluicemq_process_info{part="admin"',
            ):
                assert shown in text
        finally:
            process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "sluicemq users add NAME" in told


def test_a_wrong_address(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "admin", "admin", "--listen", "here"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    assert "HOST:PORT" in ended.stderr


@pytest.mark.parametrize(
    ("given", "says"), [({"store": "file:messages"}, "redis://"), ({"topic_prefix": "a b"}, "prefix")]
)
def test_a_cluster_that_cannot_be(tmp_path: Path, given: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        administration(f"sqlite:///{tmp_path}/identity.db", "127.0.0.1:0", "127.0.0.1:1", **given)
