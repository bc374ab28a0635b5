"""Checks of a gateway that need no Kafka."""

from __future__ import annotations

import time

from edge.gateway.metrics.checks import (
    LOOP_SECONDS,
    SILENT_SECONDS,
    STALLED_SECONDS,
    KafkaCheck,
    LoopCheck,
    RouterCheck,
    StartCheck,
    StoreCheck,
)


def test_the_router_is_silent() -> None:
    waiting: float | None = None
    answered = False
    check = RouterCheck(lambda: waiting, lambda: answered)
    assert check() is not None, "it has never answered"
    answered = True
    assert check() is None
    waiting = SILENT_SECONDS / 2
    assert check() is None
    waiting = SILENT_SECONDS + 5
    failure = check()
    assert failure is not None
    assert failure.since is not None
    assert abs(time.time() - waiting - failure.since) < 60


def test_kafka_acknowledges_nothing() -> None:
    """Then it need not be asked."""
    failure = KafkaCheck("127.0.0.1:1", "t", lambda: STALLED_SECONDS + 1)()
    assert failure is not None
    assert "acknowledges nothing" in failure.reason


def test_kafka_is_not_there() -> None:
    failure = KafkaCheck("127.0.0.1:1", "t", lambda: 0.0)()
    assert failure is not None
    assert "does not answer" in failure.reason


def test_the_store_is_not_there() -> None:
    failure = StoreCheck("redis://127.0.0.1:1/0", "tbmq", "127.0.0.1:1", "t")()
    assert failure is not None


def test_the_event_loop_stands_still() -> None:
    still = 0.0
    check = LoopCheck(lambda: still)
    assert check() is None
    still = LOOP_SECONDS + 1
    assert check() is not None


def test_it_starts() -> None:
    check = StartCheck()
    assert check() is not None
    check.is_over = True
    assert check() is None
