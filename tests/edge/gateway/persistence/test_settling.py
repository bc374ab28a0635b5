"""Settling: one look at the log for all who wait, none for who has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from contracts.session_event import Granted, InboundExchange
from edge.gateway.persistence.settling import Settling
from edge.gateway.persistence.stretch import StretchReader

PATIENCE = 120.0


class Stretches:
    """A log that has some messages, and may have to be waited for."""

    def __init__(self, there: set[tuple[str, int]]) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.let = threading.Event()
        self.let.set()
        self.looked = threading.Event()
        self.looks: list[list[tuple[str, int]]] = []
        self.failures: list[KafkaException] = []
        self._there = there

    def find_published(
        self, begun: Collection[tuple[str, InboundExchange]]
    ) -> dict[tuple[str, int], tuple[str, int]]:
        names = [(client_id, exchange.packet_id) for client_id, exchange in begun]
        self.looks.append(names)
        self.looked.set()
        assert self.let.wait(PATIENCE)
        if self.failures:
            raise self.failures.pop()
        return {name: name for name in self._there & set(names)}  # what stands for the message is its name


class Retained:
    """What was to be retained, as its names."""

    def __init__(self) -> None:
        self.found: set[object] = set()

    async def keep(self, found: Collection[object]) -> None:
        self.found |= set(found)


@pytest.fixture
def stretches() -> Iterator[Stretches]:
    made = Stretches({("a", 1), ("b", 7)})
    yield made
    made.thread.shutdown()


def granted(client_id: str, *packet_ids: int, confirmed: tuple[int, ...] = ()) -> Granted:
    inbound = [InboundExchange(one, "begun", 0, 0) for one in packet_ids]
    inbound += [InboundExchange(one, "confirmed", 0, 0) for one in confirmed]
    return Granted(client_id, "c", True, 60, (), tuple(inbound))


class Waiting:
    """A client that waits to be let in."""

    def __init__(self, settling: Settling, grant: Granted) -> None:
        self.is_there = True
        self.ready: asyncio.Future[Granted] = asyncio.get_running_loop().create_future()
        settling.settle(grant, lambda: self.is_there, self.ready.set_result)

    async def confirmed(self) -> list[int]:
        found = await asyncio.wait_for(self.ready, PATIENCE)
        assert {exchange.state for exchange in found.inbound} <= {"confirmed"}
        return [exchange.packet_id for exchange in found.inbound]


async def test_what_is_there_is_confirmed_and_the_rest_is_gone(stretches: Stretches) -> None:
    retained = Retained()
    settling = Settling(cast(StretchReader, stretches), retained.keep)
    assert await Waiting(settling, granted("a", 1, 2, confirmed=(3,))).confirmed() == [1, 3]
    assert retained.found == {("a", 1)}  # before the client is told that it is there
    assert await Waiting(settling, granted("b", 1, 7)).confirmed() == [7]


async def test_those_who_come_meanwhile_share_the_next_look(stretches: Stretches) -> None:
    settling = Settling(cast(StretchReader, stretches), Retained().keep)
    stretches.let.clear()
    first = Waiting(settling, granted("a", 1))
    assert await asyncio.to_thread(stretches.looked.wait, PATIENCE)
    others = [Waiting(settling, granted(name, 7)) for name in ("b", "c", "d")]
    others[1].is_there = False
    stretches.let.set()
    assert await first.confirmed() == [1]
    assert await others[0].confirmed() == [7]
    assert await others[2].confirmed() == []
    assert stretches.looks == [[("a", 1)], [("b", 7), ("d", 7)]]
    assert not others[1].ready.done()


async def test_kafka_does_not_answer_at_first(stretches: Stretches) -> None:
    settling = Settling(cast(StretchReader, stretches), Retained().keep)
    stretches.failures = [KafkaException(KafkaError(KafkaError._TRANSPORT))]
    assert await Waiting(settling, granted("a", 1)).confirmed() == [1]
    assert len(stretches.looks) == 2
