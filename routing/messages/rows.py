"""One record of `tbmq.msg.all` → one row of contracts.message_table, as `read_messages` makes it of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from confluent_kafka import Message

from contracts import headers as h
from contracts.errors import RecordError
from contracts.message_table import HIGHEST_AT_MS
from contracts.probe_record import PROBE_KEY
from contracts.publish_record import decode_routes
from contracts.will_record import WILL
from routing.moments import record_time
from routing.routes.kafka import RouteLog

_UINT32 = 0xFFFF_FFFF
_Value = TypeVar("_Value")


def message_rows(log: RouteLog, partition: int, start: int, end: int) -> Iterator[dict[str, Any]]:
    """The messages of a partition from `start` up to `end`, in their order; what is no message is passed over."""
    for record in log.records(partition, start, end):
        topic = _readable(h.text, "(key)", record.key())
        if topic and not topic.startswith(PROBE_KEY[0]):
            yield _row(topic, record)


def _row(topic: str, record: Message) -> dict[str, Any]:
    headers: list[tuple[str, bytes | None]] = list(record.headers() or ())  # type: ignore[arg-type]
    present: dict[str, bytes | None] = {}
    for name, value in headers:
        present.setdefault(name, value)

    def text(name: str, default: str | None = None) -> str | None:
        return _readable(h.text, name, present[name]) if name in present else default

    def number(name: str, highest: int, default: int | None = None) -> int | None:
        return _readable(h.number, name, present[name], highest) if name in present else default

    return {
        "topic": topic,
        "payload": record.value() or b"",
        "qos": number(h.QOS, 2, 0),
        "retain": present.get(h.RETAIN) == b"1",
        "client_id": text(h.CLIENT_ID, ""),
        "node": text(h.NODE, ""),
        "protocol": number(h.PROTOCOL, 5, 5),
        "user_properties": [
            _property(name, value) for name, value in headers if name.startswith(h.USER_PROPERTY)
        ],
        "content_type": text(h.CONTENT_TYPE),
        "response_topic": text(h.RESPONSE_TOPIC),
        "correlation_data": present.get(h.CORRELATION_DATA),
        "payload_format": number(h.PAYLOAD_FORMAT, 1),
        "message_expiry": number(h.MESSAGE_EXPIRY, _UINT32),
        "published_at": record_time(number(h.PUBLISHED_AT, HIGHEST_AT_MS)),
        "will": text(WILL),
        "routes": _routes(headers),
        "partition": record.partition(),
        "offset": record.offset(),
        "timestamp": record_time(record.timestamp()[1]),
    }


def _property(name: str, value: bytes | None) -> dict[str, str | None]:
    return {"name": name.removeprefix(h.USER_PROPERTY), "value": _readable(h.text, name, value)}


def _routes(headers: list[tuple[str, bytes | None]]) -> list[dict[str, str]] | None:
    # Only where it is the last header is it the gateway's; the router reads no other.
    if not headers or headers[-1][0] != h.ROUTES:
        return None
    hits = _readable(decode_routes, headers[-1][1] or b"")
    return None if hits is None else [{"filter": x.filter, "kind": x.kind, "node": x.node} for x in hits]


def _readable(read: Callable[..., _Value], *arguments: Any) -> _Value | None:
    """What is read; None where it holds what it can't."""
    try:
        return read(*arguments)
    except RecordError:
        return None
