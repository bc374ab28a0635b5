"""Absence: when missing Kafka topics are looked for, and where the next generation has to begin."""

from __future__ import annotations

import pytest

from contracts.kafka_topics import KafkaTopics
from routing import absence
from routing.absence import Absence
from routing.errors import RouteTableError


class PlayedLog:
    """Kafka, as the test has it."""

    existing: frozenset[str] = frozenset()
    end = 0
    is_gone = False

    def __init__(self, bootstrap: str, topic: str) -> None:
        assert (bootstrap, topic) == ("kafka", "tbmq.msg.all")

    def partitions(self) -> int:
        return 2

    def bounds(self, partition: int) -> tuple[int, int]:
        return 0, PlayedLog.end + partition

    def existing_topics(self) -> frozenset[str]:
        if PlayedLog.is_gone:
            raise RouteTableError("gone")
        return PlayedLog.existing


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets, and Kafka."""
    now = [100.0]
    monkeypatch.setattr(absence, "RouteLog", PlayedLog)
    monkeypatch.setattr("routing.absence.time.monotonic", lambda: now[0])
    monkeypatch.setattr(PlayedLog, "existing", frozenset({"other"}))
    monkeypatch.setattr(PlayedLog, "end", 0)
    monkeypatch.setattr(PlayedLog, "is_gone", False)
    return now


def look(here: Absence, clock: list[float], end: int) -> bool:
    clock[0] += absence.LOOK_SECONDS
    PlayedLog.end = end
    return here.is_over()


def missing(*topics: str) -> Absence:
    here = Absence("kafka", KafkaTopics())
    assert here.review(frozenset(topics)) == set(topics)
    return here


def test_the_last_look_but_one_counts(clock: list[float]) -> None:
    here = missing("a", "b")
    assert [look(here, clock, end) for end in (10, 20, 30)] == [False] * 3
    PlayedLog.existing = frozenset({"other", "b"})
    assert not here.is_over()  # It was just looked.
    assert look(here, clock, 40)
    assert here.rewind({0: 35, 1: 15}) == {0: 20, 1: 15}


def test_without_anything_missing_nothing_is_asked(clock: list[float]) -> None:
    PlayedLog.is_gone = True
    here = missing()
    assert not look(here, clock, 10)
    assert here.rewind({0: 5}) == {0: 5}


def test_a_kafka_that_does_not_answer_says_nothing(clock: list[float]) -> None:
    here = missing("a")
    look(here, clock, 10)
    PlayedLog.is_gone = True
    assert [look(here, clock, end) for end in (20, 30)] == [False] * 2
    assert here.rewind({0: 35, 1: 35}) == {0: 0, 1: 1}


def test_a_topic_that_is_back_before_anybody_looked(clock: list[float]) -> None:
    here = missing("a")
    PlayedLog.existing = frozenset({"a"})
    assert look(here, clock, 50)
    assert here.rewind({0: 60, 1: 60}) == {0: 0, 1: 1}
    assert here.review(frozenset({"a"})) == frozenset()
    assert here.rewind({0: 60, 1: 60}) == {0: 60, 1: 60}


def test_the_next_generation_goes_on_with_what_is_known(clock: list[float]) -> None:
    here = missing("a", "b")
    assert not look(here, clock, 10)
    PlayedLog.end = 20
    assert here.review(frozenset({"a", "b"})) == {"a", "b"}
    PlayedLog.existing = frozenset({"b"})
    assert look(here, clock, 30)
    assert here.rewind({0: 40, 1: 40}) == {0: 10, 1: 11}
    assert here.review(frozenset({"a", "b"})) == {"a"}
    assert not look(here, clock, 50)
    assert here.rewind({0: 60, 1: 60}) == {0: 30, 1: 31}
