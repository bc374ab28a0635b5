"""Feeds: what a client is sent, in what order and under which packet ids, whatever it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

import pytest

from contracts.persisted_record import Event, EventKind, Message, packet_id
from contracts.publish_record import MessageProperties
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import Subscription
from edge.gateway.persistence.acknowledgements import Acknowledgements
from edge.gateway.persistence.feed import Feed
from edge.mqtt.events import DeliveryCompleted
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.gateway.persistence.client import PlayedConnection, message
from tests.edge.mqtt.test_gate import Counted


class PlayedAcknowledgements:
    """Notes them; what is received becomes durable when the test says so."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.noted: list[tuple[int, Callable[[], None]]] = []

    def acked(self, client_id: str, offset: int) -> None:
        assert client_id == "c"
        self.done.append(offset)

    def received(self, client_id: str, offset: int, durable: Callable[[], None]) -> None:
        assert client_id == "c"
        self.noted.append((offset, durable))


class Setting:
    """A feed and its client."""

    def __init__(self, receive_maximum: int = 10, max_pending: int = 100, max_bytes: int = 10_000) -> None:
        self.client = PlayedConnection(receive_maximum=receive_maximum)
        self.log = PlayedAcknowledgements()
        self.counters = Counters()
        self.reloads: list[Feed] = []
        self.feed = Feed(
            cast(Connection, self.client), 0, cast(Acknowledgements, self.log), self.counters, self.client.find,
            self.reloads.append, max_pending, max_bytes,
        )  # fmt: skip

    def publishes(self) -> list[tuple[int, bytes, bool]]:
        """(packet id, payload, DUP) of what the client gets."""
        packets = self.client.packets()
        assert all(isinstance(packet, Publish) for packet in packets)
        return [(p.packet_id, p.payload, p.dup) for p in packets if isinstance(p, Publish)]

    def answer(self, *packets: PubAck) -> None:
        for event in self.client.answer(*packets):
            if isinstance(event, DeliveryCompleted):
                self.feed.completed(event)
            else:
                self.feed.received(event)


def ids(*offsets: int) -> list[int]:
    return [packet_id(offset) for offset in offsets]


async def test_loaded_then_live_in_the_order_of_the_log() -> None:
    here = Setting()
    here.feed.take(message(9))  # the tail is ahead of the loading
    assert here.publishes() == []
    here.feed.loaded([message(3), message(5)], [], [message(7), Event(8, "c", EventKind.ACKED, (5,))])
    here.feed.take(message(11))
    assert here.publishes() == [(packet_id(o), b"%d" % o, False) for o in (3, 7, 9, 11)]
    here.answer(*map(PubAck, ids(9, 3)))
    assert here.log.done == [9, 3]


async def test_the_window_and_then_the_rest() -> None:
    here = Setting(receive_maximum=2)
    here.feed.loaded([message(n) for n in range(5)], [], [])
    assert [payload for _, payload, _ in here.publishes()] == [b"0", b"1"]
    here.answer(PubAck(packet_id(1)))
    assert [payload for _, payload, _ in here.publishes()] == [b"2"]


async def test_a_packet_id_in_use_holds_back_what_stands_behind_it() -> None:
    here = Setting()
    here.feed.loaded([message(3), message(4), message(65_538), message(65_540)], [], [])
    assert [payload for _, payload, _ in here.publishes()] == [b"3", b"4"]
    here.answer(PubAck(packet_id(4)))
    assert here.publishes() == []
    here.answer(PubAck(packet_id(3)))
    assert [payload for _, payload, _ in here.publishes()] == [b"65538", b"65540"]


async def test_a_long_log_keeps_its_order_when_packet_ids_wrap() -> None:
    here = Setting()
    here.feed.loaded([message(n) for n in range(65_530, 65_545)], [], [])
    seen = []
    while got := here.publishes():
        seen += [payload for _, payload, _ in got]
        here.answer(*(PubAck(identifier) for identifier, _, _ in got))
    assert seen == [b"%d" % n for n in range(65_530, 65_545)]


async def test_qos_2_is_noted_before_pubrel_and_done_at_pubcomp() -> None:
    here = Setting()
    here.feed.loaded([message(3, qos=2)], [], [])
    here.publishes()
    here.answer(PubRec(packet_id(3)))
    assert here.client.packets() == []
    [(offset, durable)] = here.log.noted
    assert offset == 3
    durable()
    assert here.client.packets() == [PubRel(packet_id(3))]
    here.feed.take(Event(4, "c", EventKind.RECEIVED, (3,)))
    here.answer(PubComp(packet_id(3)))
    assert here.log.done == [3]


