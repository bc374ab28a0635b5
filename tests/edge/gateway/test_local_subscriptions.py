"""Local subscriptions: who holds which filter."""

import pytest

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
