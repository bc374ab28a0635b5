"""What an owner writes for administrators, on librdkafka's own Kafka; all else is tried on real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts import command_answer, subscription_record
from contracts.command_answer import DONE, CommandAnswer
from contracts.kafka_topics import KafkaTopic, KafkaTopics, subscription_partition
from contracts.session_census import Census
from contracts.session_event import Subscription
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import consumer_config, partition_count, transaction_config
from edge.gateway.sessions import transactions
from edge.gateway.sessions.effects import Effect, Reply, Subscribe
from edge.gateway.sessions.partition import OwnedPartition
from edge.gateway.sessions.plain_effects import PlainEffects
from edge.gateway.sessions.transactions import Transactions

MEMBER, ALONE = Subscription("$share/g/a", 1), Subscription("b", 1)
EFFECTS: list[Effect] = [
    Subscribe("id", "gw1", MEMBER),
    Subscribe("id", "gw1", ALONE, "app"),
    Reply(CommandAnswer("k", DONE, (1, 1))),
]


def commit(kafka: str, topics: KafkaTopics) -> int:
    """Carry them out in one round; how many partitions the subscription log has."""
    for topic in (topics.publishes, topics.session_requests, topics.command_answers, topics.persisted):
        partition_count(kafka, topic)
    partitions = partition_count(kafka, topics.subscriptions)
    producer = Producer(transaction_config(kafka, f"{topics.prefix}-0"))
    producer.init_transactions(60)
    group = Consumer(consumer_config(kafka) | {"group.id": topics.prefix})
    plain = PlainEffects(kafka, topics, partitions)
    owned: Any = SimpleNamespace(number=0, next_offset=7, ownership=SimpleNamespace(census=Census(1)))
    work = Transactions(kafka, topics, plain)
    work.commit(producer, [(cast(OwnedPartition, owned), EFFECTS)], group.consumer_group_metadata(), 0.0)
    group.close()
    plain.close()
    return partitions


def read(kafka: str, topic: str, partition: int) -> tuple[bytes, bytes]:
    """The first record of a partition."""
    consumer = Consumer(consumer_config(kafka))
    consumer.assign([TopicPartition(topic, partition, 0)])
    message = consumer.poll(60)
    consumer.close()
    assert message is not None
    assert message.error() is None
    return message.key() or b"", message.value() or b""


def test_subscriptions_and_the_answer(
    mock_kafka: str, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = KafkaTopics(unique("tx"))
    made: list[KafkaTopic] = []

    def create(_kafka: str, wanted: Iterable[KafkaTopic]) -> None:
        made.extend(wanted)

    monkeypatch.setattr(transactions, "create_topics", create)
    partitions = commit(mock_kafka, topics)
    assert made == [topics.of_commands()]
    assert command_answer.decode(*read(mock_kafka, topics.command_answers, 0)).reasons == (1, 1)
    for one, kind, is_online in ((MEMBER, "device", False), (ALONE, "app", True)):
        place = subscription_partition(one.filter, partitions)
        record = subscription_record.decode(*read(mock_kafka, topics.subscriptions, place))
        assert (record.subscribed_filter, record.kind, record.online) == (one.filter, kind, is_online)


def test_where_answers_have_no_topic_all_else_goes_on(
    mock_kafka: str, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may be kept from a session because an administrator can't be told of it."""
    topics = KafkaTopics(unique("tx"))

    def refuse(_kafka: str, _wanted: Iterable[KafkaTopic]) -> None:
        raise KafkaNotReadyError("Kafka did not create it: not authorized")

    monkeypatch.setattr(transactions, "create_topics", refuse)
    partitions = commit(mock_kafka, topics)
    place = subscription_partition(ALONE.filter, partitions)
    assert read(mock_kafka, topics.subscriptions, place)[0]
