"""A cluster in the test's process: real owners and views, with the gateways and Kafka played between them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from admin.clients.administered import AdministeredClients
from admin.clients.errors import NobodyAnswersError
from admin.clients.following import UP, Standing
from admin.clients.retained import Place
from admin.clients.sessions import ApplicationPlace
from admin.clients.view import ClusterView
from admin.clients.waiting import ApplicationMessages, DeviceMessages
from contracts import command_answer, publish_record, retained_record, session_record, subscription_record
from contracts.command_answer import DONE, CommandAnswer
from contracts.publish_record import PublishRecord
from contracts.retained_record import RetainedRecord
from contracts.session_event import (
    DEVICE,
    ChangeWanted,
    CommandGiven,
    ConnectionEnded,
    ConnectRequested,
    SessionEvent,
    Subscription,
)
from contracts.subscription_record import DEVICE_KIND, NODE_KIND
from edge.gateway.sessions.effects import Answer, Disconnect, Effect, Reply, Store, Subscribe, Unsubscribe
from edge.gateway.sessions.ownership import Ownership
from edge.gateway.shares.memberships import record_of

BOOT = "b"


@dataclass
class Always:
    """What a test says of the view."""

    view: ClusterView
    now: Standing = Standing(UP)  # noqa: RUF009  # it is frozen

    def standing(self) -> Standing:
        return self.now

    def wait_for(self, is_so: Callable[[], bool], _seconds: float) -> bool:
        with self.view.lock:
            return is_so()


@dataclass
class PlayedCluster:
    """Owner, gateways and logs, without a process of theirs."""

    view: ClusterView = field(default_factory=ClusterView)
    owner: Ownership = field(default_factory=Ownership)
    commands: list[tuple[str, str]] = field(default_factory=list)
    disconnects: list[int] = field(default_factory=list)
    """Reason codes of what gateways were told to end."""
    messages: list[PublishRecord] = field(default_factory=list)
    """Published by the API."""
    is_silent: bool = False
    """Whether nobody answers."""
    moved: int = 0
    """How many commands come while the client is on its way."""
    device: DeviceMessages = DeviceMessages(12, 1, 4)  # noqa: RUF009  # it is frozen
    _offsets: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _payloads: dict[int, PublishRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.follows = Always(self.view)
        self.view.follows = self.follows

    @property
    def services(self) -> AdministeredClients:
        """What the API works with."""
        return AdministeredClients(self.view, self, self, self, self)

    # clients

    def connect(self, client_id: str, node: str = "gw1", expiry: int = 0, **fields: object) -> None:
        """A client is let in."""
        asked = ConnectRequested(
            node, BOOT, f"{client_id}-{next(self._offsets)}", True, expiry, 5, DEVICE, 1_764_410_000_000
        )
        self._apply(client_id, replace(asked, **fields))  # type: ignore[arg-type] # a test says it

    def leave(self, client_id: str) -> None:
        """A client goes."""
        session = self.owner.session(client_id)
        assert session is not None
        at_ms = session.connected_at_ms + 1_000
        self._apply(client_id, ConnectionEnded(session.node, BOOT, session.connection, None, at_ms))

    def subscribe(self, client_id: str, *subscriptions: Subscription) -> None:
        """A connected client has subscribed."""
        for one in subscriptions:
            self._subscribed(client_id, "gw1", one, NODE_KIND)

    def retain(self, record: PublishRecord, headers: Sequence[tuple[str, bytes]] | None = None) -> None:
        """A message is retained, or with an empty payload deleted."""
        offset = next(self._offsets)
        kept = RetainedRecord(record, 0, offset)
        given = retained_record.encode_headers(kept) if headers is None else headers
        self._payloads[offset] = record
        with self.view.lock:
            self.view.retained.take(
                (0, offset), 1_764_410_000_000, record.topic.encode(), record.payload or None, given,
                time.time_ns() // 1_000_000,
            )  # fmt: skip

    # admin.clients.commands.Commanding

    def give(
        self,
        client_id: str,
        action: str,
        subscriptions: Sequence[Subscription] = (),
        filters: Sequence[str] = (),
    ) -> CommandAnswer:
        self.commands.append((action, client_id))
        if self.is_silent:
            raise NobodyAnswersError("no gateway has answered within 0 s: see that gateways run")
        if self.moved:
            self.moved -= 1
            return CommandAnswer("k", command_answer.MOVED)
        event = CommandGiven("k", action, tuple(subscriptions), tuple(filters))
        answers = self._apply(client_id, event)
        assert len(answers) == 1
        return answers[0]

    def newest_publishes(self) -> tuple[int, ...]:
        return (41, 42)

    # admin.clients.publishing.Publishing

    def publish(self, record: PublishRecord) -> int:
        self.messages.append(record)
        if record.retain:
            self.retain(record)
        return 1_764_410_000_000

    # admin.clients.payloads.Reading

    def read(self, topic: str, place: Place) -> PublishRecord:
        record = self._payloads[place.offset]
        assert record.topic == topic
        headers = publish_record.encode_headers(record)
        return publish_record.decode(topic.encode(), record.payload, headers)

    # admin.clients.waiting.Looking

    def of_device(self, _client_id: str) -> DeviceMessages:
        return self.device

    def of_application(self, client_id: str, place: ApplicationPlace | None) -> ApplicationMessages:
        return ApplicationMessages(f"tbmq.msg.app.{client_id}", 100 - (place.floor if place else 0))

    # steps

    def _apply(self, client_id: str, event: SessionEvent) -> list[CommandAnswer]:
        answers: list[CommandAnswer] = []
        for effect in self.owner.apply(client_id, event, 1_764_410_000_000):
            answers += self._follow(client_id, effect)
        return answers

    def _follow(self, client_id: str, effect: Effect) -> list[CommandAnswer]:
        with self.view.lock:
            if isinstance(effect, Store):
                value = None if effect.record is None else session_record.encode(effect.record)
                self.view.sessions.take(effect.key, value, session_record.headers_of(effect.record))
            elif isinstance(effect, Subscribe):
                self._subscribed(client_id, effect.node, effect.subscription, effect.kind)
            elif isinstance(effect, Unsubscribe):
                self._unsubscribed(client_id, effect.filter)
        if isinstance(effect, Reply):
            return [effect.answer]
        if isinstance(effect, Disconnect):
            self.disconnects.append(effect.wanted.reason_code)
            self.leave(client_id)
        elif isinstance(effect, Answer) and isinstance(effect.answer, ChangeWanted):
            return [self._change(effect.answer)]
        return []

    def _change(self, wanted: ChangeWanted) -> CommandAnswer:
        """What the gateway of a connection does."""
        for one in wanted.subscriptions:
            self._subscribed(wanted.client_id, "gw1", one, NODE_KIND)
        reasons = [one.qos for one in wanted.subscriptions]
        for filter in wanted.filters:
            is_there = self.view.subscriptions.get(wanted.client_id, filter) is not None
            reasons.append(0x00 if is_there else 0x11)
            self._unsubscribed(wanted.client_id, filter)
        return CommandAnswer(wanted.command, DONE, tuple(reasons))

    def _subscribed(self, client_id: str, node: str, one: Subscription, kind: str = DEVICE_KIND) -> None:
        record = record_of(client_id, node, one, kind)
        key = subscription_record.encode_key(client_id, one.filter)
        self.view.subscriptions.take(key, subscription_record.encode_value(record))

    def _unsubscribed(self, client_id: str, filter: str) -> None:
        self.view.subscriptions.take(subscription_record.encode_key(client_id, filter), None)