async def test_what_was_received_goes_on_with_pubrel_and_before_all_else() -> None:  # M32 (c)
    here = Setting(receive_maximum=1)
    here.feed.loaded([message(5)], {3}, [])
    assert here.client.packets() == [PubRel(packet_id(3))]
    here.answer(PubComp(packet_id(3)))
    assert here.log.done == [3]
    assert [payload for _, payload, _ in here.publishes()] == [b"5"]


async def test_sent_before_means_dup_and_no_expiry() -> None:  # M21, M32
    expired = MessageProperties(message_expiry=1, published_at_ms=int(time.time() * 1000) - 5_000)
    here = Setting()
    stored = [message(1, properties=expired), message(2), message(3, properties=expired)]
    here.feed.loaded(stored, [], [], sent={1, 2})
    assert here.publishes() == [(packet_id(1), b"1", True), (packet_id(2), b"2", True)]
    assert here.log.done == [3]
    assert here.counters.dropped_expired == 1


async def test_nobody_knows_what_was_sent() -> None:
    here = Setting()
    here.feed.loaded([message(n) for n in range(12)], [], [], sent=None)
    assert [dup for _, _, dup in here.publishes()] == [True] * 10
    here.answer(PubAck(packet_id(0)), PubAck(packet_id(1)))
    assert [dup for _, _, dup in here.publishes()] == [False] * 2


@pytest.mark.parametrize(
    ("subscription", "publisher"),
    [(None, "p"), (Subscription(0), "p"), (Subscription(2, no_local=True), "c")],
)
async def test_what_is_not_for_the_client_is_done_with(
    subscription: Subscription | None, publisher: str
) -> None:
    here = Setting()
    here.client.subscriptions = {"a": subscription} if subscription else {}
    here.feed.loaded([message(1, publisher=publisher)], [], [])
    assert here.publishes() == []
    assert here.log.done == [1]


@pytest.mark.parametrize(
    ("subscription", "publisher"),
    [
        (None, "p"),
        (Subscription(0), "p"),
        (Subscription(2, no_local=True), "c"),
        (Subscription(2, floors=(7,)), "p"),
    ],
)
async def test_what_was_sent_is_owed_whatever_was_unsubscribed_from_since(
    subscription: Subscription | None, publisher: str
) -> None:
    """Case M49: what was begun is completed [MQTT-3.10.4-3]; what only may have been sent is not known to be begun."""
    stored = [message(1, qos=2, publisher=publisher), message(2, publisher=publisher)]
    here = Setting()
    here.client.subscriptions = {"a": subscription} if subscription else {}
    here.feed.loaded(stored, [], [], sent={1})
    assert here.client.packets() == [Publish("a", b"1", 2, dup=True, packet_id=packet_id(1))]
    assert here.log.done == [2]
    guessing = Setting()
    guessing.client.subscriptions = here.client.subscriptions
    guessing.feed.loaded(stored, [], [], sent=None)
    assert guessing.publishes() == []


async def test_what_was_published_before_the_subscription() -> None:  # M26
    here = Setting()
    here.client.subscriptions = {"a": Subscription(1, floors=(7,))}
    here.feed.loaded([message(6), message(7), message(8)], [], [])
    assert [payload for _, payload, _ in here.publishes()] == [b"8"]


async def test_one_copy_by_all_filters_that_match() -> None:  # M14, M15
    here = Setting()
    here.client.subscriptions = {
        "a": Subscription(1, subscription_id=1),
        "+": Subscription(2, subscription_id=2),
        "#": Subscription(0, floors=(1,), subscription_id=3),
        "b": Subscription(2, subscription_id=4),
    }
    here.feed.loaded([message(1, qos=2), message(2, qos=2)], [], [])
    came = here.client.packets()
    assert all(isinstance(one, Publish) for one in came)
    assert [(one.qos, sorted(one.properties.subscription_identifiers)) for one in came] == [  # type: ignore[union-attr]
        (2, [1, 2]),
        (2, [1, 2, 3]),
    ]


async def test_the_filter_of_the_record_has_ended_but_not_the_others() -> None:
    """Their records were never written for a reader, as this one stands for them."""
    here = Setting()
    here.client.subscriptions = {"+": Subscription(1)}
    here.feed.loaded([message(1, qos=2)], [], [])
    assert here.publishes() == [(packet_id(1), b"1", False)]


