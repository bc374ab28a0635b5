"""What every store does, whatever it is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.persisted_log import PartitionFold, Position, Repeats, split_repeats
from contracts.persisted_record import packet_id
from stores import (
    ClientBacklog,
    Limits,
    PartitionBatch,
    StalePositionError,
    Store,
    StoreCounts,
    StoredMessage,
    StoreUnavailableError,
    WaitingCounts,
    open_store,
    stored_headers,
)
from tests.stores.conftest import Clock
from tests.stores.rows import HEADERS, acked, batch_for, cleared, message, offsets, received, write
from tests.stores.servers import PASSWORD, StoreServer, running


class TestStore:
    def test_it_begins_empty(self, store: Store) -> None:
        assert store.partition_position(0) is None
        assert store.backlog(0, "a") == ClientBacklog([], set(), None)
        assert store.waiting(0, "a") == WaitingCounts(0, 0, None)
        assert store.counts() == StoreCounts(0, 0, 0)

    def test_messages_come_back_in_the_log_s_order(self, store: Store) -> None:
        write(store, message(0), message(3, "b"), message(9))
        write(store, message(10), message(100))
        assert offsets(store) == [0, 9, 10, 100]
        assert offsets(store, "b") == [3]
        assert store.backlog(0, "a").messages[1] == StoredMessage(9, b"9", stored_headers.encode(HEADERS))

    def test_order_outlives_the_wrap_of_packet_ids(self, store: Store) -> None:
        places = [65_530, 65_534, 65_535, 65_536, 131_069, 131_070, 2**40]
        for place in places:
            write(store, message(place))
        assert offsets(store) == places
        assert packet_id(places[1]) > packet_id(places[2])

    def test_acknowledged_messages_go(self, store: Store) -> None:
        write(store, message(0), message(1), message(2))
        write(store, acked(3, 1, 77), message(4))
        assert offsets(store) == [0, 2, 4]
        write(store, acked(5, 0, 2, 4))
        assert store.counts() == StoreCounts(0, 0, 0)

    def test_received_messages_leave_a_mark(self, store: Store) -> None:
        write(store, message(0), message(1), message(2))
        write(store, received(3, 1), received(4, 0), received(5, 0))
        write(store, received(6, 1, 2**40))
        assert (offsets(store), store.backlog(0, "a").received) == ([2], {0, 1, 2**40})
        write(store, acked(7, 1))
        assert store.backlog(0, "a").received == {0, 2**40}

    def test_a_message_received_in_its_own_batch_leaves_only_a_mark(self, store: Store) -> None:
        write(store, message(0), received(1, 0))
        assert (offsets(store), store.backlog(0, "a").received) == ([], {0})

    def test_cleared_takes_one_client_s_all_below_it(self, store: Store) -> None:
        write(store, message(0), message(1), message(2, "b"))
        write(store, received(3, 1), received(4, 2, client_id="b"))
        write(store, message(5), cleared(6), message(7))
        assert (offsets(store), store.backlog(0, "a").received) == ([7], set())
        assert store.backlog(0, "b").received == {2}
        write(store, cleared(8))
        assert store.counts().messages == 0

    def test_the_limit_drops_the_oldest_and_counts(self, reopen: Callable[..., Store]) -> None:
        store = reopen(Limits(messages=3))
        assert write(store, message(0), message(1), message(2), received(3, 0)) == 0
        assert write(store, message(4), message(5), message(6, "b")) == 1
        assert write(store, *(message(place) for place in range(10, 20))) == 10
        backlog = store.backlog(0, "a")
        assert [one.offset for one in backlog.messages] == [17, 18, 19]
        assert backlog.received == {0}, "a mark never goes by the limit: the client waits for its PUBREL"
        assert store.counts() == StoreCounts(2, 4, 11)

    def test_messages_past_their_time_are_not_read_and_then_dropped(self, store: Store, clock: Clock) -> None:
        write(store, message(0), message(1, "b"))
        clock.now += 40
        write(store, message(2))
        assert offsets(store) == [0, 2]
        clock.now += 30
        assert offsets(store) == [2]
        assert store.drop_expired() == 2
        assert store.counts() == StoreCounts(1, 1, 0)
        assert store.drop_expired() == 0

    def test_what_waits_is_counted_as_it_would_be_read(self, store: Store, clock: Clock) -> None:
        write(store, *(message(place) for place in range(25)), message(25, "b"))
        clock.now += 40
        write(store, message(26), message(27), received(28, 3), received(29, 26))
        assert counted(store) == WaitingCounts(25, 2, 30)
        assert counted(store, "b") == WaitingCounts(1, 0, 30)
        assert counted(store, "c") == WaitingCounts(0, 0, 30)
        clock.now += 30  # those before are past their time, and still there
        assert counted(store) == WaitingCounts(1, 2, 30)
        assert counted(store, "b") == WaitingCounts(0, 0, 30)

    def test_partitions_are_apart(self, store: Store) -> None:
        write(store, message(0), partition=0)
        write(store, message(0), message(1), partition=3)
        assert (offsets(store), offsets(store, partition=3)) == ([0], [0, 1])
        assert store.partition_position(1) is None
        assert store.counts() == StoreCounts(2, 3, 0)

    def test_anything_goes_as_a_client_id(self, store: Store) -> None:
        names = ["", "{p1}", "}:position", "a:b:messages:*", "é \U0001f600", "'; --", "x" * 300]
        write(store, *(message(place, name) for place, name in enumerate(names)))
        assert [offsets(store, name) for name in names] == [[place] for place in range(len(names))]
        assert store.counts() == StoreCounts(len(names), len(names), 0)

    def test_positions_tell_all_of_the_repeats_and_a_backlog_its_client_s(self, store: Store) -> None:
        fold = PartitionFold(None)
        for record in (message(0), message(1, "b"), message(2, 'q"'), message(3, "b")):
            fold.take(record)
            fold.repeats.is_repeat(1, 7, record.client_id, "é")
        fold.skip_to(9)
        store.write(0, fold.batch())
        whole = Position(9, fold.repeats.to_json())
        assert store.partition_position(0) == whole
        position = store.backlog(0, "b").position
        assert position is not None
        assert position.next_offset == 9
        marks, seen = split_repeats(whole.repeats)
        assert split_repeats(position.repeats) == (marks, {"b": seen["b"]})
        write(store, message(10, "c"))
        assert split_repeats(batch_for(store).position.repeats)[1].keys() == {"a", "b", 'q"', "c"}
        assert Repeats.from_json(position.repeats).is_repeat(1, 7, "b", "é")

    def test_a_batch_is_written_once(self, store: Store) -> None:
        first = batch_for(store, message(0), message(1))
        store.write(0, first)
        second = batch_for(store, acked(2, 0), message(3))
        store.write(0, second)
        store.write(0, second)
        assert offsets(store) == [1, 3]

    def test_a_batch_from_elsewhere_is_refused(self, store: Store) -> None:
        first = batch_for(store, message(0), message(1))
        other = batch_for(store, message(0), message(1), message(2))
        store.write(0, first)
        with pytest.raises(StalePositionError, match="begins at None, but the store stands at 2"):
            store.write(0, other)
        ahead = PartitionFold(Position(5, Repeats().to_json()))
        ahead.take(message(7))
        with pytest.raises(StalePositionError, match="begins at 5"):
            store.write(0, ahead.batch())
        with pytest.raises(StalePositionError, match="stands at None"):
            store.write(1, ahead.batch())
        assert (offsets(store), store.partition_position(1)) == ([0, 1], None)

    def test_of_two_writers_one_is_refused(self, store: Store, reopen: Callable[..., Store]) -> None:
        stores = [store, reopen()]
        refused: list[int] = []

        def write_one(own: int, partition: int, batch: PartitionBatch) -> None:
            try:
                stores[own].write(partition, batch)
            except StalePositionError:
                refused.append(own)

        for partition in range(10):
            threads = []
            for own in (0, 1):
                batch = batch_for(store, *(message(place) for place in range(5 + own)), partition=partition)
                threads.append(threading.Thread(target=write_one, args=(own, partition, batch)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(refused) == partition + 1
            assert len(offsets(store, partition=partition)) == 5 + (1 - refused[-1])

    def test_reads_are_consistent_while_writes_go_on(
        self, store: Store, reopen: Callable[..., Store]
    ) -> None:
        """Each batch acknowledges the message before it and brings one: a read sees one, just below its place."""
        write(store, message(0))
        done = threading.Event()

        def keep_writing() -> None:
            try:
                for place in range(1, 400, 2):
                    write(writer, acked(place, place - 1), message(place + 1))
            finally:
                done.set()

        writer = reopen()
        thread = threading.Thread(target=keep_writing)
        thread.start()
        reads = 0
        while not done.is_set():
            backlog = store.backlog(0, "a")
            assert backlog.position is not None
            assert [one.offset for one in backlog.messages] == [backlog.position.next_offset - 1]
            position = store.partition_position(0)
            assert position is not None
            assert Repeats.from_json(position.repeats).is_repeat(0, position.next_offset - 1, "a", "f")
            reads += 1
        thread.join()
        assert reads > 0
        assert offsets(store) == [400]

    @given(
        value=st.binary(max_size=50),
        headers=st.lists(
            st.tuples(st.sampled_from(["k", "k", "é", "\0", ""]), st.none() | st.binary(max_size=9))
        ),
    )
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_bytes_come_back(
        self, store: Store, value: bytes, headers: list[tuple[str, bytes | None]]
    ) -> None:
        position = store.partition_position(0)
        place = position.next_offset if position else 0
        write(store, acked(place, place - 1), message(place + 1, value=value, headers=headers))
        (found,) = store.backlog(0, "a").messages
        assert (found.offset, found.value, found.headers) == (place + 1, value, headers)

    def test_operations_are_counted(self, store: Store) -> None:
        write(store, message(0))
        before = store.operations
        write(store, *(message(place) for place in range(1, 51)))
        assert 50 <= store.operations - before <= 70
        before = store.operations
        store.backlog(0, "a")
        assert 3 <= store.operations - before <= 5
        before = store.operations
        healthy = [
            record for place in range(60, 160, 2) for record in (message(place), acked(place + 1, place))
        ]
        write(store, *healthy)
        assert store.operations - before <= 10

    def test_a_restarted_server_has_everything(self, server: StoreServer, store: Store) -> None:
        write(store, message(0), message(1))
        write(store, received(2, 0))
        before = (store.backlog(0, "a"), store.partition_position(0))
        server.stop()
        server.start()
        assert (store.backlog(0, "a"), store.partition_position(0)) == before
        assert write(store, message(3)) == 0


def counted(store: Store, client_id: str = "a") -> WaitingCounts:
    """What waits for a client in partition 0, checked against what is read."""
    found, read = store.waiting(0, client_id), store.backlog(0, client_id)
    assert (found.messages, found.received) == (len(read.messages), len(read.received))
    assert read.position is not None
    assert found.next_offset == read.position.next_offset
    return found


@pytest.mark.parametrize("kind", ["redis", "cluster", "postgresql"])
def test_a_stopped_server_is_told_in_one_sentence_without_its_password(kind: str) -> None:
    with running(kind) as server:
        arguments = server.fresh()
        store = open_store(**arguments)
        batch = batch_for(store, message(0))
        server.stop()
        acts: list[Callable[[], object]] = [
            lambda: store.backlog(0, "a"),
            lambda: store.waiting(0, "a"),
            lambda: store.write(0, batch),
            lambda: store.partition_position(0),
            store.counts,
            store.drop_expired,
            lambda: open_store(**arguments),
        ]
        for act in acts:
            with pytest.raises(StoreUnavailableError, match="cannot be used") as caught:
                act()
            assert PASSWORD not in str(caught.value)
            assert "\n" not in str(caught.value)
        server.start()
        assert store.write(0, batch) == 0
        store.close()
