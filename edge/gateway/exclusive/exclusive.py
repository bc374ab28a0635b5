"""Claims exclusive filters for this gateway's clients, and gives them up.

The session's owner is told before the claim is written, whether the session outlives its connection or not: when this
gateway is lost, the owner ends the claim with the session. That a session is said to have a claim does not mean that it
holds it; so where it goes on, it claims again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from confluent_kafka import KafkaError, Message

from contracts import session_event
from contracts.session_event import SessionEvent, Subscribed, Unsubscribed
from contracts.shared_record import is_group
from contracts.topics import EXCLUSIVE_PREFIX, is_exclusive, parse_exclusive
from edge.gateway.appender import Durable
from edge.gateway.application_shares.turns import Refused
from edge.gateway.connection import Connection
from edge.gateway.exclusive.claims import CLAIMED, HELD, ExclusiveClaims
from edge.mqtt.events import SubscribeReceived
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State

log = logging.getLogger(__name__)

Write = Callable[[Connection, session_event.Subscription, Durable], None]


class Exclusive:
    """The claims of clients that are here."""

    def __init__(
        self, claims: ExclusiveClaims, node: str, write: Write,
        serve: Callable[[Connection, session_event.Subscription], None], end: Callable[[str, str], None],
        give_up: Callable[[Connection, str], None], tell: Callable[[str, SessionEvent, Durable], None],
        *, is_enabled: bool,
    ) -> None:  # fmt: skip
        """Prepare to claim.

        Args:
            claims: As the log says.
            node: This gateway.
            write: Writes a subscription's record.
            serve: Makes a subscription one of those that its connection holds here.
            end: Writes the tombstone of a client's filter.
            give_up: Ends a connection's exclusive subscription, as UNSUBSCRIBE does.
            tell: Appends a session's event for its owner.
            is_enabled: Whether there are exclusive subscriptions.
        """
        self._claims, self._node = claims, node
        self._write, self._serve, self._end, self._give_up = write, serve, end, give_up
        self._tell = tell
        self._is_enabled = is_enabled
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    async def refused(self, connection: Connection, held: Iterable[str], filters: Iterable[str]) -> Refused:
        """Claim filters for a client; those that it can't have, and why.

        Args:
            connection: The client's.
            held: What it holds already.
            filters: As written.
        """
        found = {}
        for filter in dict.fromkeys(filters):
            if not self._is_enabled or not _is_valid(filter):
                found[filter] = ReasonCode.TOPIC_FILTER_INVALID
            elif filter not in held and not await self._claim(connection, filter):
                found[filter] = ReasonCode.QUOTA_EXCEEDED
        return found

    def claim_again(self, connection: Connection, filter: str) -> None:
        """A session that says it holds a filter goes on here: if another client has it meanwhile, it is given up."""
        task = self._loop.create_task(self._claim_again(connection, filter))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Wait for no more claims."""
        for task in self._tasks:
            task.cancel()

    async def _claim(self, connection: Connection, filter: str) -> bool:
        client_id, seat = connection.client_id, connection.seat
        if seat is None:
            return False
        claim = _claim_of(filter, HELD)
        if not await self._told(client_id, Subscribed(self._node, seat.id, (claim,))):
            return False
        holds = await self._read(connection, claim)
        if holds and connection.core.state is not State.CLOSED:
            self._serve(connection, claim)
            self._write(connection, claim, _unheard)
            return True
        self._end(client_id, filter)
        await self._told(client_id, Unsubscribed(self._node, seat.id, (filter,)))
        return False

    async def _claim_again(self, connection: Connection, filter: str) -> None:
        claim = _claim_of(filter, HELD)
        holds = await self._read(connection, claim)
        if connection.core.state is State.CLOSED:
            return
        if holds:
            self._write(connection, claim, _unheard)
            return
        log.warning(
            "client %r does not hold %r any more", connection.client_id[:80], filter[:80],
            extra={"client": connection.client_id},
        )  # fmt: skip
        self._give_up(connection, filter)
        connection.disconnect_soon(
            ReasonCode.QUOTA_EXCEEDED
        )  # nothing else tells a client that it has lost something

    async def _read(self, connection: Connection, claim: session_event.Subscription) -> bool:
        """Write a claim, and wait until this gateway has read it: where it stands in the log decides."""
        outcome: asyncio.Future[bool] = self._loop.create_future()

        def told(holds: bool) -> None:
            if not outcome.done():
                outcome.set_result(holds)

        def durable(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                told(False)

        self._claims.await_claim(connection.client_id, claim.filter, told)
        self._write(connection, replace(claim, qos=CLAIMED), durable)
        return await outcome

    async def _told(self, client_id: str, event: SessionEvent) -> bool:
        written: asyncio.Future[bool] = self._loop.create_future()

        def durable(error: KafkaError | None, _: Message) -> None:
            if not written.done():
                written.set_result(error is None)

        self._tell(client_id, event, durable)
        return await written


def unwrapped(event: SubscribeReceived, refused: Refused) -> SubscribeReceived:
    """A SUBSCRIBE as it goes on: what it has claimed, it gets by the filter without its prefix."""
    packet = event.packet
    if not any(is_exclusive(one.filter) for one in packet.subscriptions):
        return event
    plain = [
        one if one.filter in refused else replace(one, filter=parse_exclusive(one.filter) or one.filter)
        for one in packet.subscriptions
    ]
    return SubscribeReceived(replace(packet, subscriptions=tuple(plain)))


def together(filter: str, held: Iterable[str]) -> tuple[str, ...]:
    """What ends when a client unsubscribes from a filter: its claim, if it has one, and what it gets by it."""
    plain = parse_exclusive(filter) or filter
    claim = EXCLUSIVE_PREFIX + plain
    return (plain, claim) if claim in held else (filter,)


def _is_valid(filter: str) -> bool:
    plain = parse_exclusive(filter)
    return bool(plain) and not is_group(plain or "") and not is_exclusive(plain or "")


def _claim_of(filter: str, qos: int) -> session_event.Subscription:
    return session_event.Subscription(filter, qos)


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("that an exclusive filter is held was not written: %s", error)
