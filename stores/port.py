"""The port: what a store of persistent sessions does, whatever it is made of.

All methods block, and may be called from several threads. Each raises StoreUnavailableError when the store does not
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.persisted_log import ClientChanges, PartitionBatch, Position
from stores import stored_headers

__all__ = [
    "DEFAULT_LIMITS",
    "ClientBacklog",
    "ClientChanges",
    "Limits",
    "PartitionBatch",
    "Position",
    "Store",
    "StoreCounts",
    "StoredMessage",
    "WaitingCounts",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store keeps at most."""

    messages: int = 10_000
    """Messages of one client; above it the oldest go. Received marks are not counted: they must not go."""
    ttl_seconds: int = 604_800
    """How long a message is kept, from when it was stored. Seven days, as the log itself."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it stood in the log."""

    offset: int
    """Its offset in its partition of `tbmq.msg.persisted`."""
    value: bytes
    """The payload."""
    headers_text: str
    """All headers of the record, as `stores.stored_headers` writes them."""

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """All headers of the record, in order.

        Read each time: that is most of the work on a message, and a client with a backlog takes a few at a time.
        """
        return stored_headers.decode(self.headers_text)


@dataclass(frozen=True, slots=True)
class ClientBacklog:
    """What one client is owed by all of the log before `position`."""

    messages: Sequence[StoredMessage]
    """To be sent as PUBLISH; ascending by offset."""
    received: set[int]
    """Offsets whose PUBREC came; only PUBREL is to be sent. None of them is among `messages`."""
    position: Position | None
    """Where the log goes on. Its repeats name, of what was seen at the marks, only this client's own. None: the store
    knows nothing of the partition, so the log is to be read from its beginning."""


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """How much of a `ClientBacklog` there is."""

    messages: int
    """To be sent as PUBLISH."""
    received: int
    """Only PUBREL is to be sent."""
    next_offset: int | None
    """Where the log goes on; None: the store knows nothing of the partition."""


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """How much a store holds, for operators; not exact while it is written to."""

    clients: int
    """Clients with at least one stored message."""
    messages: int
    """Stored messages."""
    dropped: int
    """Messages that the limit has dropped, ever."""


class Store(Protocol):
    """A store of persistent sessions."""

    @property
    def operations(self) -> int:
        """How many commands (Redis) or statements and rows of them (SQL) this object has issued."""
        ...

    def partition_position(self, partition: int) -> Position | None:
        """How far a partition of `tbmq.msg.persisted` is in the store; None when nothing of it is."""
        ...

    def write(self, partition: int, batch: PartitionBatch) -> int:
        """Write all of a batch and its position, or nothing.

        A batch that is in already (the store stands just where the batch ends) is passed over.

        Returns:
            How many messages the limit has dropped.

        Raises:
            StalePositionError: The store stands elsewhere than where the batch begins.
        """
        ...

    def backlog(self, partition: int, client_id: str) -> ClientBacklog:
        """What a client is owed, and where the log goes on: one consistent read. Leaves out what is past its TTL."""
        ...

    def waiting(self, partition: int, client_id: str) -> WaitingCounts:
        """How much a client is owed: what `backlog` would have, counted in the store, and not read."""
        ...

    def drop_expired(self) -> int:
        """Delete messages past their TTL, of clients that nothing is written for any more; how many went."""
        ...

    def counts(self) -> StoreCounts:
        """How much there is. Walks through all clients: not for often."""
        ...

    def close(self) -> None:
        """Give the connections back; the store is not to be used after."""
        ...
