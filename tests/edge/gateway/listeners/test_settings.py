"""The listeners' settings: by their names in the environment, what stands for what, and what can't be."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr, ValidationError

from edge.gateway.config import GatewayConfig
from edge.gateway.listeners.certificates import CertificateFiles, ClientAuth


def configured(monkeypatch: pytest.MonkeyPatch, **environment: str) -> GatewayConfig:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return GatewayConfig(node="gw1", kafka="localhost:1")


def test_only_tcp_by_default_and_nobody_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(monkeypatch)
    assert (config.tcp_enabled, config.tls_enabled, config.ws_enabled, config.wss_enabled) == (
        True,
        False,
        False,
        False,
    )
    assert {config.host, config.tls_host, config.ws_host, config.wss_host} == {"127.0.0.1"}
    assert (config.port, config.tls_port, config.ws_port, config.wss_port) == (1883, 8883, 8084, 8085)
    assert (config.proxied, config.tls_files, config.wss_files) == (False, None, None)


def test_the_names_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(
        monkeypatch,
        LISTENER_TCP_ENABLED="false",
        LISTENER_SSL_ENABLED="true",
        LISTENER_SSL_BIND_ADDRESS="127.0.0.2",
        LISTENER_SSL_BIND_PORT="1",
        LISTENER_SSL_PEM_CERT="/s.pem",
        LISTENER_SSL_PEM_KEY="/s.key",
        LISTENER_SSL_PEM_KEY_PASSWORD="secret-s",
        SLUICEMQ_SSL_CLIENT_AUTH="required",
        SLUICEMQ_SSL_CLIENT_CA="/s-ca.pem",
        LISTENER_WSS_ENABLED="true",
        LISTENER_WSS_BIND_ADDRESS="127.0.0.3",
        LISTENER_WSS_BIND_PORT="2",
        LISTENER_WSS_PEM_CERT="/w.pem",
        LISTENER_WSS_PEM_KEY="",
        LISTENER_WSS_PEM_KEY_PASSWORD="secret-w",
        SLUICEMQ_WSS_CLIENT_AUTH="optional",
        SLUICEMQ_WSS_CLIENT_CA="/w-ca.pem",
        SLUICEMQ_CERTIFICATES_INTERVAL_SEC="3",
        SLUICEMQ_HANDSHAKE_TIMEOUT_SEC="4",
        SLUICEMQ_TCP_MAX_CONNECTIONS="5",
        SLUICEMQ_SSL_MAX_CONNECTIONS="6",
        SLUICEMQ_WS_MAX_CONNECTIONS="7",
        SLUICEMQ_WSS_MAX_CONNECTIONS="8",
    )
    assert (config.tcp_enabled, config.tls_enabled, config.wss_enabled) == (False, True, True)
    assert (config.tls_host, config.tls_port) == ("127.0.0.2", 1)
    assert (config.wss_host, config.wss_port) == ("127.0.0.3", 2)
    assert config.tls_files == CertificateFiles(
        Path("/s.pem"), Path("/s.key"), SecretStr("secret-s"), ClientAuth.REQUIRED, Path("/s-ca.pem")
    )
    assert config.wss_files == CertificateFiles(
        Path("/w.pem"), None, SecretStr("secret-w"), ClientAuth.OPTIONAL, Path("/w-ca.pem")
    )
    assert (config.certificates_interval, config.handshake_timeout) == (3, 4)
    assert (config.tcp_max_connections, config.tls_max_connections) == (5, 6)
    assert (config.ws_max_connections, config.wss_max_connections) == (7, 8)
    assert "secret" not in repr(config) + str(config)


def test_websocket_has_the_certificate_of_tls_but_not_its_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    common = {
        "LISTENER_SSL_PEM_CERT": "/s.pem",
        "LISTENER_SSL_PEM_KEY": "/s.key",
        "SLUICEMQ_SSL_CLIENT_AUTH": "required",
        "SLUICEMQ_SSL_CLIENT_CA": "/ca.pem",
    }
    config = configured(monkeypatch, **common)
    assert config.wss_files == CertificateFiles(
        Path("/s.pem"), Path("/s.key"), None, ClientAuth.OFF, Path("/ca.pem")
    )
    config = configured(monkeypatch, SLUICEMQ_WSS_CLIENT_AUTH="required")
    assert config.wss_files is not None
    assert config.wss_files.client_auth is ClientAuth.REQUIRED
    config = configured(monkeypatch, LISTENER_WSS_PEM_CERT="/w.pem")
    assert config.wss_files is not None
    assert config.wss_files.key is None, "the key of another certificate is of no use"


def test_proxies_for_all_or_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(
        monkeypatch,
        MQTT_PROXY_PROTOCOL_ENABLED="true",
        MQTT_TCP_PROXY_PROTOCOL_ENABLED="false",
        MQTT_SSL_PROXY_PROTOCOL_ENABLED="",
    )
    every = (config.tcp_proxied, config.tls_proxied, config.ws_proxied, config.wss_proxied)
    assert [config.is_proxied(own) for own in every] == [False, True, True, True]
    config = configured(
        monkeypatch,
        MQTT_PROXY_PROTOCOL_ENABLED="false",
        MQTT_SSL_PROXY_PROTOCOL_ENABLED="true",
        MQTT_WS_PROXY_PROTOCOL_ENABLED="true",
        MQTT_WSS_PROXY_PROTOCOL_ENABLED="false",
    )
    every = (config.tcp_proxied, config.tls_proxied, config.ws_proxied, config.wss_proxied)
    assert [config.is_proxied(own) for own in every] == [False, True, True, False]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("tls_port", 65_536),
        ("wss_port", -1),
        ("tls_client_auth", "maybe"),
        ("handshake_timeout", 0),
        ("certificates_interval", -1),
        ("tls_max_connections", -1),
        ("proxied", "perhaps"),
        ("tcp_enabled", False),
    ],
)
def test_settings_that_cannot_be(setting: str, value: object) -> None:
    """Also no listener at all."""
    expected = "LISTENER_TCP_ENABLED" if setting == "tcp_enabled" else setting
    with pytest.raises(ValidationError, match=expected):
        GatewayConfig(node="gw1", kafka="localhost:1", **cast(dict[str, Any], {setting: value}))
