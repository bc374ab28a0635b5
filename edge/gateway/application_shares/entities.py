"""Finds entities, and has a group begin at the end of one that it has never read.

It blocks, so it runs in a thread. Where a group begins is decided before the SUBACK, so that no message that is sent
after it is passed over: by its first subscriber alone, though two may come at once on two gateways. Both write it in a
transaction under the same transactional id, and look once more after they have begun under that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from contracts.application_shares import consumer_group, share_target
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.topics import ShareFilter, parse_share
from edge.gateway.application_shares.turns import Refused
from edge.gateway.kafka_clients import consumer_config, end_offsets, transaction_config
from edge.gateway.transactional_offsets import send_offsets
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)

_ANSWER = 5.0  # seconds for Kafka to answer
_REMEMBERED = 60.0  # seconds for which what was found is believed to be there still
_ATTEMPTS = 3  # an attempt fails when another gateway makes its own at the same time


class Entities:
    """What of them is there."""

    def __init__(self, kafka: str, topics: KafkaTopics) -> None:
        self._kafka, self._topics = kafka, topics
        self._found: dict[str, float] = {}

    async def refused(self, groups: Collection[str]) -> Refused:
        """Those groups that cannot be subscribed; all others have begun."""
        known_since = time.monotonic() - _REMEMBERED
        unknown = [group for group in groups if self._found.get(group, -1.0) < known_since]
        return await asyncio.to_thread(self._look, unknown) if unknown else {}

    def _look(self, groups: Collection[str]) -> Refused:
        refused: dict[str, int] = {}
        for group in groups:
            share = parse_share(group)
            assert share is not None  # noqa: S101 - whoever asks knows that it is one
            try:
                is_there = self._begin(share)
            except KafkaException as error:
                log.warning("%s cannot be subscribed now: %s", group, error.args[0].str())
                refused[group] = ReasonCode.UNSPECIFIED_ERROR
                continue
            if is_there:
                self._found[group] = time.monotonic()
            else:
                prefix = self._topics.prefix
                log.warning(
                    "%s is refused: make what applications share by `sluicemq share create --kafka %s%s '%s'`",
                    group,
                    self._kafka,
                    "" if prefix == DEFAULT_PREFIX else f" --topic-prefix {prefix}",
                    share.filter,
                )
                refused[group] = ReasonCode.IMPLEMENTATION_SPECIFIC_ERROR
        return refused

    def _begin(self, share: ShareFilter) -> bool:
        """Have a group begin; False where it has no entity."""
        target = share_target(share.filter)
        topic = self._topics.application_share_prefix + target
        group = consumer_group(self._topics.prefix, share.group, target)
        # A client of its own each time: one that was told that a topic is unknown goes on believing it.
        consumer = Consumer(consumer_config(self._kafka) | {"group.id": group})
        try:
            found = consumer.list_topics(topic, timeout=_ANSWER).topics[topic]
            if found.error is not None:
                return False
            partitions = len(found.partitions)
            for attempt in range(1, _ATTEMPTS + 1):
                if _has_begun(consumer, topic, partitions):
                    return True
                try:
                    self._commit_ends(consumer, topic, partitions, group)
                except KafkaException:
                    if attempt == _ATTEMPTS:
                        raise
            return True
        finally:
            consumer.close()

    def _commit_ends(self, consumer: Consumer, topic: str, partitions: int, group: str) -> None:
        producer = Producer(transaction_config(self._kafka, f"{group}@begin"))
        producer.init_transactions(_ANSWER)  # whoever began earlier has committed by now, or never will
        if _has_begun(consumer, topic, partitions):
            return
        ends = end_offsets(consumer, topic, partitions, _ANSWER)
        begins = [TopicPartition(topic, partition, end) for partition, end in ends.items()]
        producer.begin_transaction()
        send_offsets(producer, begins, consumer.consumer_group_metadata(), _ANSWER)
        producer.commit_transaction(_ANSWER)


def _has_begun(consumer: Consumer, topic: str, partitions: int) -> bool:
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    found = consumer.committed(places, timeout=_ANSWER)
    for place in found:
        if place.error is not None:
            raise KafkaException(place.error)
    return any(place.offset >= 0 for place in found)
