"""What a key of the persisted log is owed up to now: a group's parked messages, or those of a session that ends.

It blocks, so it is called in the threads of dispatchers and owners.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from contracts.partitioner import partition_of
from contracts.persisted_log import Backlog
from contracts.persisted_record import Message, encode_key
from edge.gateway.persistence.loading import stored_messages
from edge.gateway.persistence.stretch import StretchReader
from edge.gateway.state_reading import StaleStateError
from stores.port import Store


class Backlogs:
    """The store, then what the log has after it."""

    def __init__(self, store: Store, stretches: Callable[[], StretchReader], partitions: int) -> None:
        """Prepare to read.

        Args:
            store: What the sink writes to.
            stretches: Makes a reader of the log, when it is first needed.
            partitions: Of the persisted log.
        """
        self._store = store
        self._make_stretches = stretches
        self._stretches: StretchReader | None = None
        self._is_cancelled = False
        self._partitions = partitions
        self._lock = threading.Lock()

    def read(self, key: str) -> list[Message]:
        """The messages that wait, ascending by offset; what transactions have open now is waited for.

        Raises:
            KafkaException: Kafka does not answer.
            StoreUnavailableError: The store does not answer.
            StaleStateError: It was cancelled.
        """
        partition = partition_of(encode_key(key), self._partitions)
        with self._lock:
            if self._stretches is None:
                self._stretches = self._make_stretches()
            end = self._stretches.ends()[partition]
            stored = self._store.backlog(partition, key)
            backlog = Backlog(
                {message.offset: message for message in stored_messages(stored)}, stored.received
            )
            for record in self._stretches.read(partition, {key: stored.position}, end)[key]:
                if isinstance(record, Message):
                    backlog.add(record.offset, record)
                else:
                    backlog.apply(record)
            if self._is_cancelled:  # then it may not be all
                raise StaleStateError("reading a backlog was cancelled")
        return list(backlog.pending.values())

    def cancel(self) -> None:
        """Have a read that is under way fail soon; nothing is to be read any more."""
        self._is_cancelled = True
        if self._stretches is not None:
            self._stretches.cancel()

    def close(self) -> None:
        """End, when nothing is being read."""
        if self._stretches is not None:
            self._stretches.stop()
            self._stretches = None
