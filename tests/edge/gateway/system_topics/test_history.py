"""A gateway's counters on their way into Kafka: at the interval, and never more than one that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError

from contracts import historical_record
from contracts.historical_record import HistoricalRecord
from contracts.state_record import Latency, RouterSeen
from edge.gateway.appender import Appender, Durable
from edge.gateway.counters import Counters
from edge.gateway.system_topics.history import History


class Appending:
    """Takes records as an appender does; the test tells when each is durable."""

    def __init__(self) -> None:
        self.records: asyncio.Queue[HistoricalRecord] = asyncio.Queue()
        self.waiting: list[Durable] = []
        self.is_full = False
        self.attempts = 0
        self.attempted = asyncio.Event()

    def append(self, topic: str, value: bytes, key: bytes, headers: object, durable: Durable) -> None:
        self.attempts += 1
        self.attempted.set()
        if self.is_full:
            raise BufferError
        assert (topic, headers) == ("history", [])
        self.records.put_nowait(historical_record.decode(key, value))
        self.waiting.append(durable)

    def arrived(self, error: KafkaError | None = None) -> None:
        self.waiting.pop()(error, cast(Any, None))


def history(appending: Appending, interval: float, counters: Counters) -> History:
    here: tuple[Callable[[], int], Callable[[], int]] = (lambda: 2, lambda: 3)
    seen = RouterSeen(latency_ms=Latency(1.0, 2.5, 3.5, 9), backlog=7)
    return History("history", "gw1", interval, counters, cast(Appender, appending), *here, lambda: seen)


@pytest.mark.timeout(60)
async def test_records_at_the_interval() -> None:
    appending, counters = Appending(), Counters(publishes=5)
    writing = history(appending, 0.01, counters)
    writing.start()
    first = await appending.records.get()
    assert (first.node, first.counters["publishes"], first.counters["connections_now"]) == ("gw1", 5, 2)
    assert first.counters["subscriptions_now"] == 3
    told = {name: number for name, number in first.counters.items() if name.startswith("router_")}
    assert told == {
        "router_latency_p50_us_now": 2500, "router_latency_p99_us_now": 3500, "router_backlog_now": 7,
    }  # fmt: skip
    assert set(counters.as_dict()) < set(first.counters)
    counters.publishes = 9
    appending.arrived()
    second = await appending.records.get()
    assert second.counters["publishes"] == 9
    assert second.at_ms >= first.at_ms
    appending.arrived(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    await appending.records.get()  # it goes on
    appending.arrived()
    counters.publishes = 11
    writing.stop()
    assert (await appending.records.get()).counters["publishes"] == 11


@pytest.mark.timeout(60)
async def test_what_waits_is_waited_for() -> None:
    appending, ticked = Appending(), asyncio.Event()
    writing = history(appending, 0.001, Counters())
    writing.start()
    asyncio.get_running_loop().call_later(0.05, ticked.set)
    await ticked.wait()
    assert appending.attempts == 1
    appending.is_full = True
    appending.arrived()
    for _ in range(2):  # it tries again each time
        appending.attempted.clear()
        await appending.attempted.wait()
    appending.is_full = False
    await appending.records.get()
    writing.stop()


async def test_none_without_an_interval() -> None:
    appending = Appending()
    writing = history(appending, 0, Counters())
    writing.start()
    writing.stop()
    assert appending.attempts == 0
