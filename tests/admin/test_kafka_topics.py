"""Topics are made as contracts.kafka_topics says, and what is otherwise is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, LeaderNotAvailableError, TopicAuthorizationFailedError

from admin.errors import AdminError
from admin.kafka_topics import Difference, TopicAdministration, topic_administration
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from tests.conftest import LiveKafka


class NewPartitions:
    """A cluster's administration, where new partitions have a leader that does not know it yet."""

    def __init__(self, *errors: type[KafkaError]) -> None:
        self._errors = list(errors)
        self._names: list[str] = []
        self.asked: list[set[TopicPartition]] = []

    def describe_topics(self, topics: list[str] | None = None) -> list[dict[str, Any]]:
        names = self._names if topics is None else topics
        return [{"name": name, "partitions": [{"partition_index": n} for n in range(2)]} for name in names]

    def create_topics(self, wanted: dict[str, Any], raise_errors: bool) -> dict[str, Any]:
        assert not raise_errors
        self._names += wanted
        return {"topics": [{"name": name, "error_code": 0} for name in wanted]}

    def wait_for_topics(self, names: list[str], timeout_ms: int) -> None:
        assert names == self._names
        assert timeout_ms >= 0

    def list_partition_offsets(self, places: dict[TopicPartition, object]) -> None:
        self.asked.append(set(places))
        if self._errors:
            raise self._errors.pop(0)


def create_two(cluster: NewPartitions) -> list[str]:
    administration = TopicAdministration(cast(KafkaAdminClient, cluster))
    return administration.create([KafkaTopic("a", 2), KafkaTopic("b", 2)])


def test_a_topic_is_there_when_all_its_partitions_answer() -> None:
    cluster = NewPartitions(LeaderNotAvailableError, LeaderNotAvailableError)
    assert create_two(cluster) == ["a", "b"]
    assert cluster.asked == [{TopicPartition(name, n) for name in "ab" for n in range(2)}] * 3


@pytest.mark.parametrize(
    ("error", "patience"), [(LeaderNotAvailableError, 0), (TopicAuthorizationFailedError, 60)]
)
def test_partitions_that_never_answer(
    error: type[KafkaError], patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admin.kafka_topics.SECONDS_TO_LEAD", patience)
    cluster = NewPartitions(error, error)
    with pytest.raises(error):
        create_two(cluster)
    assert len(cluster.asked) == 1


@pytest.mark.live
def test_create_check_describe(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    names = KafkaTopics(unique("topics"))
    topics = [*names.shared(publish_partitions=3), *names.of_node("gw1")]
    with topic_administration(kafka.bootstrap) as administration:
        missing = administration.differences(topics)
        assert [difference.setting for difference in missing] == ["topic"] * len(topics)
        assert administration.create(topics) == [topic.name for topic in topics]
        assert administration.differences(topics) == []
        assert administration.create(topics) == []
        assert administration.existing(prefix=names.prefix) == sorted(topics, key=lambda topic: topic.name)


@pytest.mark.live
def test_differences(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    name = unique("differs")
    with topic_administration(kafka.bootstrap) as administration:
        administration.create([KafkaTopic(name, 1, {"cleanup.policy": "delete"})])
        wanted = KafkaTopic(name, 2, {"cleanup.policy": "compact", "retention.ms": "5"})
        assert administration.create([wanted]) == []
        assert administration.differences([wanted]) == [
            Difference(name, "partitions", "2", "1"),
            Difference(name, "cleanup.policy", "compact", "delete"),
            Difference(name, "retention.ms", "5", "the cluster's default"),
        ]


@pytest.mark.live
def test_a_topic_that_kafka_refuses(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    topic = KafkaTopic(unique("refused"), 1, {"no.such.setting": "1"})
    with (
        topic_administration(kafka.bootstrap) as administration,
        pytest.raises(AdminError, match=r"no\.such\.setting"),
    ):
        administration.create([topic])


@pytest.mark.live
def test_no_kafka_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.kafka_topics.SECONDS_TO_ANSWER", 0.2)
    with (
        pytest.raises(AdminError, match=r"No Kafka answers at 127\.0\.0\.1:1"),
        topic_administration("127.0.0.1:1"),
    ):
        pass
