"""The wire of a connection: frames in, frames out, the state, and what becomes of a fault; no flows of messages.

It does no I/O and has no clock: bytes come in by ``receive_data`` with the time, bytes go out by ``data_to_send``, and
what happened is told by ``events_received``. After every call the I/O side looks at ``data_to_send``, ``close_wanted``
and ``deadline``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from edge.mqtt.errors import RemoteProtocolError, violation
from edge.mqtt.events import ConnectionEnded, Event
from edge.mqtt.framing import Framer
from edge.mqtt.message import V5_FLAG
from edge.mqtt.packets import ConnAck, Disconnect, Packet, PingReq, PingResp, Publish
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import MAXIMUM_REMAINING_LENGTH, PacketType, ProtocolVersion
from edge.mqtt.reading import READERS
from edge.mqtt.states import RECEIVABLE_BITS, Side, State
from edge.mqtt.writing import write_packet

UNLIMITED_PACKET_SIZE = MAXIMUM_REMAINING_LENGTH + 5
"""A packet cannot be larger."""
_MAY_ALWAYS_EXPLAIN = (ConnAck, Publish, Disconnect)
"""Packets with Reason String and User Properties even when Request Problem Information is 0 [MQTT-3.1.2-29]."""

Handler = Callable[[Any, Any], None]


class Wire:
    """A connection without its flows; ``Connection`` adds them.

    Args:
        maximum_packet_size: The largest packet in bytes that we accept.
        version: The version, as far as it is known.
        state: The state to start in.
    """

    __slots__ = (
        "_events",
        "_frame_flags",
        "_framer",
        "_last_packet_at",
        "_may_explain",
        "_now",
        "_output",
        "_peer_maximum",
        "_receivable",
        "_state",
        "_version",
        "close_wanted",
    )

    _side: ClassVar[Side]
    _handlers: ClassVar[dict[int, Handler]]

    def __init__(self, maximum_packet_size: int, version: ProtocolVersion, state: State) -> None:
        self._framer = Framer(maximum_packet_size)
        self._version = version
        self._frame_flags = 0
        self._events: list[Event] = []
        self._output: list[bytes] = []
        self._now = 0.0
        self._last_packet_at = 0.0
        self._peer_maximum = UNLIMITED_PACKET_SIZE
        self._may_explain = True
        self.close_wanted = False
        """True: write what ``data_to_send`` has, then close the transport."""
        self._enter(state)

    # What the I/O side calls ------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes from the peer. Then drain ``events_received`` and ``data_to_send``."""
        if self._state is State.CLOSED:
            return
        self._now = now
        self._framer.feed(data)
        self._read_frames()

    def receive_eof(self, now: float) -> None:
        """The peer or the network ended the stream. Then drain ``events_received`` and close."""
        self._now = now
        self._end(None, will_wanted=self._state is State.CONNECTED)

    def events_received(self) -> list[Event]:
        """What happened since the last call."""
        events = self._events
        if events:
            self._events = []
        return events

    def data_to_send(self) -> list[bytes]:
        """What to write, in order, since the last call."""
        output = self._output
        if output:
            self._output = []
        return output

    @property
    def state(self) -> State:
        """Where the connection stands."""
        return self._state

    @property
    def version(self) -> ProtocolVersion:
        """The version that CONNECT told; before it means nothing."""
        return self._version

    # Reading and ending -----------------------------------------------------------------------------------------------

    def _enter(self, state: State) -> None:
        self._state = state
        self._receivable = RECEIVABLE_BITS[self._side, state]

    def _use_version(self, version: ProtocolVersion) -> None:
        self._version = version
        self._frame_flags = V5_FLAG if version is ProtocolVersion.V5 else 0
        self._framer.use_version(version)

    def _read_frames(self) -> None:
        """Handle all packets that are complete and may be read in this state."""
        next_frame = self._framer.next_frame
        handlers = self._handlers
        try:
            while self._receivable:
                frame = next_frame()
                if frame is None:
                    return
                first, body = frame
                kind = first >> 4
                if not self._receivable >> kind & 1:
                    raise violation(f"{PacketType(kind).name} must not be sent now")
                self._last_packet_at = self._now  # [MQTT-3.1.2-22]: only what is complete counts
                handlers[kind](self, READERS[kind](first, body, self._version))
        except RemoteProtocolError as error:
            self._fail(error)

    def _fail(self, error: RemoteProtocolError) -> None:
        """The one place where a peer's fault becomes a reason code on the wire [MQTT-4.13.1-1]."""
        if self._state is State.CONNECTED and self._version is ProtocolVersion.V5:
            self._send(Disconnect(error.reason_code, explained(error.message)))
        self._end(error.reason_code, will_wanted=self._state is State.CONNECTED)

    def _end(self, reason_code: int | None, *, will_wanted: bool) -> None:
        if self._state is State.CLOSED:
            return
        self._enter(State.CLOSED)
        self._framer = Framer(0)
        self.close_wanted = True
        self._events.append(ConnectionEnded(reason_code, will_wanted))

    def _send(self, packet: Packet) -> bool:
        """Write a packet; without its diagnosis where that is not wanted or too large, and not at all if still so."""
        if not self._may_explain and not isinstance(packet, _MAY_ALWAYS_EXPLAIN):
            packet = _terse(packet)
        frame = write_packet(packet, self._version)
        if len(frame) > self._peer_maximum:
            frame = write_packet(_terse(packet), self._version)  # [MQTT-3.4.2-2], [MQTT-3.9.2-1] and the like
            if len(frame) > self._peer_maximum:
                return False  # [MQTT-3.1.2-24]
        self._output.append(frame)
        return True


def explained(reason_string: str | None) -> Properties:
    """Properties with a Reason String, if there is one."""
    return NO_PROPERTIES if reason_string is None else Properties(reason_string=reason_string)


def _terse(packet: Packet) -> Packet:
    """The packet without Reason String and User Properties."""
    if isinstance(packet, PingReq | PingResp):
        return packet
    return replace(packet, properties=replace(packet.properties, reason_string=None, user_properties=()))
