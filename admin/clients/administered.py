"""What operators do to clients: given as commands or publishes, and seen in the view before it is said to be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from admin.clients.commands import PATIENCE, Commanding, Commands
from admin.clients.errors import ConflictError, NobodyAnswersError, NotFoundError, RejectedError
from admin.clients.following import Following
from admin.clients.payloads import Payloads, Reading
from admin.clients.publishing import Publisher, Publishing
from admin.clients.view import ClusterView, follow_cluster
from admin.clients.waiting import Looking, Waiting
from admin.clients.writing import Writer
from contracts.command_answer import MOVED, NO_SESSION, NOT_CONNECTED, CommandAnswer
from contracts.errors import TopicError
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord
from contracts.session_event import CHANGE, CLEAR, DISCONNECT, Subscription
from contracts.session_record import CONNECTED
from contracts.subscription_record import SubscriptionRecord
from contracts.topics import canonical_filter, validate_filter
from stores.port import Store

_REFUSALS = {
    0x83: "what APPLICATIONs share has to be made with `sluicemq share create` first, and the client be connected",
    0x8F: "an exclusive filter needs a client that is connected, gateways with SLUICEMQ_EXCLUSIVE_SUBSCRIPTIONS, and "
    "no share group in it",
    0x97: "another client holds this exclusive filter",
}
"""Reason codes of SUBACK that can be told in other words."""
_FAILED = 0x80
_NO_SUBSCRIPTION = 0x11
_LOOK = 0.3  # seconds for a client that is just coming or going to have done so


@dataclass
class AdministeredClients:
    """All that the API's routes need of a cluster."""

    view: ClusterView
    commands: Commanding
    publisher: Publishing
    payloads: Reading
    waiting: Looking
    close: Callable[[], None] = lambda: None
    """Let go of all of it."""

    def disconnect(self, client_id: str) -> None:
        """End a client's connection.

        Raises:
            NotFoundError, ConflictError: It has no session, or no connection.
            NobodyAnswersError: It has one still.
        """
        before = self._connection(client_id)
        until = time.monotonic() + PATIENCE
        answer = self._give(client_id, DISCONNECT)
        if answer.outcome == NOT_CONNECTED:
            raise ConflictError(f"client {client_id!r} is not connected: there is nothing to disconnect")

        def is_over() -> bool:
            session = self.view.sessions.get(client_id)
            return session is None or session.state != CONNECTED or session.connection != before

        self._await(is_over, until, f"the connection of client {client_id!r} has not ended yet")

    def clear(self, client_id: str) -> None:
        """End a client's session, its connection before: nothing is left of it.

        Raises:
            NotFoundError: It has none.
            NobodyAnswersError: It is not over yet.
        """
        before = self._connection(client_id)
        until = time.monotonic() + PATIENCE
        self._give(client_id, CLEAR)

        def is_gone() -> bool:
            session = self.view.sessions.get(client_id)
            return session is None or session.connection != before

        self._await(is_gone, until, f"the session of client {client_id!r} has not ended yet")

    def subscribe(self, client_id: str, wanted: Subscription) -> SubscriptionRecord:
        """Subscribe a client, or change what it has subscribed to; what is in the log then.

        Raises:
            RejectedError: There is no such filter.
            NotFoundError: The client has no session.
            ConflictError: It can't be subscribed, as the sentence says.
            NobodyAnswersError: Nobody has done it in time.
        """
        filter = _valid(wanted.filter)
        floors = self.commands.newest_publishes()
        asked = Subscription(
            filter, wanted.qos, wanted.no_local, wanted.retain_as_published, wanted.retain_handling,
            wanted.subscription_id, floors, by_administrator=True,
        )  # fmt: skip
        until = time.monotonic() + PATIENCE
        answer = self._give(client_id, CHANGE, (asked,))
        [reason] = answer.reasons or (_FAILED,)
        if reason >= _FAILED:
            why = _REFUSALS.get(reason, f"the gateway refused it with the reason code 0x{reason:02X}")
            raise ConflictError(f"client {client_id!r} is not subscribed to {filter!r}: {why}")
        shown = filter.removeprefix("$exclusive/")  # what the client gets, it gets by this

        def is_there() -> bool:
            made = self.view.subscriptions.get(client_id, shown)
            return made is not None and _options(made) == _options(asked)

        self._await(is_there, until, "the subscription is made, but is not to be seen yet")
        with self.view.reading() as view:
            made = view.subscriptions.get(client_id, shown)
        if made is None:
            raise NotFoundError(f"client {client_id!r} has just ended its subscription to {filter!r}")
        return made

    def unsubscribe(self, client_id: str, filter: str) -> None:
        """End a client's subscription.

        Raises:
            RejectedError: There is no such filter.
            NotFoundError: The client has no session, or not that subscription.
            NobodyAnswersError: Nobody has done it in time.
        """
        filter = _valid(filter)
        until = time.monotonic() + PATIENCE
        answer = self._give(client_id, CHANGE, (), (filter,))
        if answer.reasons == (_NO_SUBSCRIPTION,):
            raise NotFoundError(f"client {client_id!r} has no subscription to {filter!r}")
        self._await(
            lambda: self.view.subscriptions.get(client_id, filter) is None, until,
            "the subscription is ended, but still to be seen",
        )  # fmt: skip

    def delete_retained(self, topic: str) -> None:
        """Delete what is retained of a topic, as an empty retained publish does.

        Raises:
            NotFoundError: Nothing is.
            NobodyAnswersError: No gateway has done it in time.
        """
        with self.view.reading() as view:
            before = view.retained.get(topic)
        if before is None:
            raise NotFoundError(f"nothing is retained of {topic!r}")
        until = time.monotonic() + PATIENCE
        self.publisher.publish(PublishRecord(topic, b"", qos=1, retain=True))

        def is_gone() -> bool:
            held = self.view.retained.get(topic)
            return held is None or held.place != before.place

        self._await(is_gone, until, "the message is deleted, but still to be seen")

    def _connection(self, client_id: str) -> str:
        with self.view.reading() as view:
            session = view.sessions.get(client_id)
        if session is None:
            raise _no_session(client_id)
        return session.connection

    def _give(
        self, client_id: str, action: str, subscriptions: tuple[Subscription, ...] = (), filters: tuple[str, ...] = ()
    ) -> CommandAnswer:  # fmt: skip
        """Give a command until a gateway has it whose connection stays."""
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.commands.give(client_id, action, subscriptions, filters)
            if answer.outcome == NO_SESSION:
                raise _no_session(client_id)
            if answer.outcome != MOVED:
                return answer
            if time.monotonic() > until:
                raise NobodyAnswersError(f"client {client_id!r} comes and goes: try again")
            self.view.follows.wait_for(lambda: False, _LOOK)

    def _await(self, is_so: Callable[[], bool], until: float, otherwise: str) -> None:
        if not self.view.follows.wait_for(is_so, until - time.monotonic()):
            raise NobodyAnswersError(f"{otherwise}: look again in a moment")


