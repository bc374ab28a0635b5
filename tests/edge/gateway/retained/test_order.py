"""Retained copies and live messages against a model of a log, its downlink and its view: nothing goes backwards."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.retained import order as order_module
from edge.gateway.retained.order import Decision, Kind, LiveOrder

TOPIC, FILTER = "t", "#"


def order() -> LiveOrder[str]:
    return LiveOrder(lambda: 0)


class Walk:
    """One topic's publishes 0, 1, 2…; the view knows them before or after the downlink brings them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.order = order()
        self.published: list[bool] = []
        """By place, whether it is to be retained."""
        self.routed = 0
        self.retained = -1
        self.came: list[tuple[str, int]] = []
        self.waiting: list[int] = []
        self.is_subscribed = False
        self.owed_from = 0

    def publish(self) -> None:
        self.published.append(self.chance.random() < 0.7)

    def retain(self) -> None:
        """The view learns of the next publish that is to be retained."""
        later = range(self.retained + 1, len(self.published))
        self.retained = next((place for place in later if self.published[place]), self.retained)

    def route(self) -> None:
        """The downlink brings the next publish."""
        if self.routed == len(self.published):
            return
        place, self.routed = self.routed, self.routed + 1
        self.order.reached(0, place)
        if self.is_subscribed and self.order.admit(
            0, place, FILTER, TOPIC, self.published[place], {"c": None}
        ):
            self.came.append(("live", place))
        self.order.delivered(0, place)

    def probe(self) -> None:
        """An answer of the router: it stands behind what has been routed."""
        self.order.reached(0, self.routed)

    def subscribe(self) -> None:
        kind = Kind.AGAIN if self.is_subscribed else Kind.NEW
        if not self.is_subscribed:
            self.came.clear()
            self.owed_from = len(self.published)
        self.is_subscribed = True
        since = self.order.now()
        for _ in range(self.chance.randint(0, 2)):  # live messages come before the retained ones are read
            self.route()
        if self.retained >= 0:
            self.send(kind, since, self.retained)

    def send(self, kind: Kind, since: int, place: int) -> None:
        decision = self.order.decide(kind, "c", since, FILTER, TOPIC, 0, place)
        if decision is Decision.WAIT:
            self.order.when_decided(0, place, lambda: self.send(kind, since, place))
        elif decision is Decision.SEND:
            self.came.append(("copy", place))
            if kind is Kind.NEW:
                self.order.sent("c", FILTER, TOPIC, 0, place)

    def unsubscribe(self) -> None:
        self.is_subscribed = False
        self.order.forget("c", FILTER)

    def check(self) -> None:
        live = [place for what, place in self.came if what == "live"]
        assert live == sorted(set(live))
        for number, (what, place) in enumerate(self.came):
            before, after = self.came[:number], self.came[number + 1 :]
            if what == "copy":
                newer = [other for kind, other in before if kind == "live" and other > place]
                assert not any(self.published[other] for other in newer), self.came
                assert all(other > place for kind, other in after if kind == "live"), self.came
        if self.is_subscribed:
            owed = range(
                self.owed_from, self.routed
            )  # what was published since, whether it was retained or not
            assert set(owed) <= set(live)


@given(
    st.lists(
        st.sampled_from(["publish", "retain", "route", "probe", "subscribe", "unsubscribe"]), max_size=60
    ),
    st.randoms(),
)
def test_a_subscriber_sees_places_ascend_and_no_live_message_is_lost(
    steps: list[str], chance: random.Random
) -> None:
    walk = Walk(chance)
    for step in steps:
        getattr(walk, step)()
        walk.check()
    while walk.routed < len(walk.published):
        walk.route()
    walk.probe()
    walk.order.reached(0, len(walk.published) + 1)
    walk.check()
    assert walk.order.floors == 0  # forgotten as soon as the downlink has passed
    assert not any(walk.order._waiting.values())
    assert not walk.order._asking


