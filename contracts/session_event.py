"""What happens to sessions: events from gateways to the owner of a client id, and the owner's answers.

Events stand in `tbmq.client.session.event.request`, key = client id; answers in
`tbmq.client.session.event.response.<node>`; disconnects in `tbmq.client.disconnect.<node>`. All values are JSON;
unknown fields are passed over. A `connect` has its client's will in the record's headers (will_record.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeVar

from contracts import json_text, will_record
from contracts.application_progress import Progress
from contracts.errors import ContractError, RecordError
from contracts.headers import Headers
from contracts.kafka_topics import validate_node
from contracts.topics import validate_filter
from contracts.will_record import Will

NEVER = 0xFFFF_FFFF
"""The expiry of a session that ends only by a clean start."""
DEVICE, APPLICATION = "DEVICE", "APPLICATION"
"""The client types."""
DISCONNECT, CLEAR, CHANGE = "disconnect", "clear", "change"
"""What may be commanded: end the connection; end the session, and the connection with it; change subscriptions."""
SESSION_TAKEN_OVER = 0x8E
"""Reason code of whoever has to give way to a newer connection."""
ADMINISTRATIVE_ACTION = 0x98
"""Reason code of whoever has to go because an administrator said so."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription of a session that outlives its connection."""

    filter: str
    """As subscribed, share prefix included."""
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0
    subscription_id: int | None = None
    floors: tuple[int, ...] = ()
    """The highest offset that was seen of each partition of `tbmq.msg.all` when it was made: what a route that an
    earlier session left brings from there or before is not for this one."""
    by_administrator: bool = False
    """Whether an administrator made it: the client's own rules do not end it."""


@dataclass(frozen=True, slots=True)
class InboundExchange:
    """A QoS 2 message from the client that is not released yet."""

    packet_id: int
    state: str = "begun"
    """`begun`, or `confirmed` once PUBREC may have been sent."""
    source_partition: int = 0
    """Where in `tbmq.msg.all` the message stands, or will stand; from `delayed_record.SOURCES` on, in
    `tbmq.msg.delayed`."""
    floor: int = 0
    """It stands at or above this offset."""


@dataclass(frozen=True, slots=True)
class ConnectRequested:
    """A client wants in."""

    node: str
    boot: str
    """The life of the gateway's process."""
    connection: str
    """Unique among all connections that ever were."""
    clean_start: bool
    expiry: int
    """Seconds that the session outlives the connection; 0: it ends with it; `NEVER`."""
    protocol: int
    """The MQTT level: 3, 4 or 5."""
    client_type: str
    """`DEVICE` or `APPLICATION`."""
    at_ms: int
    """The gateway's clock, ms since 1970."""
    warning: str = ""
    """What whoever looks at the session should know of it."""
    user_name: str | None = None
    """As in its CONNECT."""
    address: str = ""
    """The host that it comes from; empty where that is not to be had."""
    keep_alive: int = 0
    """Seconds, as it asked for."""
    will: Will | None = None
    """In the record's headers."""


@dataclass(frozen=True, slots=True)
class ConnectionEnded:
    """A connection is over, and all that it wrote is in Kafka; or the will that waited after it is settled."""

    node: str
    boot: str
    connection: str
    expiry: int | None
    """As the client left it; None for as it was."""
    at_ms: int
    will_delay: int = 0
    """Seconds for which a will waits at the node; a second such event, without it, tells that it waits no more."""
    sent: tuple[int, ...] = ()
    """Offsets in `tbmq.msg.persisted`, of an APPLICATION in its own Kafka topic, that were sent to the client and not
    acknowledged: sent again, they get DUP."""
    is_will_left: bool = False
    """Whether its will is to be published, and the node has not: the owner is to, at its time."""
    is_unfed: bool = False
    """Whether it was over before the client was given anything that is kept for it: what was sent before stands."""


