"""A dispatcher's decisions as Kafka records, within its open transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from contracts import persisted_record, shared_record
from contracts.headers import Headers
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_record import EventKind
from edge.gateway.shares.dispatch import Deliver, Mark, Park, Unpark, Write
from edge.gateway.shares.partition import DispatchedPartition

log = logging.getLogger(__name__)


def write_records(
    producer: Producer, topics: KafkaTopics, partition: DispatchedPartition, writes: Iterable[Write]
) -> None:
    """Write what was decided for a partition, and the state that it leaves."""
    number = partition.number
    for write in writes:
        if isinstance(write, Deliver):
            _deliver(producer, topics, number, write)
        elif isinstance(write, Park):
            message = write.message
            headers = shared_record.encode_headers(message.headers, number, write.sequence)
            append_record(producer, topics.persisted, message.group.encode(), message.value, headers)
        elif isinstance(write, Unpark):
            kind = EventKind.CLEARED if write.offsets is None else EventKind.ACKED
            value, event = persisted_record.encode_event(kind, write.offsets or ())
            append_record(producer, topics.persisted, write.group.encode(), value, event)
        elif isinstance(write, Mark):
            key = shared_record.encode_state_key(number, write.group)
            append_record(producer, topics.share_states, key, b"{}" if write.is_parked else None, [], number)
    state = shared_record.encode_state(partition.dispatch.state)
    append_record(producer, topics.share_states, shared_record.encode_state_key(number), state, [], number)


def _deliver(producer: Producer, topics: KafkaTopics, number: int, write: Deliver) -> None:
    message, member = write.message, write.member
    if write.is_into_session:
        headers = shared_record.encode_headers(message.headers, number, write.sequence)
        append_record(
            producer, topics.persisted, persisted_record.encode_key(member.client_id), message.value, headers
        )
    else:
        headers = shared_record.encode_headers(message.headers, number, write.sequence, member.client_id)
        append_record(producer, topics.share_downlink(member.node), b"%d" % number, message.value, headers)


def append_record(
    producer: Producer,
    topic: str,
    key: bytes,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]] | Headers,
    partition: int = -1,
    on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
) -> None:
    """Write one within an open transaction; one that is too large for Kafka is dropped."""
    while True:
        try:
            producer.produce(topic, value, key, partition, headers=headers, on_delivery=on_delivery)  # type: ignore[arg-type] # invariance only
            return
        except BufferError:
            producer.poll(0.1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            # Not even the router could have written it; it must not keep back those behind it.
            log.warning("a record for %s is too large for Kafka, and is dropped", topic)
            return
