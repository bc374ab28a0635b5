"""What may be wrong with a gateway, as checks: each tells the truth of one thing, in words.

Whoever asks waits in a thread of the HTTP server, never in the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from stores import StoreError, open_store
from stores.port import Store
from telemetry.health import Failure
from telemetry.librdkafka import QUIET
from telemetry.log_lag import LogLag

STALLED_SECONDS = 5.0
"""Kafka may take so long for an append; a broker's leader that moves takes a second or two."""
SILENT_SECONDS = 15.0
"""The router may take so long for a probe: more than a restart's first batch on a busy machine."""
BEHIND_SECONDS = 60.0
"""A message may be in the log and not in the store for so long; the sink's batches gather for three seconds."""
LOOP_SECONDS = 10.0
"""An event loop that has not turned for so long will not do so any more."""
_SECONDS_TO_ANSWER = 4.0


class KafkaCheck:
    """Whether Kafka takes and tells: no append waits too long, and a question about the topic is answered now."""

    def __init__(self, kafka: str, topic: str, stalled_for: Callable[[], float]) -> None:
        """Args: `stalled_for` tells for how many seconds appends have waited in vain."""
        self._kafka, self._topic = kafka, topic
        self._stalled_for = stalled_for
        self._admin: AdminClient | None = None

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        if (seconds := self._stalled_for()) > STALLED_SECONDS:
            reason = "Kafka acknowledges nothing: publishes wait, and are not acknowledged to their clients"
            return Failure(reason, time.time() - seconds)
        if self._admin is None:  # only who is asked needs it
            self._admin = AdminClient(
                QUIET | {"bootstrap.servers": self._kafka, "reconnect.backoff.max.ms": 1_000}
            )
        try:
            found = self._admin.list_topics(self._topic, timeout=_SECONDS_TO_ANSWER).topics[self._topic]
        except KafkaException as error:
            return Failure(f"Kafka does not answer: {error.args[0].str()}")
        return None if found.error is None else Failure(f"Kafka has no {self._topic}: {found.error.str()}")


class RouterCheck:
    """Whether the router answers this gateway's probes."""

    def __init__(self, waiting_for: Callable[[], float | None], has_answered: Callable[[], bool]) -> None:
        """Prepare.

        Args:
            waiting_for: Tells for how many seconds the oldest probe has waited for its answer; None: none waits.
            has_answered: Tells whether it has ever answered.
        """
        self._waiting_for = waiting_for
        self._has_answered = has_answered

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        seconds = self._waiting_for()
        if not self._has_answered():
            return Failure("the router has not answered a probe yet", time.time() - (seconds or 0.0))
        if seconds is not None and seconds > SILENT_SECONDS:
            reason = "the router answers no probes: messages are taken, and wait in Kafka"
            return Failure(reason, time.time() - seconds)
        return None


class StoreCheck:
    """Whether the store of sessions answers, and the sink keeps it up with the log."""

    def __init__(self, url: str, prefix: str, kafka: str, topic: str) -> None:
        """Nothing is opened before it is asked."""
        self._url, self._prefix, self._kafka, self._topic = url, prefix, kafka, topic
        self._opened: tuple[Store, LogLag] | None = None
        self._partitions: Iterable[int] = ()

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        try:
            if self._opened is None:
                self._opened = open_store(self._url, prefix=self._prefix), LogLag(self._kafka, self._topic)
                self._partitions = range(self._opened[1].partitions())
            store, lag = self._opened
            positions = {partition: store.partition_position(partition) for partition in self._partitions}
            stands = {partition: at.next_offset if at else None for partition, at in positions.items()}
            oldest = lag.oldest_missing(stands, round((time.time() - BEHIND_SECONDS) * 1_000))
        except StoreError as error:
            return Failure(f"the store of sessions does not answer: {error}")
        except KafkaException as error:
            return Failure(f"how far the store is cannot be told: {error.args[0].str()}")
        if oldest is None:
            return None
        return Failure("the store is behind: does the sink run?", oldest / 1_000)


class LoopCheck:
    """Whether the event loop turns."""

    def __init__(self, still_for: Callable[[], float]) -> None:
        """Args: `still_for` tells for how many seconds it has not."""
        self._still_for = still_for

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        seconds = self._still_for()
        if seconds <= LOOP_SECONDS:
            return None
        return Failure("the event loop does not turn", time.time() - seconds)


class StartCheck:
    """Whether the gateway has begun to take clients; starting takes as long as the logs that it has to read."""

    def __init__(self) -> None:
        self._began_at = time.time()
        self.is_over = False
        """Set when it takes clients."""

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        if self.is_over:
            return None
        reason = "it starts: the logs of subscriptions and retained messages are being read"
        return Failure(reason, self._began_at)
