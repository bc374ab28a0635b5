"""The publish record: one MQTT message as it stands in `tbmq.msg.all`.

Key = topic name (UTF-8), value = the payload, untouched, everything else in headers. Any Kafka client can read or write
one; a writer that is no gateway may leave every header out. docs/kafka-format.md is this page for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError

MAX_ROUTES_BYTES = 256 << 10
"""The largest `routes` header in bytes. A publish that hits more fresh routes than fit waits until some are pruned."""

ROUTES_DDL = "array<struct<filter:string,kind:string,node:string>>"
"""Schema of the `routes` header's JSON, as Spark's from_json takes it."""

# The values are few, so a writer on the hot path takes the finished pair.
QOS_HEADERS = tuple((h.QOS, str(qos).encode()) for qos in range(3))
RETAIN_HEADERS = ((h.RETAIN, b"0"), (h.RETAIN, b"1"))

_UINT32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class RouteHit:
    """A route, newer than the router's table, that the publishing gateway found to match (carried in-band)."""

    filter: str
    """The matching filter, without share prefix."""
    node: str
    """Where its messages go: the target's node id, or client id."""
    kind: str = "node"
    """What kind of target it is, as in contracts.route_table."""


@dataclass(frozen=True, slots=True)
class MessageProperties:
    """What MQTT 5 lets a publisher say about a message; all of it is forwarded unaltered."""

    message_expiry: int | None = None
    """Seconds from `published_at_ms` on, 0 to 4,294,967,295."""
    published_at_ms: int | None = None
    """The gateway's clock when the message came, in ms since 1970; there when `message_expiry` is."""
    payload_format: int | None = None
    """1: the payload is UTF-8 text; 0: unspecified bytes."""
    content_type: str | None = None
    """Free text, such as a MIME type."""
    response_topic: str | None = None
    """Where an answer is expected."""
    correlation_data: bytes | None = None
    """What an answer must repeat."""
    user_properties: Sequence[tuple[str, str]] = ()
    """(name, value) in the publisher's order, names may repeat."""


NO_PROPERTIES = MessageProperties()


@dataclass(frozen=True, slots=True)
class PublishRecord:
    """A message: what a PUBLISH packet carried, and who sent it through which gateway."""

    topic: str
    """The topic name; key of the record."""
    payload: bytes
    """The application message; value of the record."""
    client_id: str = ""
    """The publisher, empty when it is no MQTT client."""
    node: str = ""
    """The gateway that took it, empty when written by another Kafka client."""
    qos: int = 0
    """0, 1 or 2, as published."""
    retain: bool = False
    """The RETAIN flag, as published."""
    protocol: int = 5
    """MQTT protocol level of the publisher: 3 (3.1), 4 (3.1.1) or 5."""
    properties: MessageProperties = NO_PROPERTIES
    """MQTT 5 properties."""
    routes: Sequence[RouteHit] = ()
    """In-band routes; only gateways write them."""


def connection_headers(client_id: str, node: str, protocol: int) -> h.Headers:
    """The headers that all messages of one connection share, in their order; `publish_headers` follows them."""
    return [(h.CLIENT_ID, client_id.encode()), (h.NODE, node.encode()), (h.PROTOCOL, str(protocol).encode())]


def packet_id_header(packet_id: int) -> tuple[str, bytes]:
    """The header of a QoS 2 publish of a session that outlives its connection: by it, whoever goes on finds it."""
    return (h.PACKET_ID, str(packet_id).encode())


def property_headers(properties: MessageProperties) -> h.Headers:
    """The headers that carry MQTT 5 properties; only those that are set, user properties last."""
    found: h.Headers = []
    for name, value in (
        (h.MESSAGE_EXPIRY, properties.message_expiry),
        (h.PUBLISHED_AT, properties.published_at_ms),
        (h.PAYLOAD_FORMAT, properties.payload_format),
        (h.CONTENT_TYPE, properties.content_type),
        (h.RESPONSE_TOPIC, properties.response_topic),
    ):
        if value is not None:
            found.append((name, str(value).encode()))
    if properties.correlation_data is not None:
        found.append((h.CORRELATION_DATA, properties.correlation_data))
    found += [(h.USER_PROPERTY + name, value.encode()) for name, value in properties.user_properties]
    return found


