"""The agenda against a plain list, in any order of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.delayed.agenda import Agenda

_ALL = 1_000
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 5)),
        st.tuples(st.just("remove"), KEYS, st.just(0)),
        st.tuples(st.just("due"), KEYS, st.integers(0, 6)),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 3))
def test_it_is_a_sorted_list(steps: list[tuple[str, bytes, int]], most: int) -> None:
    agenda = Agenda()
    plain: dict[bytes, tuple[int, int]] = {}
    for offset, (what, key, number) in enumerate(steps):
        if what == "put":
            agenda.put(key, number, offset, 1)
            plain[key] = number, offset
        elif what == "remove":
            agenda.remove(key)
            plain.pop(key, None)
        else:
            due = agenda.take_due(number, most, _ALL)
            wanted = sorted(place for place in plain.values() if place[0] <= number)[:most]
            assert [place for _, place in due] == [at for _, at in wanted]
            assert len(agenda) == len(plain)  # they count until they are published
            for key_of_due, _ in due:
                agenda.remove(key_of_due)
                del plain[key_of_due]
        assert len(agenda) == len(plain)
        assert agenda.next_due_ms == min((at for at, _ in plain.values()), default=None)


def test_a_portion_ends_with_the_message_that_fills_it() -> None:
    agenda = Agenda()
    for offset in range(4):
        agenda.put(b"%d" % offset, 0, offset, 10)
    assert [offset for _, offset in agenda.take_due(0, _ALL, 15)] == [0, 1]
    assert [offset for _, offset in agenda.take_due(0, _ALL, 15)] == [2, 3]


def test_what_was_not_published_is_put_back() -> None:
    agenda = Agenda()
    agenda.put(b"k", 0, 7, 1)
    assert agenda.take_due(0, 1, _ALL) == [(b"k", 7)]
    assert agenda.take_due(9, 1, _ALL) == []
    agenda.put(b"k", 5, 7, 1)
    assert agenda.take_due(4, 1, _ALL) == []
    assert agenda.take_due(5, 1, _ALL) == [(b"k", 7)]
