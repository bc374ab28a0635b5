"""Switches traces on and off as `tbmq.sys.trace` says, and writes their steps to Kafka."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import trace_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.trace_record import LONGEST_SECONDS, TraceSwitch
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters
from edge.gateway.tracing.tracer import Tracer

log = logging.getLogger(__name__)

_MOST_TRACES = 16
"""On at a time; a further one is not begun."""


class Tracing:
    """The traces of this gateway."""

    def __init__(
        self, topics: KafkaTopics, node: str, appender: Appender, counters: Counters,
        place: Callable[[Tracer | None], None],
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            topics: The names of the Kafka topics.
            node: This gateway.
            appender: Writes the steps.
            counters: The gateway's.
            place: Puts the tracer where messages pass; None: takes it away.
        """
        self._steps, self._key = topics.trace_steps, node.encode()
        self._appender = appender
        self._counters = counters
        self._place = place
        self._loop = asyncio.get_running_loop()
        self._tracer = Tracer(node, topics.publishes, self._write)
        self._on: dict[str, TraceSwitch] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}

    @property
    def active(self) -> Tracer | None:
        """The tracer, while a trace is on."""
        return self._tracer if self._on else None

    def take(self, message: Message) -> None:
        """A record of `tbmq.sys.trace`."""
        try:
            switch = trace_record.decode_switch(message.key(), message.value())
        except RecordError as error:
            self._counters.poison_records += 1
            log.warning("trace %s is skipped: %s", message.offset(), error)
            return
        self._end(switch.trace)
        seconds = min(switch.until_ms / 1_000 - time.time(), LONGEST_SECONDS)
        if seconds <= 0:
            return
        if len(self._on) >= _MOST_TRACES:
            log.warning("trace %s is not begun: %d are on", switch.trace, _MOST_TRACES)
            return
        self._on[switch.trace] = switch
        self._ends[switch.trace] = self._loop.call_later(seconds, partial(self._end, switch.trace))
        self._changed()

    def stop(self) -> None:
        """End all."""
        for trace in list(self._on):
            self._end(trace)

    def _end(self, trace: str) -> None:
        if self._on.pop(trace, None) is not None:
            self._ends.pop(trace).cancel()
            self._changed()

    def _changed(self) -> None:
        self._tracer.switches = tuple(self._on.values())
        self._place(self.active)

    def _write(self, step: dict[str, Any]) -> None:
        try:
            self._appender.append(self._steps, trace_record.encode_step(step), self._key, [], _unheard)
        except (BufferError, KafkaException):
            pass  # what clients publish goes before it


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.debug("a step of a trace was not written: %s", error)
