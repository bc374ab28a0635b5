"""The index of topics finds what the grammar's oracle says, whatever was put and removed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import matches
from edge.gateway.retained.topic_index import TopicIndex

LEVELS = st.sampled_from(["a", "b", "", "$x", "é"])
TOPICS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).filter(bool)
# More levels than have sets.
DEEP_TOPICS = st.lists(st.sampled_from("ab"), min_size=30, max_size=36).map("/".join)
WILD = st.lists(st.one_of(LEVELS, st.just("+")), min_size=1, max_size=4)
DEEP_WILD = st.lists(st.sampled_from("ab++++"), min_size=30, max_size=36)
FILTERS = st.one_of(
    WILD.map("/".join).filter(bool),
    WILD.map(lambda levels: "/".join([*levels, "#"])),
    st.just("#"),
    DEEP_WILD.map("/".join),
    DEEP_WILD.map(lambda levels: "/".join([*levels, "#"])),
    st.integers(0, 35).map(lambda count: "/".join(["+"] * count + ["#"])),
)
STEPS = st.lists(st.tuples(st.booleans(), st.one_of(TOPICS, TOPICS, DEEP_TOPICS)), max_size=30)


def found(index: TopicIndex[str], filter: str) -> list[str]:
    return sorted(value for value in index.find(filter) if value is not None)


def change(index: TopicIndex[str], held: set[str], steps: list[tuple[bool, str]]) -> None:
    for is_put, topic in steps:
        if is_put:
            index.put(topic, topic)
            held.add(topic)
        else:
            assert index.remove(topic) == (topic if topic in held else None)
            held.discard(topic)


@given(STEPS, st.lists(FILTERS, min_size=1, max_size=5))
def test_as_the_oracle_says(steps: list[tuple[bool, str]], filters: list[str]) -> None:
    index: TopicIndex[str] = TopicIndex()
    held: set[str] = set()
    change(index, held, steps)
    assert len(index) == len(held)
    assert sorted(index) == sorted(held)
    for filter in filters:
        assert found(index, filter) == sorted(topic for topic in held if matches(filter, topic))
    for topic in held:
        assert index.get(topic) == topic
        index.remove(topic)
    assert not any(index._names)  # nothing is left of names
    assert not any(index._counts)
    assert not index._dollar


@given(STEPS, FILTERS, st.integers(0, 30), STEPS)
def test_changed_while_it_is_read(
    before: list[tuple[bool, str]], filter: str, first: int, meanwhile: list[tuple[bool, str]]
) -> None:
    index: TopicIndex[str] = TopicIndex()
    held: set[str] = set()
    change(index, held, before)
    stays = set(held)
    reading = index.find(filter)
    read = [value for _, value in zip(range(first), reading, strict=False)]
    for step in meanwhile:
        change(index, held, [step])
        stays &= held
    rest = [value for value in reading if value is not None]
    assert set(rest) <= held
    for topic in [*read, *rest]:
        assert topic is None or matches(filter, topic)  # numbers of removed topics are others' by now
    assert {topic for topic in stays if matches(filter, topic)} <= {*read, *rest}


def test_what_changes_while_it_is_read() -> None:
    index: TopicIndex[int] = TopicIndex()
    for number in range(2_000):
        index.put(f"a/{number}", number)
    reading = index.find("a/+")
    first = {value for value in (next(reading) for _ in range(100)) if value is not None}
    for number in range(2_000):
        if number % 2:
            index.remove(f"a/{number}")
    index.put("a/new", -1)
    index.put("b/new", -3)
    rest = {value for value in reading if value is not None}
    assert first & rest == set()
    assert {number for number in range(2_000) if number % 2 == 0} <= first | rest
    assert all(number % 2 == 0 for number in rest - {-1})


def test_many_topics_come_with_pauses() -> None:
    index: TopicIndex[int] = TopicIndex()
    for number in range(10_000):
        index.put(f"a/{number}/b", number)
    values = list(index.find("a/+/b"))
    assert values.count(None) >= 10
    assert values[:100] == list(range(100))  # the first of them at once


def test_topics_that_do_not_match_are_not_looked_at() -> None:
    """Every name of these filters stands at its depth in half of all topics, and none has them all."""
    index: TopicIndex[int] = TopicIndex()
    for number in range(10_000):
        index.put(f"a/{number}/b/{number}/c", number)
        index.put(f"a/{number}/d/{number}/e", number)
        index.put(f"x/{number}/d", number)
    for filter in ("a/+/b/+/e", "+/+/d/+/c/#", "x/+/b", "x/+/+/+/c", "x/7/b/#", "+/0/b/1/+"):
        assert list(index.find(filter)) == []  # no pause in it either: there was nothing to look at
    index.put("a/1/b/1/e", -1)
    assert list(index.find("a/+/b/+/e")) == [-1]


def test_deep_topics_are_compared_a_few_at_a_time() -> None:
    index: TopicIndex[int] = TopicIndex()
    for number in range(80):
        index.put("/" * 100 + str(number), number)
    values = list(index.find("+/" * 100 + "7"))
    assert values.count(None) >= 9
    assert [value for value in values if value is not None] == [7]


def test_as_many_levels_as_a_topic_may_have() -> None:  # M09
    index: TopicIndex[str] = TopicIndex()
    topic = "/" * 65_535
    index.put(topic, "deep")
    assert found(index, "#") == found(index, topic) == found(index, "/#") == ["deep"]
    assert found(index, "/".join(["+"] * 2_000)) == []
    assert found(index, "/".join(["+"] * 65_536)) == ["deep"]
    index.remove(topic)
    assert found(index, "#") == []
