"""The entrance: each CONNECT is judged by the block list and the providers, before the sessions hear of it.

Judgements of several clients are under way at a time, and never more than so many. Of one client id, the CONNECT that
came last wins, whichever is judged first: an earlier one that is judged later is told that it was taken over.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass

from contracts.wall_clock import epoch_ms
from edge.gateway.access.admitted import Admitted
from edge.gateway.access.conversing import Conversing
from edge.gateway.access.identities import identity_of, reason_of
from edge.gateway.access.turned_away import TurnedAway
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.mqtt.events import ConnectReceived
from edge.mqtt.packets import Connect
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.answers import ClientType, Failure, Success
from identity.attempt import ConnectAttempt
from identity.block_list import BlockList
from identity.chain import OPEN, Chain
from identity.conversation import Proven

log = logging.getLogger(__name__)

LetIn = Callable[[Connection, ConnectReceived], None]

_MOST_AT_A_TIME = 2_000  # judgements: some KB each; a provider that is that far behind serves nobody in time


@dataclass(frozen=True)
class Entry:
    """What the entrance works with."""

    chain: Chain
    """To begin with; the entrance closes it."""
    admitted: Admitted
    counters: Counters
    let_in: LetIn
    """To the sessions."""
    timeout: float
    """Seconds that a client has from its CONNECT on."""
    turned_away: TurnedAway | None = None
    """None where there is no database."""
    revised: Callable[[], None] = lambda: None
    """Called when a client was let in by what was read while it might have changed."""
    most_at_a_time: int = _MOST_AT_A_TIME


class Entrance:
    """Where clients come in."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._chain = entry.chain
        self._closing: set[asyncio.Task[None]] = set()
        self.blocked = BlockList(())
        """Who is kept out; a newer one is put here."""
        self.revision = 0
        """Grows when something in the database has changed, so that a judgement knows whether it may be stale."""
        self._judging: dict[Connection, asyncio.Task[None]] = {}
        self._arrivals: dict[str, list[Connection]] = {}
        self._overtaken: set[Connection] = set()
        self._is_closed = False
        self.conversing = Conversing(entry.chain, entry.admitted, entry.timeout, entry.revised)

    def connect(self, connection: Connection, event: ConnectReceived) -> None:
        """A client wants in."""
        packet = event.packet
        connection.client_id = packet.client_id or f"auto-{uuid.uuid4().hex}"  # [MQTT-3.1.3-6]
        attempt = _attempt(connection, packet)
        chain = self._chain
        if self._is_closed:
            connection.refuse(ReasonCode.SERVER_SHUTTING_DOWN)
            return
        if self._is_blocked(connection, attempt):
            return
        method = packet.properties.authentication_method
        if method is None and chain.is_open:
            self._entry.admitted.add(connection, identity_of(attempt, OPEN))
            self._entry.let_in(connection, event)
            return
        if len(self._judging) >= self._entry.most_at_a_time:
            self._refuse(connection, attempt, ReasonCode.SERVER_UNAVAILABLE, "too many others wait")
            return
        self._arrivals.setdefault(connection.client_id, []).append(connection)
        task = asyncio.get_running_loop().create_task(self._judge(connection, event, attempt))
        self._judging[connection] = task
        task.add_done_callback(lambda _: self._judged(connection))

    def ended(self, connection: Connection) -> None:
        """A connection is over: who waits for nothing any more is not judged."""
        if (task := self._judging.get(connection)) is not None:
            task.cancel()
        self.conversing.ended(connection)
        self._entry.admitted.remove(connection)

    def replace(self, chain: Chain) -> None:
        """Judge whoever comes from now on by another chain; the former one ends with the judgements under way."""
        former, self._chain = self._chain, chain
        under_way = [*self._judging.values(), *self.conversing.replace(chain)]
        task = asyncio.get_running_loop().create_task(_close_after(former, under_way))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Judge nobody any more."""
        self._is_closed = True
        tasks = list(self._judging.values())
        for connection in list(self._judging):
            connection.refuse(ReasonCode.SERVER_SHUTTING_DOWN)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.conversing.close()
        await asyncio.gather(*self._closing)
        await self._chain.close()

    async def _judge(self, connection: Connection, event: ConnectReceived, attempt: ConnectAttempt) -> None:
        revision = self.revision
        try:
            async with asyncio.timeout(self._entry.timeout):
                answer = await self._answer(connection, event.packet, attempt)
        except TimeoutError:
            answer = Failure("it was not judged in time", is_temporary=True)
        if answer is None or self._is_blocked(connection, attempt):
            return
        if isinstance(answer, Failure):
            has_method = event.packet.properties.authentication_method is not None
            self._refuse(connection, attempt, reason_of(answer, attempt, has_method), answer.reason)
            return
        if connection in self._overtaken:
            connection.refuse(ReasonCode.SESSION_TAKEN_OVER)
            return
        self._overtake(connection)
        self._let_in(connection, event, attempt, answer, is_stale=revision != self.revision)

    async def _answer(
        self, connection: Connection, packet: Connect, attempt: ConnectAttempt
    ) -> Success | Failure | None:
        """What the providers say; None where the client was told already."""
        method = packet.properties.authentication_method
        if method is None:
            return await self._chain.authenticate(attempt)
        data = packet.properties.authentication_data
        answer = await self.conversing.begin(connection, method, data, attempt)
        if answer is None:
            self._refuse(
                connection, attempt, ReasonCode.BAD_AUTHENTICATION_METHOD, "no provider knows its method"
            )  # [MQTT-4.12.0-1]
        elif isinstance(answer, Proven):
            connection.authentication_data = answer.data
            return answer.success
        return answer

    def _let_in(
        self, connection: Connection, event: ConnectReceived, attempt: ConnectAttempt, success: Success,
        *, is_stale: bool,
    ) -> None:  # fmt: skip
        identity = identity_of(attempt, success)
        if event.packet.properties.authentication_method is not None:
            identity.conversed = attempt
        connection.client_type = ClientType(success.client_type).value
        self._entry.admitted.add(connection, identity)
        if connection.core.state is State.CLOSED:
            return  # what it has proven has ended already
        self._entry.let_in(connection, event)
        if is_stale:
            self._entry.revised()

    def _overtake(self, connection: Connection) -> None:
        for earlier in self._arrivals.get(connection.client_id, ()):
            if earlier is connection:
                return
            self._overtaken.add(earlier)

    def _judged(self, connection: Connection) -> None:
        task = self._judging.pop(connection)
        self._overtaken.discard(connection)
        arrivals = self._arrivals[connection.client_id]
        arrivals.remove(connection)
        if not arrivals:
            del self._arrivals[connection.client_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            connection.refuse(ReasonCode.UNSPECIFIED_ERROR)
            log.error("a client was not judged", exc_info=error)

    def _is_blocked(self, connection: Connection, attempt: ConnectAttempt) -> bool:
        """Whether a client is blocked; it is told so."""
        if not self.blocked:
            return False
        block = self.blocked.find(attempt.client_id, attempt.username, attempt.address or "", epoch_ms())
        if block is not None:
            self._refuse(connection, attempt, ReasonCode.BANNED, f"blocked by {block.subject}")
        return block is not None

    def _refuse(self, connection: Connection, attempt: ConnectAttempt, reason: ReasonCode, why: str) -> None:
        self._entry.counters.refused += 1
        self._entry.counters.unauthorized += 1
        if self._entry.turned_away is not None:
            self._entry.turned_away.note(attempt.client_id, attempt.address or "", attempt.username, why)
        connection.refuse(reason)


async def _close_after(chain: Chain, judgements: Collection[asyncio.Task[None]]) -> None:
    if judgements:
        await asyncio.wait(judgements)
    await chain.close()


def _attempt(connection: Connection, packet: Connect) -> ConnectAttempt:
    return ConnectAttempt(
        connection.client_id, packet.user_name, packet.password, connection.certificates,
        connection.host or None, not packet.client_id,
    )  # fmt: skip
