"""Subscribing: SUBSCRIBE and UNSUBSCRIBE, from the client to `tbmq.client.subscriptions` and back.

A filter is served locally as soon as it is asked for, and acknowledged only once Kafka has its record: from then on
every gateway's barrier sees it (I2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from confluent_kafka import KafkaError, Message

from contracts import session_event, subscription_record
from contracts.kafka_topics import subscription_partition
from contracts.session_event import APPLICATION, Granted, SessionEvent, Subscribed, Unsubscribed
from contracts.shared_record import is_group
from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND, NODE_KIND
from contracts.topics import is_exclusive
from edge.gateway.appender import Appender, Durable
from edge.gateway.application_shares.shares import ApplicationShares
from edge.gateway.application_shares.turns import Refused
from edge.gateway.connection import Connection
from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.exclusive.exclusive import Exclusive, together, unwrapped
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.records_under_way import RecordsUnderWay
from edge.gateway.retained.reading import Wish
from edge.gateway.retained.retention import Retention
from edge.gateway.sessions.answers import portions_of
from edge.gateway.shares.memberships import record_of
from edge.gateway.source_marks import SourceMarks
from edge.mqtt import packets
from edge.mqtt.events import SubscribeReceived, UnsubscribeReceived
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)

Answer = Callable[[list[int]], None]
"""Gets the reason codes of a packet that no client has sent."""


class _Acknowledgement:
    """Waits for all records of one packet, then confirms it."""

    __slots__ = ("confirm", "left", "reasons")

    def __init__(self, reasons: list[int], confirm: Callable[[list[int]], None]) -> None:
        self.reasons = reasons
        self.confirm = confirm
        self.left = 1

    def expect(self, *positions: int) -> Durable:
        """The callback for the record that stands behind these positions' reason codes."""
        self.left += 1

        def durable(error: KafkaError | None, message: Message) -> None:
            _unheard(error, message)
            if error is not None:
                for position in positions:
                    self.reasons[position] = ReasonCode.UNSPECIFIED_ERROR
            self.done()

        return durable

    def done(self) -> None:
        """One less to wait for."""
        self.left -= 1
        if not self.left:
            self.confirm(self.reasons)


