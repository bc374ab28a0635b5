"""Finds out what became of QoS 2 exchanges that clients had begun elsewhere, before they are let in again.

When a gateway was killed, all of its publishers come back at once, each with a window full of them; so all that wait
share one look at `tbmq.msg.all`, and who has gone meanwhile is not looked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from confluent_kafka import KafkaException, Message

from contracts.session_event import Granted
from edge.gateway.persistence.rounds import Rounds
from edge.gateway.persistence.stretch import StretchReader

KeepFound = Callable[[Collection[Message]], Awaitable[None]]
"""Retains what was published, and asked for it, but may not have been retained."""


@dataclass(frozen=True)
class _Wanted:
    granted: Granted
    is_there: Callable[[], bool]
    ready: Callable[[Granted], None]


class Settling:
    """Works in rounds: those who come while one is under way are in the next."""

    def __init__(self, stretches: StretchReader, keep_found: KeepFound) -> None:
        self._stretches = stretches
        self._keep_found = keep_found
        self._rounds = Rounds(
            self._settle, lambda one: one.is_there(), (KafkaException,), "what %d clients had begun"
        )

    def settle(
        self, granted: Granted, is_there: Callable[[], bool], ready: Callable[[Granted], None]
    ) -> None:
        """Find out about a grant's exchanges, however long that takes; then call back.

        Args:
            granted: Whose.
            is_there: Whether the client still waits; else nothing is called back.
            ready: Called with the grant, each of its exchanges confirmed, or gone.
        """
        self._rounds.add(_Wanted(granted, is_there, ready))

    def stop(self) -> None:
        """Give up what is under way."""
        self._rounds.stop()

    async def _settle(self, round: list[_Wanted]) -> None:
        begun = [
            (one.granted.client_id, exchange)
            for one in round
            for exchange in one.granted.inbound
            if exchange.state != "confirmed"
        ]
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._stretches.thread, self._stretches.find_published, begun)
        await self._keep_found(found.values())  # before PUBREC goes out (I9)
        for one in round:
            if one.is_there():
                one.ready(settled(one.granted, found))


def settled(granted: Granted, found: Collection[tuple[str, int]]) -> Granted:
    """A grant whose exchanges are each confirmed, or gone.

    Args:
        granted: As the owner has it.
        found: (client id, packet id) of exchanges whose message is in Kafka.
    """
    return replace(
        granted,
        inbound=tuple(
            replace(exchange, state="confirmed")
            for exchange in granted.inbound
            if exchange.state == "confirmed" or (granted.client_id, exchange.packet_id) in found
        ),
    )
