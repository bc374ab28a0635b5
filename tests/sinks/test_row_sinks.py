"""The sinks into SQL on a real Kafka: the message store and statistics, each record once, whatever dies."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from contracts import historical_record
from contracts.historical_record import HistoricalRecord
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from sinks.historical import job as historical_job
from sinks.messages import job as messages_job
from sinks.row_destination import RowSink
from sinks.supervision import Supervisor
from stores.historical import StatisticsStore
from stores.messages import FoundMessage, MessageRange, MessageStore
from tests.conftest import LiveKafka
from tests.job_process import kill_jvm
from tests.new_topics import await_leaders
from tests.sinks.process import sink_process, wait_until_started
from tests.sinks.publishes import Publishes

PATIENCE = 150.0


def append_all(spark: SparkSession, sink: RowSink) -> Supervisor:
    """Store all that is there by now."""
    supervisor = sink.supervised(spark, lambda: None)
    supervisor.run()
    return supervisor


def message_sink(publishes: Publishes, url: str) -> RowSink:
    arguments = ["--kafka", publishes.bootstrap, "--topic-prefix", publishes.topics.prefix]
    return messages_job.parse_arguments([*arguments, "--database", url, "--trigger", "available-now"])


def stored(store: MessageStore) -> list[FoundMessage]:
    return store.find(MessageRange("#", limit=100_000))


def check_all_once(store: MessageStore, publishes: Publishes) -> None:
    """Each message that was acknowledged once, and each topic's numbered in the order of arrival."""
    found = stored(store)
    assert sorted((*each.kafka, each.payload) for each in found) == sorted(publishes.written)
    for topic in {each.topic for each in found}:
        of_topic = store.find(MessageRange(topic, limit=100_000))
        assert [each.offset for each in of_topic] == list(range(1, len(of_topic) + 1))
        assert of_topic == sorted(of_topic, key=lambda each: each.kafka)


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)  # a database tells nobody when it has changed


@pytest.mark.live
def test_confirmed_messages_are_stored(spark: SparkSession, publishes: Publishes, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/messages.db"
    sink = message_sink(publishes, url)
    publishes.publish(50)
    assert append_all(spark, sink).progress.total.stored == 50
    publishes.publish(50, qos=2)
    confirmed = list(publishes.written)
    publishes.publish(30, qos=0)
    assert append_all(spark, sink).progress.total.stored == 50
    publishes.written = confirmed
    with closing(MessageStore(url)) as store:
        check_all_once(store, publishes)
        ends = store.positions(range(publishes.partitions))
        assert append_all(spark, sink).progress.total.stored == 0
        assert store.positions(range(publishes.partitions)) == ends  # QoS 0 behind them is read once, too
        assert stored(store)[0].client_id == "publisher"


@pytest.mark.live
@pytest.mark.timeout(400)
def test_kill_loses_no_message_and_doubles_none(publishes: Publishes, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/messages.db"
    arguments = [
        "--kafka",
        publishes.bootstrap,
        "--topic-prefix",
        publishes.topics.prefix,
        "--interval-ms",
        "10",
    ]
    with closing(MessageStore(url)) as store:
        with sink_process(
            "sinks.messages.job", arguments, tmp_path, {messages_job.URL_VARIABLE: url}
        ) as process:
            wait_until_started(process)
            publishes.publish(500)
            wait_for(lambda: bool(stored(store)))
            for _ in range(20):
                publishes.publish(100)
            kill_jvm(process)  # batches follow one another without a pause, so it dies within one
        publishes.publish(100)
        with sink_process(
            "sinks.messages.job", arguments, tmp_path, {messages_job.URL_VARIABLE: url}
        ) as process:
            wait_until_started(process)
            wait_for(lambda: len(stored(store)) >= len(publishes.written))
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        check_all_once(store, publishes)


@pytest.mark.live
@pytest.mark.timeout(400)
def test_kill_loses_no_statistics_and_doubles_none(
    kafka: LiveKafka, unique: Callable[[str], str], tmp_path: Path
) -> None:
    topics, url = KafkaTopics(unique("t")), f"sqlite:///{tmp_path}/statistics.db"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 2})
    admin.create_topics([NewTopic(topics.historical, 1, 1)])[topics.historical].result(60)
    await_leaders(kafka.bootstrap, [KafkaTopic(topics.historical, 1)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 2})

    def write(first: int, count: int) -> None:
        for at_ms in range(first, first + count):
            for node in ("gw1", "gw2"):
                record = HistoricalRecord(node, at_ms, {"publishes": at_ms, "durable": 2 * at_ms})
                key, value = historical_record.encode(record)
                producer.produce(topics.historical, value, key)
            producer.produce(topics.historical, b"{}", b"gw1")  # is passed over
        assert producer.flush(60) == 0

    arguments = ["--kafka", kafka.bootstrap, "--topic-prefix", topics.prefix, "--interval-ms", "10"]
    environment = {historical_job.URL_VARIABLE: url}

    def values(store: StatisticsStore) -> Counter[tuple[str, int]]:
        return Counter((point.node, point.value) for point in store.points("publishes", 0, 1 << 60, 1))

    with closing(StatisticsStore(url)) as store:
        with sink_process("sinks.historical.job", arguments, tmp_path, environment) as process:
            wait_until_started(process)
            write(1, 20)
            wait_for(lambda: bool(values(store)))
            write(21, 200)
            kill_jvm(process)
        write(221, 20)
        with sink_process("sinks.historical.job", arguments, tmp_path, environment) as process:
            wait_until_started(process)
            wait_for(lambda: len(values(store)) >= 480)
        assert values(store) == Counter((node, at_ms) for node in ("gw1", "gw2") for at_ms in range(1, 241))
        [last] = store.points("durable", 0, 1_000, 1_000, "gw1")
        assert last.value == 480


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kafka", "k:1"], "--database: name the database, or set SLUICEMQ_MESSAGE_STORE"),
        (["--kafka", "k:1", "--database", "sqlite:///x", "--keep-days", "0"], "--keep-days: write a number"),
        (["--kafka", "k:1", "--database", "sqlite:///x", "--topic-prefix", "a b"], "prefix"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(messages_job.URL_VARIABLE, raising=False)
    with pytest.raises(SystemExit):
        messages_job.parse_arguments(arguments)
    assert sentence in capsys.readouterr().err
