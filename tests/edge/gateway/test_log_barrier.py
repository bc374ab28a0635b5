"""A barrier while Kafka does not answer; how it holds and releases is tried on a real one: test_subscription_log.py."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from edge.gateway import log_barrier
from edge.gateway.log_barrier import LogBarrier, Positions


async def test_a_kafka_that_does_not_answer_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[int | None] = [
        KafkaError._TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._TRANSPORT, None, KafkaError._TRANSPORT, None
    ]  # fmt: skip

    def end_offsets(*_: object) -> dict[int, int]:
        code = answers.pop(0)
        if code is not None:
            raise KafkaException(KafkaError(code, f"error {code}"))
        return {0: 0}

    monkeypatch.setattr(log_barrier, "end_offsets", end_offsets)
    released: asyncio.Queue[list[str]] = asyncio.Queue()
    take: Callable[[list[str]], None] = released.put_nowait
    barrier = LogBarrier("127.0.0.1:1", "t", 1, Positions(1), take)
    with caplog.at_level(logging.WARNING, "edge.gateway.log_barrier"):
        for item in ("a", "b"):
            barrier.enter(item)
            assert await released.get() == [item]
    await asyncio.to_thread(barrier.stop)
    told = [record.getMessage().rpartition(" ")[2] for record in caplog.records]
    assert told == [
        str(code) for code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._TRANSPORT)
    ]
