"""Retained messages whole: read again from where the view knows them to stand."""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import KafkaException

from admin.clients.errors import NotFoundError, NotReadyError
from admin.clients.retained import Place
from contracts import retained_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord
from edge.gateway.delayed.fetching import Fetching
from edge.gateway.kafka_clients import record_headers
from edge.gateway.state_reading import StaleStateError


class Reading(Protocol):
    """Whoever reads retained messages."""

    def read(self, topic: str, place: Place) -> PublishRecord:
        """The message of a topic; blocking."""


class Payloads:
    """Reads from Kafka; from any thread."""

    def __init__(self, kafka: str, topics: KafkaTopics) -> None:
        self._kafka, self._topic = kafka, topics.retained

    def read(self, topic: str, place: Place) -> PublishRecord:
        """The message of a topic that stands at a place.

        Raises:
            NotReadyError: Kafka does not answer.
            NotFoundError: It stands there no more: it was replaced at this very moment.
        """
        fetching = Fetching(self._kafka, self._topic)
        try:
            found = fetching.fetch(place.partition, [place.offset])
        except (KafkaException, StaleStateError) as error:
            raise NotReadyError(f"Kafka at {self._kafka} does not answer: {error}") from error
        finally:
            fetching.close()
        try:
            message = found[place.offset]
            record = retained_record.decode(message.key(), message.value(), record_headers(message)).record
        except (KeyError, RecordError):
            raise NotFoundError(f"what was retained of {topic!r} is being replaced: try again") from None
        return record
