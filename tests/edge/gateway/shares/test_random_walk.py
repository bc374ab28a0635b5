"""Random walks: members come, go and end, the router repeats, dispatchers die; each message goes to one place, once."""

from __future__ import annotations

import random

import pytest

from contracts.shared_record import DispatchState, decode_state, encode_state
from edge.gateway.shares.dispatch import (
    Deliver,
    Dispatch,
    Mark,
    Park,
    SharedMessage,
    Unpark,
    Write,
    is_abandoned,
    receiver,
)
from edge.gateway.shares.groups import Member
from edge.gateway.shares.strategies import Strategies, StrategyName
from tests.edge.gateway.shares.test_dispatch import message

GROUPS = ["$share/g/t", "$share/h/t"]


class World:
    """Kafka and the members, as far as a dispatcher sees them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        names = list(StrategyName)
        self.strategies = Strategies(names[seed % len(names)])
        self.log: list[tuple[bytes, str]] = []
        """(value, group): what the router has written, repeats included."""
        self.written = 0
        self.members: dict[str, dict[str, Member]] = {group: {} for group in GROUPS}
        self.delivered: dict[str, list[tuple[str, str, int]]] = {}
        """value → (group, member, sequence)."""
        self.parked: dict[str, dict[int, SharedMessage]] = {group: {} for group in GROUPS}
        self.by_member: dict[tuple[str, str], list[int]] = {}
        self.void = 0
        self.dropped = 0
        self.offset = 0
        self.state, self.marks = encode_state(DispatchState()), set[str]()
        self.dispatch = Dispatch(strategies=self.strategies)

    def restart(self) -> None:
        """A successor begins with what was committed."""
        self.dispatch = Dispatch(decode_state(self.state), set(self.marks), self.strategies)

    def publish(self) -> None:
        value = b"%d" % self.written
        for group in GROUPS:
            self.log.append((value, group))
        self.written += 1

    def repeat(self) -> None:
        """The router's next life begins somewhere before."""
        self.log += self.log[-self.random.randrange(1, 40) :]

    def change_member(self) -> None:
        group = self.random.choice(GROUPS)
        name = self.random.choice("abc")
        if self.random.random() < 0.3:
            self.members[group].pop(name, None)
            return
        lasting = name != "c"
        online = not lasting or self.random.random() < 0.6
        self.members[group][name] = Member(name, self.random.choice("nm"), 2, lasting, online)

    def members_of(self, group: str) -> list[Member]:
        return list(self.members[group].values())

    def round(self) -> None:
        """One transaction, which may fail, or be found to be late."""
        nodes = self.random.choice([None, ["n"], ["n", "m"]])
        for group in sorted(self.dispatch.parked if not self.dispatch.pending else ()):
            members = self.members_of(group)
            to = receiver(members, nodes)
            if to is None and not is_abandoned(members):
                continue
            some = sorted(self.parked[group].items())[: self.random.randrange(1, 4)]
            is_last = to is None or len(some) == len(self.parked[group])
            writes = self.dispatch.give(group, some if to else [], to, is_last)
            if not self.commit(writes):
                return
            self.dispatch.given()
            if group in self.dispatch.parked:
                return  # nothing newer before all of it
        start = self.dispatch.state.next_offset
        for offset in range(start, min(start + self.random.randrange(6), len(self.log))):
            value, group = self.log[offset]
            self.dispatch.take(offset, value, message(1, f"0:{value.decode()}", group))
        writes = self.dispatch.plan(self.members_of, nodes)
        if self.commit(writes):
            self.dispatch.planned()
            self.dropped += self.dispatch.take_dropped()

    def commit(self, writes: list[Write]) -> bool:
        luck = self.random.random()
        if luck < 0.1:
            self.restart()
            return False
        if luck < 0.2:
            self.dispatch.undo()
            return False
        for write in writes:
            self.carry_out(write)
        self.state, self.marks = encode_state(self.dispatch.state), set(self.dispatch.parked)
        return True

    def carry_out(self, write: Write) -> None:
        self.offset += 1
        if isinstance(write, Deliver):
            value, who = write.message.value.decode(), write.member.client_id
            self.delivered.setdefault(value, []).append((write.message.group, who, write.sequence))
            self.by_member.setdefault((write.message.group, who), []).append(int(value))
        elif isinstance(write, Park):
            self.parked[write.message.group][self.offset] = write.message
        elif isinstance(write, Unpark):
            if write.offsets is None:
                self.void += len(self.parked[write.group])
                self.parked[write.group].clear()
            for offset in write.offsets or ():
                del self.parked[write.group][offset]
        else:
            assert isinstance(write, Mark)
            assert write.is_parked is not (write.group in self.marks)

    def check(self) -> None:
        places = [one for ways in self.delivered.values() for one in ways]
        for value, ways in self.delivered.items():
            groups = [group for group, _, _ in ways]
            assert len(groups) == len(set(groups)), value  # one member of each group
        numbers = [sequence for _, _, sequence in places]
        assert len(numbers) == len(set(numbers))
        waiting = sum(map(len, self.parked.values()))
        handled = len(places) + waiting + self.void + self.dropped
        assert handled == 2 * self.written
        assert {group for group in GROUPS if self.parked[group]} <= self.marks
        for (_, who), order in self.by_member.items():
            # What was parked for others, who are gone for good, may come late to one without a lasting session.
            assert who == "c" or order == sorted(order)


@pytest.mark.parametrize("seed", range(60))
def test_each_message_goes_to_one_place_once(seed: int) -> None:
    world = World(seed)
    for _ in range(400):
        step = world.random.random()
        if step < 0.35:
            world.publish()
        elif step < 0.4:
            world.repeat()
        elif step < 0.6:
            world.change_member()
        else:
            world.round()
    world.random.random = lambda: 0.5  # type: ignore[method-assign] # no more faults
    while world.dispatch.state.next_offset < len(world.log) or world.dispatch.pending:
        world.round()
    world.check()
