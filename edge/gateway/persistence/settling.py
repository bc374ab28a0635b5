"""Finds out what became of QoS 2 exchanges that clients had begun elsewhere, before they are let in again.

When a gateway was killed, all of its publishers come back at once, each with a window full of them; so all that wait
share one look at `tbmq.msg.all`, and who has gone meanwhile is not looked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from confluent_kafka import KafkaException

from contracts.session_event import Granted
from edge.gateway.persistence.stretch import StretchReader

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts while Kafka does not answer


@dataclass(frozen=True)
class _Wanted:
    granted: Granted
    is_there: Callable[[], bool]
    ready: Callable[[Granted], None]


class Settling:
    """Works in rounds: those who come while one is under way are in the next."""

    def __init__(self, stretches: StretchReader) -> None:
        self._stretches = stretches
        self._waiting: list[_Wanted] = []
        self._task: asyncio.Task[None] | None = None

    def settle(
        self, granted: Granted, is_there: Callable[[], bool], ready: Callable[[Granted], None]
    ) -> None:
        """Find out about a grant's exchanges, however long that takes; then call back.

        Args:
            granted: Whose.
            is_there: Whether the client still waits; else nothing is called back.
            ready: Called with the grant, each of its exchanges confirmed, or gone.
        """
        self._waiting.append(_Wanted(granted, is_there, ready))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._settle_all())

    def stop(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def _settle_all(self) -> None:
        pause = _FIRST_PAUSE
        while self._waiting:
            round = [one for one in self._waiting if one.is_there()]
            self._waiting = []
            try:
                await self._settle(round)
                pause = _FIRST_PAUSE
            except KafkaException as error:
                log.warning("what %d clients had begun cannot be read yet: %s", len(round), error)
                self._waiting += round
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _settle(self, round: list[_Wanted]) -> None:
        begun = [
            (one.granted.client_id, exchange)
            for one in round
            for exchange in one.granted.inbound
            if exchange.state != "confirmed"
        ]
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._stretches.thread, self._stretches.find_published, begun)
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
