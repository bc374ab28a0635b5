"""The sink on a real Kafka and real stores: messages minus acknowledgements, whatever dies in between."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from pyspark.sql import SparkSession

from sinks.errors import StoreAheadError
from sinks.persisted.store import StoreSettings
from stores import Limits, Store
from tests.sinks.log import Log
from tests.sinks.running import empty, kept_copy, running_sink, store_all, stored, wait_for_end
from tests.stores.servers import StoreServer

pytestmark = pytest.mark.live


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[Store]:
    """The test's own view of the store."""
    with closing(settings.open()) as store:
        yield store


def test_messages_minus_acknowledgements(
    spark: SparkSession, log: Log, settings: StoreSettings, store: Store
) -> None:
    online, offline, halfway = (
        log.messages("online", 5),
        log.messages("offline", 5),
        log.messages("halfway", 5),
    )
    log.acked("online", *online)
    log.received("halfway", halfway[0], halfway[1])
    log.acked("halfway", halfway[0])
    supervisor = store_all(spark, log, settings)
    assert stored(log, store) == log.owed()
    assert log.owed() == {
        "online": ([], set()),
        "offline": (offline, set()),
        "halfway": (halfway[2:], {halfway[1]}),
    }
    counters = supervisor.progress.total
    assert (counters.records, counters.messages, counters.stored) == (18, 15, 8)
    backlog = store.backlog(log.partition_of("offline"), "offline")
    assert [message.value for message in backlog.messages] == [b"%d" % number for number in range(5)]
    assert ("client-id", b"publisher") in backlog.messages[0].headers
    # What was stored by one batch is acknowledged in another.
    log.acked("offline", offline[0], offline[3])
    log.acked("halfway", halfway[1])
    store_all(spark, log, settings)
    assert stored(log, store) == log.owed()


def test_an_acknowledgement_in_the_same_batch_costs_the_store_its_position_alone(
    spark: SparkSession, log: Log, settings: StoreSettings
) -> None:
    operations = []
    for count in (1, 1, 200):  # The first makes the partition known.
        log.acked("one", *log.messages("one", count))
        operations.append(store_all(spark, log, settings).progress.total.operations)
    assert operations[1] == operations[2]
    assert store_all(spark, log, settings).progress.total.operations == 0


def test_repeats_of_the_router_are_stored_once(
    spark: SparkSession, log: Log, settings: StoreSettings, store: Store
) -> None:
    """Of what matches two filters the first record stands for both."""

    def route(*offsets: int) -> list[int]:
        written = [
            log.message("c", b"%d" % offset, (3, offset), filter) for offset in offsets for filter in "ab"
        ]
        return written[::2]

    kept = route(1, 2, 3)
    store_all(spark, log, settings)
    route(1, 2, 3)
    kept += route(4)
    route(2, 3, 4)
    assert store_all(spark, log, settings).progress.total.repeats == 6 + 1 + 6
    assert stored(log, store) == log.owed() == {"c": (kept, set())}


def test_cleared(spark: SparkSession, log: Log, settings: StoreSettings, store: Store) -> None:
    old = log.messages("c", 3)
    log.received("c", old[0])
    store_all(spark, log, settings)
    log.messages("c", 2)
    log.cleared("c")
    new = log.messages("c", 2)
    store_all(spark, log, settings)
    assert stored(log, store) == log.owed() == {"c": (new, set())}


def test_what_cannot_be_read_is_passed_over_and_counted(
    spark: SparkSession, log: Log, settings: StoreSettings, store: Store
) -> None:
    first = log.message("c")
    log.write(None, b"no client", [])
    log.write(b"c", b"no route", [("topic", b"t")])
    log.write(b"c", b"[1,", [("event", b"acked")])
    log.write(b"\xff", b"", [("event", b"cleared")])
    log.write(b"c", b"[]", [("event", b"lost")])
    log.write(b"c", None, [])
    last = log.message("c")
    assert store_all(spark, log, settings).progress.total.unreadable == 6
    assert stored(log, store) == {"c": ([first, last], set())}
    wait_for_end(log, store)


