"""A trace as whoever asks for it has it: switched on for all gateways through Kafka, read as its steps come."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from admin.errors import AdminError
from contracts import trace_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.trace_record import TraceSwitch
from telemetry.librdkafka import QUIET

SECONDS_TO_ANSWER = 15.0
_POLL_SECONDS = 0.2
_LATEST = -1
"""As a time: what Kafka takes for its latest."""


class Trace:
    """One trace. Its steps are read from the moment on when it was made."""

    def __init__(self, kafka: str, topics: KafkaTopics, client_id: str | None, filter: str | None) -> None:
        """Prepare; `begin` switches it on.

        Raises:
            AdminError: Kafka does not answer, or lacks the topics.
        """
        self.id = uuid.uuid4().hex[:12]
        self._kafka, self._topics = kafka, topics
        self._client_id, self._filter = client_id, filter
        self._until = 0.0
        self._consumer = Consumer(
            QUIET
            | {
                "bootstrap.servers": kafka,
                "group.id": "sluicemq-trace",  # librdkafka wants a name; nothing is ever committed under it
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "allow.auto.create.topics": False,
            }
        )
        place = TopicPartition(topics.trace_steps, 0, _LATEST)
        try:
            [found] = self._consumer.offsets_for_times([place], timeout=SECONDS_TO_ANSWER)
        except KafkaException as error:
            raise self._failed(error) from None
        if found.error is not None:
            raise self._failed(KafkaException(found.error))
        self._consumer.assign([found])

    def begin(self, seconds: float) -> None:
        """Switch it on, for so long.

        Raises:
            AdminError: Kafka does not take it.
        """
        self._until = time.time() + seconds
        self._switch(round(self._until * 1_000))

    def steps(self) -> Iterator[dict[str, Any] | None]:
        """Its steps as they come, and None now and then, until its time is over."""
        while time.time() < self._until:
            message = self._consumer.poll(min(_POLL_SECONDS, max(self._until - time.time(), 0.0)))
            if message is None:
                yield None
                continue
            if message.error() is not None:
                continue  # librdkafka goes on by itself
            try:
                step = trace_record.decode_step(message.value())
            except RecordError:
                continue  # not one of ours
            if self.id in step["traces"]:
                yield step

    def end(self) -> None:
        """Switch it off, and let go of Kafka.

        Raises:
            AdminError: Kafka does not take it; then it ends when its time is over.
        """
        try:
            self._switch(0)
        finally:
            self._consumer.close()

    def _switch(self, until_ms: int) -> None:
        key, value = trace_record.encode_switch(TraceSwitch(self.id, self._client_id, self._filter, until_ms))
        failed: list[KafkaException] = []
        producer = Producer(QUIET | {"bootstrap.servers": self._kafka, "acks": "all"})
        producer.produce(
            self._topics.traces, value, key,
            on_delivery=lambda error, _: failed.append(KafkaException(error)) if error else None,
        )  # fmt: skip
        if producer.flush(SECONDS_TO_ANSWER):
            raise AdminError(f"Kafka at {self._kafka} does not answer.")
        if failed:
            raise self._failed(failed[0])

    def _failed(self, error: KafkaException) -> AdminError:
        why = error.args[0].str()
        return AdminError(
            f"Kafka at {self._kafka} has no traces ({why}): `sluicemq topics create` makes their topics."
        )
