"""Removes Kafka topics of applications that are no more, before the owner's transaction says that it is done.

A crash between the two repeats it: then there is no such topic any more, which is as good. But an owner that only stood
still in between may have been replaced, and the client may be back under its successor: so it does not remove what it
has not decided just now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from contracts.kafka_topics import KafkaTopics
from edge.gateway.sessions.effects import Effect, RemoveTopic
from telemetry.librdkafka import QUIET

log = logging.getLogger(__name__)

_FRESH = (
    1.0  # seconds; a member that stood still for less than the session timeout, 6 s, has not been replaced
)
_ANSWER = 10.0  # seconds for Kafka to remove them
_GONE = KafkaError.UNKNOWN_TOPIC_OR_PART
_LATER = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_CONTROLLER,
)


class TopicRemoval:
    """Carries `RemoveTopic` out."""

    def __init__(self, kafka: str, topics: KafkaTopics) -> None:
        self._kafka, self._topics = kafka, topics

    def remove(self, effects: Iterable[Effect], decided_at: float) -> None:
        """Remove the topics that effects name.

        Args:
            effects: What was decided.
            decided_at: When that was begun, as `time.monotonic` has it.

        Raises:
            BufferError: It was decided too long ago.
            KafkaException: Kafka does not answer.
        """
        names = [
            self._topics.application(effect.client_id)
            for effect in effects
            if isinstance(effect, RemoveTopic)
        ]
        if not names:
            return
        admin = AdminClient(QUIET | {"bootstrap.servers": self._kafka})
        admin.list_topics(names[0], timeout=_ANSWER)  # now it is connected, and what follows is quick
        if time.monotonic() - decided_at > _FRESH:
            raise BufferError("what was to be removed was decided too long ago")
        for name, removed in admin.delete_topics(names, request_timeout=_ANSWER).items():
            try:
                removed.result()
                log.info("%s is removed: its application is no more", name)
            except KafkaException as error:
                if error.args[0].code() in _LATER:
                    raise
                if error.args[0].code() != _GONE:  # Another try would not help; somebody else may remove it.
                    log.warning("%s cannot be removed: %s", name, error.args[0].str())
