"""The clients of this gateway: how each gets in, under the one rule of the whole cluster, and what follows its end.

Nobody is let in but by the grant of its client id's owner. What is decided here is only what concerns this gateway
alone: an older connection of the same client here ends at once, and its `ended` goes to the owner before the new one's
`connect`.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from contracts.publish_record import connection_headers
from contracts.session_event import (
    ConnectionEnded as Ended,
)
from contracts.session_event import (
    ConnectRequested,
    DisconnectWanted,
    Granted,
    Refused,
    SessionEvent,
)
from contracts.shared_record import is_group
from edge.gateway.applications.client_types import ClientTypes
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.sessions.ownership import Process
from edge.gateway.sessions.seat import Phase, Seat
from edge.mqtt.events import ConnectionEnded, ConnectReceived
from edge.mqtt.inflight import Session
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds that a client waits for its owner's answer before it is told that the server is unavailable."""
_SWEEP = 1.0  # seconds between looks for those who have waited too long


@dataclass(frozen=True)
class Surroundings:
    """What the clients need of their gateway."""

    send: Callable[[str, SessionEvent], None]
    """Tell a client's owner."""
    publish: Callable[[Connection, Publish], None]
    """Publish a will."""
    leave: Callable[[Connection, bool, Callable[[], None]], None]
    """Serve a connection's subscriptions no more; unless the session keeps them, end them. Then call back."""
    detach: Callable[[Connection, Callable[[], None]], Sequence[int]]
    """Deliver nothing more to a kept session's connection, and call back when all that its client acknowledged is in
    Kafka; returns the offsets of what was sent and not acknowledged."""
    resume: Callable[[Connection, Granted, Callable[[Session | None], None]], None]
    """Make ready what a granted client's session has; then call back, at once or later, with its flows."""


