"""A consumer that reads the Kafka topics of many applications in a thread of its own.

Topics come and go while it reads. That is done by its thread between two polls, and each batch is handed over with the
number of the last such command before it: so whoever was given a topic anew can tell that a batch was read before that.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from edge.gateway.kafka_clients import consumer_config
from telemetry.librdkafka import TOLD

log = logging.getLogger(__name__)

_BATCH = 2_000  # messages handed over at once
_POLL = (
    0.05  # seconds that a poll may block, and so a command wait, while nothing comes: a look costs some 20 µs
)


class Step(Enum):
    """What may be done with a topic."""

    BEGIN = auto()
    """Read it, from an offset on."""
    END = auto()
    HOLD = auto()
    """Read on later, from where it stands."""
    GO_ON = auto()


@dataclass(frozen=True, slots=True)
class _Command:
    number: int
    step: Step
    place: TopicPartition


class SharedReader:
    """One consumer, one thread."""

    def __init__(
        self,
        kafka: str,
        name: str,
        fetch_wait_ms: int,
        take: Callable[[SharedReader, int, list[Message]], None],
    ) -> None:
        """Begin, with nothing to read.

        Args:
            kafka: Bootstrap servers.
            name: Names the thread.
            fetch_wait_ms: How long a fetch may wait while nothing comes, and a topic that is new here for its end.
            take: Called in the event loop with this reader, the number of the last command before, and a batch.
        """
        # What is prefetched is bounded for all topics together; the feeds' own bounds hold back more.
        config = {
            "fetch.wait.max.ms": fetch_wait_ms,
            "queued.min.messages": 5_000,
            "queued.max.messages.kbytes": 8_192,
        }
        self._consumer = Consumer(consumer_config(kafka) | TOLD | config)
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._commands: queue.SimpleQueue[_Command] = queue.SimpleQueue()
        self._issued = 0
        self._taken = threading.Semaphore(1)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def command(self, step: Step, topic: str, offset: int = 0) -> int:
        """Have something done with a topic, soon; returns the command's number."""
        self._issued += 1
        self._commands.put(_Command(self._issued, step, TopicPartition(topic, 0, offset)))
        return self._issued

    def stop(self) -> None:
        """Stop reading and close the consumer; batches not yet taken are dropped."""
        self._stopping.set()
        self._taken.release()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        obeyed = 0
        while not self._stopping.is_set():
            obeyed = self._obey(obeyed)
            first = self._consumer.poll(_POLL)
            if first is None:
                continue
            batch = [m for m in (first, *self._consumer.consume(_BATCH, 0)) if _is_record(m)]
            if not batch:
                continue
            self._taken.acquire()
            if not self._stopping.is_set():
                self._loop.call_soon_threadsafe(self._hand_over, obeyed, batch)

    def _hand_over(self, obeyed: int, batch: list[Message]) -> None:
        try:
            if not self._stopping.is_set():
                self._take(self, obeyed, batch)
        finally:
            self._taken.release()

    def _obey(self, obeyed: int) -> int:
        """Carry out what was commanded; commands of one kind in a row together."""
        together: list[_Command] = []
        while True:
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                break
            if together and together[-1].step is not command.step:
                self._do(together)
                together = []
            together.append(command)
            obeyed = command.number
        if together:
            self._do(together)
        return obeyed

    def _do(self, commands: list[_Command]) -> None:
        places = [command.place for command in commands]
        step = commands[0].step
        try:
            if step is Step.BEGIN:
                self._consumer.incremental_assign(places)
            elif step is Step.END:
                self._consumer.incremental_unassign(places)
            elif step is Step.HOLD:
                self._consumer.pause(places)
            else:
                self._consumer.resume(places)
        except KafkaException:
            log.exception("%s of %d topics failed", step.name, len(places))


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None:
        log.warning("an application's topic %s: %s", message.topic(), error)  # librdkafka goes on by itself
    return error is None
