"""The embedded stack's own promises: every part comes back, and a stack is made as it was asked for."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from admin.errors import AdminError, UsageError
from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.ports import free_ports


@pytest.mark.live
@pytest.mark.parametrize("part", ["gw2", "router", "sink", "valkey"])
def test_a_killed_part_comes_back(stack: Stack, part: str) -> None:
    pid = stack.pid(part)
    before = stack.kill(part)
    stack.wait_restarted(part, before)
    assert stack.pid(part) != pid
    assert stack.restarts(part) == before + 1


@pytest.mark.live
def test_addresses(stack: Stack) -> None:
    assert [address.node for address in stack.mqtt] == ["gw1", "gw2"]
    for address in stack.mqtt:
        socket.create_connection((address.host, address.port), timeout=5).close()
    assert sorted(path.name for path in (stack.data / "logs").iterdir()) == [
        "admin.log",
        "gw1.log",
        "gw2.log",
        "kafka.log",
        "router.log",
        "sink.log",
        "valkey.log",
    ]


def test_the_second_gateways_port_is_in_use(tmp_path: Path) -> None:
    [port] = free_ports(1)
    with (
        socket.create_server(("127.0.0.1", port + 1)),
        pytest.raises(UsageError, match=f"Port {port + 1} "),
        embedded_stack(StackOptions(tmp_path, gateways=2, port=port)),
    ):
        pass
    assert not (tmp_path / "logs").exists()  # Nothing was started.


def test_the_ports_for_tcp_and_for_websocket_overlap(tmp_path: Path) -> None:
    options = StackOptions(tmp_path, gateways=3, port=4000, websocket_port=4002)
    with pytest.raises(UsageError, match="keep them 3 apart"), embedded_stack(options):
        pass


def test_kafkas_port_is_in_use(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(UsageError, match="is in use"),
        embedded_stack(StackOptions(tmp_path, kafka_port=server.getsockname()[1])),
    ):
        pass
    assert not (tmp_path / "logs").exists()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(AdminError, match="install Java 17"), embedded_stack(StackOptions(tmp_path / "data")):
        pass
