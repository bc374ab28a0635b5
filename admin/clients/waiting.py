"""What waits for a client whose session outlives its connections: in the store, or in an APPLICATION's Kafka topic."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import KafkaException

from admin.clients.sessions import ApplicationPlace
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.persisted_record import encode_key
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import partition_count
from edge.gateway.state_reading import log_end
from stores.errors import StoreUnavailableError
from stores.port import Store


@dataclass(frozen=True, slots=True)
class DeviceMessages:
    """What is kept for a DEVICE."""

    stored: int | None
    """Messages in the store that it has not acknowledged; None where that is not to be had."""
    released: int | None
    """Those of QoS 2 that it has received, and that wait only for their release."""
    behind: int | None
    """Records of the log that the store has not taken yet; some may be for this client."""
    detail: str = ""
    """Why something is not to be had; empty where all is."""


@dataclass(frozen=True, slots=True)
class ApplicationMessages:
    """What is kept for an APPLICATION."""

    kafka_topic: str
    lag: int | None
    """Records that it is not done with; the router's own ones and what ends transactions count, too."""
    detail: str = ""


class Looking(Protocol):
    """Whoever knows what waits."""

    def of_device(self, client_id: str) -> DeviceMessages:
        """For a persistent DEVICE; blocking."""

    def of_application(self, client_id: str, place: ApplicationPlace | None) -> ApplicationMessages:
        """For a persistent APPLICATION; blocking."""


class Waiting:
    """Asks the store and Kafka; from any thread."""

    def __init__(self, kafka: str, topics: KafkaTopics, open_store: Callable[[], Store] | None) -> None:
        """Args: `open_store` opens the store when it is first asked; None: nobody said which it is."""
        self._kafka, self._topics = kafka, topics
        self._open = open_store
        self._store: Store | None = None
        self._lock = threading.Lock()

    def of_device(self, client_id: str) -> DeviceMessages:
        """For a persistent DEVICE."""
        if self._open is None:
            return DeviceMessages(
                None, None, None, "start `sluicemq admin` with --store (SLUICEMQ_STORE) to see what is stored"
            )
        try:
            partitions = partition_count(self._kafka, self._topics.persisted)
            partition = partition_of(encode_key(client_id), partitions)
            waiting = self._opened().waiting(partition, client_id)
            end = log_end(self._kafka, self._topics.persisted, partition)
        except (StoreUnavailableError, KafkaException, KafkaNotReadyError) as error:
            return DeviceMessages(None, None, None, str(error))
        behind = max(0, end - (waiting.next_offset or 0))
        return DeviceMessages(waiting.messages, waiting.received, behind)

    def of_application(self, client_id: str, place: ApplicationPlace | None) -> ApplicationMessages:
        """For a persistent APPLICATION."""
        topic = self._topics.application(client_id)
        if place is None:
            return ApplicationMessages(topic, None, "it has not told yet how far it is")
        try:
            end = log_end(self._kafka, topic, 0)
        except KafkaException as error:
            return ApplicationMessages(topic, None, str(error))
        return ApplicationMessages(topic, max(0, end - place.floor - place.done_above))

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _opened(self) -> Store:
        with self._lock:
            if self._store is None:
                assert self._open is not None  # noqa: S101 - else nobody asks for it
                self._store = self._open()
            return self._store
