"""Members take turns, repeats are dropped, and where each message goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.application_shares import EntityMarks
from contracts.probe_record import PROBE_KEY
from edge.gateway.application_shares.dispatch import Delivery, EntityMessage, EntityPartition, Turns
from edge.gateway.application_shares.members import Member, Members


def headers(source: tuple[int, int], qos: bytes = b"1", filter: str = "t") -> list[tuple[str, bytes | None]]:
    return [("qos", qos), ("topic", b"t"), ("id", b"%d:%d" % source), ("filter", filter.encode())]


def message(number: int, qos: int = 1) -> EntityMessage:
    return EntityMessage(1, number, qos, b"", ())


def test_take() -> None:
    partition = EntityPartition(2, 77, 10, EntityMarks({0: 5}))
    taken = [
        partition.take(10, b"old", headers((0, 5))),
        partition.take(11, b"new", headers((0, 6), b"2")),
        partition.take(12, b"new", headers((0, 6))),
        partition.take(13, b"", headers((0, 7), filter=PROBE_KEY)),
        partition.take(14, b"", headers((0, 7), b"x")),
        partition.take(15, None, []),
        partition.take(17, None, headers((1, 0))),
    ]
    assert taken[1] == EntityMessage(77, 11, 2, b"new", headers((0, 6), b"2"))
    assert taken[6] == EntityMessage(77, 17, 1, b"", headers((1, 0)))
    assert [taken[i] for i in (0, 2, 3, 4, 5)] == [None] * 5
    assert (partition.next_offset, partition.marks, partition.unreadable) == (
        18,
        EntityMarks({0: 6, 1: 0}),
        2,
    )


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 4))
def test_turns_go_on_over_rounds(rounds: list[int], count: int) -> None:
    members = [Member(str(number), 1) for number in range(count)]
    turns = Turns()
    chosen = [
        delivery.member.client_id
        for size in rounds
        for delivery in turns.choose([message(number) for number in range(size)], members)
    ]
    assert chosen == [str(number % count) for number in range(sum(rounds))]


def test_members_that_come_and_go_are_passed_over() -> None:
    turns = Turns()

    def next_of(*names: str) -> str:
        [delivery] = turns.choose([message(0)], [Member(name, 1) for name in names])
        return delivery.member.client_id

    assert [next_of("a", "b"), next_of("a", "b", "c"), next_of("a", "b", "c")] == ["a", "b", "c"]
    assert [next_of("c", "d"), next_of("c"), next_of("b", "d")] == ["d", "c", "b"]


def test_what_goes_into_a_session() -> None:
    assert [
        [Delivery(message(0, published), Member("m", granted)).is_into_session for granted in range(3)]
        for published in range(3)
    ] == [[False] * 3, [False, True, True], [False, True, True]]


def test_whoever_leaves_in_the_middle_of_a_round_waits_for_its_end() -> None:
    members = Members()
    told: list[str] = []
    members.put(Member("a", 1))
    members.put(Member("b", 1))
    members.put(Member("b", 2))
    with members.round() as chosen:
        assert chosen == (Member("a", 1), Member("b", 2))
        members.remove("a", lambda: told.append("a"))
        assert told == []
    assert told == ["a"]
    members.remove("b", lambda: told.append("b"))
    assert told == ["a", "b"]
    assert not members