async def test_what_one_of_two_filters_does_not_want_as_its_own() -> None:  # M53
    here = Setting()
    here.client.subscriptions = {
        "a": Subscription(2, no_local=True),
        "#": Subscription(0),
        "+": Subscription(1),
    }
    here.feed.loaded([message(1, qos=2, publisher="c")], [], [])
    here.client.subscriptions.pop("+")
    here.feed.take(message(2, qos=2, publisher="c"))  # at QoS 0 it came by the node's downlink
    assert here.publishes() == [(packet_id(1), b"1", False)]
    assert here.log.done == [2]


async def test_poison_is_counted_and_stops_nothing() -> None:  # I10
    here = Setting()
    poison = Message(1, "c", 0, 1, "a", "a", b"", [("qos", b"x")])
    here.feed.loaded([poison, message(2)], [], [])
    assert [payload for _, payload, _ in here.publishes()] == [b"2"]
    assert (here.counters.poison_records, here.log.done) == (1, [1])


async def test_too_much_at_once_is_read_again_later() -> None:
    here = Setting(receive_maximum=1, max_pending=3)
    here.feed.loaded([], [], [])
    for n in range(6):
        here.feed.take(message(n))
    for n in range(3):
        assert [payload for _, payload, _ in here.publishes()] == [b"%d" % n]
        here.answer(PubAck(packet_id(n)))
    assert here.reloads == [here.feed]
    here.feed.take(Event(6, "c", EventKind.ACKED, (0, 1)))
    # The store and the log do not know yet that 2 is done.
    here.feed.loaded([message(n) for n in range(2, 6)], [], [])
    assert [payload for _, payload, _ in here.publishes()] == [b"3"]


async def test_an_acknowledgement_of_an_earlier_gateway_arrives_late() -> None:
    here = Setting(receive_maximum=1)
    here.feed.loaded([message(1), message(2), message(3)], [], [])
    here.feed.take(Event(4, "c", EventKind.ACKED, (2,)))
    here.publishes()
    here.answer(PubAck(packet_id(1)))
    assert [payload for _, payload, _ in here.publishes()] == [b"3"]


async def test_cleared_voids_what_was_not_sent() -> None:
    here = Setting(receive_maximum=1)
    here.feed.loaded([message(1), message(2)], [], [])
    here.feed.take(Event(3, "c", EventKind.CLEARED))
    here.feed.take(message(4))
    here.publishes()
    here.answer(PubAck(packet_id(1)))
    assert [payload for _, payload, _ in here.publishes()] == [b"4"]


@pytest.mark.mqtt(v5="4.4.0-2 4.8.2-6")
async def test_what_the_client_refuses_is_done_with() -> None:
    """It is not sent again, and if it was a group's, no other member gets it: the log says that it is acknowledged."""
    here = Setting()
    here.feed.loaded([message(1), message(2, qos=2)], [], [])
    assert len(here.publishes()) == 2
    here.answer(
        PubAck(packet_id(1), ReasonCode.NOT_AUTHORIZED), PubRec(packet_id(2), ReasonCode.QUOTA_EXCEEDED)
    )
    assert here.log.done == [1, 2]
    assert here.client.packets() == []


async def test_the_end_tells_what_was_sent() -> None:
    here = Setting(receive_maximum=2)
    here.feed.loaded([message(1), message(2), message(3)], [], [])
    here.answer(PubAck(packet_id(1)))
    assert here.feed.end() == [2, 3]
    here.feed.take(message(4))
    assert here.log.done == [1]


async def test_the_end_of_a_feed_that_never_began_tells_nothing() -> None:
    """What was sent before still was."""
    here = Setting()
    here.feed.take(message(1))
    assert here.feed.end() is None


async def test_a_rate_holds_back_and_nothing_is_lost() -> None:
    """Not even of what the feed may not keep meanwhile."""
    here = Setting(max_pending=3)
    gate = Counted(2)
    here.client.core.pace(gate)
    here.feed.loaded([message(n) for n in range(3)], [], [])
    here.feed.take(message(3))
    assert [payload for _, payload, _ in here.publishes()] == [b"0", b"1"]
    here.answer(*map(PubAck, ids(0, 1)))
    assert (here.publishes(), here.reloads) == ([], [])
    gate.room = 9
    here.feed.pump()
    assert [payload for _, payload, _ in here.publishes()] == [b"2"]
    here.answer(PubAck(packet_id(2)))
    assert here.reloads == [here.feed]
