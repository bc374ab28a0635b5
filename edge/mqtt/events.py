"""What the core tells the I/O side, in the order in which it happened.

The classes are not frozen only because a frozen one takes twice as long to make and one is made for every message;
treat them as if they were.
"""

from dataclasses import dataclass
from enum import Enum

from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Auth, ConnAck, Connect, Publish, SubAck, Subscribe, UnsubAck, Unsubscribe
from edge.mqtt.properties import NO_PROPERTIES, Properties


class DeliveryOutcome(Enum):
    """What became of a message that was to be delivered."""

    SENT = "sent"
    QUEUED = "queued"
    """It waits behind the in-flight window."""
    DROPPED_TOO_LARGE = "dropped: too large"
    """The peer's Maximum Packet Size forbids it; this counts as done [MQTT-3.1.2-25]."""
    DROPPED_QUEUE_FULL = "dropped: queue full"
    DROPPED_EXPIRED = "dropped: expired"
    DROPPED_CLOSED = "dropped: closed"
    """The connection is not, or no longer, open."""


@dataclass(slots=True)
class ConnectReceived:
    """Server: a client wants in. Answer with ``accept`` or ``refuse``, or ``authenticate`` if it names a method."""

    packet: Connect
    """The CONNECT."""


@dataclass(slots=True)
class ConnAckReceived:
    """Client: the server let us in (a refusal is a ``ConnectionEnded``)."""

    packet: ConnAck
    """The CONNACK."""


@dataclass(slots=True)
class PublishReceived:
    """A message came. At QoS 1 and 2 call ``confirm_publish`` once it is safe."""

    packet: Publish
    """The PUBLISH, with its full topic even when an alias stood for it."""


@dataclass(slots=True)
class SubscribeReceived:
    """Server: answer with ``confirm_subscribe``."""

    packet: Subscribe
    """The SUBSCRIBE."""


@dataclass(slots=True)
class SubAckReceived:
    """Client: subscriptions are made or refused."""

    packet: SubAck
    """The SUBACK."""


@dataclass(slots=True)
class UnsubscribeReceived:
    """Server: answer with ``confirm_unsubscribe``."""

    packet: Unsubscribe
    """The UNSUBSCRIBE."""


@dataclass(slots=True)
class UnsubAckReceived:
    """Client: subscriptions are ended."""

    packet: UnsubAck
    """The UNSUBACK."""


@dataclass(slots=True)
class AuthReceived:
    """A step of enhanced authentication; the server answers with ``authenticate``, ``accept`` or ``refuse``."""

    packet: Auth
    """The AUTH."""


@dataclass(slots=True)
class PingRespReceived:
    """Client: the server is there."""


@dataclass(slots=True)
class DeliveryCompleted:
    """A QoS 1 or 2 delivery is finished and its slot in the window is free."""

    packet_id: int
    """Its packet identifier."""
    message: OutgoingMessage
    """What was delivered."""
    reason_code: int = 0
    """From 0x80 the peer refused it."""


@dataclass(slots=True)
class DeliveryReceived:
    """PUBREC came for a delivery that the application keeps: note it, then ``release_delivery``."""

    packet_id: int
    """Its packet identifier."""
    message: OutgoingMessage
    """What was delivered."""


@dataclass(slots=True)
class ReleaseReceived:
    """PUBREL came in a session that the application keeps: note it, then ``confirm_release``."""

    packet_id: int
    """The packet identifier that becomes free."""


@dataclass(slots=True)
class DeliveryDropped:
    """A message that was queued will not be sent."""

    message: OutgoingMessage
    """Which."""
    outcome: DeliveryOutcome
    """Why."""


@dataclass(slots=True)
class DisconnectReceived:
    """The peer said DISCONNECT; ``ConnectionEnded`` follows."""

    reason_code: int
    """Its reason."""
    properties: Properties = NO_PROPERTIES
    """Its properties; the Session Expiry Interval among them may replace that of CONNECT."""


@dataclass(slots=True)
class ConnectionEnded:
    """The last event, exactly once."""

    reason_code: int | None
    """Why; None when the transport just ended."""
    will_wanted: bool
    """Whether a will, if the client left one, is to be published."""


Event = (
    ConnectReceived
    | ConnAckReceived
    | PublishReceived
    | SubscribeReceived
    | SubAckReceived
    | UnsubscribeReceived
    | UnsubAckReceived
    | AuthReceived
    | PingRespReceived
    | DeliveryCompleted
    | DeliveryReceived
    | ReleaseReceived
    | DeliveryDropped
    | DisconnectReceived
    | ConnectionEnded
)
"""Any event."""