class Subscribing:
    """Keeps the local subscriptions and their records in Kafka in step."""

    def __init__(
        self, topic: str, partitions: int, node: str, appender: Appender, marks: SourceMarks,
        local: LocalSubscriptions[Connection], tell: Callable[[str, SessionEvent, Durable], None],
        shares: ApplicationShares, denied: DeniedFilters, claims: ExclusiveClaims, retention: Retention,
        *, exclusive: bool = False,
    ) -> None:  # fmt: skip
        """Prepare to subscribe.

        Args:
            topic: The subscription log.
            partitions: How many it has.
            node: This gateway.
            appender: For the log's records.
            marks: Told which filters are held here.
            local: Who holds which filter here.
            tell: Appends a session's event for its owner.
            shares: Told of their members.
            denied: Refused to everybody.
            claims: Those of exclusive subscriptions.
            retention: Has the last word before SUBACK: what is retained is read, and sent behind it.
            exclusive: Whether clients may make exclusive subscriptions.
        """
        self._retention = retention
        self._topic, self._partitions, self._node = topic, partitions, node
        self._appender = appender
        self._marks = marks
        self._local = local
        self._tell = tell
        self._shares = shares
        self._denied = denied
        self._under_way = RecordsUnderWay()
        self._exclusive = Exclusive(
            claims, node, self._record, self._serve,
            lambda client_id, filter: self._tombstone(client_id, filter, _unheard), self._give_up, tell,
            is_enabled=exclusive,
        )  # fmt: skip

    def subscribe(
        self, connection: Connection, event: SubscribeReceived, answer: Answer | None = None
    ) -> None:
        """Serve each filter, and confirm the packet when all their records are durable.

        With an `answer` it is an administrator who asks: that gets the reason codes, and the client's rules count not.
        """
        filters = [one.filter for one in event.packet.subscriptions]
        denied: dict[str, int] = {}
        if answer is None:
            denied = {**self._denied.among(filters), **_unauthorized(connection, filters)}
        groups = [filter for filter in filters if filter not in denied and _is_shared_by(connection, filter)]
        claimed = [filter for filter in filters if filter not in denied and is_exclusive(filter)]

        def go_on(refused: Refused) -> None:
            refused = {**refused, **denied}
            self._subscribe(connection, unwrapped(event, refused), refused, answer)

        self._shares.turns.take(
            connection,
            groups,
            go_on,
            (lambda: self._exclusive.refused(connection, self._local.filters(connection), claimed))
            if claimed
            else None,
        )

    def subscribe_unasked(
        self, connection: Connection, subscriptions: Iterable[packets.Subscription]
    ) -> None:
        """The same for a client that did not ask, and is not answered."""
        if wanted := tuple(subscriptions):
            self.subscribe(connection, SubscribeReceived(packets.Subscribe(0, wanted)))

    def drop_unauthorized(self, connection: Connection) -> None:
        """End those of a client's subscriptions that its rules allow no more; it is not told."""
        own = [
            filter for filter in self._local.filters(connection)
            if not self._local.holders(filter)[connection].by_administrator
        ]  # fmt: skip
        if gone := tuple(_unauthorized(connection, own)):
            self.unsubscribe(connection, UnsubscribeReceived(packets.Unsubscribe(0, gone)))

    def unsubscribe(
        self, connection: Connection, event: UnsubscribeReceived, answer: Answer | None = None
    ) -> None:
        """Stop serving each filter, and confirm the packet when all their tombstones are durable."""
        self._shares.turns.take(connection, (), lambda _: self._unsubscribe(connection, event, answer))

    def _subscribe(
        self, connection: Connection, event: SubscribeReceived, refused: Refused, answer: Answer | None
    ) -> None:
        packet = event.packet
        turn = self._retention.begin(connection)

        def acknowledge(reasons: list[int]) -> None:
            if answer is not None:
                answer(reasons)
            elif packet.packet_id:  # else nobody asked
                connection.core.confirm_subscribe(packet.packet_id, reasons)
                connection.changed()

        def confirm(reasons: list[int]) -> None:
            self._retention.durable(turn, reasons, partial(acknowledge, reasons))

        granted: list[int] = [wanted.qos for wanted in packet.subscriptions]
        waiting = _Acknowledgement(granted, confirm)
        kept: list[session_event.Subscription] = []
        positions: list[int] = []
        identifiers = packet.properties.subscription_identifiers
        for position, wanted in enumerate(packet.subscriptions):
            if (reason := refused.get(wanted.filter)) is not None:
                granted[position] = reason
                continue
            identifier = identifiers[0] if identifiers else None
            subscription = self._kept(connection, wanted, identifier, by_administrator=answer is not None)
            is_new = not self._local.holds(connection, wanted.filter)
            wish = self._retention.wish(turn, position, wanted, is_new=is_new)
            self._add(connection, subscription, self._noting(wish, waiting.expect(position)))
            kept.append(subscription)
            positions.append(position)
        self._retention.asked(turn)
        seat = connection.seat
        if seat is not None and seat.is_persistent:
            for portion in portions_of(tuple(kept)):
                made = Subscribed(self._node, seat.id, portion)
                self._tell(seat.client_id, made, waiting.expect(*positions))
        waiting.done()

    def _unsubscribe(
        self, connection: Connection, event: UnsubscribeReceived, answer: Answer | None = None
    ) -> None:
        packet = event.packet

        def confirm(reasons: list[int]) -> None:
            if answer is not None:
                answer(reasons)
            elif packet.packet_id:  # else nobody asked
                connection.core.confirm_unsubscribe(packet.packet_id, reasons)
                connection.changed()

        reasons: list[int] = [ReasonCode.SUCCESS] * len(packet.filters)
        waiting = _Acknowledgement(reasons, confirm)
        gone: list[str] = []
        for position, filter in enumerate(packet.filters):
            if not self._local.holds(connection, filter):
                reasons[position] = ReasonCode.NO_SUBSCRIPTION_EXISTED
                continue
            for each in together(filter, self._local.filters(connection)):
                if not self._local.holds(connection, each):
                    continue
                if self._local.remove(connection, each):  # [MQTT-3.10.4-2]
                    self._marks.forget(each)
                self._retention.ended(connection, each)
                if _is_shared_by(connection, each):
                    self._shares.leave(connection.client_id, each, _nothing)
                self._tombstone(connection.client_id, each, waiting.expect(position))
                gone.append(each)
        seat = connection.seat
        if gone and seat is not None and (seat.is_persistent or any(map(is_exclusive, gone))):
            ended = Unsubscribed(self._node, seat.id, tuple(gone))
            self._tell(seat.client_id, ended, waiting.expect())
        waiting.done()

    def resume(self, connection: Connection, granted: Granted, done: Callable[[], None]) -> None:
        """Serve the subscriptions of a session that goes on; where it was elsewhere before, its routes follow.

        Calls back when they lead here for all that is published from then on.
        """
        # Messages of QoS 0 go to the gateway that the record names; and all, when the session is to end with this one.
        is_routed_anew = granted.moved or connection.seat is None or not connection.seat.is_persistent
        for kept in granted.subscriptions:
            self._serve(connection, kept)
            if is_exclusive(kept.filter):
                self._exclusive.claim_again(connection, kept.filter)
                continue
            # The log names the gateway for messages of QoS 0, and members of share groups that are online.
            if is_routed_anew or is_group(kept.filter):
                self._record(connection, kept, _unheard)
        self.drop_unauthorized(connection)
        self._under_way.when_none(connection.client_id, done)

    def renew(self, connection: Connection, filter: str) -> None:
        """Write a subscription's record again if the client holds it: the log said otherwise.

        A gateway that stood still, and goes on when others have let its clients in, ends what it believes to be theirs.
        """
        if (held := self._local.holders(filter).get(connection)) is None:
            return
        if is_exclusive(filter):
            self._exclusive.claim_again(connection, filter)
        else:
            self._record(connection, _again(filter, held), _unheard)

    def leave(self, connection: Connection, is_kept: bool, done: Callable[[], None]) -> None:
        """Serve a connection's subscriptions no more; end them unless its session keeps them, and tell when durable.

        So is then all that the connection had written: nothing of it comes behind what the client writes elsewhere.
        """
        filters = self._local.filters(connection)
        if not filters:
            self._retention.left(connection)
            self._under_way.when_none(connection.client_id, done)
            return
        waiting = _Acknowledgement([], lambda _: done())
        groups = [(filter, self._local.holders(filter)[connection]) for filter in filters if is_group(filter)]
        if _kind_of(connection) == APPLICATION_KIND:
            # Nothing more is given to it here; that it is away, nobody else needs to know.
            for filter, _ in groups:
                waiting.left += 1
                self._shares.leave(connection.client_id, filter, waiting.done)
            groups = []
        for filter, was_last in self._local.drop(connection):
            if was_last:
                self._marks.forget(filter)
            self._retention.ended(connection, filter)
            if not is_kept:
                self._tombstone(connection.client_id, filter, _unheard)
        self._retention.left(connection)
        for filter, held in groups if is_kept else ():
            self._record(connection, _again(filter, held), _unheard, online=False)
        self._under_way.when_none(connection.client_id, waiting.done)

    def bury(self, keys: Iterable[bytes], done: Callable[[], None]) -> None:
        """Write the tombstones of subscriptions that an earlier life of this node left, and tell when durable."""
        waiting = _Acknowledgement([], lambda _: done())
        for key in keys:
            self._tombstone(*subscription_record.decode_key(key), waiting.expect())
        waiting.done()

    def stop(self) -> None:
        """Wait for no more claims."""
        self._exclusive.stop()

    def _give_up(self, connection: Connection, filter: str) -> None:
        self._unsubscribe(connection, UnsubscribeReceived(packets.Unsubscribe(0, (filter,))))

    def _add(self, connection: Connection, wanted: session_event.Subscription, durable: Durable) -> None:
        self._serve(connection, wanted)
        self._record(connection, wanted, durable)

    def _noting(self, wish: Wish | None, durable: Durable) -> Durable:
        """Have it noted where a subscription's record stands."""
        if wish is None:
            return durable

        def placed(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self._retention.placed(wish, message)
            durable(error, message)

        return placed

    def _serve(self, connection: Connection, wanted: session_event.Subscription) -> None:
        options = Subscription(
            wanted.qos, wanted.no_local, wanted.retain_as_published, wanted.subscription_id, wanted.floors,
            wanted.by_administrator,
        )  # fmt: skip
        if self._local.add(connection, wanted.filter, options):
            self._marks.hold(wanted.filter)
        if _is_shared_by(connection, wanted.filter):
            self._shares.join(connection.client_id, wanted.filter, wanted.qos)

    def _kept(
        self, connection: Connection, wanted: packets.Subscription, identifier: int | None,
        *, by_administrator: bool,
    ) -> session_event.Subscription:  # fmt: skip
        held = self._local.holders(wanted.filter).get(connection)
        return session_event.Subscription(
            wanted.filter,
            wanted.qos,
            wanted.no_local,
            wanted.retain_as_published,
            wanted.retain_handling,
            identifier,
            self._marks.floors() if held is None else held.floors,  # [MQTT-3.8.4-3]: replaced, nothing missed
            by_administrator,
        )

    def _record(
        self,
        connection: Connection,
        wanted: session_event.Subscription,
        durable: Durable,
        *,
        online: bool = True,
    ) -> None:
        record = record_of(connection.client_id, self._node, wanted, _kind_of(connection), online=online)
        self._append(connection.client_id, wanted.filter, subscription_record.encode_value(record), durable)

    def _tombstone(self, client_id: str, filter: str, durable: Durable) -> None:
        self._append(client_id, filter, None, durable)

    def _append(
        self,
        client_id: str,
        filter: str,
        value: bytes | None,
        durable: Durable,
    ) -> None:
        key = subscription_record.encode_key(client_id, filter)
        partition = subscription_partition(filter, self._partitions)
        durable = self._under_way.begin(client_id, durable)

        def append() -> None:
            try:
                self._appender.append(self._topic, value, key, [], durable, partition)
            except BufferError:
                self._appender.when_room(append)

        append()


def _unauthorized(connection: Connection, filters: Iterable[str]) -> Mapping[str, int]:
    """Those filters that a client's rules do not allow, with the reason code for SUBACK."""
    permissions = connection.permissions
    if permissions is None:
        return {}
    return {filter: ReasonCode.NOT_AUTHORIZED for filter in filters if permissions.subscribe(filter) is None}


def _kind_of(connection: Connection) -> str:
    seat = connection.seat
    if seat is None or not seat.is_persistent:
        return NODE_KIND
    return APPLICATION_KIND if seat.client_type == APPLICATION else DEVICE_KIND


def _is_shared_by(connection: Connection, filter: str) -> bool:
    """Whether persistent APPLICATIONs share it; among other clients, others choose (`shares`)."""
    return is_group(filter) and _kind_of(connection) == APPLICATION_KIND


def _nothing() -> None:
    """Nobody waits for it."""


def _again(filter: str, held: Subscription) -> session_event.Subscription:
    return session_event.Subscription(
        filter, held.qos, held.no_local, held.retain_as_published, subscription_id=held.subscription_id
    )


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("a subscription's record was not written: %s", error)
