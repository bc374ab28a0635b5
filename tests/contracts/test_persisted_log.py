"""What the persisted log amounts to is the same however it is cut, and the store plus the rest give it to a reader."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import RecordError
from contracts.persisted_log import (
    Backlog,
    PartitionBatch,
    PartitionFold,
    Position,
    Repeats,
    join_repeats,
    split_repeats,
)
from contracts.persisted_record import Event, EventKind, Message

CLIENTS = ("a", "b", "c")
GROUP = "$share/g/f"
Record = Message | Event


def message(
    offset: int, client_id: str = "a", source: tuple[int, int] = (0, 0), filter: str = "f"
) -> Message:
    return Message(offset, client_id, *source, "t", filter, b"%d" % offset, ())


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Any records with ascending offsets: replays, late and repeated events, offsets that name nothing."""
    records: list[Record] = []
    offset = 0
    for gap in draw(st.lists(st.sampled_from([1, 1, 1, 2, 65_535]), max_size=40)):
        offset += gap
        client_id = draw(st.sampled_from(CLIENTS))
        kind = draw(st.sampled_from([None, None, None, *EventKind]))
        if kind is None:
            source = draw(st.tuples(st.integers(0, 1), st.integers(0, 8)))
            records.append(message(offset, client_id, source, draw(st.sampled_from(["f", "g", GROUP]))))
        else:
            earlier = [record.offset for record in records] or [0]
            named = (
                draw(st.lists(st.sampled_from(earlier), max_size=4)) if kind is not EventKind.CLEARED else []
            )
            records.append(Event(offset, client_id, kind, tuple(named)))
    return records


Backlogs = dict[str, Backlog[Message]]


class ModelStore:
    """The least that a store must do."""

    def __init__(self) -> None:
        self.position: Position | None = None
        self.clients: Backlogs = {client_id: Backlog() for client_id in CLIENTS}

    def write(self, batch: PartitionBatch) -> None:
        assert batch.expected == self.position
        self.position = batch.position
        for client_id, changes in batch.clients.items():
            backlog = self.clients[client_id]
            if changes.cleared is not None:
                backlog.cleared(changes.cleared)
            backlog.acked(changes.deleted)
            backlog.received(changes.received)
            assert not changes.added.keys() & changes.received
            for offset, added in changes.added.items():
                backlog.add(offset, added)


def read(log: Iterable[Record], repeats: Repeats, backlogs: Backlogs) -> None:
    """What a gateway does with the log."""
    for record in log:
        if isinstance(record, Event):
            if record.client_id in backlogs:
                backlogs[record.client_id].apply(record)
        elif (
            not repeats.is_repeat(
                record.source_partition, record.source_offset, record.client_id, record.filter
            )
            and record.client_id in backlogs
        ):
            backlogs[record.client_id].add(record.offset, record)


def stored(log: list[Record], cuts: list[int]) -> ModelStore:
    """The store after the log was folded in pieces, the first of them from nothing."""
    store = ModelStore()
    bounds = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    for begin, end in itertools.pairwise(bounds):
        fold = PartitionFold(store.position)
        for record in log[begin:end]:
            fold.take(record)
        store.write(fold.batch())
    return store


def state(backlogs: Backlogs) -> dict[str, tuple[list[tuple[int, Message]], set[int]]]:
    return {name: (list(one.pending.items()), one.received_offsets) for name, one in backlogs.items()}


CUTS = st.lists(st.integers(0, 40), max_size=5)


@given(logs(), CUTS)
def test_any_cuts_give_what_the_whole_log_gives(log: list[Record], cuts: list[int]) -> None:
    whole: Backlogs = {client_id: Backlog() for client_id in CLIENTS}
    repeats = Repeats()
    read(log, repeats, whole)
    store = stored(log, cuts)
    assert state(store.clients) == state(whole)
    assert store.position is not None
    assert store.position.repeats == repeats.to_json()


@given(logs(), CUTS, st.integers(0, 40), st.sampled_from(CLIENTS))
def test_the_store_and_the_rest_of_the_log_give_a_client_its_backlog(
    log: list[Record], cuts: list[int], reached: int, client_id: str
) -> None:
    whole: Backlogs = {client_id: Backlog()}
    read(log, Repeats(), whole)
    store = stored(log[:reached], cuts)
    assert store.position is not None
    marks, seen = split_repeats(store.position.repeats)
    own = {client_id: seen[client_id]} if client_id in seen else {}
    repeats = Repeats.from_json(join_repeats(marks, own))  # what a store's `backlog` gives
    found = store.clients[client_id]
    backlogs: Backlogs = {client_id: Backlog(found.pending, found.received_offsets)}
    read(log[reached:], repeats, backlogs)
    assert state(backlogs) == state(whole)


@given(logs(), CUTS, st.integers(0, 40))
def test_records_that_are_in_already_are_passed_over(log: list[Record], cuts: list[int], again: int) -> None:
    store = stored(log, cuts)
    fold = PartitionFold(store.position)
    for record in log[again:]:
        fold.take(record)
    assert not fold.batch().clients
    assert fold.batch().position == store.position