def test_what_was_read_again_comes_again_behind_the_live_one() -> None:  # M17
    here = order()
    since = here.now()
    assert here.decide(Kind.AGAIN, "c", since, FILTER, TOPIC, 0, 5) is Decision.WAIT
    asked: list[int] = []
    here.when_decided(0, 5, lambda: asked.append(5))
    here.admit(0, 5, FILTER, TOPIC, True, {"c": None})
    assert asked == []  # before it is delivered
    here.delivered(0, 5)
    assert asked == [5]
    assert here.decide(Kind.AGAIN, "c", since, FILTER, TOPIC, 0, 5) is Decision.SEND
    here.admit(0, 6, FILTER, TOPIC, True, {"c": None})
    assert here.decide(Kind.AGAIN, "c", since, FILTER, TOPIC, 0, 5) is Decision.SKIP


def test_a_subscription_that_was_there_gets_what_is_retained_though_what_is_not_came_since() -> None:
    here = order()
    here.admit(0, 5, FILTER, TOPIC, True, {"c": None})
    here.admit(0, 6, FILTER, TOPIC, False, {"c": None})
    here.reached(0, 7)
    assert here.decide(Kind.AGAIN, "c", here.now(), FILTER, TOPIC, 0, 5) is Decision.SEND
    here.admit(0, 8, FILTER, TOPIC, True, {"c": None})
    assert (
        here.decide(Kind.AGAIN, "c", here.now(), FILTER, TOPIC, 0, 5) is Decision.SKIP
    )  # 8 is retained, or soon will be


def test_what_may_have_been_missed_comes_when_the_downlink_has_passed_without_it() -> None:
    here = order()
    since = here.now()
    passed: list[int] = []
    assert here.decide(Kind.MISSED, "c", since, FILTER, TOPIC, 0, 5) is Decision.WAIT
    here.when_decided(0, 5, lambda: passed.append(5))
    here.reached(0, 5)  # another filter's record of the same publish: this one's may follow
    assert passed == []
    here.reached(0, 6)
    assert passed == [5]
    assert here.decide(Kind.MISSED, "c", since, FILTER, TOPIC, 0, 5) is Decision.SEND
    here.admit(0, 5, FILTER, TOPIC, True, {"c": None})
    assert here.decide(Kind.MISSED, "c", since, FILTER, TOPIC, 0, 5) is Decision.SKIP


def test_what_came_before_a_subscription_was_not_for_it() -> None:
    here = order()
    here.admit(0, 9, FILTER, TOPIC, True, {"other": None})
    since = here.now()
    assert here.decide(Kind.NEW, "c", since, FILTER, TOPIC, 0, 5) is Decision.SEND


def test_only_the_one_filter_of_the_one_subscriber_is_held_against_a_copy() -> None:
    here = order()
    here.sent("c", FILTER, TOPIC, 0, 5)
    assert here.admit(0, 5, FILTER, TOPIC, True, {"c": 1, "d": 2}) == {"d": 2}
    assert here.admit(0, 5, "t", TOPIC, True, {"c": 1}) == {"c": 1}
    assert here.admit(0, 6, FILTER, TOPIC, True, {"c": 1}) == {"c": 1}
    assert here.admit(0, 5, FILTER, "u", True, {"c": 1}) == {"c": 1}


def test_what_a_copy_is_held_against_need_not_be_waited_for() -> None:
    here = order()
    here.sent("c", FILTER, TOPIC, 0, 5)
    assert here.decide(Kind.AGAIN, "c", here.now(), FILTER, TOPIC, 0, 5) is Decision.SEND
    assert here.decide(Kind.AGAIN, "d", here.now(), FILTER, TOPIC, 0, 5) is Decision.WAIT
    assert here.decide(Kind.AGAIN, "c", here.now(), FILTER, TOPIC, 0, 6) is Decision.WAIT


def test_what_is_remembered_is_bounded() -> None:
    here = order()
    for number in range(order_module._REMEMBERED + 100):
        here.admit(0, number, FILTER, f"t/{number}", True, {})
    assert len(here._came) == order_module._REMEMBERED
