"""The clients of this gateway: how each gets in, under the one rule of the whole cluster, and what follows its end.

Nobody is let in but by the grant of its client id's owner. What is decided here is only what concerns this gateway
alone: an older connection of the same client here ends at once, and its `ended` goes to the owner before the new one's
`connect`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from contracts.publish_record import connection_headers
from contracts.session_event import (
    ChangeWanted,
    ConnectRequested,
    DisconnectWanted,
    Granted,
    Refused,
    SessionEvent,
)
from contracts.session_event import (
    ConnectionEnded as Ended,
)
from contracts.shared_record import is_group
from contracts.wall_clock import epoch_ms
from edge.gateway.applications.client_types import ClientTypes
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.limits.longest import Longest
from edge.gateway.sessions.ownership import Process
from edge.gateway.sessions.seat import Phase, Seat
from edge.gateway.sessions.will_publishing import will_of
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
    publish: Callable[[Connection, Publish, Callable[[], None]], None]
    """Publish a will, or leave it to the owner; then call back, with what is published on its way."""
    leave: Callable[[Connection, bool, Callable[[], None]], None]
    """Serve a connection's subscriptions no more; unless the session keeps them, end them. Then call back."""
    detach: Callable[[Connection, Callable[[], None]], Sequence[int] | None]
    """Deliver nothing more to a kept session's connection, and call back when all that its client acknowledged is in
    Kafka; returns the offsets of what was sent and not acknowledged, None where nothing was delivered yet."""
    resume: Callable[[Connection, Granted, Callable[[Session | None], None]], None]
    """Make ready what a granted client's session has; then call back, at once or later, with its flows."""
    will_refusal: Callable[[Publish], ReasonCode | None] = lambda _will: None
    """Why a client may not leave a will; None when it may."""
    change: Callable[[Connection | None, ChangeWanted], None] = lambda _connection, _wanted: None
    """Change a connection's subscriptions for an administrator, and answer; None where it is not here any more."""