def open_clients(kafka: str, prefix: str, open_store: Callable[[], Store] | None) -> AdministeredClients:
    """Begin to follow a cluster; whether it answers is told by the view.

    Args:
        kafka: Bootstrap servers.
        prefix: First part of all Kafka topic names.
        open_store: Opens the store of persistent sessions when it is first asked; None: there is none to ask.

    Raises:
        ContractError: The prefix is none.
    """
    topics = KafkaTopics(prefix)
    view, following = follow_cluster(kafka, topics)
    waiting, writer = Waiting(kafka, topics, open_store), Writer(kafka)
    following.start()
    return AdministeredClients(
        view, Commands(kafka, topics, writer), Publisher(kafka, topics, writer), Payloads(kafka, topics), waiting,
        lambda: _close(following, waiting),
    )  # fmt: skip


def _close(following: Following, waiting: Waiting) -> None:
    following.stop()
    waiting.close()


def _valid(filter: str) -> str:
    filter = canonical_filter(filter)
    try:
        validate_filter(filter)
    except TopicError as error:
        raise RejectedError(str(error)) from None
    return filter


def _options(one: Subscription | SubscriptionRecord) -> tuple[object, ...]:
    return one.qos, one.no_local, one.retain_as_published, one.retain_handling, one.subscription_id or None


def _no_session(client_id: str) -> NotFoundError:
    return NotFoundError(f"client {client_id!r} has no session")
