"""Records and batches with only what matters to a test."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.persisted_log import PartitionBatch, PartitionFold
from contracts.persisted_record import Event, EventKind, Message
from stores import Store

HEADERS = (("client-id", b"p"), ("qos", b"1"), ("topic", b"t"), ("id", b"0:1"), ("filter", b"f"))


def message(
    offset: int,
    client_id: str = "a",
    value: bytes | None = None,
    headers: Sequence[tuple[str, bytes | None]] = HEADERS,
) -> Message:
    """A message whose source offset is its own, so none repeats another."""
    return Message(
        offset, client_id, 0, offset, "t", "f", b"%d" % offset if value is None else value, headers
    )


def acked(offset: int, *offsets: int, client_id: str = "a") -> Event:
    return Event(offset, client_id, EventKind.ACKED, offsets)


def received(offset: int, *offsets: int, client_id: str = "a") -> Event:
    return Event(offset, client_id, EventKind.RECEIVED, offsets)


def cleared(offset: int, client_id: str = "a") -> Event:
    return Event(offset, client_id, EventKind.CLEARED)


def batch_for(store: Store, *records: Message | Event, partition: int = 0) -> PartitionBatch:
    """The records folded from where the store stands."""
    fold = PartitionFold(store.partition_position(partition))
    for record in records:
        fold.take(record)
    return fold.batch()


def write(store: Store, *records: Message | Event, partition: int = 0) -> int:
    """Fold and write; how many messages the limit dropped."""
    return store.write(partition, batch_for(store, *records, partition=partition))


def offsets(store: Store, client_id: str = "a", partition: int = 0) -> list[int]:
    """What a client is owed."""
    return [one.offset for one in store.backlog(partition, client_id).messages]