def routes_header(routes: Sequence[RouteHit]) -> tuple[str, bytes]:
    """The `routes` header: JSON of `ROUTES_DDL`. It is always the last one, so the router finds it without a search."""
    rows = [{"filter": hit.filter, "kind": hit.kind, "node": hit.node} for hit in routes]
    return (h.ROUTES, json_text.dump(rows).encode())


def encode_headers(record: PublishRecord) -> h.Headers:
    """All headers of a publish record, in the documented order."""
    found = connection_headers(record.client_id, record.node, record.protocol)
    found += [QOS_HEADERS[record.qos], RETAIN_HEADERS[record.retain]]
    found += property_headers(record.properties)
    if record.routes:
        found.append(routes_header(record.routes))
    return found


def decode(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] | None
) -> PublishRecord:
    """Read a publish record, also one that carries a routed record's headers, which are passed over.

    Raises:
        RecordError: The key is not a topic in UTF-8, or a header has a value that it can't have.
    """
    fields: dict[str, bytes | None] = {}
    user_properties = []
    for name, header in headers or ():
        if name.startswith(h.USER_PROPERTY):
            user_properties.append((name[len(h.USER_PROPERTY) :], h.text(name, header)))
        else:
            fields.setdefault(name, header)
    qos = fields.get(h.QOS)
    return PublishRecord(
        topic=h.text("(key)", key),
        payload=value or b"",
        client_id=h.text(h.CLIENT_ID, fields.get(h.CLIENT_ID)),
        node=h.text(h.NODE, fields.get(h.NODE)),
        qos=0 if qos is None else h.number(h.QOS, qos, 2),
        retain=fields.get(h.RETAIN) == b"1",
        protocol=h.number(h.PROTOCOL, fields.get(h.PROTOCOL, b"5"), 5),
        properties=_properties(fields, user_properties),
        routes=decode_routes(fields.get(h.ROUTES)),
    )


def decode_routes(header: bytes | None) -> tuple[RouteHit, ...]:
    """Read a `routes` header; () where there is none.

    Raises:
        RecordError: It is not JSON of `ROUTES_DDL`.
    """
    if header is None:
        return ()
    try:
        return tuple(
            RouteHit(str(row["filter"]), str(row["node"]), str(row["kind"])) for row in json_text.load(header)
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RecordError(f"header {h.ROUTES} is not a JSON array of {{filter, kind, node}}") from None


def _properties(fields: dict[str, bytes | None], user_properties: list[tuple[str, str]]) -> MessageProperties:
    if not user_properties and not fields.keys() & _PROPERTY_HEADERS:
        return NO_PROPERTIES

    def number(name: str, highest: int) -> int | None:
        return h.number(name, fields[name], highest) if name in fields else None

    def text(name: str) -> str | None:
        return h.text(name, fields[name]) if name in fields else None

    return MessageProperties(
        message_expiry=number(h.MESSAGE_EXPIRY, _UINT32),
        published_at_ms=number(h.PUBLISHED_AT, 1 << 53),
        payload_format=number(h.PAYLOAD_FORMAT, 1),
        content_type=text(h.CONTENT_TYPE),
        response_topic=text(h.RESPONSE_TOPIC),
        correlation_data=fields.get(h.CORRELATION_DATA),
        user_properties=tuple(user_properties),
    )


_PROPERTY_HEADERS = {
    h.MESSAGE_EXPIRY, h.PUBLISHED_AT, h.PAYLOAD_FORMAT, h.CONTENT_TYPE, h.RESPONSE_TOPIC, h.CORRELATION_DATA,
}  # fmt: skip
