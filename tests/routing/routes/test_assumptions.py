"""Assumptions: what may be assumed, and that it becomes the record that it would have been."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.application_shares import share_target
from contracts.kafka_topics import subscription_partition
from contracts.subscription_record import SubscriptionRecord, decode
from routing.errors import ChangeError
from routing.routes.assumptions import NOWHERE, Assumptions


def records(*add: dict[str, Any]) -> list[SubscriptionRecord]:
    return [decode(key.encode(), (value or "").encode()) for key, value in Assumptions.of(add).records]


def test_an_assumed_subscription_is_the_record_that_it_would_have_been() -> None:
    found = records(
        {"client_id": "c", "filter": "a/+", "node": "n1"},
        {"client_id": "c", "filter": "$share/g/a", "node": "n1", "qos": 0, "no_local": None},
        {"client_id": "app", "filter": "a", "node": "n1", "kind": "app"},
        {"client_id": "app", "filter": "$share/g/a", "node": "n1", "kind": "app", "qos": 2},
    )
    assert found == [
        SubscriptionRecord("c", "a/+", "n1", 1),
        SubscriptionRecord("c", "a", "n1", 0, "g"),
        SubscriptionRecord("app", "a", "n1", 1, kind="app", target="app"),
        SubscriptionRecord("app", "a", "n1", 2, "g", kind="app", target=share_target("a")),
    ]


def test_removals_come_first_and_all_find_their_partition() -> None:
    given = Assumptions.of(
        [{"client_id": "c", "filter": "a", "node": "n2"}],
        [{"client_id": "c", "filter": "a"}, {"client_id": "d", "filter": "$queue/b/#"}],
    )
    assert Assumptions.parse(given.encode()) == given
    assert given.filters == {"a", "b/#"}
    by_partition = [given.of_partition(number, 2) for number in range(2)]
    assert sum(map(len, by_partition)) == 2
    here = by_partition[subscription_partition("a", 2)]
    offset, value = here[b"c\0a"]
    assert offset == NOWHERE
    assert value is not None
    assert by_partition[subscription_partition("b/#", 2)][b"d\0$share/$queue/b/#"] == (NOWHERE, None)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"client_id": "c", "filter": "a"}, "has no node"),
        ({"client_id": "c", "filter": "a/#/b", "node": "n"}, "# must be the last"),
        ({"client_id": "c", "filter": "a", "node": "n m"}, "node id"),
        ({"client_id": "c\0", "filter": "a", "node": "n"}, "forbids"),
        ({"client_id": "c", "filter": "a", "node": "n", "qos": 3}, "no QoS"),
        ({"client_id": "c", "filter": "a", "node": "n", "kind": "x"}, "device or app"),
        ({"client_id": "c", "filter": "a", "node": "n", "topic": "x"}, "unknown topic"),
    ],
)
def test_what_no_client_could_ask_for_is_told(row: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ChangeError, match=sentence):
        Assumptions.of([row])


@pytest.mark.parametrize("text", ["{", "[1]", '[["c", null]]', '[["c\\u0000a", "{}"]]'])
def test_a_foreign_option_is_told(text: str) -> None:
    with pytest.raises(ChangeError, match="assume"):
        Assumptions.parse(text)
