"""Claims as a pure machine over the log: never two holders, and every reader, early or late, of one mind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edge.gateway.exclusive.claims import CLAIMED, HELD, ExclusiveClaims

FILTER = "$exclusive/a"

Record = tuple[str, int | None]
"""Client and QoS; None for a tombstone."""


def read_all(claims: ExclusiveClaims, records: list[Record]) -> ExclusiveClaims:
    for client, qos in records:
        if qos is None:
            claims.end(client, FILTER)
        else:
            claims.read(client, FILTER, qos)
    return claims


def test_the_first_holds_it_until_its_end() -> None:
    outcomes: list[tuple[str, bool]] = []
    claims = ExclusiveClaims()

    def expect(client: str) -> Callable[[bool], None]:
        return lambda holds: outcomes.append((client, holds))

    for client in "ab":
        claims.await_claim(client, FILTER, expect(client))
    read_all(claims, [("a", CLAIMED), ("b", CLAIMED), ("a", HELD), ("b", None)])
    assert claims.holder(FILTER) == "a"
    claims.await_claim("a", FILTER, expect("a"))
    read_all(claims, [("a", CLAIMED), ("a", None)])
    claims.await_claim("b", FILTER, expect("b"))
    read_all(claims, [("b", CLAIMED)])
    assert outcomes == [("a", True), ("b", False), ("a", True), ("b", True)]


def test_other_filters_are_none_of_its_business() -> None:
    claims = ExclusiveClaims()
    claims.read("a", "a", HELD)
    claims.read("a", "$share/g/a", HELD)
    assert len(claims) == 0


class Node:
    """A gateway: what it has read, and its clients' wishes."""

    def __init__(self) -> None:
        self.claims = ExclusiveClaims()
        self.position = 0


class Cluster(RuleBasedStateMachine):
    """Gateways with one log between them, each at its own pace. A client lives at one gateway."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Record] = []
        self.nodes: list[Node] = []
        self.home: dict[str, Node] = {}
        self.asking: set[str] = set()
        self.holding: set[str] = set()

    @initialize(count=st.integers(1, 3))
    def begin(self, count: int) -> None:
        self.nodes = [Node() for _ in range(count)]
        self.home = {f"c{n}": self.nodes[n % count] for n in range(4)}

    @rule(client=st.sampled_from(["c0", "c1", "c2", "c3"]))
    def subscribe(self, client: str) -> None:
        if client in self.asking:
            return  # its packets wait their turn
        self.asking.add(client)

        def told(holds: bool) -> None:
            self.asking.discard(client)
            if holds:
                self.holding.add(client)
                self.log.append((client, HELD))
            else:
                assert client not in self.holding, "a renewal never fails"
                self.log.append((client, None))

        self.home[client].claims.await_claim(client, FILTER, told)
        self.log.append((client, CLAIMED))

    @rule(data=st.data())
    @precondition(lambda self: self.holding - self.asking)
    def unsubscribe(self, data: Any) -> None:
        client = data.draw(st.sampled_from(sorted(self.holding - self.asking)))
        self.holding.discard(client)
        self.log.append((client, None))

    @rule(data=st.data())
    @precondition(lambda self: any(node.position < len(self.log) for node in self.nodes))
    def read(self, data: Any) -> None:
        node = data.draw(st.sampled_from([n for n in self.nodes if n.position < len(self.log)]))
        read_all(node.claims, [self.log[node.position]])
        node.position += 1

    @rule()
    def settle(self) -> None:
        while any(node.position < len(self.log) for node in self.nodes):
            for node in self.nodes:
                rest = self.log[node.position :]
                node.position = len(self.log)
                read_all(node.claims, rest)
        assert not self.asking
        holders = {node.claims.holder(FILTER) for node in self.nodes}
        expected: set[str | None] = {*self.holding} or {None}
        assert holders == expected
        for tombstones in (True, False):  # who starts later, on a log that was compacted, agrees
            last = {client: at for at, (client, _) in enumerate(self.log)}
            rest = [self.log[at] for at in sorted(last.values()) if tombstones or self.log[at][1] is not None]
            assert {read_all(ExclusiveClaims(), rest).holder(FILTER)} == expected

    @invariant()
    def never_two(self) -> None:
        assert len(self.holding) <= 1


TestCluster = Cluster.TestCase


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([CLAIMED, HELD, None]))))
def test_all_who_read_the_same_say_the_same(records: list[Record]) -> None:
    whole = read_all(ExclusiveClaims(), records)
    parts = ExclusiveClaims()
    for record in records:
        read_all(parts, [record])
    assert parts.holder(FILTER) == whole.holder(FILTER)
