"""What a dispatcher knows of members, brought up to date: the barrier of I2, for a thread.

Whoever subscribed before a message was published is known when the message is dispatched, and whoever left is not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException

from edge.gateway.kafka_clients import consumer_config, end_offsets
from edge.gateway.shares.groups import ShareGroups
from edge.gateway.state_reading import StaleStateError
from edge.gateway.subscription_log import SubscriptionTail

_ANSWER = 2.0  # seconds for Kafka to tell the log's ends
_PATIENCE = 10.0  # seconds for the tail to get there
_LOOK = 0.1  # seconds between looks at whether to stop


class ShareView:
    """The groups as of the subscription log's end."""

    def __init__(
        self, kafka: str, topic: str, partitions: int, tail: SubscriptionTail, groups: ShareGroups,
        is_stopping: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.groups = groups
        self._kafka, self._topic, self._partitions = kafka, topic, partitions
        self._tail = tail
        self._loop = asyncio.get_running_loop()
        self._is_stopping = is_stopping
        self._consumer: Consumer | None = None

    def catch_up(self) -> None:
        """Wait until all is known that stands in the log now.

        Raises:
            KafkaException: Kafka does not answer.
            StaleStateError: The gateway's tail does not get there, or all is about to stop.
        """
        try:
            if self._consumer is None:
                self._consumer = Consumer(consumer_config(self._kafka))
            ends = end_offsets(self._consumer, self._topic, self._partitions, _ANSWER)
        except KafkaException:
            self.close()  # A client that has seen Kafka start goes on believing what it learnt then.
            raise
        reached = threading.Event()
        self._loop.call_soon_threadsafe(self._tail.when_reached, ends, reached.set)
        waited = 0.0
        while not reached.wait(_LOOK):
            waited += _LOOK
            if self._is_stopping() or waited > _PATIENCE:
                raise StaleStateError("the subscription log is not to be had")

    def close(self) -> None:
        """Let go of the client."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
