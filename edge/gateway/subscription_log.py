"""The gateway's view of `tbmq.client.subscriptions`: a tail that reads all of it (I2).

Before a publish is appended it passes a `LogBarrier` on this log: the tail must have reached the end offsets as Kafka
gave them after the publish had arrived. Then whoever subscribed, anywhere, before this publish was sent is either in
the router's table or among the fresh routes.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from confluent_kafka import Message, TopicPartition

from contracts import subscription_record
from contracts.errors import RecordError
from contracts.route_table import routes_of
from contracts.subscription_record import NODE_KIND
from edge.gateway.counters import Counters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.kafka_clients import place_of
from edge.gateway.log_barrier import Positions
from edge.gateway.log_reader import LogReader
from edge.gateway.shares.groups import ShareGroups

log = logging.getLogger(__name__)


class SubscriptionTail:
    """Reads the subscription log from its beginning and keeps up with it."""

    def __init__(
        self, kafka: str, topic: str, partitions: int, node: str, fresh: FreshRoutes, counters: Counters,
        shares: ShareGroups | None = None, ended: Callable[[str, str], None] | None = None,
        claims: ExclusiveClaims | None = None,
    ) -> None:  # fmt: skip
        """Prepare to read.

        Args:
            kafka: Bootstrap servers.
            topic: The subscription log.
            partitions: How many it has.
            node: This gateway.
            fresh: Told of routes.
            counters: The gateway's.
            shares: Told who is in which share group.
            claims: Told who claims exclusive filters.
            ended: Told the client id and filter of subscriptions that end, or whose client is said to be offline or at
                another gateway.
        """
        self._fresh = fresh
        self._node = node
        self._counters = counters
        self._positions = Positions(partitions)
        self._shares = ShareGroups() if shares is None else shares
        self._claims = ExclusiveClaims() if claims is None else claims
        self._ended = ended
        self._own: set[bytes] | None = set()
        start = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
        self._reader = LogReader(kafka, "subscriptions", start, self._take, with_ends=True)

    def start(self) -> None:
        """Begin to read."""
        self._reader.start()

    def stop(self) -> None:
        """Stop reading."""
        self._reader.stop()

    def leftovers(self) -> set[bytes]:
        """Keys of live subscriptions that an earlier life of this node left; ask once, when all of it has been read."""
        own, self._own = self._own or set(), None
        return own

    @property
    def positions(self) -> dict[int, int]:
        """By partition, the offset before which everything has been read."""
        return self._positions.next

    def when_reached(self, ends: dict[int, int], reached: Callable[[], None]) -> None:
        """Call back, once, when every partition has been read up to these offsets; at once if it has."""
        self._positions.when_reached(ends, reached)

    def _take(self, batch: list[Message]) -> None:
        positions = self._positions.next
        for message in batch:
            partition, offset = place_of(message)
            if message.error() is not None:
                positions[partition] = offset  # the end: also past offsets that hold no record
                continue
            positions[partition] = offset + 1
            self._read(partition, offset, message.key(), message.value())
        self._positions.wake()

    def _read(self, partition: int, offset: int, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            self._end(key)
            if self._own is not None and key is not None:
                self._own.discard(key)
            return
        try:
            record = subscription_record.decode(key, value)
        except RecordError as error:
            self._counters.poison_records += 1
            log.warning("subscription record %d:%d is skipped: %s", partition, offset, error)
            self._end(key)  # as if it were gone: compaction removes what stood under its key before
            return
        self._shares.put(record)
        self._claims.read(record.client_id, record.subscribed_filter, record.qos)
        if self._ended is not None and (record.node != self._node or not record.online):
            self._ended(record.client_id, record.subscribed_filter)
        self._fresh.end(record.client_id, record.subscribed_filter)
        for kind, target in routes_of(record):
            self._fresh.add(partition, offset, record.filter, target, kind)
        if self._own is not None and key is not None:
            if record.node == self._node and record.kind == NODE_KIND:  # others outlive a gateway
                self._own.add(key)
            else:
                self._own.discard(key)

    def _end(self, key: bytes | None) -> None:
        with contextlib.suppress(RecordError):
            client_id, filter = subscription_record.decode_key(key)
            self._shares.remove(client_id, filter)
            self._claims.end(client_id, filter)
            self._fresh.end(client_id, filter)
            if self._ended is not None:
                self._ended(client_id, filter)
