"""The fifteen packets as plain data, one class each, for all three versions.

What a version does not have keeps its default: properties and reason codes in MQTT 3.x, for instance. The classes know
nothing of bytes; ``reading`` and ``writing`` do.
"""

from dataclasses import dataclass

from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode


@dataclass(slots=True)
class Will:
    """The message that the server publishes for a client that went away without a farewell."""

    topic: str
    """Its topic."""
    payload: bytes = b""
    """Its payload."""
    qos: int = 0
    """Its QoS, 0 to 2."""
    retain: bool = False
    """Whether it is to be retained."""
    properties: Properties = NO_PROPERTIES
    """The Will Properties (MQTT 5.0)."""


@dataclass(slots=True)
class Connect:
    """Client → server: opens a connection (section 3.1)."""

    client_id: str = ""
    """The client id; empty asks the server to choose one."""
    version: ProtocolVersion = ProtocolVersion.V3_1_1
    """The protocol name and level."""
    clean_start: bool = True
    """Clean Start; Clean Session in MQTT 3.x."""
    keep_alive: int = 60
    """Seconds, 0 to 65,535; 0 switches it off."""
    user_name: str | None = None
    """The user name."""
    password: bytes | None = None
    """The password."""
    will: Will | None = None
    """The will."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class ConnAck:
    """Server → client: answers CONNECT (section 3.2)."""

    session_present: bool = False
    """Whether the server goes on with a session that it had."""
    reason_code: int = ReasonCode.SUCCESS
    """The reason code; also in MQTT 3.x, where it is written as the return code that it maps to."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class Publish:
    """Either way: carries a message (section 3.3)."""

    topic: str
    """The topic name; empty when only a topic alias stands for it (MQTT 5.0)."""
    payload: bytes = b""
    """The payload, untouched."""
    qos: int = 0
    """0 to 2."""
    retain: bool = False
    """The RETAIN flag."""
    dup: bool = False
    """The DUP flag: this may be sent for the second time."""
    packet_id: int = 0
    """The packet identifier; 0 at QoS 0, which has none."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class PubAck:
    """Answers PUBLISH at QoS 1 (section 3.4)."""

    packet_id: int
    """That of the PUBLISH."""
    reason_code: int = ReasonCode.SUCCESS
    """From 0x80 the message was refused (MQTT 5.0)."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class PubRec(PubAck):
    """Answers PUBLISH at QoS 2 (section 3.5)."""


@dataclass(slots=True)
class PubRel(PubAck):
    """Answers PUBREC (section 3.6)."""


@dataclass(slots=True)
class PubComp(PubAck):
    """Answers PUBREL (section 3.7)."""


@dataclass(slots=True)
class Subscription:
    """One topic filter of a SUBSCRIBE with its options (section 3.8.3)."""

    filter: str
    """The topic filter, with its ``$share/<group>/`` if it has one; ``$queue/`` is read as ``$share/$queue/``."""
    qos: int = 0
    """The highest QoS at which the client wants its messages."""
    no_local: bool = False
    """Whether to leave out what this client published itself (MQTT 5.0)."""
    retain_as_published: bool = False
    """Whether to keep the RETAIN flag as published (MQTT 5.0)."""
    retain_handling: int = 0
    """Retained messages: 0 send, 1 send when the subscription is new, 2 do not send (MQTT 5.0)."""


@dataclass(slots=True)
class Subscribe:
    """Client → server: makes subscriptions (section 3.8)."""

    packet_id: int
    """The packet identifier."""
    subscriptions: tuple[Subscription, ...]
    """The filters in order; at least one."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class SubAck:
    """Server → client: answers SUBSCRIBE (section 3.9)."""

    packet_id: int
    """That of the SUBSCRIBE."""
    reason_codes: tuple[int, ...]
    """One for each filter, in order: the granted QoS, or from 0x80 a failure."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class Unsubscribe:
    """Client → server: ends subscriptions (section 3.10)."""

    packet_id: int
    """The packet identifier."""
    filters: tuple[str, ...]
    """The filters in order; at least one."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class UnsubAck:
    """Server → client: answers UNSUBSCRIBE (section 3.11)."""

    packet_id: int
    """That of the UNSUBSCRIBE."""
    reason_codes: tuple[int, ...] = ()
    """One for each filter, in order (MQTT 5.0; empty in MQTT 3.x, which has none)."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class PingReq:
    """Client → server: I am here (section 3.12)."""


@dataclass(slots=True)
class PingResp:
    """Server → client: so am I (section 3.13)."""


@dataclass(slots=True)
class Disconnect:
    """Either way: the last packet (section 3.14)."""

    reason_code: int = ReasonCode.NORMAL_DISCONNECTION
    """Why (MQTT 5.0)."""
    properties: Properties = NO_PROPERTIES
    """The properties (MQTT 5.0)."""


@dataclass(slots=True)
class Auth:
    """Either way: a step of enhanced authentication (section 3.15, MQTT 5.0)."""

    reason_code: int = ReasonCode.SUCCESS
    """Success, continue or re-authenticate."""
    properties: Properties = NO_PROPERTIES
    """The properties."""


Packet = (
    Connect
    | ConnAck
    | Publish
    | PubAck
    | PubRec
    | PubRel
    | PubComp
    | Subscribe
    | SubAck
    | Unsubscribe
    | UnsubAck
    | PingReq
    | PingResp
    | Disconnect
    | Auth
)
"""Any packet."""
