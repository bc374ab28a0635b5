"""The command as a user meets it: help that reads well, errors in one sentence, exit statuses that tell."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from admin.cli.addresses import parse_address
from admin.cli.main import app, main
from admin.errors import UsageError
from contracts.kafka_topics import KafkaTopics
from edge.gateway.config import GatewayConfig
from tests.conftest import LiveKafka

run = CliRunner().invoke


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command as its script does; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["sluicemq", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    code = ended.value.code
    return code if isinstance(code, int) else 0


@pytest.mark.parametrize(
    "words", [[], ["up"], ["gateway"], ["topics"], ["topics", "create"], ["topics", "check"]]
)
def test_help(words: list[str]) -> None:
    result = run(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Usage: " in result.output


def test_version() -> None:
    assert run(app, ["--version"]).output.startswith("SluiceMQ ")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:1883", ("127.0.0.1", 1883)),
        ("[::1]:1", ("::1", 1)),
        ("broker.example:65535", ("broker.example", 65535)),
    ],
)
def test_address(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["1883", ":1883", "host:", "host:x", "host:65536", "host:-1", ""])
def test_not_an_address(text: str) -> None:
    with pytest.raises(UsageError, match="give HOST:PORT"):
        parse_address(text)


def test_up_on_a_port_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert command(monkeypatch, "up", "--port", port, "--gateways", "1", "--data", str(tmp_path)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"sluicemq: Port {port} on 127.0.0.1 is in use")
    assert shown.err.count("\n") == 1


def test_up_on_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert command(monkeypatch, "up", "--data", str(file)) == 2
    assert (
        capsys.readouterr().err
        == f"sluicemq: Cannot write to the data folder {file} (File exists): give another one.\n"
    )


def test_gateway_with_a_wrong_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "gateway", "--node", "a b", "--kafka", "127.0.0.1:1") == 2
    assert "node id 'a b'" in capsys.readouterr().err


def test_gateway_listens_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[GatewayConfig] = []
    monkeypatch.setattr("edge.gateway.server.run", given.append)
    monkeypatch.setenv("LISTENER_TCP_ENABLED", "false")
    gateway = ["gateway", "--node", "gw1", "--kafka", "127.0.0.1:1"]
    assert command(monkeypatch, *gateway, "--listen-tls", "127.0.0.2:1", "--listen-wss", "[::1]:2") == 0
    assert command(monkeypatch, *gateway, "--listen", "127.0.0.3:3", "--listen-ws", "127.0.0.4:4") == 0
    secure, plain = given
    assert (secure.tcp_enabled, secure.tls_enabled, secure.ws_enabled, secure.wss_enabled) == (0, 1, 0, 1)
    assert (secure.tls_host, secure.tls_port, secure.wss_host, secure.wss_port) == ("127.0.0.2", 1, "::1", 2)
    assert (plain.tcp_enabled, plain.tls_enabled, plain.ws_enabled, plain.wss_enabled) == (1, 0, 1, 0)
    assert (plain.host, plain.port, plain.ws_host, plain.ws_port) == ("127.0.0.3", 3, "127.0.0.4", 4)


def test_gateway_without_a_certificate_does_not_even_ask_kafka(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gateway = ["gateway", "--node", "gw1", "--kafka", "127.0.0.1:1", "--listen-tls", "127.0.0.1:0"]
    assert command(monkeypatch, *gateway) == 1
    assert "name its file in LISTENER_SSL_PEM_CERT" in capsys.readouterr().err
    monkeypatch.setenv("LISTENER_SSL_PEM_CERT", str(tmp_path / "missing.pem"))
    assert command(monkeypatch, *gateway) == 1
    assert f"{tmp_path}/missing.pem cannot be read (No such file" in capsys.readouterr().err


@pytest.mark.live
def test_topics(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    prefix = unique("cli")
    shared = ["--kafka", kafka.bootstrap, "--topic-prefix", prefix]
    assert run(app, ["topics", "check", *shared, "--node", "gw1"]).exit_code == 1
    assert run(app, ["topics", "create", *shared, "--node", "gw1", "--partitions", "3"]).exit_code == 0
    assert run(app, ["topics", "create", *shared, "--node", "gw1", "--partitions", "3"]).exit_code == 0
    assert run(app, ["topics", "check", *shared, "--node", "gw1", "--partitions", "3"]).exit_code == 0
    differs = run(app, ["topics", "check", *shared, "--partitions", "4"])
    assert differs.exit_code == 1
    assert "partitions" in differs.output
    described = run(app, ["topics", "describe", *shared])
    assert described.exit_code == 0
    assert KafkaTopics(prefix).downlink("gw1") in described.output