@dataclass(frozen=True, slots=True)
class WillBegun:
    """The node is about to publish a connection's will."""

    connection: str
    at_ms: int
    """The node's clock, ms since 1970: the will's record has this time or a later one."""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Subscriptions were made."""

    node: str
    connection: str
    subscriptions: tuple[Subscription, ...]


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """Subscriptions were ended."""

    node: str
    connection: str
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExchangeBegun:
    """A QoS 2 message came."""

    connection: str
    packet_id: int
    source_partition: int
    floor: int


@dataclass(frozen=True, slots=True)
class ExchangeConfirmed:
    """It is in Kafka."""

    connection: str
    packet_id: int


@dataclass(frozen=True, slots=True)
class ExchangeReleased:
    """PUBREL came."""

    connection: str
    packet_id: int


@dataclass(frozen=True, slots=True)
class ApplicationProgress:
    """How far an APPLICATION is in its Kafka topic."""

    connection: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class CommandGiven:
    """An administrator wants something of a session; `command_answer.CommandAnswer` answers."""

    command: str
    """Unique among all commands that ever were."""
    action: str
    """`DISCONNECT`, `CLEAR`, or `CHANGE`."""
    subscriptions: tuple[Subscription, ...] = ()
    """To change: those that are to be there. Their floors count where the session is without a connection."""
    filters: tuple[str, ...] = ()
    """To change: what is to be ended."""

    def __post_init__(self) -> None:
        if not self.subscriptions and not self.filters and self.action == CHANGE:
            raise ContractError("a change names neither subscriptions nor filters: name one at least")
        for filter in (*self.filters, *(one.filter for one in self.subscriptions)):
            validate_filter(filter)
        for one in self.subscriptions:
            if not (0 <= one.qos <= 2 and 0 <= one.retain_handling <= 2):
                raise ContractError(
                    f"subscription to {one.filter[:80]!r}: QoS and retain handling are 0 to 2"
                )


@dataclass(frozen=True, slots=True)
class Granted:
    """Answer: let the client in."""

    client_id: str
    connection: str
    session_present: bool
    expiry: int
    subscriptions: tuple[Subscription, ...] = ()
    inbound: tuple[InboundExchange, ...] = ()
    moved: bool = False
    """Whether the session's connection before was at another gateway."""
    is_partial: bool = False
    """More of the same answer follows; large ones come in several records."""
    sent: tuple[int, ...] = ()
    """What its connection before had sent and seen no acknowledgement of."""
    is_sent_unknown: bool = False
    """Whether nobody knows that, because the gateway died."""
    application: Progress | None = None
    """How far an APPLICATION is in its Kafka topic; None where it has yet to begin."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer: turn it away."""

    connection: str
    reason_code: int


@dataclass(frozen=True, slots=True)
class ChangeWanted:
    """Answer to a command: the connection's gateway is to do it as if its client had asked, and to answer in turn."""

    client_id: str
    connection: str
    command: str
    subscriptions: tuple[Subscription, ...] = ()
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DisconnectWanted:
    """A connection is to be ended, or the will that waits after it be left to the owner; `ConnectionEnded` answers."""

    client_id: str
    connection: str
    is_lost: bool = False
    """Whether the node was taken for lost: then its will is the owner's, and no more the node's."""
    reason_code: int = SESSION_TAKEN_OVER
    """For the client's DISCONNECT."""


SessionEvent = (
    ConnectRequested
    | ConnectionEnded
    | WillBegun
    | Subscribed
    | Unsubscribed
    | ExchangeBegun
    | ExchangeConfirmed
    | ExchangeReleased
    | ApplicationProgress
    | CommandGiven
)
SessionAnswer = Granted | Refused | ChangeWanted

_NAMES: dict[type, str] = {
    ConnectRequested: "connect",
    ConnectionEnded: "ended",
    WillBegun: "will_begun",
    Subscribed: "subscribed",
    Unsubscribed: "unsubscribed",
    ExchangeBegun: "q2_begun",
    ExchangeConfirmed: "q2_confirmed",
    ExchangeReleased: "q2_released",
    ApplicationProgress: "progress",
    CommandGiven: "command",
    Granted: "granted",
    Refused: "refused",
    ChangeWanted: "change",
}


def encode(event: SessionEvent | SessionAnswer) -> bytes:
    """The JSON of an event or answer."""
    return _dump({"type": _NAMES[type(event)]} | as_fields(event))


def headers_of(event: SessionEvent) -> Headers:
    """The headers of an event's record: those of a will."""
    will = event.will if isinstance(event, ConnectRequested) else None
    return [] if will is None else will_record.encode(will)


def encode_disconnect(wanted: DisconnectWanted) -> bytes:
    """The JSON of a record in `tbmq.client.disconnect.<node>`."""
    return _dump(as_fields(wanted))