def test_the_limit_drops_the_oldest(
    spark: SparkSession, log: Log, settings: StoreSettings, store: Store
) -> None:
    offsets = log.messages("c", 30)
    limited = StoreSettings(settings.url, settings.prefix, Limits(messages=20))
    assert store_all(spark, log, limited).progress.total.dropped == 10
    assert stored(log, store) == {"c": (offsets[10:], set())}


def test_random_traffic_while_the_sink_is_ended_and_started(
    spark: SparkSession, log: Log, settings: StoreSettings, store: Store
) -> None:
    done = threading.Event()

    def write() -> None:
        chance = random.Random(4)
        pending: dict[str, list[int]] = {f"c{number}": [] for number in range(6)}
        for number in range(1200):
            client = chance.choice(list(pending))
            match chance.random():
                case low if low < 0.6:
                    source = (chance.randrange(2), number if low < 0.5 else max(0, number - 5))
                    pending[client].append(log.message(client, b"x", source))
                case low if low < 0.8 and pending[client]:
                    log.acked(client, pending[client].pop(chance.randrange(len(pending[client]))))
                case low if low < 0.95 and pending[client]:
                    log.received(client, chance.choice(pending[client]))
                case low if low > 0.99:
                    log.cleared(client)
        done.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    while not done.wait(0.01):
        with running_sink(spark, log, settings) as sink:
            assert sink.started.wait(120)
            done.wait(1)
    writer.join()
    with running_sink(spark, log, settings):
        wait_for_end(log, store)
    assert stored(log, store) == log.owed()


def test_a_store_that_is_away_is_waited_for(
    spark: SparkSession, log: Log, settings: StoreSettings, server: StoreServer
) -> None:
    with running_sink(spark, log, settings) as sink:
        assert sink.started.wait(120)
        log.messages("c", 10)
        with closing(settings.open()) as store:
            wait_for_end(log, store)
        server.stop()
        log.acked("c", *log.messages("c", 10))
        log.messages("d", 5)
        server.start()
        with closing(settings.open()) as store:
            wait_for_end(log, store)
            assert stored(log, store) == log.owed()
        assert not sink.errors


def test_an_emptied_store_is_rebuilt_from_the_log(
    spark: SparkSession, log: Log, settings: StoreSettings
) -> None:
    with running_sink(spark, log, settings) as sink:
        log.acked("c", *log.messages("c", 10)[:4])
        with closing(settings.open()) as store:
            wait_for_end(log, store)
        empty(settings)
        with closing(settings.open()) as store:
            wait_for_end(log, store)  # Though nothing is written any more.
            assert stored(log, store) == log.owed()
            empty(settings)
        log.messages("c", 3)
        with closing(settings.open()) as store:
            wait_for_end(log, store)
            assert stored(log, store) == log.owed()
        assert sink.supervisor.restarts >= 1


def test_a_store_that_is_restored_from_an_older_copy_goes_on_from_there(
    spark: SparkSession, log: Log, settings: StoreSettings
) -> None:
    first = log.messages("c", 10)
    log.received("c", first[5])
    store_all(spark, log, settings)
    with closing(settings.open()) as store:
        copied = stored(log, store)
    put_back = kept_copy(settings)
    log.acked("c", *first[:4], first[5])
    log.messages("d", 3)
    store_all(spark, log, settings)
    put_back()
    with closing(settings.open()) as store:
        assert stored(log, store) == {**copied, "d": ([], set())}
    store_all(spark, log, settings)
    with closing(settings.open()) as store:
        assert stored(log, store) == log.owed()


def test_a_store_of_another_kafka_is_refused(spark: SparkSession, log: Log, settings: StoreSettings) -> None:
    log.messages("c", 10)
    store_all(spark, log, settings)
    other = Log(log.bootstrap, type(log.topics)(f"{log.topics.prefix}-other"), partitions=2)
    with pytest.raises(StoreAheadError, match="empty it, and it is built anew"):
        store_all(spark, other, settings)
