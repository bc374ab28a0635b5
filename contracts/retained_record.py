"""Retained messages: records of `tbmq.msg.retained`, and copies of them in the logs of lasting sessions.

Key = topic name (UTF-8), value = the payload, untouched; null deletes. The headers are those of the publish, then
`subscriptions-read` and `id`, the place of the publish in `tbmq.msg.all`. Of one topic's records the one with the
highest place counts, wherever it stands here: two gateways may append theirs in another order than their publishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contracts import headers as h
from contracts import publish_record
from contracts.errors import RecordError, TopicError
from contracts.publish_record import PublishRecord
from contracts.routed_record import ROUTED_HEADERS, decode_id, encode_id
from contracts.topics import validate_topic

SUBSCRIPTIONS_READ = "subscriptions-read"
"""Header: how far the publisher's gateway had read each partition of the subscription log when it appended the publish.
A subscription that stands there or behind may not get it live."""
SUBSCRIBED = "subscribed"
"""Header of a copy: whether it was made for a subscription that is `new`, or was made `again`."""
COPIES = 2_000_000
"""Copies in the persisted log, or in an APPLICATION's topic, have this and their publish's partition as their source
partition: they are older than what stands before them, and no repeats."""

_COPIES_END = 3_000_000
_NEW, _AGAIN = b"new", b"again"

RecordHeaders = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class RetainedRecord:
    """The last word on a topic, as some gateway had it."""

    record: PublishRecord
    """The message; with an empty payload, the deletion of what was retained."""
    partition: int
    """Partition of the publish in `tbmq.msg.all`."""
    offset: int
    """Offset of the publish there: the newer of two records is the one with the higher."""
    subscriptions_read: tuple[int, ...] = ()
    """By partition of the subscription log, the offset before which its gateway had read all."""

    @property
    def topic(self) -> str:
        """The topic name."""
        return self.record.topic

    @property
    def is_deletion(self) -> bool:
        """Whether nothing is retained from here on [MQTT-3.3.1-6]."""
        return not self.record.payload


def subscriptions_header(positions: Mapping[int, int]) -> tuple[str, bytes]:
    """The header `subscriptions-read` for what has been read by now."""
    return SUBSCRIPTIONS_READ, ",".join(str(positions[one]) for one in sorted(positions)).encode()


def id_header(partition: int, offset: int) -> tuple[str, bytes]:
    """The last header: the place of the publish in `tbmq.msg.all`."""
    return h.ID, encode_id(partition, offset)


def encode_headers(retained: RetainedRecord) -> h.Headers:
    """All headers of a record."""
    read = ",".join(map(str, retained.subscriptions_read)).encode()
    return [
        *publish_record.encode_headers(retained.record),
        (SUBSCRIPTIONS_READ, read),
        id_header(retained.partition, retained.offset),
    ]


def decode(key: bytes | None, value: bytes | None, headers: RecordHeaders | None) -> RetainedRecord:
    """Read a record; its last two headers are a gateway's, whatever a publisher's are named.

    Raises:
        RecordError: It is not of the documented form.
    """
    last = (headers or ())[-2:]
    if tuple(name for name, _ in last) != (SUBSCRIPTIONS_READ, h.ID):
        raise RecordError(f"a retained record ends with the headers {SUBSCRIPTIONS_READ} and {h.ID}")
    (_, read), (_, id) = last
    record = publish_record.decode(key, value, headers)
    try:
        validate_topic(record.topic)
    except TopicError as error:
        raise RecordError(str(error)) from None
    return RetainedRecord(replace(record, retain=True), *decode_id(id), _offsets(read))


def is_copy(source_partition: int) -> bool:
    """Whether a record in the log of a session is a copy of a retained message: it is sent with RETAIN=1."""
    return COPIES <= source_partition < _COPIES_END


def encode_copy_headers(retained: RetainedRecord, filter: str, *, is_new: bool) -> h.Headers:
    """The headers of a copy for one client, by one filter; it ends as a routed record does."""
    topic, id, matched = ROUTED_HEADERS
    return [
        *publish_record.encode_headers(retained.record),
        (SUBSCRIBED, _NEW if is_new else _AGAIN),
        (topic, retained.topic.encode()),
        (id, encode_id(COPIES + retained.partition, retained.offset)),
        (matched, filter.encode()),
    ]


@dataclass(frozen=True, slots=True)
class CopyOf:
    """What a copy was made of, and for whom."""

    partition: int
    """Partition of the publish in `tbmq.msg.all`."""
    offset: int
    """Its offset there."""
    is_new: bool
    """Whether the subscription was new: then what was published before the copy is not for it."""


def decode_copy(source_partition: int, source_offset: int, headers: RecordHeaders) -> CopyOf:
    """What stands behind a copy; `is_copy` said that it is one.

    Args:
        source_partition: As the copy's `id` has it.
        source_offset: The same.
        headers: All of them.
    """
    is_new = len(headers) >= 4 and headers[-4] == (SUBSCRIBED, _NEW)
    return CopyOf(source_partition - COPIES, source_offset, is_new)


def _offsets(text: bytes | None) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in _parts(text))
    except ValueError:
        raise RecordError(f"header {SUBSCRIPTIONS_READ} is {text!r}: expected <offset>,<offset>…") from None


def _parts(text: bytes | None) -> Iterable[bytes]:
    return (text or b"").split(b",") if text else ()