def test_what_is_acknowledged_in_its_batch_never_reaches_the_store() -> None:
    fold = PartitionFold(None)
    for record in (message(0), message(1, source=(0, 1)), Event(2, "a", EventKind.ACKED, (0, 1))):
        fold.take(record)
    assert not fold.batch().clients
    assert fold.batch().position.next_offset == 3


def test_a_replay_is_told_by_source_offset_and_client() -> None:
    fold = PartitionFold(None)
    for offset, (source, client_id, filter) in enumerate(
        [
            (4, "a", "f"),
            (4, "b", "f"),
            (4, "a", "g"),  # the same message, by another of its filters
            (3, "c", "f"),
            (4, "a", "f"),
            (5, "a", "g"),
            (4, "c", "f"),
            (5, "a", "f"),
        ]
    ):
        fold.take(message(offset, client_id, (0, source), filter))
    assert {name: list(one.added) for name, one in fold.clients.items()} == {"a": [0, 5], "b": [1]}
    assert fold.repeated == 5


def test_what_comes_by_a_group_is_a_message_of_its_own() -> None:
    fold = PartitionFold(None)
    for offset, filter in enumerate(["f", GROUP, "g", GROUP, "$share/h/f"]):
        fold.take(message(offset, "a", (0, 7), filter))
    assert list(fold.clients["a"].added) == [0, 1, 4]


SENT = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(CLIENTS), st.sampled_from("fgh")), max_size=12)


@given(SENT, st.data())
def test_each_client_has_each_message_once_however_often_it_is_routed(
    sent: list[tuple[int, str, str]], data: st.DataObject
) -> None:
    """Two routers write all that is sent, each by filters in an order of its own, now the one and now the other."""
    orders = [data.draw(st.permutations("fgh")) for _ in range(2)]
    written = [
        [
            one
            for source in range(4)
            for filter in order
            for one in sent
            if (one[0], one[2]) == (source, filter)
        ]
        for order in orders
    ]
    repeats, given_to = Repeats(), []
    while any(written):
        source, client_id, filter = data.draw(st.sampled_from([one for one in written if one])).pop(0)
        if not repeats.is_repeat(0, source, client_id, filter):
            given_to.append((source, client_id))
    assert sorted(given_to) == sorted({(source, client_id) for source, client_id, _ in sent})
    for client_id in CLIENTS:
        assert (mine := [one for one in given_to if one[1] == client_id]) == sorted(mine)


def test_gaps_move_the_position_but_never_back() -> None:
    fold = PartitionFold(Position(5, Repeats().to_json()))
    fold.skip_to(9)
    fold.skip_to(7)
    fold.take(message(8))
    assert fold.batch().position.next_offset == 9
    assert not fold.batch().clients


def test_what_each_client_knows_together_is_what_was_seen() -> None:
    whole, together = Repeats(), Repeats()
    for source, offset, client_id in [(0, 7, "a"), (0, 7, "b"), (1, 4, "b"), (2, 1, "c")]:
        whole.is_repeat(source, offset, client_id, "f")
    marks, seen = split_repeats(whole.to_json())
    for client_id in CLIENTS:
        line = {client_id: seen[client_id]}
        together.include(Repeats.from_json(join_repeats(marks, line)))
    assert together.to_json() == whole.to_json()


def test_a_higher_mark_replaces_what_was_seen_at_a_lower() -> None:
    low, high = Repeats(), Repeats()
    low.is_repeat(0, 3, "a", "f")
    high.is_repeat(0, 5, "b", "f")
    low.include(high)
    high.include(Repeats())
    assert low.to_json() == high.to_json()


def test_repeats_split_and_join() -> None:
    repeats = Repeats()
    for source, client_id, filter in [(0, 'q"', "f"), (0, "é", "f"), (3, "é", "$share/é/g"), (3, "é", "a")]:
        repeats.is_repeat(source, 7, client_id, filter)
    text = repeats.to_json()
    assert text == ('{"marks":{"0":7,"3":7},"seen":{"q\\"":{"0":[""]},"é":{"0":[""],"3":["","$share/é/g"]}}}')
    assert join_repeats(*split_repeats(text)) == text == Repeats.from_json(text).to_json()


def test_an_earlier_version_named_every_filter() -> None:
    repeats = Repeats.from_json('{"marks":{"0":7},"seen":{"a":{"0":["f","g/#"]},"b":{"0":["$share/g/f"]}}}')
    assert repeats.is_repeat(0, 7, "a", "h")
    assert repeats.is_repeat(0, 7, "b", "$share/g/f")
    assert not repeats.is_repeat(0, 7, "b", "f")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"marks":{"a":1},"seen":{}}', '{"marks":{},"seen":{"a":{"0":["f"]}}}']
)
def test_a_broken_state_of_repeats_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        Repeats.from_json(text)
