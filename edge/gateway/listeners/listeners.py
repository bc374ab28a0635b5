"""A gateway's open ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.errors import CertificateFilesError
from edge.gateway.listeners.certificates import CertificateFiles, Certificates
from edge.gateway.listeners.guarded_port import GuardedPort, Guards
from edge.gateway.listeners.settings import WEBSOCKET_PATH
from edge.gateway.listeners.websocket import WebSocket

_BACKLOG = 4096  # connections that may wait: all clients of a gateway that died come at once
Shell = Callable[[], tuple[Connection, asyncio.Protocol]]


class Listeners:
    """Opens and closes them; each connection that comes in gets a shell of its own.

    Args:
        config: Which there are, and where.
        connection: Makes a shell.
        counters: The gateway's.

    Raises:
        CertificateFilesError: A listener with TLS has no certificate that it could use.
    """

    def __init__(
        self, config: GatewayConfig, connection: Callable[[], Connection], counters: Counters
    ) -> None:
        self._config = config
        self._connection = connection
        self._counters = counters
        self._open: list[asyncio.Server | GuardedPort] = []
        self._watch: asyncio.TimerHandle | None = None
        # Twice a packet: one that is somewhat too large is then told so in MQTT (0x95) before its frame is too large.
        self._maximum_message_size = 2 * config.max_packet_size
        self.tcp: tuple[str, int] = (config.host, config.port)
        """Where MQTT over TCP is accepted, if it is."""
        self.websocket: tuple[str, int] | None = None
        """Where MQTT over WebSocket is accepted, if it is."""
        self.tls: tuple[str, int] | None = None
        """The same over TLS."""
        self.wss: tuple[str, int] | None = None
        """The same over WebSocket over TLS."""
        self._certificates: list[Certificates] = []
        self._rates = config.connection_rates
        self._guards_of_tcp = self._guards(config.tcp_proxied, config.tcp_max_connections)
        self._guards_of_websocket = self._guards(config.ws_proxied, config.ws_max_connections)
        self._guards_of_tls = self._guards_of_wss = None
        if config.tls_enabled:
            certificates = self._read("TLS", "LISTENER_SSL_PEM_CERT", config.tls_files)
            self._guards_of_tls = self._guards(config.tls_proxied, config.tls_max_connections, certificates)
        if config.wss_enabled:
            certificates = self._read("WSS", "LISTENER_WSS_PEM_CERT", config.wss_files)
            self._guards_of_wss = self._guards(config.wss_proxied, config.wss_max_connections, certificates)

    async def open(self) -> dict[str, object]:
        """Accept clients.

        Returns:
            What the LISTENING line says of it.

        Raises:
            OSError: An address can't be listened on; it stands in `filename`.
        """
        config, where = self._config, dict[str, object]()
        if config.tcp_enabled:
            self.tcp = await self._listen(self._shell, config.host, config.port, self._guards_of_tcp)
            where |= _told(self.tcp)
        if self._guards_of_tls is not None:
            self.tls = await self._listen(self._shell, config.tls_host, config.tls_port, self._guards_of_tls)
            where["tls"] = _told(self.tls)
        if config.ws_enabled:
            self.websocket = await self._listen(
                self._websocket, config.ws_host, config.ws_port, self._guards_of_websocket
            )
            where["websocket"] = _told(self.websocket) | {"path": WEBSOCKET_PATH}
        if self._guards_of_wss is not None:
            self.wss = await self._listen(
                self._websocket, config.wss_host, config.wss_port, self._guards_of_wss
            )
            where["wss"] = _told(self.wss) | {"path": WEBSOCKET_PATH}
        if self._certificates and config.certificates_interval:
            self._look_soon()
        return where

    @property
    def addresses(self) -> dict[str, str]:
        """Where clients are accepted, by the kind of listener."""
        found = {"tcp": self.tcp if self._config.tcp_enabled else None, "tls": self.tls}
        found |= {"ws": self.websocket, "wss": self.wss}
        return {kind: f"{where[0]}:{where[1]}" for kind, where in found.items() if where is not None}

    def close(self) -> None:
        """Accept nobody any more; who is in stays in."""
        for each in self._open:
            each.close()
        if self._watch:
            self._watch.cancel()

    @property
    def has_certificates(self) -> bool:
        """Whether there is a listener with TLS."""
        return bool(self._certificates)

    def reload_certificates(self) -> None:
        """Read them again; those that can't be used leave the former in place, and the log says why."""
        for each in self._certificates:
            each.reload()

    def _look_soon(self) -> None:
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(self._config.certificates_interval, self._look)

    def _look(self) -> None:
        for each in self._certificates:
            each.reload_if_changed()
        self._look_soon()

    def _read(self, listener: str, setting: str, files: CertificateFiles | None) -> Certificates:
        if files is None:
            raise CertificateFilesError(
                f"The {listener} listener has no certificate: name its file in {setting}."
            )
        certificates = Certificates(listener, files)
        self._certificates.append(certificates)
        return certificates

    def _guards(
        self, own_proxied: bool | None, maximum: int, certificates: Certificates | None = None
    ) -> Guards:
        config = self._config
        return Guards(
            config.handshake_timeout, certificates, config.is_proxied(own_proxied), maximum, self._rates
        )

    def _shell(self) -> tuple[Connection, asyncio.Protocol]:
        connection = self._connection()
        return connection, connection

    def _websocket(self) -> tuple[Connection, asyncio.Protocol]:
        connection = self._connection()
        return connection, WebSocket(connection, WEBSOCKET_PATH, self._maximum_message_size)

    async def _listen(self, shell: Shell, host: str, port: int, guards: Guards) -> tuple[str, int]:
        try:
            if guards:
                guarded = GuardedPort(guards, shell, self._counters)
                self._open.append(guarded)
                return await guarded.open(host, port, _BACKLOG)
            loop = asyncio.get_running_loop()
            server = await loop.create_server(lambda: shell()[1], host, port, backlog=_BACKLOG)
        except OSError as error:
            self.close()
            raise OSError(error.errno, error.strerror, f"{host}:{port}") from error
        self._open.append(server)
        opened: tuple[str, int] = server.sockets[0].getsockname()[:2]
        return opened


def _told(address: tuple[str, int]) -> dict[str, object]:
    return {"host": address[0], "port": address[1]}
