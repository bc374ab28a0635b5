"""The view against a model: whatever the order of records, the highest place counts, and what has expired is gone."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import RetainedRecord
from edge.gateway.retained import view as view_module
from edge.gateway.retained.view import RetainedView, Verdict


def retained(
    topic: str, offset: int, payload: bytes = b"x", expiry: int | None = None, published_at_ms: int = 0
) -> RetainedRecord:
    said = MessageProperties(message_expiry=expiry, published_at_ms=published_at_ms)
    return RetainedRecord(PublishRecord(topic, payload, properties=said, retain=True), 0, offset)


def held(view: RetainedView, topic: str) -> int | None:
    found = view.get(topic)
    return None if found is None else found.offset


OFFSETS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.booleans()), min_size=1, max_size=20
)


@given(OFFSETS, st.randoms())
def test_the_highest_place_counts_in_whatever_order(
    places: list[tuple[str, int, bool]], chance: random.Random
) -> None:
    records = {(topic, offset): retained(topic, offset, b"x" * is_set) for topic, offset, is_set in places}
    shown = list(records.values()) + chance.choices(list(records.values()), k=5)
    chance.shuffle(shown)
    view = RetainedView()
    highest: dict[str, int] = {}
    for record in shown:
        verdict = view.take(record, 0)
        before = highest.get(record.topic, -1)
        expected = Verdict.NEW if record.offset > before else Verdict.STALE
        assert verdict is (Verdict.KNOWN if record.offset == before else expected)
        highest[record.topic] = max(before, record.offset)
    for topic, offset in highest.items():
        winner = view.winner(topic)
        assert winner == records[topic, offset]
        assert held(view, topic) == (None if records[topic, offset].is_deletion else offset)


def test_deletions_that_are_remembered_are_bounded() -> None:
    view = RetainedView()
    for number in range(view_module._DELETIONS + 1):
        view.take(retained(f"t/{number}", 5, b""), 0)
    assert view.take(retained("t/1", 4), 0) is Verdict.STALE
    assert view.take(retained("t/0", 4), 0) is Verdict.NEW  # forgotten: the oldest of them
    assert view.winner("t/2") == retained("t/2", 5, b"")


def test_another_partition_is_another_numbering() -> None:
    """`tbmq.msg.all` has got more partitions: what comes later in the log counts."""
    view = RetainedView()
    view.take(retained("t", 100), 0)
    moved = RetainedRecord(PublishRecord("t", b"new"), 7, 3)
    assert view.take(moved, 0) is Verdict.NEW
    assert held(view, "t") == 3


def test_what_expires_is_gone_and_its_tombstone_is_known() -> None:  # M20
    view = RetainedView()
    view.take(retained("t", 1, expiry=20, published_at_ms=1_000), 2_000)
    view.take(retained("stays", 2), 2_000)
    assert view.next_expiry_ms() == 21_000
    assert view.expire(20_999) == []
    [gone] = view.expire(21_000)
    assert (gone.topic, gone.offset, gone.is_deletion) == ("t", 1, True)
    assert held(view, "t") is None
    assert view.take(gone, 21_000) is Verdict.KNOWN
    assert view.next_expiry_ms() is None
    assert len(view) == 1


def test_a_tombstone_of_another_gateway_ends_what_has_not_expired_here_yet() -> None:
    view = RetainedView()
    record = retained("t", 1, expiry=20)
    view.take(record, 0)
    assert view.take(retained("t", 1, b""), 0) is Verdict.NEW
    assert held(view, "t") is None
    assert view.take(record, 0) is Verdict.KNOWN


def test_a_newer_message_does_not_expire_with_the_one_before() -> None:
    view = RetainedView()
    view.take(retained("t", 1, expiry=20), 0)
    view.take(retained("t", 2), 0)
    assert view.expire(30_000) == []
    assert held(view, "t") == 2


def test_a_clock_that_goes_before_does_not_prolong_a_life() -> None:
    view = RetainedView()
    view.take(retained("t", 1, expiry=20, published_at_ms=900_000), 1_000)
    assert view.next_expiry_ms() == 21_000


def test_the_heap_does_not_grow_with_messages_that_are_replaced() -> None:
    view = RetainedView()
    for offset in range(10_000):
        view.take(retained("t", offset, expiry=1_000 + offset), 0)
    assert len(view._expiries) < 1_100
    assert [gone.offset for gone in view.expire(1 << 60)] == [9_999]
