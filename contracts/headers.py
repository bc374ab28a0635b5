"""Header names of Kafka records, and how header lists are read.

Header values are UTF-8 text, but for `correlation-data`, which is bytes. Unknown headers are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.errors import RecordError

Headers = list[tuple[str, bytes]]
"""A record's headers as Kafka clients give and take them: (name, value), in order, names may repeat."""

CLIENT_ID = "client-id"
NODE = "node"
QOS = "qos"
RETAIN = "retain"
PROTOCOL = "protocol"
PUBLISHED_AT = "published-at"
MESSAGE_EXPIRY = "message-expiry"
PAYLOAD_FORMAT = "payload-format"
CONTENT_TYPE = "content-type"
RESPONSE_TOPIC = "response-topic"
CORRELATION_DATA = "correlation-data"
USER_PROPERTY = "user-property:"
PACKET_ID = "packet-id"
ROUTES = "routes"

ID = "id"
FILTER = "filter"

PROBE = "probe"
GENERATION = "generation"
TABLE_PARTITION = "table-partition"
TABLE_VERSION = "table-version"


def text(name: str, value: bytes | None) -> str:
    """A header's value as text.

    Raises:
        RecordError: It is missing or not UTF-8.
    """
    try:
        return (value or b"").decode()
    except UnicodeDecodeError:
        raise RecordError(f"header {name} is not UTF-8") from None


def number(name: str, value: bytes | None, highest: int) -> int:
    """A header's value as a number from 0 to `highest`.

    Raises:
        RecordError: It is not such a number.
    """
    shown = text(name, value)
    if not (shown.isascii() and shown.isdigit() and len(shown) <= 20 and int(shown) <= highest):
        raise RecordError(f"header {name} is {shown!r}: write a number from 0 to {highest}")
    return int(shown)


def first(headers: Iterable[tuple[str, bytes | None]] | None, name: str) -> bytes | None:
    """The first value under a name, or None."""
    return next((value for key, value in headers or () if key == name), None)
