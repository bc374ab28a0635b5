"""Subscriptions that an administrator changes of clients that are here: as if the client had asked."""

from __future__ import annotations

import logging
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import command_answer, session_event
from contracts.command_answer import DONE, MOVED, CommandAnswer
from contracts.session_event import ChangeWanted
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.subscribing import Answer, Subscribing
from edge.mqtt.events import SubscribeReceived, UnsubscribeReceived
from edge.mqtt.packets import Subscribe, Subscription, Unsubscribe
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.states import State

log = logging.getLogger(__name__)


class Changes:
    """Carries out what owners pass on."""

    def __init__(self, topic: str, appender: Appender, subscribing: Subscribing) -> None:
        """Args: `topic` is where the administration reads answers."""
        self._topic = topic
        self._appender = appender
        self._subscribing = subscribing

    def change(self, connection: Connection | None, wanted: ChangeWanted) -> None:
        """Change a connection's subscriptions, then answer; None where it is here no more.

        One that leaves meanwhile may get no answer: whoever asked finds out by itself that time is over.
        """
        if connection is None or connection.core.state is not State.CONNECTED:
            self._answer(CommandAnswer(wanted.command, MOVED))
            return
        parts = len(wanted.subscriptions) + bool(wanted.filters)
        found: dict[int, list[int]] = {}

        def answered(part: int, reasons: list[int]) -> None:
            found[part] = reasons
            if len(found) == parts:
                told = tuple(reason for number in range(parts) for reason in found[number])
                self._answer(CommandAnswer(wanted.command, DONE, told))

        for part, one in enumerate(wanted.subscriptions):
            self._subscribe(connection, one, partial(answered, part))
        if wanted.filters:
            packet = Unsubscribe(0, wanted.filters)
            last = partial(answered, parts - 1)
            self._subscribing.unsubscribe(connection, UnsubscribeReceived(packet), last)

    def _subscribe(
        self, connection: Connection, wanted: session_event.Subscription, answered: Answer
    ) -> None:
        # One packet each: a subscription identifier is a whole packet's.
        identifier = wanted.subscription_id
        properties = (
            NO_PROPERTIES if identifier is None else Properties(subscription_identifiers=(identifier,))
        )
        options = Subscription(
            wanted.filter, wanted.qos, wanted.no_local, wanted.retain_as_published, wanted.retain_handling
        )
        packet = Subscribe(0, (options,), properties)
        self._subscribing.subscribe(connection, SubscribeReceived(packet), answered)

    def _answer(self, answer: CommandAnswer) -> None:
        try:
            self._appender.append(
                self._topic,
                command_answer.encode_value(answer),
                command_answer.encode_key(answer),
                [],
                _told,
                0,
            )
        except (
            BufferError,
            KafkaException,
        ) as error:  # Kafka is behind: whoever asked is told that nobody answers
            log.warning("an administrator's command is not answered: %s", error)


def _told(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("an administrator's command is not answered: %s", error)
