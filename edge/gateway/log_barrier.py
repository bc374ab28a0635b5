"""A log's end as a barrier: what entered goes on only when this gateway has read as far as the log reached by then.

One look-up of the ends serves all that wait. So whatever was durable anywhere in the log before an item came is known
when it is released.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from confluent_kafka import Consumer, KafkaException

from edge.gateway.kafka_clients import consumer_config, end_offsets

log = logging.getLogger(__name__)

Item = TypeVar("Item")

_ASK_TIMEOUT = (
    2.0  # seconds for one look-up of the ends; without an answer it is asked again, for as long as it takes
)


class Tail(Protocol):
    """Whoever reads the log."""

    def when_reached(self, ends: dict[int, int], reached: Callable[[], None]) -> None:
        """Call back, once, when every partition has been read up to these offsets; at once if it has."""


class Positions:
    """How far each partition of a log has been read, and who waits for that."""

    def __init__(self, partitions: int) -> None:
        self.next = dict.fromkeys(range(partitions), 0)
        """By partition, the offset before which everything has been read."""
        self._watches: list[tuple[dict[int, int], Callable[[], None]]] = []

    def when_reached(self, ends: dict[int, int], reached: Callable[[], None]) -> None:
        """Call back, once, when every partition has been read up to these offsets; at once if it has."""
        if self._has_reached(ends):
            reached()
        else:
            self._watches.append((ends, reached))

    def wake(self) -> None:
        """Positions have moved: call back whom that lets go on."""
        waiting, self._watches = self._watches, []
        for watch in waiting:  # what is called back may watch again
            if self._has_reached(watch[0]):
                watch[1]()
            else:
                self._watches.append(watch)

    def _has_reached(self, ends: dict[int, int]) -> bool:
        return all(self.next[partition] >= end for partition, end in ends.items())


class LogBarrier(Generic[Item]):
    """Holds items until the tail has reached the log's end as it was after they came; releases them in order."""

    def __init__(
        self, kafka: str, topic: str, partitions: int, tail: Tail, release: Callable[[list[Item]], None]
    ) -> None:  # fmt: skip
        """Begin; `release` gets, in the event loop, what may go on."""
        self._kafka = kafka
        self._consumer = Consumer(consumer_config(kafka))
        self._topic, self._partitions = topic, partitions
        self._tail = tail
        self._release = release
        self._loop = asyncio.get_running_loop()
        self._next: list[Item] = []
        self._asking = False
        self._questions: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._answer, name=f"barrier-{topic}", daemon=True)
        self._thread.start()

    def enter(self, item: Item) -> None:
        """Hold an item; it is released together with all that came since the last round began."""
        self._next.append(item)
        if not self._asking:
            self._ask()

    def stop(self) -> None:
        """End the thread; what is still held is not released any more."""
        self._stopping.set()
        self._questions.put(False)
        self._thread.join()
        self._consumer.close()

    def _ask(self) -> None:
        self._asking = True
        self._held, self._next = self._next, []
        self._questions.put(True)

    def _answer(self) -> None:
        while self._questions.get():
            told = ""
            while not self._stopping.is_set():
                try:
                    ends = end_offsets(self._consumer, self._topic, self._partitions, _ASK_TIMEOUT)
                except KafkaException as error:
                    why = error.args[0].str()
                    if why != told:  # it may be the same for hours
                        log.warning("clients wait: the end of %s is not to be had: %s", self._topic, why)
                        told = why
                    self._stopping.wait(0.1)  # a refused connection fails at once; do not spin on it
                    # What a client learnt of a topic from a broker that was starting, it goes on believing for minutes.
                    self._consumer.close()
                    self._consumer = Consumer(consumer_config(self._kafka))
                else:
                    self._loop.call_soon_threadsafe(self._tail.when_reached, ends, self._reached)
                    break

    def _reached(self) -> None:
        held, self._asking = self._held, False
        self._release(held)
        if self._next and not self._asking:
            self._ask()
