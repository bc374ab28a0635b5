"""Delivery to persistent sessions put together: what the gateway makes once and calls."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.persisted_record import encode_key
from contracts.session_event import Granted
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.feeds import Feeds
from edge.gateway.kafka_clients import partition_count
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.persistence.acknowledgements import Acknowledgements
from edge.gateway.persistence.feed import Feed
from edge.gateway.persistence.loading import Loading
from edge.gateway.persistence.settling import KeepFound, Settling
from edge.gateway.persistence.stretch import StretchReader
from edge.gateway.persistence.tail import PersistedTail
from edge.gateway.shares.backlogs import Backlogs
from edge.gateway.source_marks import SourceMarks
from edge.gateway.tracing.tracer import Tracer
from stores.port import Store


class Persistence(Feeds[Feed]):
    """The feeds of this gateway's persistent clients."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, store: Store, appender: Appender, counters: Counters,
        local: LocalSubscriptions[Connection], marks: SourceMarks, sources: int, max_pending: int,
        max_pending_bytes: int, keep_found: KeepFound,
    ) -> None:  # fmt: skip
        """Prepare to deliver; asks the store, once, where each partition of the log stands there.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            store: What the sink writes to; closed with this.
            appender: For acknowledgements.
            counters: The gateway's.
            local: Who holds which filter here.
            marks: What has been seen of `tbmq.msg.all`.
            sources: Partitions of `tbmq.msg.all`.
            max_pending: As `Feed` has it, for each client.
            max_pending_bytes: The same in bytes.
            keep_found: Retains what was published before a gateway died, and asked for it.

        Raises:
            StoreUnavailableError: The store does not answer.
            KafkaNotReadyError: Kafka does not answer, or has no such topic.
        """
        super().__init__()
        self._partitions = partition_count(kafka, topics.persisted)
        self._store = store
        self._counters = counters
        self._local = local
        self._max_pending = max_pending
        self._max_pending_bytes = max_pending_bytes
        starts = {partition: store.partition_position(partition) for partition in range(self._partitions)}
        self._acknowledgements = Acknowledgements(topics.persisted, appender)
        self._tail = PersistedTail(kafka, topics.persisted, starts, marks, counters)
        self._new_stretches = partial(StretchReader, kafka, topics, self._partitions, sources)
        self._stretches = self._new_stretches()
        self._loading = Loading(store, self._tail, self._stretches)
        self._settling = Settling(self._stretches, keep_found)

    def trace(self, tracer: Tracer | None) -> None:
        """Have what the log brings traced, or no more."""
        self._tail.tracer = tracer

    def open_backlogs(self) -> Backlogs:
        """A reader of what others than connected clients are owed; for one thread, which closes it."""
        return Backlogs(self._store, self._new_stretches, self._partitions)

    def start(self) -> None:
        """Begin to read."""
        self._tail.start()

    def stop(self) -> None:
        """Stop reading, and close the store."""
        self._loading.stop()
        self._settling.stop()
        self._tail.stop()
        self._stretches.stop()
        self._store.close()

    def resume(
        self, granted: Granted, is_there: Callable[[], bool], ready: Callable[[Granted], None]
    ) -> None:
        """Find out about QoS 2 exchanges that an earlier gateway of the client did not finish; then call back.

        Args:
            granted: What the client is let in with.
            is_there: Whether it still waits.
            ready: Called with the grant, its exchanges settled, unless the client has gone.
        """
        if all(exchange.state == "confirmed" for exchange in granted.inbound):
            ready(granted)
        else:
            self._settling.settle(granted, is_there, ready)

    def attach(self, connection: Connection, sent: Collection[int] | None = ()) -> None:
        """Deliver to a client that was just let in; its subscriptions are in place.

        Args:
            connection: The client's.
            sent: Offsets that its earlier connection has sent and seen no acknowledgement of; None if nobody knows.
        """
        partition = partition_of(encode_key(connection.client_id), self._partitions)

        find = partial(self._local.counting, connection)
        feed = self._feeds[connection] = Feed(
            connection, partition, self._acknowledgements, self._counters, find, self._loading.load,
            self._max_pending, self._max_pending_bytes,
        )  # fmt: skip
        self._loading.load(feed, sent)

    def detach(self, connection: Connection, settled: Callable[[], None]) -> list[int] | None:
        """Deliver no more, and call back when all acknowledgements are in Kafka.

        Returns:
            The offsets that were sent and not acknowledged; None where nothing was delivered yet.
        """
        feed = self._feeds.pop(connection, None)
        sent = None
        if feed is not None:
            self._tail.unsubscribe(feed.client_id, feed)
            sent = feed.end()
        self._acknowledgements.when_settled(connection.client_id, settled)
        return sent
