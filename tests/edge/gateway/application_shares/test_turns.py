"""What a client sends behind a SUBSCRIBE that waits for entities, waits its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from types import SimpleNamespace
from typing import cast

from edge.gateway.application_shares.turns import Refused, Turns
from edge.gateway.connection import Connection
from edge.mqtt.states import State


class Looking:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answers: asyncio.Queue[Refused] = asyncio.Queue()

    async def __call__(self, groups: Collection[str]) -> Refused:
        self.asked.append(list(groups))
        return await self.answers.get()


class One:
    """What is looked at of a connection."""

    def __init__(self) -> None:
        self.core = SimpleNamespace(state=State.CONNECTED)


def connection() -> Connection:
    return cast(Connection, One())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_each_in_turn() -> None:
    looking, done = Looking(), list[object]()
    turns = Turns(looking)
    one, other = connection(), connection()
    turns.take(one, (), lambda refused: done.append(("at once", refused)))
    turns.take(one, ["g"], lambda refused: done.append(("g", refused)))
    turns.take(one, (), lambda refused: done.append(("behind", refused)))
    turns.take(one, ["h"], lambda refused: done.append(("h", refused)))
    turns.take(other, (), lambda refused: done.append(("other", refused)))
    await settle()
    assert done == [("at once", {}), ("other", {})]
    looking.answers.put_nowait({"g": 0x83})
    await settle()
    assert done[2:] == [("g", {"g": 0x83}), ("behind", {})]
    looking.answers.put_nowait({})
    await settle()
    assert done[4:] == [("h", {})]
    assert looking.asked == [["g"], ["h"]]
    turns.take(one, (), lambda _: done.append("nothing waits any more"))
    assert done[-1] == "nothing waits any more"


async def test_whoever_leaves_meanwhile_subscribes_nothing() -> None:
    looking, done = Looking(), list[object]()
    turns = Turns(looking)
    one = connection()
    turns.take(one, ["g"], done.append)
    turns.take(one, (), done.append)
    await settle()
    one.core.state = State.CLOSED  # type: ignore[misc]
    looking.answers.put_nowait({})
    await settle()
    assert done == []
    turns.stop()


async def test_what_else_is_asked_before_has_its_turn_too() -> None:
    looking, done = Looking(), list[object]()
    turns = Turns(looking)
    one = connection()
    answers: asyncio.Queue[Refused] = asyncio.Queue()
    turns.take(one, ["g"], done.append, answers.get)
    turns.take(one, (), done.append)
    looking.answers.put_nowait({"g": 0x83})
    await settle()
    assert done == []
    answers.put_nowait({"e": 0x97})
    await settle()
    assert done == [{"g": 0x83, "e": 0x97}, {}]
    turns.take(one, (), done.append, answers.get)
    await settle()
    one.core.state = State.CLOSED  # type: ignore[misc]
    answers.put_nowait({})
    await settle()
    assert len(done) == 2
    turns.stop()
