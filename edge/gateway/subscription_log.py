"""The gateway's view of `tbmq.client.subscriptions`: a tail that reads all of it, and the barrier on its end (I2).

The barrier: before a publish is appended, the tail must have reached the end offsets as Kafka gave them after the
publish had arrived. One look-up of the ends serves all that wait. Then whoever subscribed, anywhere, before this
publish was sent is either in the router's table or among the fresh routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from contracts import subscription_record
from contracts.errors import RecordError
from contracts.route_table import routes_of
from contracts.subscription_record import NODE_KIND
from edge.gateway.counters import Counters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.kafka_clients import consumer_config, end_offsets, place_of
from edge.gateway.log_reader import LogReader
from edge.gateway.shares.groups import ShareGroups

log = logging.getLogger(__name__)

Item = TypeVar("Item")

_ASK_TIMEOUT = (
    2.0  # seconds for one look-up of the ends; without an answer it is asked again, for as long as it takes
)


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
            ended: Told the client id and filter of subscriptions that end, or whose client is said to be offline.
        """
        self._fresh = fresh
        self._node = node
        self._counters = counters
        self._positions = dict.fromkeys(range(partitions), 0)
        self._shares = ShareGroups() if shares is None else shares
        self._claims = ExclusiveClaims() if claims is None else claims
        self._ended = ended
        self._watches: list[tuple[dict[int, int], Callable[[], None]]] = []
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

    def when_reached(self, ends: dict[int, int], reached: Callable[[], None]) -> None:
        """Call back, once, when every partition has been read up to these offsets; at once if it has."""
        if self._has_reached(ends):
            reached()
        else:
            self._watches.append((ends, reached))

    def _has_reached(self, ends: dict[int, int]) -> bool:
        return all(self._positions[partition] >= end for partition, end in ends.items())

    def _take(self, batch: list[Message]) -> None:
        for message in batch:
            partition, offset = place_of(message)
            if message.error() is not None:
                self._positions[partition] = offset  # the end: also past offsets that hold no record
                continue
            self._positions[partition] = offset + 1
            self._read(partition, offset, message.key(), message.value())
        if self._watches:
            self._wake()

    def _wake(self) -> None:
        waiting, self._watches = self._watches, []
        for watch in waiting:  # what is called back may watch again
            if self._has_reached(watch[0]):
                watch[1]()
            else:
                self._watches.append(watch)

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
        if not record.online and self._ended is not None:
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


class SubscriptionBarrier(Generic[Item]):
    """Holds items until the tail has reached the log's end as it was after they came; releases them in order."""

    def __init__(
        self,
        kafka: str,
        topic: str,
        partitions: int,
        tail: SubscriptionTail,
        release: Callable[[list[Item]], None],
    ) -> None:
        self._kafka = kafka
        self._consumer = Consumer(consumer_config(kafka))
        self._topic, self._partitions = topic, partitions
        self._tail = tail
        self._release = release
        self._loop = asyncio.get_running_loop()
        self._next: list[Item] = []
        self._asking = False
        self._questions: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._answer, name="barrier", daemon=True)
        self._thread.start()

    def enter(self, item: Item) -> None:
        """Hold an item; it is released together with all that came since the last round began."""
        self._next.append(item)
        if not self._asking:
            self._ask()

    def stop(self) -> None:
        """End the thread; what is still held is not released any more."""
        self._stopping.set()
        self._questions.put(False)
        self._thread.join()
        self._consumer.close()

    def _ask(self) -> None:
        self._asking = True
        self._held, self._next = self._next, []
        self._questions.put(True)

    def _answer(self) -> None:
        while self._questions.get():
            while not self._stopping.is_set():
                try:
                    ends = end_offsets(self._consumer, self._topic, self._partitions, _ASK_TIMEOUT)
                except KafkaException as error:
                    log.warning(
                        "publishes wait: the subscription log's end is not to be had: %s", error.args[0].str()
                    )
                    self._stopping.wait(0.1)  # a refused connection fails at once; do not spin on it
                    # What a client learnt of a topic from a broker that was starting, it goes on believing for minutes.
                    self._consumer.close()
                    self._consumer = Consumer(consumer_config(self._kafka))
                else:
                    self._loop.call_soon_threadsafe(self._tail.when_reached, ends, self._reached)
                    break

    def _reached(self) -> None:
        held, self._asking = self._held, False
        self._release(held)
        if self._next and not self._asking:
            self._ask()
