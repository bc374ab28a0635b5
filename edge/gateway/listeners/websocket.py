"""MQTT over WebSocket: a transport for a connection's shell, on top of the socket's own (section 6).

To the socket it is a protocol, to the connection a transport that carries bytes; so all that holds for a TCP client
(deadlines, back-pressure both ways, what happens when it is slow) holds here. The `websockets` library does the
handshake and the frames; this knows nothing of MQTT but the sub-protocol's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, cast

from websockets.datastructures import Headers
from websockets.exceptions import NegotiationError
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF, Event, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

_FAREWELL = 5.0  # seconds for a client to end its side when ours has ended
_REQUEST_BYTES = 16_384  # of an upgrade request; browsers with full cookie jars stay below
_FRAME_BYTES = (
    65_536  # of a frame to a client: many allow no large ones, and packets may span frames [MQTT-6.0.0-2]
)
_SUB_PROTOCOLS = (Subprotocol("mqtt"), Subprotocol("mqttv3.1"))
"""What is spoken, the better first; clients from before MQTT 3.1.1 know only the second name."""


class WebSocket(asyncio.Protocol, asyncio.Transport):
    """One client's WebSocket.

    Args:
        connection: The shell that it is a transport for.
        path: The path that an upgrade request must ask for.
        maximum_message_size: The longest WebSocket message in bytes that is read.
    """

    __slots__ = (
        "_connection", "_is_closing", "_is_slow", "_path", "_pong", "_requested", "_timer", "_transport", "_websocket"
    )  # fmt: skip

    def __init__(self, connection: asyncio.Protocol, path: str, maximum_message_size: int) -> None:
        super().__init__()
        self._connection = connection
        self._path = path
        # No compression: its window costs more memory than all else that an idle connection has.
        self._websocket = ServerProtocol(
            select_subprotocol=_select_sub_protocol, max_size=maximum_message_size
        )
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._requested = 0
        self._is_closing = False
        self._is_slow = False
        self._pong = b""

    # the socket's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected; its time for a CONNECT runs from here on, the handshake included."""
        self._transport = cast(asyncio.Transport, transport)
        self._connection.connection_made(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came: a piece of the request, or frames."""
        websocket = self._websocket
        websocket.receive_data(data)
        events = websocket.events_received()
        if self._is_closing:
            self._say_goodbye()
        elif websocket.state is State.CONNECTING:
            self._requested += len(data)
            self._shake_hands(events)
        else:
            self._take_frames(cast("list[Frame]", events))

    def eof_received(self) -> None:
        """The client sends no more; the socket closes itself."""
        self._is_closing = True
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._is_closing = True
        self._connection.connection_lost(exc)
        if self._timer:
            self._timer.cancel()

    def pause_writing(self) -> None:
        """Too much waits for the socket."""
        self._is_slow = True
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        """The socket takes again."""
        self._is_slow = False
        if self._pong and self._websocket.state is State.OPEN:
            self._socket.write(self._pong)
        self._pong = b""
        self._connection.resume_writing()

    # the connection's side

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes in binary frames [MQTT-6.0.0-1]; nothing where the WebSocket is not, or no longer, open."""
        websocket = self._websocket
        if self._is_closing or websocket.state is not State.OPEN:
            return
        for at in range(0, len(data), _FRAME_BYTES):
            websocket.send_binary(bytes(data[at : at + _FRAME_BYTES]))
        self._socket.write(b"".join(websocket.data_to_send()))

    def close(self) -> None:
        """Send what is written, then end it: with a close frame and the client's answer to it, where there is one."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._websocket.state is State.CONNECTING:
            self._socket.close()
            return
        if not self._socket.is_reading():
            self._socket.resume_reading()  # the answer stands behind what was not read
        if self._websocket.state is State.OPEN:
            self._websocket.send_close(CloseCode.NORMAL_CLOSURE)
        self._say_goodbye()

    def can_write_eof(self) -> bool:
        """A WebSocket has no half; its own closing handshake is waited for."""
        return False

    def abort(self) -> None:
        """End it now."""
        self._is_closing = True
        self._socket.abort()

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
        return self._is_closing or self._socket.is_closing()

    def is_reading(self) -> bool:
        """Whether what the client sends is read."""
        return self._socket.is_reading()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._socket.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When to call `pause_writing`."""
        self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for the socket."""
        return self._socket.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the socket's transport says."""
        return self._socket.get_extra_info(name, default)

    # steps

    @property
    def _socket(self) -> asyncio.Transport:
        assert self._transport is not None  # noqa: S101 - asyncio tells of the connection first
        return self._transport

    def _shake_hands(self, events: Sequence[Event]) -> None:
        websocket = self._websocket
        if websocket.eof_sent:  # no HTTP, or frames before our answer, which clients must wait for
            self._end()
        elif events:
            response = self._answer(cast(Request, events[0]))
            if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS and len(events) == 1:
                websocket.send_response(response)
                self._socket.write(b"".join(websocket.data_to_send()))
            else:
                self._refuse(response)
        elif self._requested > _REQUEST_BYTES:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self._refuse(websocket.reject(status, f"An upgrade has at most {_REQUEST_BYTES} bytes.\n"))

    def _answer(self, request: Request) -> Response:
        if request.path.partition("?")[0] != self._path:
            return self._websocket.reject(HTTPStatus.NOT_FOUND, f"MQTT is at {self._path}.\n")
        if not all(value.isascii() for name, value in request.headers.raw_items() if _is_of_upgrade(name)):
            # The library quotes them, and fails to.
            return self._websocket.reject(HTTPStatus.BAD_REQUEST, "The headers of an upgrade are ASCII.\n")
        return self._websocket.accept(request)

    def _refuse(self, response: Response) -> None:
        if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            response = Response(HTTPStatus.BAD_REQUEST, HTTPStatus.BAD_REQUEST.phrase, Headers())
        self._websocket.send_response(response)
        self._end()

    def _take_frames(self, frames: Sequence[Frame]) -> None:
        """Pass on what frames carry: packets may span them, and share one [MQTT-6.0.0-2]."""
        websocket = self._websocket
        received: list[bytes] = []
        is_text = False
        for frame in frames:
            if frame.opcode is Opcode.BINARY or frame.opcode is Opcode.CONT:
                received.append(bytes(frame.data))
            elif frame.opcode is Opcode.TEXT:
                is_text = True
                break
        if received:
            self._connection.data_received(received[0] if len(received) == 1 else b"".join(received))
        if is_text:  # [MQTT-6.0.0-1]
            websocket.fail(CloseCode.UNSUPPORTED_DATA, "MQTT is sent in binary frames")
        if websocket.state is State.OPEN:
            self._answer_pings()
        elif not self._is_closing:  # the client closed it, or broke a rule
            self._end()

    def _answer_pings(self) -> None:
        """Send the library's pongs; to a client that takes nothing, only the last, and later (RFC 6455, 5.5.3)."""
        pongs = self._websocket.data_to_send()
        if not pongs:
            return
        if self._is_slow:
            self._pong = pongs[-1]
        else:
            self._socket.write(b"".join(pongs))

    def _end(self) -> None:
        """No MQTT comes over it any more."""
        self._is_closing = True
        self._connection.eof_received()
        self._say_goodbye()

    def _say_goodbye(self) -> None:
        """Send what the library has to say, and see to it that the socket closes."""
        socket, websocket = self._socket, self._websocket
        data = websocket.data_to_send()
        if socket.is_closing():
            return
        if rest := b"".join(data):
            socket.write(rest)
        if SEND_EOF in data:
            if websocket.close_rcvd is not None or not socket.can_write_eof():
                socket.close()
            else:  # closing at once, with bytes of the client's unread, would reset it and lose what we said
                socket.write_eof()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_FAREWELL, socket.abort)


def _is_of_upgrade(header: str) -> bool:
    header = header.lower()
    return header in ("connection", "upgrade", "origin") or header.startswith("sec-websocket-")


def _select_sub_protocol(_: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol:
    """`mqtt` where it is offered [MQTT-6.0.0-4]; who offers nothing that we speak is refused [MQTT-6.0.0-3]."""
    for name in _SUB_PROTOCOLS:
        if name in offered:
            return name
    raise NegotiationError("offer the sub-protocol mqtt")