def as_fields(value: Any) -> dict[str, Any]:
    """A record's fields by name, as JSON has them; left out are those that have their default, and wills."""
    fields: dict[str, Any] = {}
    for name, field in value.__dataclass_fields__.items():
        given = getattr(value, name)
        if given != field.default and type(given) is not Will:
            fields[name] = [_plain(item) for item in given] if type(given) is tuple else _plain(given)
    return fields


def _plain(item: Any) -> Any:
    return as_fields(item) if is_dataclass(item) else item


def _dump(fields: dict[str, Any]) -> bytes:
    return json_text.dump(fields).encode()


def decode_event(
    value: bytes | None, headers: Sequence[tuple[str, bytes | None]] | None = None
) -> SessionEvent:
    """Read an event.

    Raises:
        RecordError: It is not of the documented form.
    """
    event = _decode(value, _EVENTS)
    if isinstance(event, ConnectRequested) and headers:
        return replace(event, will=will_record.decode(headers))
    return event


def decode_answer(value: bytes | None) -> SessionAnswer:
    """Read an answer.

    Raises:
        RecordError: It is not of the documented form.
    """
    return _decode(value, _ANSWERS)


def decode_disconnect(value: bytes | None) -> DisconnectWanted:
    """Read a record of `tbmq.client.disconnect.<node>`.

    Raises:
        RecordError: It is not of the documented form.
    """
    return _checked(lambda: from_fields(DisconnectWanted, _load(value)))


def _decode(value: bytes | None, kinds: Mapping[str, Callable[[dict[str, Any]], T]]) -> T:
    def read() -> T:
        fields = _load(value)
        return kinds[fields["type"]](fields)

    return _checked(read)


def _checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except (ContractError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecordError("a session's event is not a JSON object of the documented form") from None


def _load(value: bytes | None) -> dict[str, Any]:
    fields = json_text.load(value or b"")
    if type(fields) is not dict:
        raise TypeError
    return fields


_SCALARS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "bool": (bool,),
    "int | None": (int, type(None)),
    "tuple[str, ...]": (list,),
    "tuple[int, ...]": (list,),
    "tuple[Subscription, ...]": (list,),
    "tuple[InboundExchange, ...]": (list,),
    "Progress": (dict,),
    "Progress | None": (dict, type(None)),
}


def from_fields(kind: type[T], fields: dict[str, Any]) -> T:
    """The reverse of `as_fields`.

    Raises:
        KeyError, TypeError, ContractError: A field is missing or not of its type.
    """
    given: dict[str, Any] = {}
    for name, field in kind.__dataclass_fields__.items():  # type: ignore[attr-defined]
        if name not in fields:
            continue
        value = fields[name]
        if type(value) not in _SCALARS[field.type]:
            raise TypeError(name)
        if field.type == "tuple[str, ...]":
            value = tuple(_each(str, value))
        elif field.type == "tuple[int, ...]":
            value = tuple(_each(int, value))
        elif type(value) is list:
            part = Subscription if name == "subscriptions" else InboundExchange
            value = tuple(from_fields(part, item) for item in value)
        elif type(value) is dict:
            value = from_fields(Progress, value)
        elif name == "node":
            validate_node(value)  # it becomes part of a Kafka topic's name
        given[name] = value
    return kind(**given)


def _each(kind: type[T], values: list[Any]) -> list[T]:
    if any(type(value) is not kind for value in values):
        raise TypeError
    return values


def _reader(kind: type[T]) -> Callable[[dict[str, Any]], T]:
    return lambda fields: from_fields(kind, fields)


_EVENTS: dict[str, Callable[[dict[str, Any]], SessionEvent]] = {
    _NAMES[kind]: _reader(kind)
    for kind in (
        ConnectRequested,
        ConnectionEnded,
        WillBegun,
        Subscribed,
        Unsubscribed,
        ExchangeBegun,
        ExchangeConfirmed,
        ExchangeReleased,
        ApplicationProgress,
        CommandGiven,
    )
}
_ANSWERS: dict[str, Callable[[dict[str, Any]], SessionAnswer]] = {
    _NAMES[kind]: _reader(kind) for kind in (Granted, Refused, ChangeWanted)
}
