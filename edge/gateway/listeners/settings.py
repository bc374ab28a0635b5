"""The settings of the listeners: which there are, where, and what a client passes before it is heard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from edge.gateway.environment import env
from edge.gateway.listeners.certificates import CertificateFiles, ClientAuth

WEBSOCKET_PATH = "/mqtt"
"""The one path that is answered; clients take it unless told otherwise."""
WEBSOCKET_PORT = 8084
"""The port that clients expect."""


class TlsSettings(BaseSettings):
    """The listeners with TLS. Off unless asked for, as they need certificates."""

    tls_enabled: Annotated[bool, Field(validation_alias=env("LISTENER_SSL_ENABLED", "tls_enabled"))] = False
    """Whether there is a listener for MQTT over TLS."""
    tls_host: Annotated[str, Field(validation_alias=env("LISTENER_SSL_BIND_ADDRESS", "tls_host"))] = (
        "127.0.0.1"
    )
    """Address that it listens on."""
    tls_port: Annotated[
        int, Field(ge=0, le=65535, validation_alias=env("LISTENER_SSL_BIND_PORT", "tls_port"))
    ] = 8883
    """Its port; 0 takes a free one, which the LISTENING line tells."""
    tls_certificate: Annotated[
        Path | None, Field(validation_alias=env("LISTENER_SSL_PEM_CERT", "tls_certificate"))
    ] = None
    """PEM file with its certificate, and those between it and its authority."""
    tls_key: Annotated[Path | None, Field(validation_alias=env("LISTENER_SSL_PEM_KEY", "tls_key"))] = None
    """PEM file with the private key, where it is not in the certificate's file."""
    tls_key_password: Annotated[
        SecretStr | None, Field(validation_alias=env("LISTENER_SSL_PEM_KEY_PASSWORD", "tls_key_password"))
    ] = None
    """The key's password, if it has one."""
    tls_client_auth: Annotated[
        ClientAuth, Field(validation_alias=env("SLUICEMQ_SSL_CLIENT_AUTH", "tls_client_auth"))
    ] = ClientAuth.OFF
    """Whether clients show a certificate."""
    tls_client_authorities: Annotated[
        Path | None, Field(validation_alias=env("SLUICEMQ_SSL_CLIENT_CA", "tls_client_authorities"))
    ] = None
    """PEM file with the certificates of the authorities whose certificates clients may show."""
    wss_enabled: Annotated[bool, Field(validation_alias=env("LISTENER_WSS_ENABLED", "wss_enabled"))] = False
    """Whether there is a listener for MQTT over WebSocket over TLS."""
    wss_host: Annotated[str, Field(validation_alias=env("LISTENER_WSS_BIND_ADDRESS", "wss_host"))] = (
        "127.0.0.1"
    )
    """Address that it listens on."""
    wss_port: Annotated[
        int, Field(ge=0, le=65535, validation_alias=env("LISTENER_WSS_BIND_PORT", "wss_port"))
    ] = 8085
    """Its port; 0 takes a free one, which the LISTENING line tells."""
    wss_certificate: Annotated[
        Path | None, Field(validation_alias=env("LISTENER_WSS_PEM_CERT", "wss_certificate"))
    ] = None
    """As above; where it is not given, certificate, key and password are those of the TLS listener."""
    wss_key: Annotated[Path | None, Field(validation_alias=env("LISTENER_WSS_PEM_KEY", "wss_key"))] = None
    """As above."""
    wss_key_password: Annotated[
        SecretStr | None, Field(validation_alias=env("LISTENER_WSS_PEM_KEY_PASSWORD", "wss_key_password"))
    ] = None
    """As above."""
    wss_client_auth: Annotated[
        ClientAuth, Field(validation_alias=env("SLUICEMQ_WSS_CLIENT_AUTH", "wss_client_auth"))
    ] = ClientAuth.OFF
    """As above. It is not the TLS listener's: a browser's user would be asked to choose a certificate."""
    wss_client_authorities: Annotated[
        Path | None, Field(validation_alias=env("SLUICEMQ_WSS_CLIENT_CA", "wss_client_authorities"))
    ] = None
    """As above; where it is not given, those of the TLS listener."""
    certificates_interval: Annotated[
        float,
        Field(ge=0, validation_alias=env("SLUICEMQ_CERTIFICATES_INTERVAL_SEC", "certificates_interval")),
    ] = 10.0
    """Seconds between looks at the files, which are read again when they have changed; 0: only on SIGHUP."""

    @field_validator("tls_certificate", "tls_key", "tls_client_authorities", "wss_certificate", "wss_key",
                     "wss_client_authorities", mode="before")  # fmt: skip
    @classmethod
    def _empty_is_none(cls, path: object) -> object:
        return path or None

    @property
    def tls_files(self) -> CertificateFiles | None:
        """Those of the TLS listener."""
        if self.tls_certificate is None:
            return None
        return CertificateFiles(
            self.tls_certificate, self.tls_key, self.tls_key_password,
            self.tls_client_auth, self.tls_client_authorities,
        )  # fmt: skip

    @property
    def wss_files(self) -> CertificateFiles | None:
        """Those of the listener for WebSocket over TLS."""
        asked = self.wss_client_auth, self.wss_client_authorities or self.tls_client_authorities
        if self.wss_certificate is not None:
            return CertificateFiles(self.wss_certificate, self.wss_key, self.wss_key_password, *asked)
        if self.tls_certificate is not None:
            return CertificateFiles(self.tls_certificate, self.tls_key, self.tls_key_password, *asked)
        return None


