"""What a session's end needs beside the owner's transaction: tombstones of its subscriptions, and `cleared`.

So does a lost gateway: that members of share groups are offline; and an administrator who subscribes a client that is
away.

It is durable before the transaction commits. A crash between the two repeats it, which is as good as once; a
transaction before it would leave routes and messages of a session that nobody knows any more.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from contracts import subscription_record
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.shared_record import is_group
from edge.gateway.kafka_clients import producer_config
from edge.gateway.sessions.effects import Clear, Effect, Subscribe, Unsubscribe
from edge.gateway.shares.memberships import record_of

log = logging.getLogger(__name__)

_DURABLE = 10.0  # seconds; after that the batch is done anew


class PlainEffects:
    """One producer for all partitions of an owner."""

    def __init__(self, kafka: str, topics: KafkaTopics, subscription_partitions: int) -> None:
        self._kafka, self._topics = kafka, topics
        self._partitions = subscription_partitions
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def prepare(self) -> None:
        """Connect, and learn where the topics' partitions are, so that the first session's end waits for none of it."""
        with self._lock, contextlib.suppress(KafkaException):  # else the first write does it
            producer = Producer(producer_config(self._kafka))
            for topic in (self._topics.subscriptions, self._topics.persisted):
                producer.list_topics(topic, timeout=_DURABLE)
            self._producer = producer

    def write(self, effects: Iterable[Effect]) -> None:
        """Write those of the effects that are plain, and wait until they are durable.

        Raises:
            BufferError: Kafka did not take them in time.
        """
        wanted = [effect for effect in effects if isinstance(effect, Unsubscribe | Subscribe | Clear)]
        if not wanted:
            return
        with self._lock:
            if self._producer is None:
                self._producer = Producer(producer_config(self._kafka))
            for effect in wanted:
                self._produce(self._producer, effect)
            if self._producer.flush(_DURABLE):
                self.close()  # or they would be written at some later time, when they may be wrong
                raise BufferError("Kafka does not take the ends of sessions")

    def close(self) -> None:
        """Let go; what is not durable belongs to no transaction that was committed."""
        if self._producer is not None:
            self._producer.purge(blocking=False)
            self._producer = None

    def _produce(self, producer: Producer, effect: Unsubscribe | Subscribe | Clear) -> None:
        if isinstance(effect, Clear):
            # contracts.persisted_record: an event, not a message; all below its offset is void.
            headers: list[tuple[str, str | bytes | None]] = [("event", b"cleared")]
            producer.produce(
                self._topics.persisted, b"", effect.client_id.encode(), on_delivery=_told, headers=headers
            )
            return
        value = None
        if isinstance(effect, Subscribe):
            is_online = not is_group(effect.subscription.filter)  # said of members of groups only
            record = record_of(
                effect.client_id, effect.node, effect.subscription, effect.kind, online=is_online
            )
            filter, value = effect.subscription.filter, subscription_record.encode_value(record)
        else:
            filter = effect.filter
        key = subscription_record.encode_key(effect.client_id, filter)
        partition = subscription_partition(filter, self._partitions)
        while True:
            try:
                producer.produce(self._topics.subscriptions, value, key, partition, _told)
                return
            except BufferError:
                producer.poll(0.1)


def _told(error: KafkaError | None, _: Message) -> None:
    if error is not None:  # Kafka will never take it, so another try would not help
        log.warning("the end of a session was not written: %s", error)
