"""The flows of a session without a connection: packet identifiers, windows, queue."""

import pytest

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.inflight import Delivery, Inbound, InboundFlows, OutboundFlows, Session
from edge.mqtt.message import OutgoingMessage


def a_delivery(payload: bytes = b"x", qos: int = 1) -> Delivery:
    return Delivery(OutgoingMessage("t", payload), qos)


def flows(window: int, queued: int = 10, queued_bytes: int = 1000) -> OutboundFlows:
    outbound = OutboundFlows(queued, queued_bytes)
    outbound.resume(window)
    return outbound


@pytest.mark.mqtt(v3="2.3.1-2 2.3.1-3 2.3.1-4", v5="2.2.1-3 2.2.1-4 4.3.2-1 4.3.3-1")
class TestPacketIdentifiers:
    def test_wrap_and_skip_those_in_use(self) -> None:
        outbound = flows(65_535)
        kept = a_delivery()
        assert outbound.begin(kept) == 1
        for wanted in range(2, 65_536):
            delivery = a_delivery()
            assert outbound.begin(delivery) == wanted
            outbound.complete(delivery)
        assert outbound.begin(a_delivery()) == 2
        assert outbound.get(1) is kept

    def test_all_can_be_in_use_and_then_none_is_left(self) -> None:
        outbound = flows(65_535)
        for wanted in range(1, 65_536):
            assert outbound.begin(a_delivery()) == wanted
        assert outbound.begin(a_delivery()) == 0
        with pytest.raises(LocalProtocolError):
            outbound.reserve()

    def test_reserved_ones_are_skipped(self) -> None:
        outbound = flows(10)
        assert outbound.reserve() == 1
        assert outbound.begin(a_delivery()) == 2
        assert outbound.release(1)
        assert not outbound.release(1)
        assert not flows(1).release(1)


class TestWindowAndQueue:
    def test_what_is_unfinished(self) -> None:
        outbound = flows(1)
        assert list(outbound.unfinished()) == []
        first, second = a_delivery(), a_delivery()
        outbound.begin(first)
        outbound.enqueue(second)
        assert [(one is first, one.packet_id) for one in outbound.unfinished()] == [(True, 1), (False, 0)]

    def test_window(self) -> None:
        outbound = flows(2)
        first, second, third = a_delivery(), a_delivery(), a_delivery()
        assert (outbound.begin(first), outbound.begin(second), outbound.begin(third)) == (1, 2, 0)
        assert outbound.enqueue(third)
        assert (outbound.in_flight, outbound.queued, outbound.queued_bytes) == (2, 1, 2)
        assert outbound.next_queued() is None
        outbound.complete(first)
        assert outbound.next_queued() is third
        assert (outbound.in_flight, outbound.queued, outbound.queued_bytes) == (1, 0, 0)

    def test_room(self) -> None:
        outbound, delivery = flows(1), a_delivery()
        assert [outbound.has_room, outbound.begin(delivery), outbound.has_room] == [True, 1, False]
        outbound.complete(delivery)
        assert outbound.has_room

    def test_queue_is_bounded_by_count_and_by_bytes(self) -> None:
        outbound = flows(0, queued=3, queued_bytes=100)
        assert [outbound.enqueue(a_delivery()) for _ in range(4)] == [True, True, True, False]
        outbound = flows(0, queued=1000, queued_bytes=100)
        assert [outbound.enqueue(a_delivery(bytes(49))) for _ in range(3)] == [True, True, False]
        assert outbound.queued_bytes == 100

    def test_an_idle_one_allocates_nothing(self) -> None:
        outbound = flows(10)
        assert (outbound.in_flight, outbound.queued, outbound.get(1)) == (0, 0, None)
        assert [outbound._deliveries, outbound._queue, outbound._resend] == [None] * 3


class TestResume:
    def test_all_under_way_is_sent_again_in_order_within_the_new_window(self) -> None:
        outbound = flows(3)
        deliveries = [a_delivery() for _ in range(3)]
        for delivery in deliveries:
            outbound.begin(delivery)
        outbound.resume(1)
        assert outbound.next_resend() is deliveries[0]
        assert outbound.next_resend() is None
        assert outbound.begin(a_delivery()) == 0
        outbound.complete(deliveries[0])
        assert outbound.next_resend() is deliveries[1]
        outbound.complete(deliveries[1])
        outbound.complete(deliveries[2])  # The peer had it already.
        assert outbound.next_resend() is None
        assert outbound.begin(a_delivery()) == 4

    def test_inbound_of_earlier_connections_does_not_count(self) -> None:
        session = Session(1, 1)
        inbound = session.inbound
        inbound.put(1, Inbound.QOS_2_CONFIRMED)
        inbound.put(2, Inbound.QOS_2_CONFIRMED)
        session.resume(1)
        assert (len(inbound), inbound.outstanding) == (2, 0)
        inbound.put(3, Inbound.QOS_1_RECEIVED)
        assert inbound.outstanding == 1
        inbound.finish(1)
        assert (len(inbound), inbound.outstanding) == (2, 1)
        inbound.finish(3)
        assert (len(inbound), inbound.outstanding) == (1, 0)


def test_inbound_without_flows() -> None:
    inbound = InboundFlows()
    inbound.finish(1)
    assert (len(inbound), inbound.outstanding, inbound.get(1)) == (0, 0, None)
