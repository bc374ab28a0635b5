"""Applications' Kafka topics: made when a session begins, and asked for their ends, many at a time.

It blocks, so it runs in a thread. What comes meanwhile is done together in the next round: a thousand applications that
connect at once cost some requests, not some thousand.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition

from contracts.kafka_topics import KafkaTopics
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import consumer_config, create_topics

_LATEST = -1  # as a time: what Kafka takes for its latest
_AT_ONCE = 500  # topics in one request
_ANSWER = 5.0  # seconds for Kafka to answer
_NEWS = 10.0  # seconds for a new topic to be known everywhere


@dataclass(slots=True)
class _Question:
    client_id: str
    is_new: bool
    answer: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ApplicationTopics:
    """Makes topics, and knows their ends."""

    def __init__(self, kafka: str, topics: KafkaTopics, properties: Mapping[str, str]) -> None:
        self._kafka, self._topics = kafka, topics
        self._properties = properties
        self._questions: list[_Question] = []
        self._round: asyncio.Task[None] | None = None

    async def end(self, client_id: str, *, is_new: bool) -> int:
        """Where the next record of a client's topic will stand; made first if it is not there.

        Args:
            client_id: Whose.
            is_new: Whether it may well not be there.

        Raises:
            KafkaException, KafkaNotReadyError: Kafka does not answer, or refuses.
        """
        question = _Question(client_id, is_new)
        self._questions.append(question)
        if self._round is None:
            self._round = asyncio.get_running_loop().create_task(self._answer())
        return await question.answer

    def stop(self) -> None:
        """Answer no more."""
        if self._round is not None:
            self._round.cancel()

    async def _answer(self) -> None:
        while self._questions:
            asked, self._questions = self._questions[:_AT_ONCE], self._questions[_AT_ONCE:]
            clients = {question.client_id for question in asked}
            new = {question.client_id for question in asked if question.is_new}
            try:
                ends = await asyncio.to_thread(self._ends, clients, new)
            except (KafkaException, KafkaNotReadyError) as error:
                for question in asked:
                    if not question.answer.done():
                        question.answer.set_exception(error)
                continue
            for question in asked:
                if not question.answer.done():  # who asked may have given up
                    question.answer.set_result(ends[question.client_id])
        self._round = None

    def _ends(self, clients: Collection[str], new: Collection[str]) -> dict[str, int]:
        self._create(new)
        names = {self._topics.application(client_id): client_id for client_id in clients}
        ends: dict[str, int] = {}
        until = time.monotonic() + _NEWS
        is_created = False
        while unknown := [name for name, client_id in names.items() if client_id not in ends]:
            try:
                self._ask(unknown, names, ends)
            except KafkaException:
                if time.monotonic() > until:
                    raise
                if not is_created:  # Somebody may have removed them by hand.
                    self._create([names[name] for name in unknown])
                    is_created = True
                time.sleep(0.05)
        return ends

    def _create(self, clients: Collection[str]) -> None:
        if clients:
            wanted = [self._topics.of_application(client_id, self._properties) for client_id in clients]
            create_topics(self._kafka, wanted)

    def _ask(self, unknown: Collection[str], names: Mapping[str, str], ends: dict[str, int]) -> None:
        """Ask for the ends of some topics; fails when one of them is not known to Kafka."""
        wanted = [TopicPartition(name, 0, _LATEST) for name in unknown]
        # A client of its own each time: one that was told that a topic is unknown goes on believing it.
        consumer = Consumer(consumer_config(self._kafka))
        try:
            found = consumer.offsets_for_times(wanted, timeout=_ANSWER)
        finally:
            consumer.close()
        for place in found:
            if place.error is None:
                ends[names[place.topic]] = place.offset
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