class ListenerSettings(TlsSettings):
    """Whether, where and how clients come in; `host` and `port` of MQTT over TCP are the gateway's."""

    tcp_enabled: Annotated[bool, Field(validation_alias=env("LISTENER_TCP_ENABLED", "tcp_enabled"))] = True
    """Whether there is a listener for MQTT over TCP, which anybody on the way can read."""
    ws_enabled: Annotated[bool, Field(validation_alias=env("LISTENER_WS_ENABLED", "ws_enabled"))] = False
    """Whether there is a WebSocket listener. Off unless asked for: it is one more open port."""
    ws_host: Annotated[str, Field(validation_alias=env("LISTENER_WS_BIND_ADDRESS", "ws_host"))] = "127.0.0.1"
    """Address that it listens on."""
    ws_port: Annotated[
        int, Field(ge=0, le=65535, validation_alias=env("LISTENER_WS_BIND_PORT", "ws_port"))
    ] = WEBSOCKET_PORT
    """Its port; 0 takes a free one, which the LISTENING line tells."""

    handshake_timeout: Annotated[
        float, Field(gt=0, validation_alias=env("SLUICEMQ_HANDSHAKE_TIMEOUT_SEC", "handshake_timeout"))
    ] = 10.0
    """Seconds that a new connection has for its PROXY header and the TLS handshake together."""
    proxied: Annotated[bool, Field(validation_alias=env("MQTT_PROXY_PROTOCOL_ENABLED", "proxied"))] = False
    """Whether all that connect are proxies, which tell by the PROXY protocol where their client comes from."""
    tcp_proxied: Annotated[
        bool | None, Field(validation_alias=env("MQTT_TCP_PROXY_PROTOCOL_ENABLED", "tcp_proxied"))
    ] = None
    """The same for one listener; where it is not given, as for all."""
    tls_proxied: Annotated[
        bool | None, Field(validation_alias=env("MQTT_SSL_PROXY_PROTOCOL_ENABLED", "tls_proxied"))
    ] = None
    """The same."""
    ws_proxied: Annotated[
        bool | None, Field(validation_alias=env("MQTT_WS_PROXY_PROTOCOL_ENABLED", "ws_proxied"))
    ] = None
    """The same."""
    wss_proxied: Annotated[
        bool | None, Field(validation_alias=env("MQTT_WSS_PROXY_PROTOCOL_ENABLED", "wss_proxied"))
    ] = None
    """The same."""
    tcp_max_connections: Annotated[
        int, Field(ge=0, validation_alias=env("SLUICEMQ_TCP_MAX_CONNECTIONS", "tcp_max_connections"))
    ] = 0
    """Connections that the listener has at a time; those above it are closed at once. 0: any number."""
    tls_max_connections: Annotated[
        int, Field(ge=0, validation_alias=env("SLUICEMQ_SSL_MAX_CONNECTIONS", "tls_max_connections"))
    ] = 0
    """The same."""
    ws_max_connections: Annotated[
        int, Field(ge=0, validation_alias=env("SLUICEMQ_WS_MAX_CONNECTIONS", "ws_max_connections"))
    ] = 0
    """The same."""
    wss_max_connections: Annotated[
        int, Field(ge=0, validation_alias=env("SLUICEMQ_WSS_MAX_CONNECTIONS", "wss_max_connections"))
    ] = 0
    """The same."""

    @field_validator("tcp_proxied", "tls_proxied", "ws_proxied", "wss_proxied", mode="before")
    @classmethod
    def _empty_is_as_for_all(cls, value: object) -> object:
        return None if value == "" else value

    @model_validator(mode="after")
    def _some_listener_is_enabled(self) -> Self:
        if not (self.tcp_enabled or self.tls_enabled or self.ws_enabled or self.wss_enabled):
            raise ValueError("no listener is enabled: leave LISTENER_TCP_ENABLED on, or enable another")
        return self

    def is_proxied(self, own: bool | None) -> bool:
        """Whether a listener's clients come through proxies, by its own setting and that for all."""
        return self.proxied if own is None else own
