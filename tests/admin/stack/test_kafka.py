"""The embedded broker: its data stays over restarts, however it ended."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from admin.stack.kafka import SECONDS_TO_START, STARTED, running_kafka

pytestmark = pytest.mark.live


def _create(bootstrap: str, topic: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)


def _produce(bootstrap: str, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    producer.produce(topic, value)
    assert producer.flush(20) == 0


def _values(bootstrap: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(count, 20)
    consumer.close()
    return [(message.value() or b"").decode() for message in messages]


def test_data_survives_kill_and_stop_and_being_copied(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "data") as (broker, supervisor):
        _create(broker.bootstrap, "kept")
        _produce(broker.bootstrap, "kept", "one")
        supervisor.signal("kafka", signal.SIGKILL)
        supervisor.wait_for_restart("kafka", 0, STARTED, SECONDS_TO_START)
        _produce(broker.bootstrap, "kept", "two")
        assert supervisor.restarts("kafka") == 1
    with running_kafka(tmp_path / "data") as (again, supervisor):
        assert again.port != broker.port
        _produce(again.bootstrap, "kept", "three")
        assert _values(again.bootstrap, "kept", 3) == ["one", "two", "three"]
        assert supervisor.restarts("kafka") == 0
    # A copy of the folder of a broker that is stopped is a backup (docs/operations.md); it may lie elsewhere.
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    with running_kafka(tmp_path / "copy") as (restored, supervisor):
        assert _values(restored.bootstrap, "kept", 3) == ["one", "two", "three"]
        _produce(restored.bootstrap, "kept", "four")


def test_topics_are_not_created_by_use(tmp_path: Path) -> None:
    with running_kafka(tmp_path) as (broker, _):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 2000})
        failures: list[object] = []
        producer.produce("never-made", b"x", on_delivery=lambda error, _message: failures.append(error))
        producer.flush(20)
        assert failures[0] is not None
        assert (
            "never-made"
            not in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=20).topics
        )
