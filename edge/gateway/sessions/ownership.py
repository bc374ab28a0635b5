"""Ownership of one partition's sessions: a pure state machine, `apply(event) -> effects`.

A session is in one of three states, or there is none:

    (none) ──connect──► CONNECTED ──ended──► OFFLINE ──connect──► CONNECTED
                            │                   ▲ │
                            └─ended, will waits─► LINGERING       expiry ──► (none)

A connection keeps its session: while it is CONNECTED, or its will waits (LINGERING), whoever connects under the same
client id is kept as `pending`, the holder's node is told to disconnect, and the grant comes with its `ended`, or when
the node is lost. So there is never more than one granted connection (I7). A session of expiry 0 ends with its
connection. A will that its node can publish no more is published from here (kept_wills.py), when its delay or its
session is over (I8).

It knows no Kafka, no clock and no node but those named in events. What it does is a function of its records and of the
events' order alone, so an owner that takes over in the middle goes on exactly where the last commit was.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from contracts.application_progress import Progress
from contracts.command_answer import DONE, NO_SESSION, NOT_CONNECTED
from contracts.session_census import Census
from contracts.session_event import (
    ADMINISTRATIVE_ACTION,
    APPLICATION,
    CHANGE,
    CLEAR,
    DISCONNECT,
    SESSION_TAKEN_OVER,
    ApplicationProgress,
    ChangeWanted,
    CommandGiven,
    ConnectionEnded,
    ConnectRequested,
    DisconnectWanted,
    ExchangeBegun,
    ExchangeConfirmed,
    ExchangeReleased,
    Granted,
    InboundExchange,
    Refused,
    SessionEvent,
    Subscribed,
    Subscription,
    Unsubscribed,
    WillBegun,
)
from contracts.session_record import (
    CONNECTED,
    LINGERING,
    OFFLINE,
    Kept,
    KeptWill,
    KeyPart,
    Part,
    SessionRecord,
    WillPart,
    exchange_key,
    progress_key,
    session_key,
    subscription_key,
)
from contracts.shared_record import is_group
from edge.gateway.limits.quotas import Quotas, is_counted_application
from edge.gateway.sessions.commands import changed, reply
from edge.gateway.sessions.effects import (
    Answer,
    Clear,
    Disconnect,
    Effect,
    PublishWill,
    Release,
    Store,
    Subscribe,
    Unsubscribe,
)
from edge.gateway.sessions.kept_wills import KeptWills
from edge.gateway.sessions.removals import Removals

QUOTA_EXCEEDED = 0x97
"""Reason code of whoever would have one session too many."""

REMOVAL_DELAY_MS = 600_000
"""How long an APPLICATION's Kafka topic outlives the session, unless told otherwise."""

MOST_WILL_BYTES = 16 << 20
"""Wills that one step publishes, in bytes about: what Kafka takes well within a transaction's time."""

Process = tuple[str, str]
"""One life of a gateway: its node id, and its boot."""


