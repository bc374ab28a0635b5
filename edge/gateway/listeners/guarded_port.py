"""A port that not everybody gets through: what a client passes before its shell hears of it.

In this order: there is room for it, a proxy has told where it comes from, its address has not opened too many, and the
TLS handshake is done. Who fails is gone with socket and task, and nobody waits for it: each client passes in a task of
its own, within a time of its own. Of those that are too many for the gateway, the next are accepted when it is time.

The sockets are accepted here, not by the event loop's server: a loop's server would read on behind a PROXY header, and
tells nobody of handshakes that fail.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.limits.connection_rates import ConnectionRates
from edge.gateway.listeners.certificates import Certificates
from edge.gateway.listeners.proxy_header import ProxyHeader, ProxyHeaderError

log = logging.getLogger(__name__)

_FAREWELL = 5.0  # seconds for a client to end its side of TLS when ours has ended
_ACCEPTED_AT_ONCE = 100  # then others have their turn of the loop
_NOT_HERE = (
    errno.EAFNOSUPPORT,
    errno.EADDRNOTAVAIL,
)  # an IPv6 address that a host's name has, and the machine has not
_SHORTEST = 0.01  # seconds for which nobody is accepted, so that it is not done for each alone
_BREATH = 1.0  # seconds until the next try when the process has no descriptor left


@dataclass(frozen=True)
class Guards:
    """What a listener's clients have to pass."""

    handshake_timeout: float
    """Seconds for all of it."""
    certificates: Certificates | None = None
    """The listener's, where it speaks TLS."""
    is_proxied: bool = False
    """Whether a PROXY header comes first."""
    max_connections: int = 0
    """How many may be there at a time, those at the guards included; 0 for any number."""
    rates: ConnectionRates | None = None
    """How many may come in a time, at all listeners together; None: any number."""

    def __bool__(self) -> bool:
        return bool(self.certificates or self.is_proxied or self.max_connections or self.rates)


class GuardedPort:
    """Accepts clients, and lets them through to shells.

    Args:
        guards: What they have to pass.
        shell: Makes one: the connection, and what its transport is to talk to.
        counters: The gateway's.
    """

    def __init__(
        self, guards: Guards, shell: Callable[[], tuple[Connection, asyncio.Protocol]], counters: Counters
    ) -> None:
        self._guards = guards
        self._shell = shell
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._passing: set[asyncio.Task[None]] = set()
        self._there: set[Connection] = set()
        self._resuming: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        """How many there are, those at the guards included."""
        return len(self._there)

    async def open(self, host: str, port: int, backlog: int) -> tuple[str, int]:
        """Accept clients.

        Returns:
            Where: host and port, of the first address that the host has.

        Raises:
            OSError: An address can't be listened on.
        """
        flags, lacking = socket.AI_PASSIVE, OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
        for family, address in dict.fromkeys((info[0], info[4]) for info in found):
            try:
                opened = socket.create_server(address, family=family, backlog=backlog)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    self.close()
                    raise
                lacking = error
            else:
                opened.setblocking(False)
                self._sockets.append(opened)
        if not self._sockets:
            raise lacking
        self._listen()
        name: tuple[str, int] = self._sockets[0].getsockname()[:2]
        return name

    def close(self) -> None:
        """Accept nobody any more, and turn away who is at the guards; who is through stays."""
        self._stop_listening()
        if self._resuming:
            self._resuming.cancel()
        for opened in self._sockets:
            opened.close()
        self._sockets.clear()
        for task in self._passing:
            task.cancel()

    def _listen(self) -> None:
        self._resuming = None
        for opened in self._sockets:
            self._loop.add_reader(opened, self._accept, opened)

    def _stop_listening(self) -> None:
        for opened in self._sockets:
            self._loop.remove_reader(opened)

    def _pause(self, seconds: float) -> None:
        """Accept nobody for a while; the kernel keeps who comes meanwhile."""
        self._stop_listening()
        if self._resuming is None:
            self._resuming = self._loop.call_later(seconds, self._listen)

    def _accept(self, opened: socket.socket) -> None:
        rates, now = self._guards.rates, self._loop.time()
        for _ in range(_ACCEPTED_AT_ONCE):
            if rates is not None and (wait := rates.wait(now)):
                self._pause(max(wait, _SHORTEST))
                return
            try:
                client, address = opened.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except (
                OSError
            ) as error:  # no descriptor or memory is left; those that wait would call at once again
                log.warning("cannot accept connections: %s", error.strerror)
                self._pause(_BREATH)
                return
            if rates is not None:
                rates.accepted(now)
            self._greet(client, address)

    def _greet(self, client: socket.socket, address: object) -> None:
        maximum = self._guards.max_connections
        if maximum and len(self._there) >= maximum:
            self._counters.connections_over_limit += 1
            log.info("closed a connection from %s: there are %d", address, maximum)
            client.close()
            return
        if not self._guards.is_proxied and not self._may_come(address):
            client.close()
            return
        client.setblocking(False)
        connection, shell = self._shell()  # now, since the time for its CONNECT runs from now
        self._there.add(connection)
        connection.left = self._there.discard
        task = self._loop.create_task(self._pass(client, address, connection, shell))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def _pass(
        self, client: socket.socket, address: object, connection: Connection, shell: asyncio.Protocol
    ) -> None:
        is_through = False
        try:
            deadline = self._loop.time() + self._guards.handshake_timeout
            if self._guards.is_proxied:
                async with asyncio.timeout_at(deadline):
                    connection.origin = await self._read_origin(client)
                if not self._may_come(connection.origin or address):
                    return
            await self._hand_over(client, shell, deadline)
            is_through = True
        except (OSError, ProxyHeaderError) as error:  # a TimeoutError, and what TLS raises, is an OSError
            self._counters.failed_handshakes += 1
            log.info("closed a connection from %s before MQTT: %s", address, str(error) or "it took too long")
        finally:
            if not is_through:
                client.close()
                self._there.discard(connection)

    def _may_come(self, address: object) -> bool:
        """Whether an address has not opened too many; if it has, that is counted."""
        rates = self._guards.rates
        if rates is None or not isinstance(address, tuple):
            return True
        if rates.may_come(str(address[0]), self._loop.time()):
            return True
        self._counters.connections_over_rate += 1
        log.info("closed a connection from %s: it opens too many", address[0])
        return False

    async def _read_origin(self, client: socket.socket) -> tuple[str, int] | None:
        header = ProxyHeader()
        while not header.is_complete:
            data = await self._loop.sock_recv(client, header.wanted)
            if not data:
                raise ConnectionResetError("it ended within its PROXY header")
            header.receive(data)
        return header.origin

    async def _hand_over(self, client: socket.socket, shell: asyncio.Protocol, deadline: float) -> None:
        certificates = self._guards.certificates
        if certificates is None:
            await self._loop.connect_accepted_socket(lambda: shell, client)
            return
        transport, _ = await self._loop.connect_accepted_socket(
            lambda: shell,
            client,
            ssl=certificates.context,
            ssl_handshake_timeout=max(deadline - self._loop.time(), 0.001),
            ssl_shutdown_timeout=_FAREWELL,
        )
        if (
            transport.get_extra_info("ssl_object") is None
        ):  # the loops don't raise for a client that just left
            raise ConnectionResetError("it ended within its handshake")
