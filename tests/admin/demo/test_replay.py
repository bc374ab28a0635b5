"""The replay's own counting; the replay itself runs on a real stack in tests/live."""

from __future__ import annotations

from admin.demo.readings import TOPICS, Reading
from admin.demo.replay import Outcome, Subscriber, deliveries_of
from admin.demo.verdict import Verdict
from edge.mqtt.packets import Publish


def test_deliveries() -> None:
    readings = [Reading(topic, "", b"") for topic in TOPICS]
    assert deliveries_of(readings) == 3 * (1 + 2 + 2)
    assert deliveries_of(readings, travellers=1) == 3 * (1 + 2 + 2) + 2


def test_a_subscriber_is_complete_with_the_end_of_its_last_topic() -> None:
    subscriber = Subscriber("weather/#", 1, open_topics=set(TOPICS))
    subscriber.take(Publish(TOPICS[0], b"reading", 1))
    for topic in TOPICS:
        assert not subscriber.complete.is_set()
        subscriber.take(Publish(topic, b"end of the replay", 1))
    assert subscriber.complete.is_set()
    assert [arrival.payload for arrival in subscriber.arrivals] == [b"reading"]


def test_an_outcome_holds_only_as_a_whole() -> None:
    good, bad = Verdict("a", 0, 2, 2, 0, 0, 0), Verdict("a", 0, 2, 1, 0, 0, 0)
    assert Outcome([good, good], 2, 2, 1.0).holds
    assert not Outcome([good, bad], 2, 2, 1.0).holds
    assert not Outcome([good, good], 2, 1, 1.0).holds
    assert Outcome([good, bad], 2, 2, 1.0).deliveries == 3