class Ownership:
    """The sessions of one partition."""

    def __init__(self, removal_delay_ms: int = REMOVAL_DELAY_MS, quotas: Quotas | None = None) -> None:
        """Args: `quotas` says who may have no session; None: everybody may."""
        self._quotas = quotas
        self._applications = 0
        self._sessions: dict[str, SessionRecord] = {}
        self._subscriptions: dict[str, dict[str, Subscription]] = {}
        self._inbound: dict[str, dict[int, InboundExchange]] = {}
        self._held: dict[Process, set[str]] = {}
        """Clients by the process that has their connection, or their will."""
        self._waiting: set[str] = set()
        """Clients with a pending connection."""
        self._expiries: list[tuple[int, str]] = []
        """A heap; entries that the session has overtaken are passed over."""
        self._progress: dict[str, Progress] = {}
        """How far persistent applications are."""
        self._wills = KeptWills()
        self.removals = Removals(removal_delay_ms)
        """Applications whose Kafka topic is to be removed."""

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def census(self) -> Census:
        """How many sessions there are."""
        return Census(len(self._sessions), self._applications)

    # what was stored

    def restore(self, client_id: str, part: KeyPart, record: SessionRecord | Kept | None) -> None:
        """Take a record of `tbmq.client.session`, in the log's order, before anything is applied."""
        if isinstance(record, Subscription):
            self._subscriptions.setdefault(client_id, {})[record.filter] = record
        elif isinstance(record, InboundExchange):
            self._inbound.setdefault(client_id, {})[record.packet_id] = record
        elif isinstance(record, Progress):
            self._progress[client_id] = record
        elif isinstance(part, WillPart):
            self._wills.restore(client_id, part.connection, record if isinstance(record, KeptWill) else None)
        elif isinstance(record, SessionRecord):
            self._put(client_id, record)
        elif part is None:
            self._put(client_id, None)
        elif part is Part.PROGRESS:
            self._progress.pop(client_id, None)
        elif isinstance(part, str):
            self._subscriptions.get(client_id, {}).pop(part, None)
        elif isinstance(part, int):
            self._inbound.get(client_id, {}).pop(part, None)

    def session(self, client_id: str) -> SessionRecord | None:
        """A client's session as it stands."""
        return self._sessions.get(client_id)

    def subscriptions(self, client_id: str) -> tuple[Subscription, ...]:
        """The subscriptions of a session that outlives its connection."""
        return tuple(self._subscriptions.get(client_id, {}).values())

    def inbound(self, client_id: str) -> tuple[InboundExchange, ...]:
        """Its QoS 2 exchanges that are not released yet."""
        return tuple(self._inbound.get(client_id, {}).values())

    # events

    def apply(self, client_id: str, event: SessionEvent, now_ms: int) -> list[Effect]:
        """What follows from an event of the log."""
        return list(_APPLIERS[type(event)](self, client_id, event, now_ms))

    def _connect(self, client_id: str, event: ConnectRequested, now_ms: int) -> Iterator[Effect]:
        session = self._sessions.get(client_id)
        if self._quotas is not None and self._quotas.refuses(session, event):
            yield _refusal(client_id, event, QUOTA_EXCEEDED)
            return
        if session is None or session.state == OFFLINE:
            yield from self._wills.keep(client_id, event.connection, event.will)
            yield from self._grant(client_id, event, now_ms)
            return
        if session.connection == event.connection:
            return
        yield Disconnect(session.node, DisconnectWanted(client_id, session.connection))
        if session.pending is not None:
            yield _refusal(client_id, session.pending, SESSION_TAKEN_OVER)
            yield from self._wills.drop(client_id, session.pending.connection)
        yield from self._wills.keep(client_id, event.connection, event.will)
        yield self._store(client_id, replace(session, pending=replace(event, will=None)))
        if session.node == event.node and session.boot != event.boot:
            # A node id has one process at a time, so the other one is gone; should it live, it was told to disconnect.
            yield from self._release(
                client_id, session.expiry, _ended_at(session, now_ms), now_ms, _sent(session)
            )

    def _ended(self, client_id: str, event: ConnectionEnded, now_ms: int) -> Iterator[Effect]:
        session = self._sessions.get(client_id)
        if session is None or session.state == OFFLINE:
            return
        if session.pending is not None and session.pending.connection == event.connection:
            yield self._store(client_id, replace(session, pending=None))
            yield from self._wills.drop(client_id, event.connection)
            return
        if session.connection != event.connection:
            return
        expiry = session.expiry if event.expiry is None else event.expiry
        lingers = session.state == CONNECTED and event.will_delay and expiry
        # Another life of the node knows nothing of the connection, but that it is gone.
        is_known = event.boot == session.boot
        sent = (_known_sent(session) if event.is_unfed else event.sent) if is_known else None
        if is_known and not lingers and not event.is_will_left:
            yield from self._wills.drop(client_id, event.connection)
        if session.state == LINGERING:
            yield from self._release(client_id, session.expiry, session.ended_at_ms, now_ms, _sent(session))
        elif lingers:
            lingering = replace(
                session, state=LINGERING, expiry=expiry, ended_at_ms=event.at_ms,
                sent=sent or (), is_sent_unknown=sent is None,
            )  # fmt: skip
            yield self._store(client_id, lingering)
        else:
            yield from self._release(client_id, expiry, event.at_ms, now_ms, sent)

    def _will_begun(self, client_id: str, event: WillBegun, _now_ms: int) -> Iterator[Effect]:
        yield from self._wills.begin(client_id, event)

    def _subscribed(self, client_id: str, event: Subscribed, _now_ms: int) -> Iterator[Effect]:
        if self._is_of_session(client_id, event.connection):
            held = self._subscriptions.setdefault(client_id, {})
            for subscription in event.subscriptions:
                held[subscription.filter] = subscription
                yield Store(subscription_key(client_id, subscription.filter), subscription)

    def _unsubscribed(self, client_id: str, event: Unsubscribed, _now_ms: int) -> Iterator[Effect]:
        if self._is_of_session(client_id, event.connection):
            held = self._subscriptions.get(client_id, {})
            for filter in event.filters:
                if held.pop(filter, None) is not None:
                    yield Store(subscription_key(client_id, filter), None)

    def _exchange_begun(self, client_id: str, event: ExchangeBegun, _now_ms: int) -> Iterator[Effect]:
        if self._is_of_session(client_id, event.connection):
            exchange = InboundExchange(event.packet_id, "begun", event.source_partition, event.floor)
            yield self._put_exchange(client_id, exchange)

    def _exchange_confirmed(self, client_id: str, event: ExchangeConfirmed, _now_ms: int) -> Iterator[Effect]:
        exchange = self._inbound.get(client_id, {}).get(event.packet_id)
        if exchange is not None and self._is_of_session(client_id, event.connection):
            yield self._put_exchange(client_id, replace(exchange, state="confirmed"))

    def _exchange_released(self, client_id: str, event: ExchangeReleased, _now_ms: int) -> Iterator[Effect]:
        if not self._is_of_session(client_id, event.connection):
            return
        if self._inbound.get(client_id, {}).pop(event.packet_id, None) is not None:
            yield Store(exchange_key(client_id, event.packet_id), None)

    def _progressed(self, client_id: str, event: ApplicationProgress, _now_ms: int) -> Iterator[Effect]:
        if self._is_of_session(client_id, event.connection):
            self._progress[client_id] = event.progress
            yield Store(progress_key(client_id), event.progress)

    def _commanded(self, client_id: str, event: CommandGiven, now_ms: int) -> Iterator[Effect]:
        session = self._sessions.get(client_id)
        if session is None:
            yield reply(event, NO_SESSION)
        elif event.action == CHANGE and session.state == CONNECTED:
            wanted = ChangeWanted(
                client_id, session.connection, event.command, event.subscriptions, event.filters
            )
            yield Answer(session.node, client_id, wanted)  # whose gateway replies
        elif event.action == CHANGE:
            held = self._subscriptions.setdefault(client_id, {})
            yield from changed(client_id, session, held, event)
        elif event.action == CLEAR and session.state == OFFLINE:
            yield from self._end(client_id, _known_sent(session), now_ms)
            yield reply(event, DONE)
        elif event.action == CLEAR or (event.action == DISCONNECT and session.state == CONNECTED):
            if event.action == CLEAR:
                yield self._store(client_id, replace(session, is_cleared=True))
            wanted_end = DisconnectWanted(client_id, session.connection, reason_code=ADMINISTRATIVE_ACTION)
            yield Disconnect(session.node, wanted_end)
            yield reply(event, DONE)
        elif event.action == DISCONNECT:
            yield reply(event, NOT_CONNECTED)

    # time, and nodes that are gone

    @property
    def next_deadline_ms(self) -> int | None:
        """When `expire` may have something to do; None for never."""
        deadlines = [self._expiries[0][0]] if self._expiries else []
        others = (self.removals.next_deadline_ms, self._wills.next_deadline_ms)
        return min([*deadlines, *(at for at in others if at is not None)], default=None)

    def expire(self, now_ms: int, most: int = 1_000) -> list[Effect]:
        """End sessions whose time is over, the longest overdue first, so many at most.

        As many wills as are due are published, and topics removed.
        """
        effects: list[Effect] = [*self.removals.due(now_ms), *self._wills.due(now_ms, most, MOST_WILL_BYTES)]
        room = MOST_WILL_BYTES
        while self._expiries and self._expiries[0][0] <= now_ms and most > 0 and room > 0:
            at_ms, client_id = heapq.heappop(self._expiries)
            session = self._sessions.get(client_id)
            if session is not None and session.expires_at_ms == at_ms:
                ended = list(self._end(client_id, _known_sent(session), now_ms))
                effects += ended
                most, room = most - 1, room - _will_bytes(ended)
        return effects

    @property
    def processes(self) -> set[Process]:
        """The gateways' lives that hold a session here, or wait for one."""
        return set(self._held) | {
            (pending.node, pending.boot) for _, pending in self._pending_of(self._waiting)
        }

    @property
    def is_waiting(self) -> bool:
        """Whether anybody waits for another connection's end."""
        return bool(self._waiting)

    def lose(self, process: Process, now_ms: int, most: int = 1_000) -> list[Effect]:
        """A gateway is gone: so are its connections, so many at most, those that wait included.

        Call it only when every event that the gateway had got into the log has been applied, and again for as long as
        the gateway is among `processes`.
        """
        effects: list[Effect] = []
        for client_id, pending in list(self._pending_of(self._waiting)):
            if (pending.node, pending.boot) == process:
                effects.append(self._store(client_id, replace(self._sessions[client_id], pending=None)))
                effects += self._wills.drop(client_id, pending.connection)
        room = MOST_WILL_BYTES
        for client_id in heapq.nsmallest(most, self._held.get(process, ())):
            if room <= 0:
                break
            session = self._sessions[client_id]
            # Should it live after all, then it has to disconnect whom others may now let in.
            wanted = DisconnectWanted(client_id, session.connection, is_lost=True)
            effects.append(Disconnect(session.node, wanted))
            released = list(
                self._release(client_id, session.expiry, _ended_at(session, now_ms), now_ms, _sent(session))
            )
            effects += released
            room -= _will_bytes(released)
        return effects

    # steps

    def _release(
        self, client_id: str, expiry: int, ended_at_ms: int, now_ms: int, sent: tuple[int, ...] | None
    ) -> Iterator[Effect]:
        """The session's connection is over; whoever waits for that is let in. `sent` is None if nobody knows it."""
        session = self._sessions[client_id]
        pending = session.pending
        if expiry and not session.is_cleared:
            offline = replace(
                session, state=OFFLINE, expiry=expiry, ended_at_ms=ended_at_ms, pending=None,
                sent=sent or (), is_sent_unknown=sent is None,
            )  # fmt: skip
            stored = self._store(client_id, offline)
            if pending is None:
                yield stored
            yield from self._settle_will(client_id, offline, pending.at_ms if pending else now_ms)
            if sent is None and session.client_type != APPLICATION:  # whose groups need not know
                yield from self._leave_groups(client_id, session.node)
        else:
            yield from self._end(client_id, sent, now_ms)
        if pending is not None:
            yield from self._grant(client_id, pending, now_ms)

    def _grant(self, client_id: str, connect: ConnectRequested, now_ms: int) -> Iterator[Effect]:
        session = self._sessions.get(client_id)
        if session is not None:
            expires_at_ms = session.expires_at_ms
            has_expired = expires_at_ms is not None and expires_at_ms <= now_ms
            # One of another type is owed nothing that it could be given: what is kept stands elsewhere.
            if connect.clean_start or has_expired or connect.client_type != session.client_type:
                yield from self._end(client_id, _known_sent(session), now_ms)  # [MQTT-3.1.2-4]
                session = None
            else:
                yield from self._wills.settle_waiting(client_id, connect.at_ms)
        granted = SessionRecord(
            CONNECTED, connect.node, connect.boot, connect.connection, connect.expiry, connect.protocol,
            connect.client_type, connect.at_ms,
            is_persistent=connect.expiry > 0 or (session is not None and session.is_persistent),
            warning=connect.warning, user_name=connect.user_name, address=connect.address,
            keep_alive=connect.keep_alive, clean_start=connect.clean_start,
            sent=() if session is None else session.sent,
            is_sent_unknown=session is not None and session.is_sent_unknown,
        )  # fmt: skip
        yield self._store(client_id, granted)
        if granted.is_persistent and granted.client_type == APPLICATION:
            yield from self.removals.cancel(client_id)
        answer = Granted(
            client_id, connect.connection, session is not None, connect.expiry,
            self.subscriptions(client_id), self.inbound(client_id),
            moved=session is not None and session.node != connect.node,
            sent=granted.sent,
            is_sent_unknown=granted.is_sent_unknown,
            application=self._progress.get(client_id),
        )  # fmt: skip
        yield Answer(connect.node, client_id, answer)

    def _settle_will(self, client_id: str, offline: SessionRecord, back_at_ms: int) -> Iterator[Effect]:
        """The will of a connection that is over, if it is the owner's: it goes out, or waits, for its session lasts.

        `back_at_ms` is when its client has come back; as long as it has not, the present.
        """
        kept = self._wills.of(client_id, offline.connection)
        if kept is None:
            return
        due_at_ms = offline.ended_at_ms + kept.will.delay * 1_000
        if kept.begun_at_ms is not None or due_at_ms <= back_at_ms or not kept.will.delay:
            yield from self._wills.publish(client_id, offline.connection)
        else:
            yield self._wills.wait(client_id, kept, due_at_ms)

    def _leave_groups(self, client_id: str, node: str) -> Iterator[Effect]:
        """Its gateway could not say that a client is offline, so nothing more is to be sent to it meanwhile."""
        for subscription in self.subscriptions(client_id):
            if is_group(subscription.filter):
                yield Subscribe(client_id, node, subscription)

    def _end(self, client_id: str, sent: tuple[int, ...] | None, now_ms: int) -> Iterator[Effect]:
        """The session is no more, nor anything that was kept for it. `sent` is None if nobody knows it."""
        session = self._sessions[client_id]
        yield from self._wills.publish(client_id, session.connection)  # [MQTT-3.1.2-8]
        shared = tuple(one for one in self.subscriptions(client_id) if is_group(one.filter))
        for filter in self._subscriptions.pop(client_id, {}):
            yield Unsubscribe(client_id, filter)
            yield Store(subscription_key(client_id, filter), None)
        for packet_id in self._inbound.pop(client_id, {}):
            yield Store(exchange_key(client_id, packet_id), None)
        if self._progress.pop(client_id, None) is not None:
            yield Store(progress_key(client_id), None)
        if session.is_persistent and session.client_type == APPLICATION:
            yield self.removals.queue(client_id, now_ms)
        elif session.is_persistent:
            yield Release(client_id, shared, sent) if shared else Clear(client_id)
        yield self._store(client_id, None)

    def _is_of_session(self, client_id: str, connection: str) -> bool:
        session = self._sessions.get(client_id)
        return session is not None and session.connection == connection

    def _put_exchange(self, client_id: str, exchange: InboundExchange) -> Store:
        self._inbound.setdefault(client_id, {})[exchange.packet_id] = exchange
        return Store(exchange_key(client_id, exchange.packet_id), exchange)

    def _pending_of(self, clients: Iterable[str]) -> Iterator[tuple[str, ConnectRequested]]:
        for client_id in sorted(clients):
            pending = self._sessions[client_id].pending
            if pending is not None:
                yield client_id, pending

    def _store(self, client_id: str, session: SessionRecord | None) -> Store:
        self._put(client_id, session)
        return Store(session_key(client_id), session)

    def _put(self, client_id: str, session: SessionRecord | None) -> None:
        before = self._sessions.pop(client_id, None)
        self._applications += _applications(session) - _applications(before)
        if before is not None and before.state != OFFLINE:
            held = self._held[before.node, before.boot]
            held.discard(client_id)
            if not held:
                del self._held[before.node, before.boot]
        self._waiting.discard(client_id)
        if session is None:
            return
        self._sessions[client_id] = session
        if session.state != OFFLINE:
            self._held.setdefault((session.node, session.boot), set()).add(client_id)
        elif session.expires_at_ms is not None:
            heapq.heappush(self._expiries, (session.expires_at_ms, client_id))
        if session.pending is not None:
            self._waiting.add(client_id)


