"""Overlapping filters: how a client gets what matches several of its filters, and by which record."""

from __future__ import annotations

import pytest

from contracts.routed_record import Route
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.overlaps import Overlaps, together

Q0, Q1, Q2 = Subscription(0), Subscription(1), Subscription(2)


def found(*matching: Subscription, is_own: bool = False) -> tuple[int, bool, tuple[int, ...]] | None:
    """QoS, whether RETAIN is as published, identifiers."""
    one = together(matching, 1, 7, is_own=is_own)
    if one is None:
        return None
    assert not one.subscription.no_local
    return one.subscription.qos, one.subscription.retain_as_published, one.identifiers


@pytest.mark.parametrize(
    ("matching", "qos"), [((Q0, Q1), 1), ((Q1, Q0), 1), ((Q2, Q0), 2), ((Q1, Q2, Q0), 2), ((Q0,), 0)]
)
def test_the_highest_qos(matching: tuple[Subscription, ...], qos: int) -> None:  # M14
    assert found(*matching) == (qos, False, ())


def test_all_identifiers_of_those_that_have_one() -> None:  # M15
    one, other = Subscription(0, subscription_id=1), Subscription(0, subscription_id=268_435_455)
    assert found(one, Q1, other) == (1, False, (1, 268_435_455))
    assert found(one, one) == (0, False, (1, 1))  # as section 3.3.4 has it


def test_retain_as_published_if_one_of_them_wants_it() -> None:  # M16
    assert found(Q1, Subscription(0, retain_as_published=True)) == (1, True, ())


def test_those_that_do_not_want_ones_own_do_not_count() -> None:  # M53
    not_own = Subscription(2, no_local=True, retain_as_published=True, subscription_id=5)
    assert found(not_own, is_own=True) is None
    assert found(not_own, Q1, is_own=True) == (1, False, ())
    assert found(not_own, Q1) == (2, True, (5,))


def test_those_that_were_made_later_do_not_count() -> None:
    later = Subscription(2, subscription_id=5, floors=(9, 7))
    assert found(later) is None
    assert found(later, Q1) == (1, False, ())
    assert found(Subscription(2, floors=(9, 6))) == (2, False, ())
    assert found() is None


@pytest.fixture
def local() -> LocalSubscriptions[str]:
    """Two clients with several filters, two with one."""
    local: LocalSubscriptions[str] = LocalSubscriptions()
    for client, filters in {
        "c": ("a/#", "a/+", "a/b"),
        "d": ("#", "a/+"),
        "e": ("a/+",),
        "f": ("#",),
    }.items():
        for filter in filters:
            local.add(client, filter, Subscription(len(filter)))
    local.add("c", "b", Q1)
    return local


def test_the_first_record_is_for_all_of_ones_filters(local: LocalSubscriptions[str]) -> None:
    overlaps = Overlaps(local, str)
    several = overlaps.take(Route(0, 5, "a/b", "a/+"))
    assert {client: sorted(one.qos for one in found) for client, found in several.items()} == {
        "c": [3, 3, 3],
        "d": [1, 3],
    }
    several["c"] = ()  # served
    assert overlaps.take(Route(0, 5, "a/b", "#")) is several
    assert overlaps.take(Route(1, 5, "a/b", "a/+"))["c"], "another partition is apart"
    assert overlaps.take(Route(0, 6, "a/b", "#"))["c"], "the next message is another"


def test_a_record_that_comes_late_is_for_nobody_who_holds_several(local: LocalSubscriptions[str]) -> None:
    overlaps = Overlaps(local, str)
    overlaps.take(Route(0, 6, "a/b", "a/b"))
    assert overlaps.take(Route(0, 5, "a/c", "a/+")) == {"c": (), "d": ()}
    assert overlaps.take(Route(0, 6, "a/b", "#"))["d"]


def test_a_topic_that_one_filter_matches_is_nothing_to_remember(local: LocalSubscriptions[str]) -> None:
    overlaps = Overlaps(local, str)
    local.remove("d", "#")
    local.remove("f", "#")
    assert overlaps.take(Route(0, 5, "b", "b")) == {}
    assert overlaps._newest == {}
