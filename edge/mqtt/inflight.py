"""The half of a session that outlives a connection: QoS 1 and 2 flows under way, in both directions.

It knows packet identifiers and windows, and neither bytes nor a connection. Everything is allocated when it is first
needed, because most sessions are idle.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.protocol import MAXIMUM_PACKET_ID


class Inbound(IntEnum):
    """Where a message that the peer sent stands."""

    QOS_1_RECEIVED = 1
    """Waits for ``confirm_publish``."""
    QOS_2_RECEIVED = 2
    """Waits for ``confirm_publish``."""
    QOS_2_CONFIRMED = 3
    """PUBREC is sent; waits for PUBREL."""
    QOS_2_RELEASED = 4
    """PUBREL came; waits for ``confirm_release``. Only in sessions that are kept elsewhere."""


class InboundFlows:
    """Messages from the peer that are not finished."""

    __slots__ = ("_flows", "_inherited")

    def __init__(self) -> None:
        self._flows: dict[int, Inbound] | None = None
        self._inherited: set[int] | None = None

    def __len__(self) -> int:
        return 0 if self._flows is None else len(self._flows)

    @property
    def outstanding(self) -> int:
        """How many count against this connection's Receive Maximum; those of earlier ones do not (section 4.9)."""
        return len(self) - (len(self._inherited) if self._inherited else 0)

    def get(self, packet_id: int) -> Inbound | None:
        """Where a packet identifier stands, or None when it is free."""
        return None if self._flows is None else self._flows.get(packet_id)

    def repeat(self, packet_id: int) -> None:
        """A message of an earlier connection was sent again on this one."""
        if self._inherited:
            self._inherited.discard(packet_id)

    def put(self, packet_id: int, state: Inbound) -> None:
        """Begin a flow, or take it a step on."""
        if self._flows is None:
            self._flows = {}
        self._flows[packet_id] = state

    def finish(self, packet_id: int) -> bool:
        """End a flow: its packet identifier is free.

        Returns:
            Whether its message came on this connection, for the first time or again.
        """
        if self._flows is not None:
            del self._flows[packet_id]
        if self._inherited and packet_id in self._inherited:
            self._inherited.remove(packet_id)
            return False
        return True

    def resume(self) -> None:
        """A new connection goes on with what is here."""
        self._inherited = set(self._flows) if self._flows else None


@dataclass(slots=True)
class Delivery:
    """A message for one receiver, at QoS 1 or 2."""

    message: OutgoingMessage
    """What."""
    qos: int
    """1 or 2."""
    retain: bool = False
    """The RETAIN flag."""
    subscription_ids: tuple[int, ...] = ()
    """The receiver's identifiers for the subscriptions that matched."""
    packet_id: int = 0
    """0 until it is sent for the first time."""
    is_released: bool = False
    """PUBREL was sent: it must not be published again [MQTT-4.3.3-6]."""
    has_slot: bool = False
    """It takes a place in this connection's window."""
    is_logged: bool = False
    """The application keeps it and chose its packet identifier: PUBREL waits for ``release_delivery``."""
    is_received: bool = False
    """PUBREC came for a logged one."""


class Gate(Protocol):
    """Whatever else than the window decides when a delivery may begin."""

    @property
    def is_open(self) -> bool:
        """Whether one may; if not, ``continue_deliveries`` is called when it may."""

    def passed(self) -> None:
        """One has begun."""


