"""Names of entities tell their filters, no two are the same, and Kafka takes them all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.application_shares import (
    MAX_TARGET,
    SOURCES,
    TARGET_PATTERN,
    EntityMarks,
    consumer_group,
    filter_of,
    is_of_application_share,
    share_target,
    source_of,
)
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_log import Repeats

levels = st.one_of(
    st.sampled_from(["a", "b", "+", "#", "slw", "mlw", "", "-", "a_b", "a.b", "$SYS", "é", "id-" + "0" * 32]),
    st.text("abZ09-", min_size=1, max_size=60),
)
filters = st.lists(levels, min_size=1, max_size=5).map("/".join).filter(bool)


@pytest.mark.parametrize(
    ("filter", "target"),
    [
        ("a", "a"), ("sensors/+/data-1", "sensors.slw.data-1"), ("#", "mlw"), ("+/x/#", "slw.x.mlw"),
        ("A/b", "A.b"),
    ],
)  # fmt: skip
def test_names_that_tell(filter: str, target: str) -> None:
    assert share_target(filter) == target
    assert filter_of(target) == filter


@pytest.mark.parametrize(
    "filter", ["slw", "a/mlw", "/a", "a//b", "a_b", "a.b", "é", "$SYS/x", "x" * 101, "id-" + "a" * 32, "a b"]
)
def test_names_that_do_not(filter: str) -> None:
    target = share_target(filter)
    assert re.fullmatch("id-[0-9a-f]{32}", target)
    assert filter_of(target) is None


@given(filters, filters)
def test_names(one: str, other: str) -> None:
    target = share_target(one)
    assert re.fullmatch(TARGET_PATTERN, target)
    assert len(target) <= MAX_TARGET
    assert filter_of(target) in (one, None)
    assert (target == share_target(other)) is (one == other)
    assert len(KafkaTopics("p" * 100).application_share(one)) <= 249


def test_what_is_no_target_is_nobodys() -> None:
    assert filter_of("a_b") is None
    assert filter_of("") is None


@given(*[st.sampled_from(["a", "b-", "share", "id-" + "0" * 32, "a.b", "é"])] * 2, filters, filters)
def test_consumer_groups(group: str, other_group: str, filter: str, other_filter: str) -> None:
    one = consumer_group("p", group, share_target(filter))
    other = consumer_group("p", other_group, share_target(other_filter))
    assert (one == other) is ((group, filter) == (other_group, other_filter))


def test_sources() -> None:
    places = [(topic, group, partition) for topic in "xy" for group in ("g", "h") for partition in range(4)]
    sources = {source_of(*place) for place in places}
    assert len(sources) == len(places)
    assert all(SOURCES <= source < 2 * SOURCES for source in sources)
    assert all(map(is_of_application_share, sources))
    assert not is_of_application_share(1_000_000)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5))))
def test_marks_are_repeats_of_one_filter(places: list[tuple[int, int]]) -> None:
    marks, oracle = EntityMarks(), Repeats()
    for place in places:
        assert marks.is_repeat(*place) is oracle.is_repeat(*place, "", "f")
        marks = EntityMarks.from_text(marks.to_text())
    assert marks.copy() == marks


@pytest.mark.parametrize("text", ["x", "1", "1:2:3", "1:x"])
def test_what_are_no_marks(text: str) -> None:
    with pytest.raises(RecordError):
        EntityMarks.from_text(text)


def test_the_topic() -> None:
    topic = KafkaTopics("p").of_application_share("a/+", 6, {"retention.ms": "1"})
    assert (topic.name, topic.partitions) == ("p.msg.app.shared.a.slw", 6)
    assert topic.config["retention.ms"] == "1"
    assert int(topic.config["max.message.bytes"]) >= 3 << 20
