"""The store and the sinks as parts of the stack: they come back, and nothing that was stored is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pytest
from paho.mqtt import publish

from admin.errors import UsageError
from admin.stack.data_folder import locked_data_folder
from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.jars import delta_jars
from admin.stack.sink import Sinks, sink_part
from contracts.archive import ArchiveFormat
from contracts.kafka_topics import KafkaTopics
from stores import open_store
from stores.historical import StatisticsStore
from stores.messages import MessageRange, MessageStore
from tests.sinks.log import Log


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 150
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)  # Neither stores nor folders tell anybody when they have changed.


def archived(place: Path) -> list[bytes]:
    """The payloads on t/1 in an archive that nobody compacts meanwhile; gateways' own messages are there too."""
    if not any(place.glob("date=*/hour=*/*.parquet")):
        return []
    found = ds.dataset(place, format="parquet", partitioning="hive")
    table = found.to_table(columns=["value"], filter=ds.field("key") == b"t/1")
    return sorted(table.column("value").to_pylist())


def kept(store: MessageStore) -> list[bytes]:
    return sorted(each.payload for each in store.find(MessageRange("t/#")))


def publish_all(stack: Stack, payloads: list[bytes]) -> None:
    [address] = stack.mqtt
    messages = [{"topic": "t/1", "payload": payload, "qos": 1} for payload in payloads]
    publish.multiple(messages, address.host, address.port)  # type: ignore[arg-type]


@pytest.mark.live
@pytest.mark.timeout(600)
def test_store_and_sinks_come_back(tmp_path: Path) -> None:
    archive, messages = tmp_path / "archive", f"sqlite:///{tmp_path / 'messages.db'}"
    options = StackOptions(
        tmp_path,
        gateways=1,
        persistence=True,
        archive=str(archive),
        message_store=messages,
        statistics=True,
        gateway_settings={"SLUICEMQ_HISTORICAL_INTERVAL_SEC": "1"},
    )
    with embedded_stack(options) as stack:
        assert stack.store is not None
        log = Log(stack.kafka, KafkaTopics(), partitions=0)
        offsets = log.messages("c", 2)
        payloads = []
        for part in ("valkey", "sink"):
            payloads += [f"{part} {number}".encode() for number in range(10)]
            publish_all(stack, payloads[-10:])
            stack.wait_ready("sink")
            before = stack.kill(part)
            stack.wait_restarted(part, before)
            offsets += log.messages("c", 2)
        log.acked("c", offsets.pop(1))
        with closing(open_store(stack.store)) as store:
            partition = log.partition_of("c")
            wait_for(lambda: [each.offset for each in store.backlog(partition, "c").messages] == offsets)
        wait_for(lambda: archived(archive) == sorted(payloads))
        with closing(MessageStore(messages)) as message_store:
            wait_for(lambda: kept(message_store) == sorted(payloads))
        assert stack.statistics == f"sqlite:///{tmp_path / 'statistics.db'}"
        with closing(StatisticsStore(stack.statistics)) as statistics:
            wait_for(lambda: statistics.nodes() == ["gw1"])


@pytest.mark.parametrize("url", ["mongodb://there", "redis://127.0.0.1:1"])
@pytest.mark.parametrize("option", ["store", "message_store", "statistics_store"])
def test_a_store_that_cannot_be_used(tmp_path: Path, option: str, url: str) -> None:
    with (
        pytest.raises(UsageError, match="The sink could not use that store"),
        embedded_stack(StackOptions(tmp_path, **{option: url})),  # type: ignore[arg-type]
    ):
        pass
    assert not (tmp_path / "logs").exists()  # Nothing was started.


def test_each_slot_is_a_process_more() -> None:
    assert not Sinks()
    assert Sinks(store="redis://there", statistics="sqlite:///there").slots == 1
    assert Sinks(archive="there").slots == 2


def test_jars_of_delta_lake_are_for_who_wants_them(tmp_path: Path) -> None:
    with locked_data_folder(tmp_path) as data:
        parquet, delta = (
            sink_part(data, "k:1", Sinks(archive="there", archive_format=form)).command
            for form in ArchiveFormat
        )
    names = [path.name for path in delta_jars()]
    assert any(name.startswith("delta-spark") for name in names)
    assert not any(name in word for name in names for word in parquet)
    assert all(any(name in word for word in delta) for name in names)
    assert delta[-4:] == ["--archive", "there", "--archive-format", "delta"]
