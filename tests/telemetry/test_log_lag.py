"""How far behind a Kafka topic somebody is, where offsets mislead too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import KafkaException, Producer

from admin.kafka_topics import topic_administration
from contracts.kafka_topics import KafkaTopic
from telemetry.log_lag import LogLag

pytestmark = pytest.mark.live

FUTURE_MS = 4_000_000_000_000
"""Everything is older than this."""


@pytest.fixture
def log(kafka: object, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[LogLag]:
    """An empty topic of two partitions, on a Kafka that may take its time."""
    monkeypatch.setattr("telemetry.log_lag._SECONDS_TO_ANSWER", 60.0)
    bootstrap = str(kafka.bootstrap)  # type: ignore[attr-defined] # LiveKafka, which no module can import
    name = unique("lag")
    with topic_administration(bootstrap) as administration:
        administration.create([KafkaTopic(name, 2)], 1)
    with closing(LogLag(bootstrap, name)) as lag:
        yield lag


def write(kafka: object, topic: str, *records: tuple[int, int], transaction: str | None = None) -> None:
    """Write records: (partition, time in ms)."""
    config: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.bootstrap}  # type: ignore[attr-defined]
    if transaction is not None:
        config["transactional.id"] = transaction
    producer = Producer(config)
    if transaction is not None:
        producer.init_transactions()
        producer.begin_transaction()
    for partition, at_ms in records:
        producer.produce(topic, b"x", partition=partition, timestamp=at_ms)
    producer.flush()
    if transaction is not None:
        producer.commit_transaction()


def test_nothing_is_missing_of_nothing(log: LogLag) -> None:
    assert log.partitions() == 2
    assert log.ends(2) == {0: 0, 1: 0}
    assert log.oldest_missing({0: None, 1: 0}, FUTURE_MS) is None


def test_the_oldest_that_is_missing(kafka: object, log: LogLag) -> None:
    now = round(time.time() * 1_000)
    write(kafka, log.topic, (0, now - 9_000), (0, now - 8_000), (1, now - 7_000))
    assert log.ends(2) == {0: 2, 1: 1}
    assert log.oldest_missing({0: None, 1: None}, FUTURE_MS) == now - 9_000
    assert log.oldest_missing({0: 1, 1: None}, FUTURE_MS) == now - 8_000
    assert log.oldest_missing({0: 2, 1: 0}, FUTURE_MS) == now - 7_000
    assert log.oldest_missing({0: 2, 1: 1}, FUTURE_MS) is None
    assert log.oldest_missing({0: None, 1: None}, now - 8_500) == now - 9_000
    assert log.oldest_missing({0: 1, 1: 0}, now - 8_500) is None, "what is newer does not count"


def test_what_ends_a_transaction_is_no_record(
    kafka: object, log: LogLag, unique: Callable[[str], str]
) -> None:
    now = round(time.time() * 1_000)
    write(kafka, log.topic, (0, now - 5_000), transaction=unique("tx"))
    while log.ends(2)[0] < 2:  # the record, and the transaction's end, which Kafka writes after its answer
        pass
    assert log.oldest_missing({0: 0, 1: 0}, FUTURE_MS) == now - 5_000
    assert log.oldest_missing({0: 1, 1: 0}, FUTURE_MS) is None


def test_a_kafka_that_is_not_there() -> None:
    with closing(LogLag("127.0.0.1:1", "t")) as lag, pytest.raises(KafkaException):
        lag.partitions()
