"""The pure core: who gets what, one rule after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from contracts.probe_record import PROBE_KEY
from contracts.shared_record import SOURCES, RecordHeaders
from edge.gateway.shares import dispatch as dispatch_module
from edge.gateway.shares.dispatch import (
    Deliver,
    Dispatch,
    Mark,
    Park,
    SharedMessage,
    Unpark,
    Write,
    is_abandoned,
    portions_of,
    receiver,
)
from edge.gateway.shares.groups import Member
from edge.gateway.shares.strategies import Strategies, StrategyName

G = "$share/g/t"


def message(qos: int = 1, source: str = "0:0", group: str = G, sent_by: str = "p@n") -> RecordHeaders:
    """Headers of a record in `tbmq.msg.shared`; `sent_by` is client id, `@`, and gateway."""
    client_id, _, node = sent_by.encode().partition(b"@")
    return [
        ("client-id", client_id), ("node", node), ("qos", b"%d" % qos),
        ("topic", b"t"), ("id", source.encode()), ("filter", group.encode()),
    ]  # fmt: skip


def member(name: str, qos: int = 2, *, lasting: bool = True, online: bool = True, node: str = "n") -> Member:
    return Member(name, node, qos, lasting, online)


def planned(dispatch: Dispatch, *members: Member, nodes: Sequence[str] | None = None) -> list[Write]:
    """What is decided, and committed."""
    writes = dispatch.plan(lambda _: members, nodes)
    dispatch.planned()
    return writes


def taken(count: int, qos: int = 1) -> Dispatch:
    dispatch = Dispatch()
    for number in range(count):
        dispatch.take(number, b"%d" % number, message(qos, f"0:{number}"))
    return dispatch


def chosen(writes: Sequence[Write]) -> list[str]:
    return [write.member.client_id for write in writes if isinstance(write, Deliver)]


def test_members_online_take_turns() -> None:
    a, b, away = member("a"), member("b", lasting=False), member("away", online=False)
    writes = planned(taken(5), a, away, b)
    assert chosen(writes) in (["a", "b"] * 2 + ["a"], ["b", "a"] * 2 + ["b"])
    assert [write.sequence for write in writes if isinstance(write, Deliver)] == list(range(5))


@pytest.mark.parametrize("name", StrategyName)
def test_a_strategy_chooses_among_those_that_are_here(name: StrategyName) -> None:
    """Whoever is away, or whose gateway is, gets nothing, whatever the strategy would like best."""
    away, lost, here = member("away", online=False), member("lost", node="x"), member("here", node="m")
    dispatch = Dispatch(strategies=Strategies(StrategyName.RANDOM, {"g": name}))
    for number in range(20):
        dispatch.take(number, b"", message(source=f"0:{number}", sent_by=f"p{number}@x"))
    assert chosen(planned(dispatch, away, lost, here, nodes=["n", "m"])) == ["here"] * 20


def test_a_strategy_knows_who_published_where() -> None:
    members = [member("a", node="n"), member("b", node="m"), member("c", node="m")]
    local = Dispatch(strategies=Strategies(StrategyName.LOCAL))
    by_client = Dispatch(strategies=Strategies(StrategyName.HASH_CLIENTID))
    for dispatch in (local, by_client):
        for number in range(60):
            sent_by = f"p{number % 20}@{'n' if number % 2 else 'm'}"
            dispatch.take(number, b"", message(source=f"0:{number}", sent_by=sent_by))
    got = chosen(planned(local, *members))
    assert set(got[1::2]) == {"a"}
    assert set(got[::2]) == {"b", "c"}
    got = chosen(planned(by_client, *members))
    assert got[:20] == got[20:40] == got[40:]
    assert len(set(got)) > 1


def test_sticky_moves_when_its_member_goes() -> None:
    dispatch = Dispatch(strategies=Strategies(StrategyName.STICKY))
    two = [member("a"), member("b")]

    def next_of(*members: Member) -> list[str]:
        begin = dispatch.state.next_offset
        for number in range(begin, begin + 5):
            dispatch.take(number, b"", message(source=f"0:{number}"))
        return chosen(planned(dispatch, *members))

    first = next_of(*two)
    assert len(set(first)) == 1
    assert next_of(*two) == first
    other = [one for one in two if one.client_id != first[0]]
    moved = next_of(*other)
    assert moved == [other[0].client_id] * 5
    assert next_of(*two) == moved


def test_what_goes_into_a_session() -> None:
    for qos, granted, lasting, into_session in (
        (1, 1, True, True), (2, 1, True, True), (0, 2, True, False), (2, 0, True, False), (2, 2, False, False)
    ):  # fmt: skip
        [write] = planned(taken(1, qos), member("a", granted, lasting=lasting))
        assert isinstance(write, Deliver)
        assert write.is_into_session is into_session


def test_nobody_online_parks_what_can_wait() -> None:
    dispatch = taken(2)
    writes = planned(dispatch, member("a", online=False))
    assert [type(write) for write in writes] == [Mark, Park, Park]
    assert dispatch.parked == {G}
    dispatch.take(2, b"", message(0, "0:2"))
    assert planned(dispatch, member("a", online=False)) == []
    dispatch.take(3, b"", message(1, "0:3"))
    assert planned(dispatch, member("a", qos=0, online=False)) == []
    assert dispatch.take_dropped() == 1
    dispatch.take(4, b"", message(1, "0:4"))
    assert planned(dispatch) == []
    assert dispatch.take_dropped() == 1
    # Somebody is back: nothing newer overtakes what is parked.
    dispatch.take(5, b"", message(1, "0:5"))
    assert [type(write) for write in planned(dispatch, member("a"))] == [Park]


def test_gateways_that_are_gone_get_nothing_while_there_is_another_way() -> None:
    gone, here = member("gone", node="x", lasting=False), member("here")
    assert chosen(planned(taken(4), gone, here, nodes=["n"])) == ["here"] * 4
    # A session that lasts has it until its client is back.
    assert chosen(planned(taken(1), gone, member("a", node="x"), nodes=["n"])) == ["a"]
    assert isinstance(planned(taken(1), gone, member("a", online=False), nodes=["n"])[-1], Park)
    # Better than to nobody: it may be only that Kafka has not been asked yet.
    assert chosen(planned(taken(1), gone, nodes=["n"])) == ["gone"]


def test_a_router_that_repeats_changes_nothing() -> None:
    dispatch = taken(3)
    for offset, source in enumerate(("0:1", "0:2", "1:0", "0:3"), 3):
        dispatch.take(offset, b"", message(source=source))
    assert len(planned(dispatch, member("a"))) == 5
    dispatch.take(0, b"", message(source="7:7"))  # read again after a rebalance
    dispatch.take(7, b"", message(source=f"{SOURCES + 3}:1"))  # what comes back from a member is always new
    dispatch.take(8, b"", message(source=f"{SOURCES + 3}:1"))
    assert len(planned(dispatch, member("a"))) == 2


def test_what_is_no_message_is_passed_over() -> None:
    dispatch = Dispatch()
    dispatch.take(0, b"", [("topic", b"t"), ("id", b"0:0"), ("filter", f"$share/0/{PROBE_KEY}".encode())])
    assert dispatch.unreadable == 0
    dispatch.take(1, b"", [])
    dispatch.take(2, b"", message(group="t"))
    dispatch.take(3, b"", message(qos=7))
    assert (dispatch.unreadable, dispatch.pending, dispatch.state.next_offset) == (3, [], 4)


def test_parked_messages_are_given_out() -> None:
    dispatch = taken(2)
    planned(dispatch, member("a", online=False))
    back = member("a")
    parked = [(10 + n, SharedMessage(G, 1, b"", message())) for n in range(3)]
    first = dispatch.give(G, parked[:2], back, is_last=False)
    assert chosen(first) == ["a", "a"]
    assert first[-1] == Unpark(G, (10, 11))
    assert dispatch.parked == {G}
    dispatch.given()
    last = dispatch.give(G, parked[2:], back, is_last=True)
    assert last[1:] == [Unpark(G, (12,)), Mark(G, False)]
    assert dispatch.parked == set()
    assert [write.sequence for write in (*first, *last) if isinstance(write, Deliver)] == [2, 3, 4]


def test_who_gets_what_is_parked() -> None:
    lasting, away, clean = member("a"), member("b", online=False), member("c", lasting=False)
    assert receiver([clean, away, lasting]) == lasting
    assert receiver([clean, away]) is None  # It is kept for them who were owed it,
    assert receiver([clean, member("d", qos=0)]) == clean  # unless none of them is left.
    assert receiver([member("x", node="x"), lasting], ["n"]) == lasting
    assert receiver([]) is None
    assert is_abandoned([])
    assert is_abandoned([member("d", qos=0, online=False)])
    assert not is_abandoned([away])
    dispatch = taken(1)
    planned(dispatch, away)
    assert dispatch.give(G, [], None, is_last=True) == [Unpark(G, None), Mark(G, False)]


def test_undone_it_is_as_if_nothing_was_asked() -> None:
    dispatch = taken(2)
    groups: Mapping[str, list[Member]] = {G: [member("a", online=False)]}
    assert len(dispatch.plan(lambda group: groups[group])) == 3
    dispatch.undo()
    assert (dispatch.state.sequence, dispatch.parked, len(dispatch.pending)) == (0, set(), 2)
    assert chosen(planned(dispatch, member("b"))) == ["b", "b"]
    dispatch.undo()  # of what is committed: nothing
    assert dispatch.state.sequence == 2


def test_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    parked = [(number, SharedMessage(G, 1, b"x" * 10, [])) for number in range(7)]
    assert portions_of(parked) == [parked]
    assert portions_of([]) == [[]]
    monkeypatch.setattr(dispatch_module, "PORTION", 3)
    assert [len(portion) for portion in portions_of(parked)] == [3, 3, 1]
    monkeypatch.setattr(dispatch_module, "PORTION_BYTES", 25)
    assert portions_of(parked) == [parked[:2], parked[2:4], parked[4:6], parked[6:]]
    monkeypatch.setattr(dispatch_module, "PORTION_BYTES", 5)
    assert [len(portion) for portion in portions_of(parked)] == [1] * 7