class Clients:
    """Client id → its connection on this gateway."""

    def __init__(
        self, process: Process, counters: Counters, around: Surroundings, *, persistence: bool = False,
        types: ClientTypes | None = None, longest: Longest | None = None,
    ) -> None:  # fmt: skip
        self._node, self._boot = process
        self._counters = counters
        self._around = around
        self._persistence = persistence
        self._types = types or ClientTypes()
        self._longest = longest or Longest()
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
        will = _will(packet)
        if (reason := self._refusal(connection, packet, will)) is not None:
            self._counters.refused += 1
            connection.refuse(reason)
            return
        # It has one already where it had to prove who it is.
        connection.client_id = (
            packet.client_id or connection.client_id or f"auto-{uuid.uuid4().hex}"
        )  # [MQTT-3.1.3-6]
        connection.headers = connection_headers(connection.client_id, self._node, packet.version)
        connection.will = will
        told = connection.client_type
        types = self._types if told is None else self._types.proven(told)
        seat = connection.seat = Seat(
            connection, packet, not packet.client_id, self._persistence, types, self._longest
        )
        older = self._newest.get(seat.client_id)
        self._seats[seat.id] = self._newest[seat.client_id] = seat
        if older is not None:
            blocker = older.before if older.phase is Phase.HELD else older
            self._end(older, ReasonCode.SESSION_TAKEN_OVER)
            if blocker is not None and blocker.phase is not Phase.OVER:
                seat.before, blocker.after = blocker, seat
                return
        self._ask(seat)

    def _refusal(self, connection: Connection, packet: Connect, will: Publish | None) -> ReasonCode | None:
        """Why a client is turned away without asking its owner; None when it is not."""
        has_method = packet.properties.authentication_method is not None
        if has_method and connection.authentication_data is None:
            return ReasonCode.BAD_AUTHENTICATION_METHOD  # [MQTT-4.12.0-1]
        if is_group(packet.client_id):  # under such a key, messages wait for whoever of a group comes back
            return ReasonCode.CLIENT_IDENTIFIER_NOT_VALID
        if will is None:
            return None
        if connection.permissions is not None and connection.permissions.publish(will.topic) is None:
            return ReasonCode.NOT_AUTHORIZED
        return self._around.will_refusal(will)

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
        seat.is_unfed = answer.is_sent_unknown or bool(answer.sent)
        if answer.session_present:
            seat.goes_on()
        self._around.resume(seat.connection, answer, lambda session: self._accept(seat, answer, session))

    def refused(self, answer: Refused) -> None:
        """Turn a client away."""
        seat = self._seats.get(answer.connection)
        if seat is not None and seat.phase is Phase.ASKING:
            self._over(seat)
            self._counters.refused += 1
            seat.connection.refuse(ReasonCode(answer.reason_code))

    def change_wanted(self, wanted: ChangeWanted) -> None:
        """An administrator changes a client's subscriptions."""
        seat = self._seats.get(wanted.connection)
        is_here = seat is not None and seat.phase is Phase.CONNECTED
        self._around.change(seat.connection if seat is not None and is_here else None, wanted)

    def disconnect_wanted(self, wanted: DisconnectWanted) -> None:
        """A connection's session goes on elsewhere, or an administrator ends it: do so, or tell that it is gone."""
        seat = self._seats.get(wanted.connection)
        if seat is not None:
            seat.connection.is_given_up |= wanted.is_lost
            by_administrator = wanted.reason_code == ReasonCode.ADMINISTRATIVE_ACTION
            self._end(
                seat, ReasonCode.ADMINISTRATIVE_ACTION if by_administrator else ReasonCode.SESSION_TAKEN_OVER
            )
        else:
            ended = Ended(self._node, self._boot, wanted.connection, None, epoch_ms())
            self._around.send(wanted.client_id, ended)

    def give_up(self) -> None:
        """End all connections at once, as if the network had: others may have been given their sessions.

        Wills that have not reached Kafka, those that wait included, are left to the owners.
        """
        seats = list(self._seats.values())
        for seat in seats:
            seat.leaves_will = True
            seat.connection.is_given_up = seat.phase in (Phase.CONNECTED, Phase.ENDING, Phase.LINGERING)
        for seat in seats:
            if seat.phase is Phase.CONNECTED:
                seat.connection.disconnect(ReasonCode.SERVER_BUSY)
            elif seat.phase is Phase.LINGERING:
                self._leave_will(seat)

    async def close(self, patience: float) -> None:
        """Send everybody away, wills included, and wait until the owners know, for so many seconds at most."""
        if self._sweeper:
            self._sweeper.cancel()
        for seat in list(self._seats.values()):
            self._end(seat, ReasonCode.SERVER_SHUTTING_DOWN)
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
            seat.client_type, epoch_ms(), seat.warning, connection.user_name, connection.host,
            connection.keep_alive, will_of(connection),
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

    def _end(self, seat: Seat, reason: ReasonCode) -> None:
        """End a connection, wherever it stands; a will that has to wait is left to its owner.

        Whether the session goes on, the owner decides; and this gateway may not be there when the will is due.
        """
        if reason is ReasonCode.SESSION_TAKEN_OVER:
            self._counters.takeovers += seat.phase is Phase.CONNECTED
        seat.leaves_will = True
        if seat.phase in (Phase.HELD, Phase.ASKING):
            seat.connection.refuse(reason)
        elif seat.phase is Phase.CONNECTED:
            seat.connection.disconnect(reason)  # [MQTT-3.1.4-3]
        elif seat.phase is Phase.LINGERING:
            self._leave_will(seat)

    def _leave(self, seat: Seat, will_wanted: bool) -> None:
        connection = seat.connection
        seat.phase = Phase.ENDING
        seat.unsettled = 3 if seat.is_persistent else 2
        if seat.is_persistent:
            sent = self._around.detach(connection, lambda: self._settled(seat))
            if sent is not None:
                seat.sent, seat.is_unfed = tuple(sent), False
        self._around.leave(connection, seat.is_persistent, lambda: self._settled(seat))
        will = connection.will if will_wanted else None
        delay = min(will.properties.will_delay_interval or 0, seat.expiry) if will else 0
        seat.linger = delay
        if will is None or delay:
            self._wait_for_publishes(seat)
        else:
            self._publish_will(seat, will)

    def _publish_will(self, seat: Seat, will: Publish) -> None:
        self._around.publish(seat.connection, will, lambda: self._wait_for_publishes(seat))

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
        if seat.linger and seat.leaves_will:
            self._leave_will(seat)
        elif seat.linger:
            self._tell_end(seat, seat.expiry, seat.linger)
            seat.phase = Phase.LINGERING
            seat.timer = self._loop.call_later(seat.linger, self._will_due, seat)
        else:
            self._tell_end(seat, seat.expiry)
            self._over(seat)

    def _will_due(self, seat: Seat) -> None:
        """The will that waited goes out."""
        seat.phase = Phase.ENDING
        seat.linger = 0
        seat.unsettled = 1
        if seat.connection.will is not None:
            self._publish_will(seat, seat.connection.will)

    def _leave_will(self, seat: Seat) -> None:
        """The will that waits, or would have to, is its owner's from now on."""
        if seat.timer:
            seat.timer.cancel()
        seat.connection.is_will_left = True
        self._tell_end(seat, seat.expiry)
        self._over(seat)

    def _tell_end(self, seat: Seat, expiry: int | None, will_delay: int = 0) -> None:
        ended = Ended(
            self._node, self._boot, seat.id, expiry, epoch_ms(), will_delay, seat.sent, seat.connection.is_will_left,
            seat.is_unfed,
        )  # fmt: skip
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
        authentication_data=seat.connection.authentication_data,
        session_expiry_interval=seat.expiry
        if seat.offer and seat.expiry != seat.offer
        else None,  # [MQTT-3.2.2-21]
    )


def _will(packet: Connect) -> Publish | None:
    will = packet.will
    if will is None:
        return None
    return Publish(will.topic, will.payload, will.qos, will.retain, properties=will.properties)
