"""Probing: sends this gateway's probes through the router, and prunes fresh routes by their answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from contracts import probe_record
from contracts.probe_record import ProbeAnswer
from edge.gateway.appender import Appender
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.kafka_clients import place_of
from edge.gateway.router_view import RouterView

log = logging.getLogger(__name__)

_IDLE = 10  # with no fresh route to prune, one probe in this many intervals: enough to tell whether the router lives
_SILENT = 10  # as many outstanding probes mean that the router is down


class Probing:
    """Sends a probe to every partition of `tbmq.msg.all` at a steady interval."""

    def __init__(
        self, topic: str, source_partitions: int, node: str, appender: Appender, fresh: FreshRoutes,
        view: RouterView, interval: float, on_first_answer: Callable[[], None],
    ) -> None:  # fmt: skip
        self._topic, self._partitions, self._node = topic, source_partitions, node
        self._appender = appender
        self._fresh = fresh
        self._view = view
        self._interval = interval
        self._on_first_answer = on_first_answer
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._sequence = 0
        self._skipped = 0
        self.on_latency: Callable[[float], None] = lambda _: None
        """Told, for each probe that is answered in full, how many seconds that took."""

    def start(self) -> None:
        """Send the first probe, and go on."""
        self._tick()

    def stop(self) -> None:
        """Send no more."""
        if self._timer:
            self._timer.cancel()

    def hurry(self) -> None:
        """Send one now, unless an answer is due: something waits for the downlink to pass a place."""
        if not self._view.outstanding:
            self._send()

    def answered(self, answer: ProbeAnswer) -> None:
        """Take a probe's answer from this node's downlink."""
        if not self._view.answered(answer, self._loop.time()):
            return
        if self._view.latency is not None:
            self.on_latency(self._view.latency)
        for partition in self._fresh.partitions:
            self._fresh.prune(partition, self._view.version(partition))
        if self._view.completed == 1:
            self._on_first_answer()

    @property
    def outstanding(self) -> int:
        """Probes that are not answered in full."""
        return self._view.outstanding

    @property
    def has_answer(self) -> bool:
        """Whether a probe has ever been answered in full."""
        return self._view.completed > 0

    @property
    def waiting_for(self) -> float | None:
        """Seconds for which the oldest probe has waited for its answer; None: none waits. Any thread may ask."""
        since = self._view.waiting_since
        return None if since is None else self._loop.time() - since

    @property
    def backlog(self) -> int:
        """Records before this gateway's newest probes that nothing shows that the router has passed."""
        return self._view.backlog or 0

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._tick)
        self._skipped += 1
        is_idle = self._view.completed and not len(self._fresh) and not self._view.outstanding
        if is_idle and self._skipped < _IDLE:
            return
        self._skipped = 0
        self._send()

    def _send(self) -> None:
        self._sequence += 1
        outstanding = self._view.outstanding
        if outstanding and outstanding % _SILENT == 0:
            log.warning("the router has not answered the last %d probes: messages wait in Kafka", outstanding)
        if outstanding > _SILENT and self._appender.pending:
            return  # Kafka stalls; more probes would only lengthen its queue
        headers = probe_record.encode_headers(self._node, self._sequence)
        self._view.sent(self._sequence, self._loop.time())
        for partition in range(self._partitions):
            try:
                self._appender.append(
                    self._topic, None, probe_record.PROBE_KEY.encode(), headers, self._written, partition
                )  # fmt: skip
            except BufferError:
                return  # Kafka stalls; the next probe does as well

    def _written(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            log.warning("a probe was not written: %s", error)
            return
        self._view.written(*place_of(message))
