"""Whatever bytes come over a WebSocket, nothing is raised, and what is not well formed ends the connection."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.states import State
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import Doorman
from tests.edge.gateway.listeners.test_websocket import request
from tests.edge.mqtt.strategies import BOUNDED

V5 = ProtocolVersion.V5


class PlayedSocket(asyncio.Transport):
    """A socket that takes everything, and closes when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_over = False
        self.is_read = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_over, "written to what is closed"
        self.written += bytes(data)

    def close(self) -> None:
        self.is_over = True

    write_eof = abort = close

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return self.is_read

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ARG002
        return default


frames = st.builds(
    lambda opcode, data, fin: Frame(opcode, data, fin or opcode >= 8).serialize(mask=True),
    st.sampled_from([Opcode.BINARY, Opcode.CONT, Opcode.TEXT, Opcode.PING, Opcode.PONG]),
    st.binary(max_size=100) | st.just(write_packet(Connect("c", V5), V5)) | st.just(b"\xc0\0"),
    st.booleans(),
)
pieces = st.lists(frames | st.binary(max_size=60) | st.just(b"\x88\x80\0\0\0\0"), max_size=8)


@BOUNDED
@given(st.booleans(), pieces, st.integers(1, 200), st.booleans())
def test_any_bytes(is_upgraded: bool, junk: list[bytes], size: int, has_turns: bool) -> None:
    async def run() -> None:
        doorman = Doorman(ServerLimits(maximum_packet_size=1_000))
        shell, socket = doorman.over_websocket(), PlayedSocket()
        shell.connection_made(socket)
        if is_upgraded:
            shell.data_received(request())
            assert socket.written.startswith(b"HTTP/1.1 101 ")
        data = b"".join(junk)
        for at in range(0, len(data), size):
            shell.data_received(data[at : at + size])
            if has_turns:
                await asyncio.sleep(0)  # what the connection has to say goes out at the end of a turn
        shell.connection_lost(None)
        await asyncio.sleep(0)
        assert all(connection.core.state is State.CLOSED for connection in doorman.inside)
        assert doorman.ends.qsize() == 1

    asyncio.run(run())


@BOUNDED
@given(st.binary(max_size=300), st.integers(1, 300))
def test_any_request(data: bytes, size: int) -> None:
    """Bytes in place of a request, and within one."""

    async def run() -> None:
        for whole in (data + b"\r\n\r\n", request()[:60] + data + request()[60:]):
            doorman = Doorman(ServerLimits())
            shell, socket = doorman.over_websocket(), PlayedSocket()
            shell.connection_made(socket)
            for at in range(0, len(whole), size):
                shell.data_received(whole[at : at + size])
            shell.connection_lost(None)
            assert doorman.ends.qsize() == 1
            assert not socket.written or socket.written.startswith(b"HTTP/1.1 ")

    asyncio.run(run())
