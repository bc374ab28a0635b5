"""Fan-out: from one routed record to all local clients that hold its filter.

Repeats of a restarted router are dropped here (I4), and who holds several filters that match gets one copy. A record
that can't be read is counted and skipped; a client that does not keep up costs bounded memory and nobody else's time
(I10).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from confluent_kafka import Message

from contracts import probe_record, publish_record, routed_record
from contracts.application_shares import is_of_application_share
from contracts.errors import RecordError
from contracts.probe_record import ProbeAnswer
from contracts.publish_record import PublishRecord
from contracts.routed_record import Route
from contracts.shared_record import RecordHeaders, decode_member, is_group
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import record_headers
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.outgoing import outgoing_message
from edge.gateway.overlaps import Overlaps, together
from edge.gateway.retained.order import LiveOrder
from edge.gateway.shares.returning import SharedRecord
from edge.gateway.source_marks import SourceMarks
from edge.gateway.tracing.tracer import Tracer
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import DeliveryOutcome
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)


class Fanout:
    """Takes batches of the node's downlink."""

    def __init__(
        self, local: LocalSubscriptions[Connection], marks: SourceMarks, counters: Counters,
        probe_answered: Callable[[ProbeAnswer], None], connected: Callable[[str], Connection | None],
        give_back: Callable[[SharedRecord], None], order: LiveOrder[Connection],
    ) -> None:  # fmt: skip
        """Prepare to deliver.

        Args:
            local: Who holds which filter here.
            marks: By which repeats are told.
            counters: The gateway's.
            probe_answered: Told what a probe's answer says.
            connected: Finds a client's connection here.
            give_back: Takes a message for a member of a share group that is gone.
            order: Told what comes, so that retained and live messages never go backwards.
        """
        self._order = order
        self._connected = connected
        self._give_back = give_back
        self._local = local
        self._overlaps: Overlaps[Connection] = Overlaps(local, attrgetter("client_id"))
        self._marks = marks
        self._counters = counters
        self._probe_answered = probe_answered
        self._loop = asyncio.get_running_loop()
        self.tracer: Tracer | None = None
        """There while a trace is on."""

    def take(self, batch: list[Message]) -> None:
        """Deliver a batch, in order."""
        tracer = self.tracer
        for message in batch:
            if tracer is not None:
                tracer.taking(message)
            try:
                self._take(message.value(), record_headers(message))
            except (RecordError, LocalProtocolError) as error:  # or no MQTT packet can be made of it
                self._counters.poison_records += 1
                log.warning(
                    "downlink record %s:%s is skipped: %s", message.partition(), message.offset(), error,
                    extra={"partition": message.partition(), "offset": message.offset()},
                )  # fmt: skip

    def _take(self, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]) -> None:
        if probe_record.is_answer(headers):
            answer = probe_record.decode_answer(headers)
            self._marks.see(answer.source_partition, answer.source_offset)
            self._order.reached(answer.source_partition, answer.source_offset)
            self._probe_answered(answer)
            return
        counters = self._counters
        counters.routed_records += 1
        route = routed_record.decode_route(headers)
        if is_group(route.filter):
            self._take_shared(route, value, headers)
            return
        self._marks.see(route.partition, route.offset)
        self._order.reached(route.partition, route.offset)
        holders = self._local.holders(route.filter)
        if not holders:
            counters.unwanted_records += 1
            return
        if not self._marks.take(route.partition, route.offset, route.filter):
            counters.repeated_records += 1
            return
        record = publish_record.decode(route.topic.encode(), value, headers)
        outgoing = outgoing_message(record, self._loop.time())
        holders = self._order.admit(
            route.partition, route.offset, route.filter, route.topic, record.retain, holders
        )
        if several := self._overlaps.take(route):
            self._deliver_to_some_once(holders, several, route, record, outgoing)
        else:
            for connection, subscription in holders.items():
                self._deliver(connection, subscription, record, outgoing, ())
        self._order.delivered(route.partition, route.offset)

    def _deliver_to_some_once(
        self,
        holders: Mapping[Connection, Subscription],
        several: dict[str, Sequence[Subscription]],
        route: Route,
        record: PublishRecord,
        outgoing: OutgoingMessage,
    ) -> None:
        """As some of them hold more filters that match."""
        for connection, subscription in holders.items():
            client_id = connection.client_id
            matching = several.get(client_id)
            if matching is None:
                self._deliver(connection, subscription, record, outgoing, ())
            elif matching:
                several[client_id] = ()  # the records for its other filters bring it nothing
                is_own = client_id == record.client_id
                one = together(matching, route.partition, route.offset, is_own=is_own)
                if one is not None:
                    self._deliver(connection, one.subscription, record, outgoing, one.identifiers)

    def _take_shared(self, route: Route, value: bytes | None, headers: RecordHeaders) -> None:
        """For one member of a group; dispatchers write each record once."""
        member = decode_member(headers)
        record = publish_record.decode(route.topic.encode(), value, headers)
        shared = SharedRecord(route.filter, value, headers)
        connection = self._connected(member)
        subscription = None if connection is None else self._local.holders(route.filter).get(connection)
        if (
            connection is not None
            and subscription is not None
            # One that was chosen without a lasting session, and has come back with one, gets it by that.
            and not (connection.is_kept and min(record.qos, subscription.qos))
        ):
            message = outgoing_message(record, self._loop.time(), shared)
            self._deliver(connection, subscription, record, message, ())
        elif record.qos and not is_of_application_share(route.partition):
            self._give_back(shared)
        else:
            self._counters.unwanted_records += 1

    def _deliver(
        self,
        connection: Connection,
        subscription: Subscription,
        record: PublishRecord,
        outgoing: OutgoingMessage,
        ids: tuple[int, ...],
    ) -> None:
        """Give a client its copy; `ids` are further identifiers than the subscription's own."""
        if subscription.no_local and connection.client_id == record.client_id:
            return  # [MQTT-3.8.3-3]
        qos = min(record.qos, subscription.qos)
        if qos and connection.is_kept:
            return  # It comes by the persisted log.
        if not qos and connection.is_slow:
            self._counters.dropped_slow += 1
            if self.tracer is not None:
                self.tracer.passed_over(connection, "slow")
            return
        if not qos and connection.outflow is not None and not connection.outflow.take():
            self._counters.dropped_over_rate += 1
            if self.tracer is not None:
                self.tracer.passed_over(connection, "rate")
            return
        retain = record.retain and subscription.retain_as_published  # [MQTT-3.3.1-12], [MQTT-3.3.1-13]
        identifier = subscription.subscription_id
        if identifier is not None:
            ids = (identifier, *ids)
        now = None if outgoing.expires_at is None else self._loop.time()
        outcome = connection.core.deliver(outgoing, qos, retain, ids, now)
        if self.tracer is not None:
            self.tracer.delivered(connection, outgoing, qos, outcome)
        if outcome is DeliveryOutcome.SENT or outcome is DeliveryOutcome.QUEUED:
            self._counters.deliveries += 1
            connection.changed()
        elif outcome is DeliveryOutcome.DROPPED_TOO_LARGE:
            self._counters.dropped_large += 1
        elif outcome is DeliveryOutcome.DROPPED_EXPIRED:
            self._counters.dropped_expired += 1
        elif outcome is DeliveryOutcome.DROPPED_QUEUE_FULL:
            # A gap would break the session's promise silently; the session ends with its connection, so end it.
            self._counters.disconnected_slow += 1
            log.warning(
                "client %s is disconnected: too many messages wait for it", connection.client_id,
                extra={"client": connection.client_id},
            )  # fmt: skip
            connection.disconnect_soon(ReasonCode.QUOTA_EXCEEDED)