class Clients:
    """Client id → its connection on this gateway."""

    def __init__(
        self, process: Process, counters: Counters, around: Surroundings, *, persistence: bool = False,
        types: ClientTypes | None = None,
    ) -> None:  # fmt: skip
        self._node, self._boot = process
        self._counters = counters
        self._around = around
        self._persistence = persistence
        self._types = types or ClientTypes()
        self._seats: dict[str, Seat] = {}
        self._newest: dict[str, Seat] = {}
        self._asking: dict[str, float] = {}
        self._loop = asyncio.get_running_loop()
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied = asyncio.Event()

    def __len__(self) -> int:
        return len(self._seats)

    def connected(self, client_id: str) -> Connection | None:
        """The client's connection, if it is let in here."""
        seat = self._newest.get(client_id)
        return seat.connection if seat is not None and seat.phase is Phase.CONNECTED else None

    def __iter__(self) -> Iterator[Connection]:
        return iter([seat.connection for seat in self._seats.values()])

    # what connections tell

    def connect(self, connection: Connection, event: ConnectReceived) -> None:
        """A client wants in: ask its owner."""
        packet = event.packet
        if packet.properties.authentication_method is not None:
            self._counters.refused += 1
            connection.core.refuse(ReasonCode.BAD_AUTHENTICATION_METHOD)
            return
        if is_group(packet.client_id):  # under such a key, messages wait for whoever of a group comes back
            self._counters.refused += 1
            connection.core.refuse(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID)
            return
        connection.client_id = packet.client_id or f"auto-{uuid.uuid4().hex}"  # [MQTT-3.1.3-6]
        connection.headers = connection_headers(connection.client_id, self._node, packet.version)
        connection.will = _will(packet)
        seat = connection.seat = Seat(
            connection, packet, not packet.client_id, self._persistence, self._types
        )
        older = self._newest.get(seat.client_id)
        self._seats[seat.id] = self._newest[seat.client_id] = seat
        if older is not None:
            blocker = older.before if older.phase is Phase.HELD else older
            self._end(older, seat.clean_start or older.expiry == 0, ReasonCode.SESSION_TAKEN_OVER)
            if blocker is not None and blocker.phase is not Phase.OVER:
                seat.before, blocker.after = blocker, seat
                return
        self._ask(seat)

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """A connection is over."""
        if event.reason_code is not None and event.reason_code >= 0x80:
            self._counters.protocol_errors += 1
        seat = connection.seat
        if seat is None:
            return  # it never asked
        if seat.phase is Phase.HELD:
            if seat.before is not None and seat.before.after is seat:
                seat.before.after = None
            self._over(seat)
        elif seat.phase is Phase.ASKING:
            self._tell_end(seat, None)
            self._over(seat)
        elif seat.phase is Phase.CONNECTED:
            self._leave(seat, event.will_wanted)

    # what owners tell

    def granted(self, answer: Granted) -> None:
        """Let a client in, if it is still there."""
        seat = self._seats.get(answer.connection)
        if seat is None or seat.phase is not Phase.ASKING:
            return  # its `ended` is on its way
        if answer.is_partial:
            seat.subscriptions += answer.subscriptions
            return
        if seat.subscriptions:
            answer = replace(answer, subscriptions=(*seat.subscriptions, *answer.subscriptions))
            seat.subscriptions = ()
        self._asking.pop(seat.id, None)
        seat.phase = Phase.CONNECTED
        self._around.resume(seat.connection, answer, lambda session: self._accept(seat, answer, session))

    def refused(self, answer: Refused) -> None:
        """Turn a client away."""
        seat = self._seats.get(answer.connection)
        if seat is not None and seat.phase is Phase.ASKING:
            self._over(seat)
            self._counters.refused += 1
            seat.connection.refuse(ReasonCode(answer.reason_code))

    def disconnect_wanted(self, wanted: DisconnectWanted) -> None:
        """A connection's session goes on elsewhere: end it, or tell that it is gone."""
        seat = self._seats.get(wanted.connection)
        if seat is not None:
            self._end(seat, wanted.session_ends, ReasonCode.SESSION_TAKEN_OVER)
        else:
            ended = Ended(self._node, self._boot, wanted.connection, None, _now_ms())
            self._around.send(wanted.client_id, ended)

    def give_up(self) -> None:
        """End all connections at once, as if the network had: others may have been given their sessions."""
        for seat in list(self._seats.values()):
            if seat.phase is Phase.CONNECTED:
                seat.connection.is_given_up = True
                seat.connection.disconnect(ReasonCode.SERVER_BUSY)

    async def close(self, patience: float) -> None:
        """Send everybody away, wills included, and wait until the owners know, for so many seconds at most."""
        if self._sweeper:
            self._sweeper.cancel()
        for seat in list(self._seats.values()):
            # A will that waits goes out early: this gateway will not be there when it is due.
            self._end(seat, True, ReasonCode.SERVER_SHUTTING_DOWN)
        if self._seats:
            self._emptied.clear()
            try:
                await asyncio.wait_for(self._emptied.wait(), patience)
            except TimeoutError:
                log.warning("%d clients' ends are not in Kafka; their owners will find out", len(self._seats))

    # steps

    def _ask(self, seat: Seat) -> None:
        connection = seat.connection
        seat.phase = Phase.ASKING
        seat.before = None
        self._asking[seat.id] = self._loop.time()
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(_SWEEP, self._sweep)
        request = ConnectRequested(
            self._node, self._boot, seat.id, seat.clean_start, seat.expiry, connection.core.version,
            seat.client_type, _now_ms(), seat.warning,
        )  # fmt: skip
        self._around.send(seat.client_id, request)

    def _sweep(self) -> None:
        oldest = self._loop.time() - PATIENCE
        for id in [id for id, since in self._asking.items() if since < oldest]:
            self._counters.refused += 1
            self._seats[id].connection.refuse(ReasonCode.SERVER_UNAVAILABLE)
        self._sweeper = self._loop.call_later(_SWEEP, self._sweep) if self._asking else None

    def _accept(self, seat: Seat, answer: Granted, session: Session | None) -> None:
        if seat.phase is not Phase.CONNECTED:
            return  # it left while its session was made ready
        self._counters.connects += 1
        seat.connection.core.accept(
            answer.session_present,
            seat.client_id if seat.is_assigned else None,
            session=session,
            is_kept=seat.is_persistent,
            properties=_offer(seat),
        )
        seat.connection.accepted()

    def _end(self, seat: Seat, session_ends: bool, reason: ReasonCode) -> None:
        """End a connection, wherever it stands; its will goes out if its session ends too, or if it need not wait."""
        if reason is ReasonCode.SESSION_TAKEN_OVER:
            self._counters.takeovers += seat.phase is Phase.CONNECTED
        seat.session_ends = session_ends
        if seat.phase in (Phase.HELD, Phase.ASKING):
            seat.connection.refuse(reason)
        elif seat.phase is Phase.CONNECTED:
            seat.connection.disconnect(reason)  # [MQTT-3.1.4-3]
        elif seat.phase is Phase.LINGERING:
            self._settle_will(seat, session_ends)

    def _leave(self, seat: Seat, will_wanted: bool) -> None:
        connection = seat.connection
        seat.phase = Phase.ENDING
        seat.unsettled = 3 if seat.is_persistent else 2
        if seat.is_persistent:
            seat.sent = tuple(self._around.detach(connection, lambda: self._settled(seat)))
        self._around.leave(connection, seat.is_persistent, lambda: self._settled(seat))
        will = connection.will if will_wanted else None
        delay = min(will.properties.will_delay_interval or 0, seat.expiry) if will else 0
        if will is None or (delay and seat.session_ends is False):
            connection.will = None  # [MQTT-3.1.3-9]
        elif delay and seat.session_ends is None:
            seat.linger = delay
        else:
            self._around.publish(connection, will)
        self._wait_for_publishes(seat)

    def _wait_for_publishes(self, seat: Seat) -> None:
        connection = seat.connection

        def settled() -> None:
            connection.settled = None
            self._settled(seat)

        if connection.held_bytes:
            connection.settled = settled
        else:
            settled()

    def _settled(self, seat: Seat) -> None:
        seat.unsettled -= 1
        if seat.unsettled:
            return
        if not seat.linger:
            self._tell_end(seat, seat.expiry)
            self._over(seat)
            return
        self._tell_end(seat, seat.expiry, seat.linger)
        seat.phase = Phase.LINGERING
        if seat.session_ends is None:
            seat.timer = self._loop.call_later(seat.linger, self._settle_will, seat, True)
        else:  # somebody took over meanwhile
            self._settle_will(seat, seat.session_ends)

    def _settle_will(self, seat: Seat, is_due: bool) -> None:
        """The will that waited goes out, or never."""
        if seat.timer:
            seat.timer.cancel()
        seat.phase = Phase.ENDING
        seat.linger = 0
        seat.unsettled = 1
        if is_due and seat.connection.will is not None:
            self._around.publish(seat.connection, seat.connection.will)
        self._wait_for_publishes(seat)

    def _tell_end(self, seat: Seat, expiry: int | None, will_delay: int = 0) -> None:
        ended = Ended(self._node, self._boot, seat.id, expiry, _now_ms(), will_delay, seat.sent)
        self._around.send(seat.client_id, ended)

    def _over(self, seat: Seat) -> None:
        seat.phase = Phase.OVER
        self._asking.pop(seat.id, None)
        del self._seats[seat.id]
        if self._newest.get(seat.client_id) is seat:
            del self._newest[seat.client_id]
        if not self._seats:
            self._emptied.set()
        if (after := seat.after) is not None:
            seat.after = None
            self._ask(after)


def _offer(seat: Seat) -> Properties:
    # What is not there, a client is told, so that it need not find out by losing messages.
    return Properties(
        session_expiry_interval=0 if seat.offer and not seat.is_persistent else None,  # [MQTT-3.2.2-21]
    )


def _will(packet: Connect) -> Publish | None:
    will = packet.will
    if will is None:
        return None
    return Publish(will.topic, will.payload, will.qos, will.retain, properties=will.properties)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
