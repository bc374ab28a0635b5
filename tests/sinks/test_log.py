"""Where the log ends, beside where the store stands."""

from __future__ import annotations

import pytest

from sinks.errors import LogUnavailableError, StoreAheadError
from sinks.log import check_ends, log_ends
from tests.sinks.log import Log


@pytest.mark.live
def test_ends(log: Log) -> None:
    log.messages("c", 3)
    ends = log_ends(log.bootstrap, log.topics.persisted)
    assert sorted(ends.values()) == [0, 3]
    with pytest.raises(LogUnavailableError, match=r"is missing: create it with `sluicemq topics`"):
        log_ends(log.bootstrap, "no-such-topic")


def test_kafka_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinks.log.SECONDS_TO_ANSWER", 0.2)
    with pytest.raises(LogUnavailableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        log_ends("127.0.0.1:1", "t")


def test_a_store_that_is_ahead() -> None:
    check_ends({0: 5, 1: None, 2: 0}, {0: 5, 1: 9, 2: 3}, "t")
    with pytest.raises(StoreAheadError, match="partition 0 of t up to 6, but it ends at 5"):
        check_ends({0: 6}, {0: 5}, "t")
    with pytest.raises(StoreAheadError):
        check_ends({7: 1}, {0: 5}, "t")
