"""Local subscriptions: who holds which filter, and which of them match a topic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import matches
from edge.gateway import local_subscriptions
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription

Q0, Q1 = Subscription(0), Subscription(1)


def test_tells_the_first_and_the_last_holder() -> None:
    local: LocalSubscriptions[str] = LocalSubscriptions()
    assert local.add("c1", "a", Q0)
    assert not local.add("c2", "a", Q1)
    assert dict(local.holders("a")) == {"c1": Q0, "c2": Q1}
    assert not local.remove("c1", "a")
    assert local.remove("c2", "a")
    assert not local.holders("a")


@pytest.mark.mqtt(v3="3.8.4-3", v5="3.8.4-3")
def test_a_second_subscription_replaces_the_first() -> None:
    local: LocalSubscriptions[str] = LocalSubscriptions()
    local.add("c1", "a", Q0)
    local.add("c1", "a", Q1)
    assert dict(local.holders("a")) == {"c1": Q1}
    assert len(local) == 1


def test_dropping_a_subscriber_leaves_the_others() -> None:
    local: LocalSubscriptions[str] = LocalSubscriptions()
    for client, filter in (("c1", "a"), ("c1", "b"), ("c2", "a")):
        local.add(client, filter, Q0)
    assert sorted(local.filters("c1")) == ["a", "b"]
    assert sorted(local.drop("c1")) == [("a", False), ("b", True)]
    assert not local.holds("c1", "a")
    assert local.holds("c2", "a")
    assert list(local.drop("c1")) == []


LEVELS = st.sampled_from(["a", "b", "$x", ""])
TOPICS = st.lists(LEVELS, min_size=1, max_size=3).map("/".join).filter(bool)
FILTERS = st.builds(
    lambda levels, tail: "/".join([*levels, *tail]),
    st.lists(st.sampled_from(["a", "b", "$x", "", "+"]), min_size=1, max_size=3),
    st.sampled_from([[], ["#"]]),
).filter(bool) | st.just("#")


@given(st.lists(st.tuples(st.booleans(), FILTERS), max_size=30), st.lists(TOPICS, max_size=5))
def test_finds_every_filter_that_matches(changes: list[tuple[bool, str]], topics: list[str]) -> None:
    local: LocalSubscriptions[str] = LocalSubscriptions()
    held: set[str] = set()
    for is_added, filter in changes:
        if is_added:
            local.add("c", filter, Q0)
            held.add(filter)
        elif filter in held:
            local.remove("c", filter)
            held.remove(filter)
        for topic in topics:  # also what is remembered
            found = local.matching(topic)
            assert len(found) == len(set(found))
            assert set(found) == {one for one in held if matches(one, topic)}


def test_the_filters_of_groups_are_apart() -> None:
    local: LocalSubscriptions[str] = LocalSubscriptions()
    for filter, subscription in (("$share/g/a/+", Q0), ("a/+", Q1), ("a/#", Q0)):
        local.add("c", filter, subscription)
    local.add("d", "a/b", Q1)
    assert set(local.matching("a/b")) == {"a/+", "a/#", "a/b"}
    assert local.matching("$share/g/a/+") == ()
    assert local.counting("c", "a/b", "a/+") == {"a/+": Q1, "a/#": Q0}
    assert local.counting("c", "a/b", "$share/g/a/+") == {"$share/g/a/+": Q0}
    assert local.counting("d", "a/b", "a/+") == {"a/b": Q1}
    assert local.counting("c", None, "a/#") == {"a/#": Q0}
    assert not local.counting("d", "b", "b")


def test_what_is_remembered_of_topics_is_bounded() -> None:  # I10
    local: LocalSubscriptions[str] = LocalSubscriptions()
    local.add("c", "#", Q0)
    for number in range(2 * local_subscriptions._REMEMBERED):
        assert local.matching(f"{number}") == ("#",)
    assert local.matching("x" * 60_000) == ("#",)
    assert len(local._matching) <= local_subscriptions._REMEMBERED
    assert max(map(len, local._matching)) < 10