class OutboundFlows:
    """Messages to the peer: a window of those under way, and a queue behind it.

    Args:
        maximum_queued: How many messages may wait.
        maximum_queued_bytes: How many bytes of topics and payloads may wait.
    """

    __slots__ = (
        "_deliveries",
        "_gate",
        "_last_id",
        "_maximum_queued",
        "_maximum_queued_bytes",
        "_queue",
        "_queued_bytes",
        "_resend",
        "_reserved",
        "_used",
        "_window",
    )

    def __init__(self, maximum_queued: int, maximum_queued_bytes: int) -> None:
        self._maximum_queued = maximum_queued
        self._maximum_queued_bytes = maximum_queued_bytes
        self._window = 0
        self._gate: Gate | None = None
        self._used = 0
        self._last_id = 0
        self._queued_bytes = 0
        self._deliveries: dict[int, Delivery] | None = None
        self._reserved: set[int] | None = None
        self._resend: deque[Delivery] | None = None
        self._queue: deque[Delivery] | None = None

    @property
    def in_flight(self) -> int:
        """How many are under way, those of earlier connections included."""
        return 0 if self._deliveries is None else len(self._deliveries)

    @property
    def has_room(self) -> bool:
        """Whether a delivery may begin: the window has a free place, and the gate is open."""
        return self._used < self._window and (self._gate is None or self._gate.is_open)

    def pace(self, gate: Gate) -> None:
        """Have a gate decide, too, when deliveries begin; those that are sent again are not asked about."""
        self._gate = gate

    @property
    def queued(self) -> int:
        """How many wait behind the window."""
        return 0 if self._queue is None else len(self._queue)

    @property
    def queued_bytes(self) -> int:
        """How many bytes of topics and payloads wait behind the window."""
        return self._queued_bytes

    def unfinished(self) -> Iterator[Delivery]:
        """All that is under way, then all that waits; what was never sent has the packet identifier 0."""
        yield from (self._deliveries or {}).values()
        yield from self._queue or ()

    def get(self, packet_id: int) -> Delivery | None:
        """The delivery that a packet identifier stands for."""
        return None if self._deliveries is None else self._deliveries.get(packet_id)

    def begin(self, delivery: Delivery) -> int:
        """Give a delivery a packet identifier and a place in the window; 0 when it may not begin [MQTT-3.3.4-9]."""
        if self._used >= self._window:
            return 0
        gate = self._gate
        if gate is not None:
            if not gate.is_open:
                return 0
            gate.passed()
        deliveries = self._deliveries
        if deliveries is None:
            deliveries = self._deliveries = {}
        packet_id = self._last_id + 1
        if packet_id > MAXIMUM_PACKET_ID or packet_id in deliveries or self._reserved:
            packet_id = self._free_id(deliveries)
        self._last_id = packet_id
        deliveries[packet_id] = delivery
        delivery.packet_id = packet_id
        delivery.has_slot = True
        self._used += 1
        return packet_id

    def can_begin_as(self, packet_id: int) -> bool:
        """Whether a delivery may begin, and nobody uses this packet identifier."""
        return (
            self.has_room
            and (self._deliveries is None or packet_id not in self._deliveries)
            and (self._reserved is None or packet_id not in self._reserved)
        )

    def begin_as(self, delivery: Delivery, packet_id: int) -> None:
        """Begin a delivery under a packet identifier of the caller's, after ``can_begin_as`` said that it may."""
        if self._deliveries is None:
            self._deliveries = {}
        self._deliveries[packet_id] = delivery
        delivery.packet_id = packet_id
        delivery.has_slot = True
        self._used += 1
        if self._gate is not None:
            self._gate.passed()

    def _free_id(self, deliveries: dict[int, Delivery]) -> int:
        """The next packet identifier that is not in use, after 65,535 from 1 again [MQTT-2.2.1-3]."""
        packet_id = self._last_id
        reserved = self._reserved
        for _ in range(MAXIMUM_PACKET_ID):
            packet_id = packet_id + 1 if packet_id < MAXIMUM_PACKET_ID else 1
            if packet_id not in deliveries and (not reserved or packet_id not in reserved):
                return packet_id
        raise LocalProtocolError("all packet identifiers are in use: wait for acknowledgements")

    def enqueue(self, delivery: Delivery) -> bool:
        """Let a delivery wait behind the window; False when there is no room."""
        size = delivery.message.size
        queue = self._queue
        if queue is None:
            queue = self._queue = deque()
        if len(queue) >= self._maximum_queued or self._queued_bytes + size > self._maximum_queued_bytes:
            return False
        queue.append(delivery)
        self._queued_bytes += size
        return True

    def complete(self, delivery: Delivery) -> None:
        """End a delivery that is under way."""
        if self._deliveries is not None:
            del self._deliveries[delivery.packet_id]
        if delivery.has_slot:
            delivery.has_slot = False
            self._used -= 1

    def next_resend(self) -> Delivery | None:
        """The next delivery of an earlier connection to send again, while there is room."""
        resend = self._resend
        while resend and self._used < self._window:
            delivery = resend.popleft()
            if self.get(delivery.packet_id) is delivery:
                delivery.has_slot = True
                self._used += 1
                return delivery
        return None

    def next_queued(self) -> Delivery | None:
        """Take the first delivery out of the queue, while there is room; ``begin`` it or drop it."""
        queue = self._queue
        if not queue or not self.has_room:
            return None
        delivery = queue.popleft()
        self._queued_bytes -= delivery.message.size
        return delivery

    def reserve(self) -> int:
        """A packet identifier for a SUBSCRIBE or UNSUBSCRIBE."""
        if self._reserved is None:
            self._reserved = set()
        packet_id = self._last_id = self._free_id(self._deliveries or {})
        self._reserved.add(packet_id)
        return packet_id

    def release(self, packet_id: int) -> bool:
        """Give a reserved packet identifier back; False when it was not reserved."""
        if self._reserved is None or packet_id not in self._reserved:
            return False
        self._reserved.remove(packet_id)
        return True

    def resume(self, window: int) -> None:
        """A new connection with this window goes on: all that is under way is to be sent again [MQTT-4.4.0-1]."""
        self._window = window
        self._used = 0
        self._reserved = None
        if self._deliveries:
            for delivery in self._deliveries.values():
                delivery.has_slot = False
            self._resend = deque(self._deliveries.values())


class Session:
    """Both directions together.

    Args:
        maximum_queued: How many messages may wait behind the outbound window.
        maximum_queued_bytes: How many bytes of topics and payloads may wait there.
    """

    __slots__ = ("inbound", "outbound")

    def __init__(self, maximum_queued: int, maximum_queued_bytes: int) -> None:
        self.inbound = InboundFlows()
        self.outbound = OutboundFlows(maximum_queued, maximum_queued_bytes)

    def resume(self, window: int) -> None:
        """A new connection, which may have ``window`` deliveries under way, goes on with this session."""
        self.inbound.resume()
        self.outbound.resume(window)
