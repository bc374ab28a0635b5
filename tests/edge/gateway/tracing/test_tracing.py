"""Traces are switched on, and end by themselves."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import Message

from contracts import trace_record
from contracts.kafka_topics import KafkaTopics
from contracts.trace_record import TraceSwitch
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters
from edge.gateway.tracing.tracer import Tracer
from edge.gateway.tracing.tracing import Tracing


class Setting:
    """Traces of a gateway that the test plays."""

    def __init__(self) -> None:
        self.placed: list[Tracer | None] = []
        self.written: list[dict[str, Any]] = []
        self.counters = Counters()
        self.changed = asyncio.Event()
        appender = SimpleNamespace(
            append=lambda _topic, value, *_: self.written.append(trace_record.decode_step(value))
        )
        self.tracing = Tracing(KafkaTopics(), "gw1", cast(Appender, appender), self.counters, self._place)

    def _place(self, tracer: Tracer | None) -> None:
        self.placed.append(tracer)
        self.changed.set()

    def switch(self, trace: str, seconds: float, client: str | None = "c1") -> None:
        until_ms = round((time.time() + seconds) * 1_000) if seconds else 0
        self.give(*trace_record.encode_switch(TraceSwitch(trace, client, None, until_ms)))

    def give(self, key: bytes, value: bytes) -> None:
        record = SimpleNamespace(key=lambda: key, value=lambda: value, offset=lambda: 0)
        self.tracing.take(cast(Message, record))


async def test_on_and_off() -> None:
    setting = Setting()
    setting.switch("t", 600)
    setting.switch("u", 600)
    assert setting.tracing.active is not None
    assert [switch.trace for switch in setting.tracing.active.switches] == ["t", "u"]
    setting.switch("t", 0, None)
    assert setting.placed[-1] is not None
    setting.switch("u", 0, None)
    assert setting.placed[-1] is None


async def test_it_ends_by_itself() -> None:
    setting = Setting()
    setting.switch("t", 0.05)
    while setting.tracing.active is not None:
        setting.changed.clear()
        await setting.changed.wait()
    assert setting.placed[-1] is None


async def test_what_is_over_is_not_begun() -> None:
    setting = Setting()
    setting.switch("t", -10)
    assert setting.placed == []


async def test_there_are_not_too_many() -> None:
    setting = Setting()
    for number in range(100):
        setting.switch(str(number), 600)
    assert setting.tracing.active is not None
    assert len(setting.tracing.active.switches) == 16
    setting.tracing.stop()
    assert setting.tracing.active is None


async def test_poison() -> None:
    setting = Setting()
    setting.give(b"t", b"no")
    assert setting.counters.poison_records == 1
    assert setting.placed == []
