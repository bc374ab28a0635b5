"""A gateway's open ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection
from edge.gateway.listeners.settings import WEBSOCKET_PATH
from edge.gateway.listeners.websocket import WebSocket

_BACKLOG = 4096  # connections that may wait: all clients of a gateway that died come at once


class Listeners:
    """Opens and closes them; each connection that comes in gets a shell of its own.

    Args:
        config: Which there are, and where.
        connection: Makes a shell.
    """

    def __init__(self, config: GatewayConfig, connection: Callable[[], Connection]) -> None:
        self._config = config
        self._connection = connection
        self._servers: list[asyncio.Server] = []
        # Twice a packet: one that is somewhat too large is then told so in MQTT (0x95) before its frame is too large.
        self._maximum_message_size = 2 * config.max_packet_size
        self.tcp: tuple[str, int] = (config.host, config.port)
        """Where MQTT over TCP is accepted."""
        self.websocket: tuple[str, int] | None = None
        """Where MQTT over WebSocket is accepted, if it is."""

    async def open(self) -> dict[str, object]:
        """Accept clients.

        Returns:
            What the LISTENING line says of it.

        Raises:
            OSError: An address can't be listened on; it stands in `filename`.
        """
        config = self._config
        self.tcp = await self._listen(self._connection, config.host, config.port)
        where: dict[str, object] = {"host": self.tcp[0], "port": self.tcp[1]}
        if config.ws_enabled:
            self.websocket = host, port = await self._listen(self._shell, config.ws_host, config.ws_port)
            where["websocket"] = {"host": host, "port": port, "path": WEBSOCKET_PATH}
        return where

    def close(self) -> None:
        """Accept nobody any more; who is in stays in."""
        for server in self._servers:
            server.close()

    def _shell(self) -> WebSocket:
        return WebSocket(self._connection(), WEBSOCKET_PATH, self._maximum_message_size)

    async def _listen(
        self, shell: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[str, int]:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(shell, host, port, backlog=_BACKLOG)
        except OSError as error:
            self.close()
            raise OSError(error.errno, error.strerror, f"{host}:{port}") from error
        self._servers.append(server)
        opened: tuple[str, int] = server.sockets[0].getsockname()[:2]
        return opened
