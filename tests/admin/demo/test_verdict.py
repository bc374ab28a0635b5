"""The demo's check says yes to what is right, and no in each way in which a delivery can be wrong."""

from __future__ import annotations

import math

import pytest

from admin.demo.verdict import Arrival, Sent, Verdict, judge

SENT = [
    Sent(topic, f"{topic}{number}".encode(), at=float(number))
    for number in range(10)
    for topic in ("a/b", "a/c")
]


def arrivals(filter: str = "a/b", qos: int = 1, delay: float = 0.5) -> list[Arrival]:
    """What a perfect broker delivers."""
    topics = ("a/b", "a/c") if filter != "a/b" else ("a/b",)
    return [Arrival(each.topic, each.payload, qos, each.at + delay) for each in SENT if each.topic in topics]


def verdict(came: list[Arrival], filter: str = "a/b") -> Verdict:
    return judge(filter, 1, SENT, came)


@pytest.mark.parametrize(("filter", "count"), [("a/b", 10), ("a/+", 20), ("a/#", 20), ("#", 20)])
def test_all_is_well(filter: str, count: int) -> None:
    found = verdict(arrivals(filter), filter)
    assert (found.expected, found.delivered, found.missing) == (count, count, 0)
    assert found.holds


def test_topics_may_overtake_each_other() -> None:
    assert verdict([*arrivals("a/+")[1::2], *arrivals("a/+")[0::2]], "a/+").holds


def test_missing() -> None:
    found = verdict(arrivals()[1:])
    assert (found.delivered, found.missing, found.holds) == (9, 1, False)


def test_nothing_at_all() -> None:
    found = verdict([])
    assert found.missing == 10
    assert not found.holds
    assert math.isnan(found.latency(0.5))


def test_duplicate() -> None:
    came = arrivals()
    found = verdict([*came, came[3]])
    assert (found.delivered, found.duplicates, found.late, found.holds) == (10, 1, 0, False)


def test_wrong_order() -> None:
    came = arrivals()
    came[2], came[3] = came[3], came[2]
    found = verdict(came)
    assert (found.delivered, found.late, found.holds) == (10, 1, False)


@pytest.mark.parametrize(
    "wrong",
    [
        Arrival("a/b", b"something else", 1, 9.0),
        Arrival("a/c", b"a/b9", 1, 9.0),  # the payload of another topic
        Arrival("a/c", b"a/c9", 1, 9.0),  # what this filter does not match
        Arrival("a/b", b"a/b9", 0, 9.0),  # another QoS
    ],
)
def test_wrong_content(wrong: Arrival) -> None:
    found = verdict([*arrivals()[:-1], wrong])
    assert (found.wrong, found.missing, found.holds) == (1, 1, False)


def test_latency() -> None:
    came = [Arrival("a/b", each.payload, 1, each.at + number) for number, each in enumerate(SENT[::2], 1)]
    found = verdict(came)
    assert (found.latency(0.5), found.latency(0.99), found.latency(1.0)) == (5.0, 10.0, 10.0)