def _applications(session: SessionRecord | None) -> int:
    return int(session is not None and is_counted_application(session))


def _ended_at(session: SessionRecord, now_ms: int) -> int:
    return session.ended_at_ms if session.state == LINGERING else now_ms


def _sent(session: SessionRecord) -> tuple[int, ...] | None:
    """What a connection that is over had sent and seen no acknowledgement of; None where it could not tell."""
    return _known_sent(session) if session.state == LINGERING else None


def _known_sent(session: SessionRecord) -> tuple[int, ...] | None:
    return None if session.is_sent_unknown else session.sent


def _will_bytes(effects: Iterable[Effect]) -> int:
    return sum(effect.kept.will.size for effect in effects if isinstance(effect, PublishWill))


def _refusal(client_id: str, connect: ConnectRequested, reason: int) -> Answer:
    return Answer(connect.node, client_id, Refused(connect.connection, reason))


_APPLIERS: dict[type, Callable[[Ownership, str, Any, int], Iterator[Effect]]] = {
    ConnectRequested: Ownership._connect,
    ConnectionEnded: Ownership._ended,
    WillBegun: Ownership._will_begun,
    Subscribed: Ownership._subscribed,
    Unsubscribed: Ownership._unsubscribed,
    ExchangeBegun: Ownership._exchange_begun,
    ExchangeConfirmed: Ownership._exchange_confirmed,
    ExchangeReleased: Ownership._exchange_released,
    ApplicationProgress: Ownership._progressed,
    CommandGiven: Ownership._commanded,
}
