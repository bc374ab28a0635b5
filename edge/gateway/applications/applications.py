"""Delivery to persistent applications put together: what the gateway makes once and calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaException

from contracts.application_progress import Progress
from contracts.kafka_topics import KafkaTopics
from contracts.session_event import ApplicationProgress, Granted, SessionEvent
from edge.gateway.appender import Durable
from edge.gateway.applications.feed import ApplicationFeed, Bounds, Start
from edge.gateway.applications.readers import Readers
from edge.gateway.applications.reporting import Reporting
from edge.gateway.applications.topics import ApplicationTopics
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.feeds import Feeds
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.persistence.sender import Sender
from edge.gateway.source_marks import SourceMarks
from edge.mqtt.states import State

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts while Kafka does not answer


class Applications(Feeds[ApplicationFeed]):
    """The feeds of this gateway's persistent applications."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, properties: Mapping[str, str], bounds: Bounds, counters: Counters,
        local: LocalSubscriptions[Connection], marks: SourceMarks,
        tell: Callable[[str, SessionEvent, Durable | None], None],
    ) -> None:  # fmt: skip
        """Prepare to deliver; nothing is begun before the first application comes.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            properties: Settings of applications' topics.
            bounds: For each application.
            counters: The gateway's.
            local: Who holds which filter here.
            marks: What has been seen of `tbmq.msg.all`.
            tell: Appends a session's event for its owner.
        """
        super().__init__()
        self._names = topics
        self._bounds = bounds
        self._counters = counters
        self._local = local
        self._marks = marks
        self._tell = tell
        self._topics = ApplicationTopics(kafka, topics, properties)
        self._readers = Readers(kafka)
        self._reporting = Reporting(tell)
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Stop reading."""
        for task in self._tasks:
            task.cancel()
        self._topics.stop()
        self._readers.stop()

    def resume(self, connection: Connection, granted: Granted, ready: Callable[[Start], None]) -> None:
        """Find out where a client that was granted its session is to begin; then call back, however long it takes."""
        task = asyncio.get_running_loop().create_task(self._resume(connection, granted, ready))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def attach(self, connection: Connection, start: Start) -> None:
        """Deliver to a client that is just being let in; its subscriptions are in place."""
        find = partial(self._local.counting, connection)
        topic = self._names.application(connection.client_id)
        sender = Sender(connection, topic, self._counters, find)
        assert connection.seat is not None  # noqa: S101 - it was granted
        feed = self._feeds[connection] = ApplicationFeed(
            sender, connection.seat.id, start, self._bounds, self._counters, self._marks.see,
            self._reporting, lambda is_held: self._readers.hold(topic, is_held),
        )  # fmt: skip
        self._readers.begin(topic, start.progress.floor, feed)
        asyncio.get_running_loop().call_soon(feed.pump)  # when it has been let in

    def detach(self, connection: Connection, settled: Callable[[], None]) -> list[int] | None:
        """Deliver no more, and call back when all acknowledgements are on their way to the owner, before all else.

        Returns:
            The offsets that were sent and not acknowledged; None where the client was not to be delivered to yet.
        """
        feed = self._feeds.pop(connection, None)
        sent = None
        if feed is not None:
            self._readers.end(self._names.application(feed.client_id))
            sent = feed.end()
            self._reporting.settle(feed)
        settled()
        return sent

    async def _resume(self, connection: Connection, granted: Granted, ready: Callable[[Start], None]) -> None:
        pause = _FIRST_PAUSE
        while not _is_over(connection):
            try:
                end = await self._topics.end(granted.client_id, is_new=granted.application is None)
            except (KafkaException, KafkaNotReadyError) as error:
                log.warning(
                    "the topic of %r is not to be had yet: %s", granted.client_id[:80], error,
                    extra={"client": granted.client_id},
                )  # fmt: skip
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if not _is_over(connection):  # else `ended` is the connection's last word
                ready(self._start(granted, end))
            return

    def _start(self, granted: Granted, end: int) -> Start:
        sent = None if granted.is_sent_unknown else granted.sent
        progress = granted.application
        if progress is not None and progress.floor <= end:
            return Start(progress, end, sent)
        # What stands there is of an earlier session. Or the topic was removed by hand, and all of it is new.
        fresh = Progress(end if progress is None else 0)
        if progress is not None:
            log.warning(
                "the topic of %r ends before its client's place: it is read anew", granted.client_id[:80],
                extra={"client": granted.client_id},
            )  # fmt: skip
        self._tell(granted.client_id, ApplicationProgress(granted.connection, fresh), None)
        return Start(fresh, end)


def _is_over(connection: Connection) -> bool:
    return connection.core.state is State.CLOSED
