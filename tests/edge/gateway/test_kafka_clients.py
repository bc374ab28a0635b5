"""What a gateway that starts asks of Kafka, and what it says when that is not there."""

from __future__ import annotations

from typing import Any

import pytest
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
