"""Topics are made as contracts.kafka_topics says, and what is otherwise is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from admin.errors import AdminError
from admin.kafka_topics import Difference, topic_administration
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from tests.conftest import LiveKafka

pytestmark = pytest.mark.live


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


def test_a_topic_that_kafka_refuses(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    topic = KafkaTopic(unique("refused"), 1, {"no.such.setting": "1"})
    with (
        topic_administration(kafka.bootstrap) as administration,
        pytest.raises(AdminError, match=r"no\.such\.setting"),
    ):
        administration.create([topic])


def test_no_kafka_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.kafka_topics.SECONDS_TO_ANSWER", 0.2)
    with (
        pytest.raises(AdminError, match=r"No Kafka answers at 127\.0\.0\.1:1"),
        topic_administration("127.0.0.1:1"),
    ):
        pass
