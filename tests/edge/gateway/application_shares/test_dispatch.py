"""Repeats are dropped, and where each message goes."""

from __future__ import annotations

from contracts.application_shares import EntityMarks
from contracts.probe_record import PROBE_KEY
from edge.gateway.application_shares.dispatch import Delivery, EntityMessage, EntityPartition
from edge.gateway.application_shares.members import Member, Members
from edge.gateway.shares.strategies import UNKNOWN, Origin


def headers(source: tuple[int, int], qos: bytes = b"1", filter: str = "t") -> list[tuple[str, bytes | None]]:
    return [
        ("client-id", b"p"),
        ("node", b"gw1"),
        ("qos", qos),
        ("topic", b"t"),
        ("id", b"%d:%d" % source),
        ("filter", filter.encode()),
    ]


def message(number: int, qos: int = 1) -> EntityMessage:
    return EntityMessage(1, number, qos, b"", (), UNKNOWN)


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
    origin = Origin("p", "t", "gw1")
    assert taken[1] == EntityMessage(77, 11, 2, b"new", headers((0, 6), b"2"), origin)
    assert taken[6] == EntityMessage(77, 17, 1, b"", headers((1, 0)), origin)
    assert [taken[i] for i in (0, 2, 3, 4, 5)] == [None] * 5
    assert (partition.next_offset, partition.marks, partition.unreadable) == (
        18,
        EntityMarks({0: 6, 1: 0}),
        2,
    )


def test_what_goes_into_a_session() -> None:
    assert [
        [Delivery(message(0, published), Member("m", granted, "n")).is_into_session for granted in range(3)]
        for published in range(3)
    ] == [[False] * 3, [False, True, True], [False, True, True]]


def test_whoever_leaves_in_the_middle_of_a_round_waits_for_its_end() -> None:
    members = Members()
    told: list[str] = []
    members.put(Member("a", 1, "n"))
    members.put(Member("b", 1, "n"))
    members.put(Member("b", 2, "n"))
    with members.round() as chosen:
        assert chosen == (Member("a", 1, "n"), Member("b", 2, "n"))
        members.remove("a", lambda: told.append("a"))
        assert told == []
    assert told == ["a"]
    members.remove("b", lambda: told.append("b"))
    assert told == ["a", "b"]
    assert not members
