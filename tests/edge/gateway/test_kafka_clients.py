"""What a gateway that starts asks of Kafka, and what it says when that is not there."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from typer.main import get_command

from admin.cli.main import app
from edge.gateway import kafka_clients
from edge.gateway.errors import KafkaNotReadyError


class WithoutTopics:
    """Kafka's administration, where a topic is missing."""

    def __init__(self, _config: object) -> None: ...

    def list_topics(self, topic: str, timeout: float) -> Any:
        assert timeout > 0
        return type(
            "Found", (), {"topics": {topic: type("Topic", (), {"error": "unknown", "partitions": {}})}}
        )


@pytest.mark.parametrize(
    ("topic", "options"),
    [
        ("tbmq.sys.admin", ["--kafka", "k:9092"]),
        ("mine.sys.admin", ["--kafka", "k:9092", "--topic-prefix", "mine"]),
    ],
)
def test_a_missing_topic_is_told_with_the_command_that_makes_it(
    topic: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_clients, "AdminClient", WithoutTopics)
    monkeypatch.setattr(kafka_clients, "_TOPIC_APPEARS", 0.0)
    with pytest.raises(KafkaNotReadyError, match=f"no topic {topic}") as raised:
        kafka_clients.partition_count("k:9092", topic)
    told = str(raised.value).split("`")[1].split()
    assert told == ["sluicemq", "topics", "create", *options]
    command: Any = get_command(app)
    create = command.commands["topics"].commands["create"]
    assert create.make_context("create", told[3:]).params["kafka"] == "k:9092"


class NewLeaders:
    """A consumer of a Kafka whose partitions nobody leads at first, and that believes what it was told."""

    made = 0

    def __init__(self, _config: object) -> None:
        type(self).made += 1
        self._is_led = type(self).made > 2

    def offsets_for_times(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        assert timeout > 0
        if not self._is_led:
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return [TopicPartition(place.topic, place.partition, 7) for place in places]

    def close(self) -> None:
        pass


def test_who_starts_waits_until_somebody_leads_what_was_just_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NewLeaders, "made", 0)
    monkeypatch.setattr(kafka_clients, "Consumer", NewLeaders)
    assert kafka_clients.first_ends("k:9092", "t", 2) == {0: 7, 1: 7}
    assert NewLeaders.made == 3


def test_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NewLeaders, "made", -1_000)
    monkeypatch.setattr(kafka_clients, "Consumer", NewLeaders)
    monkeypatch.setattr(kafka_clients, "START_TIMEOUT", 0.01)
    with pytest.raises(KafkaNotReadyError, match="does not tell where t ends"):
        kafka_clients.first_ends("k:9092", "t", 1)
