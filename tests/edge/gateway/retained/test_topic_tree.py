"""The tree of topics finds what the grammar's oracle says, whatever was put and removed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import matches
from edge.gateway.retained.topic_tree import TopicTree

LEVELS = st.sampled_from(["a", "b", "", "$x", "é"])
TOPICS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).filter(bool)
# More levels than make nodes.
DEEP_TOPICS = st.lists(st.sampled_from("ab"), min_size=30, max_size=36).map("/".join)
WILD = st.lists(st.one_of(LEVELS, st.just("+")), min_size=1, max_size=4)
FILTERS = st.one_of(
    WILD.map("/".join).filter(bool),
    WILD.map(lambda levels: "/".join([*levels, "#"])),
    st.just("#"),
    st.lists(st.sampled_from("ab++++"), min_size=30, max_size=36).map("/".join),
    st.integers(0, 35).map(lambda count: "/".join(["+"] * count + ["#"])),
)
STEPS = st.lists(st.tuples(st.booleans(), st.one_of(TOPICS, TOPICS, DEEP_TOPICS)), max_size=30)


def found(tree: TopicTree[str], filter: str) -> list[str]:
    return sorted(value for value in tree.find(filter) if value is not None)


@given(STEPS, st.lists(FILTERS, min_size=1, max_size=5))
def test_as_the_oracle_says(steps: list[tuple[bool, str]], filters: list[str]) -> None:
    tree: TopicTree[str] = TopicTree()
    held: set[str] = set()
    for is_put, topic in steps:
        if is_put:
            tree.put(topic, topic)
            held.add(topic)
        else:
            assert tree.remove(topic) == (topic if topic in held else None)
            held.discard(topic)
    assert len(tree) == len(held)
    for filter in filters:
        assert found(tree, filter) == sorted(topic for topic in held if matches(filter, topic))
    for topic in held:
        assert tree.get(topic) == topic
        tree.remove(topic)
    assert tree._root.is_empty  # nothing is left of branches
    assert not tree._named


def test_what_changes_under_a_walk() -> None:
    tree: TopicTree[int] = TopicTree()
    for number in range(2_000):
        tree.put(f"a/{number}", number)
    walk = tree.find("a/+")
    first = {value for value in (next(walk) for _ in range(100)) if value is not None}
    for number in range(2_000):
        if number % 2:
            tree.remove(f"a/{number}")
    tree.put("a/new", -1)
    rest = {value for value in walk if value is not None}
    assert first & rest == set()
    assert {number for number in range(2_000) if number % 2 == 0} <= first | rest
    assert all(number % 2 == 0 for number in rest)


def test_a_long_walk_pauses() -> None:
    tree: TopicTree[int] = TopicTree()
    for number in range(10_000):
        tree.put(f"a/{number}/b", number)
    assert list(tree.find("a/+/+/c")) == []  # at once: nothing has a level of this name there
    tree.put("b/b/b/c", 0)
    pauses = list(tree.find("a/+/+/c"))
    assert len(pauses) >= 10
    assert set(pauses) == {None}
    tree.remove("b/b/b/c")
    assert list(tree.find("a/+/+/c")) == []


def test_as_many_levels_as_a_topic_may_have() -> None:  # M09
    tree: TopicTree[str] = TopicTree()
    topic = "/" * 65_535
    tree.put(topic, "deep")
    assert found(tree, "#") == found(tree, topic) == found(tree, "/#") == ["deep"]
    assert found(tree, "/".join(["+"] * 2_000)) == []
    assert found(tree, "/".join(["+"] * 65_536)) == ["deep"]
    tree.remove(topic)
    assert found(tree, "#") == []
