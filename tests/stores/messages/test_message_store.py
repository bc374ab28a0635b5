"""The message store on SQLite and PostgreSQL: numbers by topic, ranges, and each message once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from contracts.errors import TopicError
from stores import StalePositionError, StoreUrlError
from stores.messages import ArrivedMessage, MessageRange, MessageStore
from tests.stores.servers import StoreServer, running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def sql_server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    with running(request.param) as server:
        yield server


@pytest.fixture
def url(sql_server: StoreServer) -> str:
    return str(sql_server.fresh()["url"])


@pytest.fixture
def store(url: str) -> Iterator[MessageStore]:
    with closing(MessageStore(url)) as store:
        yield store


def message(offset: int, topic: str = "a/b", at_ms: int | None = None) -> ArrivedMessage:
    headers = [("qos", b"1"), ("user-property:k\0", b"\xff"), ("empty", None)]
    return ArrivedMessage(offset, offset if at_ms is None else at_ms, topic, "c1", 1, headers, b"%d" % offset)


def offsets(store: MessageStore, filter: str, **wanted: int | bool | None) -> list[tuple[str, int, bytes]]:
    found = store.find(MessageRange(filter, **wanted))  # type: ignore[arg-type]
    return [(each.topic, each.offset, each.payload) for each in found]


def test_each_topic_counts_from_one(store: MessageStore) -> None:
    store.write(0, None, 10, [message(3), message(5, "a/c"), message(7)])
    store.write(0, 10, 20, [message(12), message(15, "a/c")])
    assert offsets(store, "a/b") == [("a/b", 1, b"3"), ("a/b", 2, b"7"), ("a/b", 3, b"12")]
    assert offsets(store, "a/+") == [
        ("a/b", 1, b"3"), ("a/c", 1, b"5"), ("a/b", 2, b"7"), ("a/b", 3, b"12"), ("a/c", 2, b"15"),
    ]  # fmt: skip
    assert store.positions([0, 1]) == {0: 20, 1: None}
    assert store.last_offset("a/b") == 3
    assert store.last_offset("a") == 0
    found = store.find(MessageRange("a/b"))[0]
    assert found.headers == [("qos", b"1"), ("user-property:k\0", b"\xff"), ("empty", b"")]
    assert (found.at_ms, found.qos, found.client_id, found.kafka) == (3, 1, "c1", (0, 3))


def test_what_is_in_is_not_written_again(store: MessageStore) -> None:
    store.write(0, None, 5, [message(4)])
    for begins in (None, 0, 4):
        with pytest.raises(StalePositionError):
            store.write(0, begins, 9, [message(4), message(8)])
    assert offsets(store, "#") == [("a/b", 1, b"4")]
    store.write(0, 5, 9, [])
    assert store.positions([0]) == {0: 9}


def test_ranges(store: MessageStore) -> None:
    store.write(0, None, 100, [message(offset, f"t/{offset % 2}", offset * 10) for offset in range(100)])
    assert [offset for _, offset, _ in offsets(store, "t/1", from_offset=10, to_offset=13)] == [10, 11, 12]
    assert [payload for *_, payload in offsets(store, "t/#", from_ms=200, to_ms=230)] == [b"20", b"21", b"22"]
    assert [payload for *_, payload in offsets(store, "t/#", limit=2)] == [b"0", b"1"]
    assert [payload for *_, payload in offsets(store, "t/#", limit=2, newest=True)] == [b"98", b"99"]
    assert [offset for _, offset, _ in offsets(store, "t/0", limit=2, newest=True)] == [49, 50]
    assert offsets(store, "none") == offsets(store, "t/0", from_ms=5_000) == []


def test_many_topics_of_a_filter(store: MessageStore) -> None:
    store.write(0, None, 1_200, [message(offset, f"fleet_%/{offset}/x") for offset in range(1_200)])
    found = offsets(store, "fleet_%/+/x", limit=2_000)
    assert [payload for *_, payload in found] == [b"%d" % offset for offset in range(1_200)]
    assert offsets(store, "fleet_%/7/#") == [("fleet_%/7/x", 1, b"7")]


def test_dollar_topics_are_for_those_who_name_them(store: MessageStore) -> None:
    store.write(0, None, 2, [message(0, "$SYS/x"), message(1, "x")])
    assert offsets(store, "#") == [("x", 1, b"1")]
    assert offsets(store, "$SYS/#") == [("$SYS/x", 1, b"0")]
    with pytest.raises(TopicError):
        store.find(MessageRange("a/#/b"))


def test_offsets_go_on_after_old_messages_are_deleted(store: MessageStore) -> None:
    store.write(0, None, 10, [message(offset) for offset in range(10)])
    assert store.drop_older(10) == 10
    store.write(0, 10, 11, [message(10)])
    assert offsets(store, "#") == [("a/b", 11, b"10")]


def test_partitions_that_share_topics_are_written_at_once(url: str) -> None:
    """As after partitions were added to the Kafka topic: a topic goes on in another one."""

    def write(partition: int) -> None:
        with closing(MessageStore(url)) as store:
            begins = None
            for first in range(0, 200, 10):
                some = [message(offset, f"t/{offset * step % 3}") for offset in range(first, first + 10)]
                while True:
                    try:
                        store.write(partition, begins, first + 10, some)
                        break
                    except StalePositionError:  # both made a topic; as the sink does, once more
                        assert store.positions([partition])[partition] == begins
                begins = first + 10

    step = 7
    threads = [threading.Thread(target=write, args=(partition,)) for partition in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with closing(MessageStore(url)) as store:
        found = store.find(MessageRange("#", limit=1_000))
        assert len(found) == len({each.kafka for each in found}) == 400
        for topic in ("t/0", "t/1", "t/2"):
            numbers = [offset for _, offset, _ in offsets(store, topic, limit=1_000)]
            assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("bad", ["redis://there", "sqlite://", "sqlite:////no/such/folder/x.db", "nonsense"])
def test_a_url_that_names_no_database(bad: str) -> None:
    with pytest.raises(StoreUrlError):
        MessageStore(bad)
