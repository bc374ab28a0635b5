"""Folding one partition of a batch, without Spark: chunks, batches run again, a store that is used meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from contracts import headers as h
from contracts.persisted_log import PartitionBatch, PartitionFold
from contracts.persisted_record import EventKind, encode_event
from contracts.routed_record import TOPIC, encode_id
from sinks.outcomes import Outcome, Trouble, decode_outcome
from sinks.persisted import folding
from sinks.persisted.folding import FoldTask, fold_partitions
from sinks.persisted.records import COLUMNS
from sinks.persisted.store import StoreSettings
from stores import Store, StoreUnavailableError

Row = dict[str, Any]
PARTITION = 3
_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def message(offset: int, client: str = "c", value: bytes = b"x") -> Row:
    headers = [(TOPIC, b"t"), (h.ID, encode_id(0, offset)), (h.FILTER, b"t")]
    return row(offset, client.encode(), value, headers)


def event(offset: int, kind: EventKind, *offsets: int, client: str = "c") -> Row:
    value, headers = encode_event(kind, offsets)
    return row(offset, client.encode(), value, headers)


def row(offset: int, key: bytes | None, value: bytes | None, headers: h.Headers | None) -> Row:
    pairs = None if headers is None else [{"key": name, "value": content} for name, content in headers]
    return dict(zip(COLUMNS, (PARTITION, offset, key, value, pairs), strict=True))


def arrow(rows: list[Row], cut: int) -> Iterator[pa.RecordBatch]:
    """Rows as Spark hands them over: in batches of at most `cut`, which may be slices of a larger one."""
    whole = pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
    yield whole.slice(0, 0)
    for begin in range(0, len(rows), cut):
        yield whole.slice(begin, cut)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[StoreSettings]:
    yield StoreSettings(f"sqlite:///{tmp_path / 'store.db'}")
    folding._opened.cache_clear()


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[Store]:
    with closing(settings.open()) as store:
        yield store


def fold(settings: StoreSettings, rows: list[Row], known: int | None = None, cut: int = 1000) -> Outcome:
    [outcome] = fold_partitions(arrow(rows, cut), FoldTask(settings, {PARTITION: known}))
    [answer] = outcome.to_pylist()
    return decode_outcome(answer)


def held(store: Store, client: str = "c") -> list[int]:
    return [message.offset for message in store.backlog(PARTITION, client).messages]


@pytest.mark.parametrize("cut", [1, 2, 3, 1000])
@pytest.mark.parametrize("changes", [1, 2, 5, 10_000])
def test_however_it_is_cut(
    settings: StoreSettings, store: Store, monkeypatch: pytest.MonkeyPatch, cut: int, changes: int
) -> None:
    monkeypatch.setattr(folding, "MAX_CHUNK_CHANGES", changes)
    rows = [message(0), message(2), message(3), event(4, EventKind.ACKED, 2), message(5, "d")]
    rows += [
        row(6, b"c", b"?", None),
        event(7, EventKind.RECEIVED, 3),
        message(8),
        event(9, EventKind.ACKED, 0),
    ]
    outcome = fold(settings, rows, cut=cut)
    assert (outcome.partition, outcome.next_offset, outcome.trouble) == (PARTITION, 10, None)
    assert (outcome.counters.records, outcome.counters.messages, outcome.counters.unreadable) == (9, 5, 1)
    assert held(store) == [8]
    assert held(store, "d") == [5]
    assert store.backlog(PARTITION, "c").received == {3}


def test_partitions_one_after_the_other(settings: StoreSettings, store: Store) -> None:
    rows = [{**message(offset), "partition": partition} for partition in (0, 1, 4) for offset in range(5)]
    for cut in (2, 1000):
        answers = list(fold_partitions(arrow(rows, cut), FoldTask(settings, {1: 9} if cut == 2 else {})))
        outcomes = [decode_outcome(row) for answer in answers for row in answer.to_pylist()]
        lost = Trouble.POSITION_LOST if cut == 2 else None
        assert [(one.partition, one.trouble) for one in outcomes] == [(0, None), (1, lost), (4, None)]
    assert [len(store.backlog(partition, "c").messages) for partition in (0, 1, 4)] == [5, 5, 5]


def test_no_records_no_answer(settings: StoreSettings) -> None:
    assert list(fold_partitions(arrow([], 1), FoldTask(settings, {}))) == []


def test_a_batch_that_is_run_again_changes_nothing(settings: StoreSettings, store: Store) -> None:
    rows = [message(0), message(1), event(2, EventKind.ACKED, 0)]
    fold(settings, rows[:2])
    again = fold(settings, rows)
    assert (again.next_offset, again.counters.records, held(store)) == (3, 1, [1])
    once_more = fold(settings, rows, known=2)
    assert (once_more.next_offset, once_more.counters.records, held(store)) == (3, 0, [1])


@pytest.mark.parametrize("known", [2, 5])
def test_a_store_that_has_fallen_back_is_told(settings: StoreSettings, store: Store, known: int) -> None:
    if known == 5:
        fold(settings, [message(0), message(1)])
    outcome = fold(settings, [message(known)], known=known)
    assert outcome.trouble is Trouble.POSITION_LOST
    assert held(store) == ([0, 1] if known == 5 else [])


def test_another_sink_that_writes_meanwhile(
    settings: StoreSettings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Overtaken:
        """The store, in which somebody else writes first."""

        operations = 0
        partition_position = store.partition_position

        def write(self, partition: int, batch: PartitionBatch) -> int:
            other = PartitionFold(None)
            other.skip_to(1)
            store.write(partition, other.batch())
            return store.write(partition, batch)

    monkeypatch.setattr(folding, "_opened", lambda _settings: Overtaken())
    outcome = fold(settings, [message(0), message(1)], cut=1)
    assert (outcome.trouble, outcome.next_offset, held(store)) == (Trouble.STALE, None, [])
    monkeypatch.undo()
    assert fold(settings, [message(0), message(1)]).next_offset == 2
    assert held(store) == [1]


def test_a_store_that_is_away(settings: StoreSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_settings: StoreSettings) -> Store:
        raise StoreUnavailableError("redis://here", "gone")

    monkeypatch.setattr(folding, "_opened", away)
    rows = arrow([message(7), message(8)], 1)
    [answer] = fold_partitions(rows, FoldTask(settings, {PARTITION: 7}))
    outcome = decode_outcome(answer.to_pylist()[0])
    assert (outcome.trouble, outcome.next_offset) == (Trouble.STORE_AWAY, 7)
    assert outcome.reason == "the store at redis://here cannot be used: gone"
    assert next(rows, None) is None  # Read to the end: Spark may use the worker again.


def test_large_messages_go_in_several_transactions(
    settings: StoreSettings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "MAX_CHUNK_BYTES", 1000)
    kept: list[Row] = [message(offset, value=b"x" * 300) for offset in range(10)]
    one = fold(settings, kept[:1]).counters.operations
    assert fold(settings, kept, cut=4).counters.operations > 2 * one
    assert held(store) == list(range(10))
    # Messages that are acknowledged at once leave room: one transaction.
    healthy = []
    for offset in range(10, 50, 2):
        healthy += [message(offset, value=b"x" * 300), event(offset + 1, EventKind.ACKED, offset)]
    assert fold(settings, healthy).counters.operations <= one
    assert held(store) == list(range(10))
