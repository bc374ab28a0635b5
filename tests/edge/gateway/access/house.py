"""A gateway's clients behind its entrance, with providers that the test plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from edge.gateway.access.access import Access
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import ConnAck, Connect, Disconnect, Packet
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import return_code
from edge.mqtt.states import State
from edge.mqtt.writing import write_packet
from identity.answers import NO_RULES, Answer, ClientType, Rules, Success
from identity.attempt import ConnectAttempt
from identity.chain import Chain, Provider
from identity.database import Database
from tests.edge.gateway.sessions.test_clients import House
from tests.edge.mqtt.test_reading import read_all

V3_1_1, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5


class PlayedProvider:
    """Answers when the test wants it to."""

    name = "played"

    def __init__(self) -> None:
        self.asked: list[ConnectAttempt] = []
        self.answers: dict[int, asyncio.Future[Answer]] = {}
        self.came = asyncio.Event()
        self.was_cancelled = asyncio.Event()

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        number = len(self.asked)
        self.asked.append(attempt)
        self.answers[number] = asyncio.get_running_loop().create_future()
        self.came.set()
        try:
            return await self.answers[number]
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise

    async def until_asked(self, count: int) -> None:
        """Wait until it was asked so often."""
        while len(self.asked) < count:
            self.came.clear()
            await self.came.wait()

    async def close(self) -> None:
        pass


class Quick:
    """A provider that answers at once."""

    name = "quick"

    def __init__(self, answer: Callable[[ConnectAttempt], Answer]) -> None:
        self._answer = answer

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        return self._answer(attempt)

    async def close(self) -> None:
        pass


class PlayedSocket(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self._is_closing = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    abort = close

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


class Guarded(House):
    """A gateway's clients, behind its entrance."""

    def __init__(self, *providers: Provider, database: Database | None = None, timeout: float = 30.0) -> None:
        super().__init__()
        self.counters = Counters()
        self.dropped: list[Connection] = []
        self.over: dict[Connection, asyncio.Event] = {}
        self.sockets: dict[Connection, PlayedSocket] = {}
        self.access = Access(
            Chain(providers), database, self.counters, timeout, self.clients.connect, self.dropped.append
        )

    def connect(self, client_id: str = "id", version: ProtocolVersion = V5, **fields: Any) -> Connection:
        """A client sends its CONNECT; what it is sent goes to a socket that the test reads."""
        connection = Connection(self, ServerLimits(), self.outbox, 1 << 20)  # type: ignore[arg-type] # House
        socket = self.sockets[connection] = PlayedSocket()
        connection.connection_made(socket)
        connection.data_received(write_packet(Connect(client_id, version, **fields), version))
        return connection

    async def let_in(self, client_id: str = "id", version: ProtocolVersion = V5, **fields: Any) -> Connection:
        """A client that is judged at once, and let in."""
        before = self.words().count("ConnectRequested")
        connection = self.connect(client_id, version, **fields)
        await until(lambda: self.words().count("ConnectRequested") > before)
        self.grant()
        assert await self.code(connection) == 0
        assert self.state(connection) is State.CONNECTED
        return connection

    async def packet(self, connection: Connection) -> Packet:
        """The one packet that a connection is sent next, on its socket."""
        sent = self.sockets[connection].sent
        await until(lambda: bool(sent))
        [packet] = read_all(sent, connection.core.version)
        sent.clear()
        return packet

    async def code(self, connection: Connection) -> int:
        """The reason or return code of the CONNACK that a connection is sent."""
        packet = await self.packet(connection)
        assert isinstance(packet, ConnAck)
        if connection.core.version is V5:
            return packet.reason_code
        code = return_code(packet.reason_code)
        assert code is not None
        return code

    async def farewell(self, connection: Connection) -> int:
        """The reason code of the DISCONNECT that a connection is sent."""
        packet = await self.packet(connection)
        assert isinstance(packet, Disconnect)
        return packet.reason_code

    # the handler of its connections

    def opened(self) -> None:
        pass

    def connect_received(self, connection: Connection, event: Any) -> None:
        self.over[connection] = asyncio.Event()
        self.access.connect(connection, event)

    def auth_received(self, connection: Connection, event: Any) -> None:
        self.access.auth_received(connection, event)

    def ended(self, connection: Connection, event: Any) -> None:
        self.access.ended(connection)
        super().ended(connection, event)
        self.over[connection].set()


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop run until something holds."""
    async with asyncio.timeout(120):
        while not holds():
            await turns(1)


async def turns(count: int) -> None:
    """Let the loop turn so often."""
    for _ in range(count):
        turn = asyncio.Event()
        asyncio.get_running_loop().call_soon(turn.set)
        await turn.wait()


def allowing(rules: Rules = NO_RULES, type: ClientType = ClientType.DEVICE, **fields: Any) -> Quick:
    """A provider that lets everybody in."""
    return Quick(lambda _: Success(type, rules, "quick", **fields))
