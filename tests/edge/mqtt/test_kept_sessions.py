"""Sessions that the application keeps: it chooses packet identifiers, and each step at QoS 2 waits for its note."""

from __future__ import annotations

import pytest

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import (
    ConnectionEnded,
    DeliveryCompleted,
    DeliveryOutcome,
    DeliveryReceived,
    Event,
    PublishReceived,
    ReleaseReceived,
)
from edge.mqtt.inflight import Inbound, Session
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Connect, PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode as R
from edge.mqtt.server import ServerConnection
from tests.edge.mqtt.connection_pair import LIMITS, connected_server, packet_bytes, sent
from tests.edge.mqtt.test_reading import read_all

V311, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
MESSAGE = OutgoingMessage("a", b"x", tag=70_000)


def kept_server(
    version: ProtocolVersion = V311, session: Session | None = None, **asked: int
) -> ServerConnection:
    server = ServerConnection(LIMITS, 0.0)
    connect = Connect("c", version, clean_start=False, properties=Properties(**asked))  # type: ignore[arg-type]
    server.receive_data(packet_bytes(connect, version), 0.0)
    server.events_received()
    server.accept(True, session=session, is_kept=True)
    server.data_to_send()
    return server


def receive(server: ServerConnection, *packets: Publish | PubAck) -> list[Event]:
    server.receive_data(b"".join(packet_bytes(packet, server.version) for packet in packets), 1.0)
    return server.events_received()


class TestDeliveries:
    def test_qos_1_under_a_chosen_identifier(self) -> None:
        server = connected_server(V311)
        assert server.deliver_as(4464, MESSAGE, 1) is DeliveryOutcome.SENT
        assert sent(server) == bytes.fromhex("32 06 000161 1170 78")
        assert not server.can_deliver_as(4464)
        [done] = receive(server, PubAck(4464))
        assert done == DeliveryCompleted(4464, MESSAGE)
        assert server.can_deliver_as(4464)

    def test_pubrel_waits_until_the_pubrec_is_noted(self) -> None:
        server = connected_server(V311)
        server.deliver_as(7, MESSAGE, 2, dup=True)
        assert sent(server) == bytes.fromhex("3C 06 000161 0007 78")
        assert receive(server, PubRec(7), PubRec(7)) == [DeliveryReceived(7, MESSAGE)]
        assert sent(server) == b""
        server.release_delivery(7)
        server.release_delivery(7)
        assert sent(server) == bytes.fromhex("62 02 0007")
        assert receive(server, PubComp(7)) == [DeliveryCompleted(7, MESSAGE)]

    @pytest.mark.mqtt(v5="4.3.3-4")
    def test_a_refusal_ends_it_without_pubrel(self) -> None:  # [MQTT-4.3.3-4]
        server = connected_server(V5)
        server.deliver_as(7, MESSAGE, 2)
        sent(server)
        assert receive(server, PubRec(7, R.QUOTA_EXCEEDED)) == [
            DeliveryCompleted(7, MESSAGE, R.QUOTA_EXCEEDED)
        ]
        assert sent(server) == b""

    def test_goes_on_with_pubrel(self) -> None:  # M32 (c)
        server = kept_server()
        server.resume_release(7, MESSAGE)
        assert sent(server) == bytes.fromhex("62 02 0007")
        assert receive(server, PubComp(7)) == [DeliveryCompleted(7, MESSAGE)]

    def test_pubcomp_before_the_pubrec_was_noted_is_a_violation(self) -> None:
        server = connected_server(V311)
        server.deliver_as(7, MESSAGE, 2)
        [_, ended] = receive(server, PubRec(7), PubComp(7))
        assert isinstance(ended, ConnectionEnded)

    def test_the_window_and_the_identifiers_in_use_say_no(self) -> None:
        server = kept_server(V5, receive_maximum=2)
        server.deliver(MESSAGE, 1)  # takes identifier 1
        assert not server.can_deliver_as(1)
        server.deliver_as(2, MESSAGE, 1)
        assert not server.can_deliver_as(3)
        with pytest.raises(LocalProtocolError):
            server.deliver_as(3, MESSAGE, 1)
        with pytest.raises(LocalProtocolError):
            server.resume_release(3, MESSAGE)

    def test_ordinary_deliveries_avoid_chosen_identifiers(self) -> None:
        server = connected_server(V311)
        server.deliver_as(1, MESSAGE, 1)
        sent(server)
        server.deliver(MESSAGE, 1)
        assert sent(server) == bytes.fromhex("32 06 000161 0002 78")

    @pytest.mark.mqtt(v5="3.3.2-5 4.3.3-7")
    def test_expired_is_dropped_unless_it_may_have_been_sent(self) -> None:  # M21
        server = connected_server(V311)
        expired = OutgoingMessage("a", b"x", expires_at=1.0)
        assert server.deliver_as(1, expired, 2, now=2.0) is DeliveryOutcome.DROPPED_EXPIRED
        assert server.deliver_as(1, expired, 2, dup=True, now=2.0) is DeliveryOutcome.SENT

    def test_the_seconds_left_are_those_of_now(self) -> None:  # M20
        server = connected_server()
        server.deliver_as(7, OutgoingMessage("a", expires_at=100.0), 1, now=60.0)
        (publish,) = read_all(server.data_to_send(), V5)
        assert isinstance(publish, Publish)
        assert publish.properties.message_expiry_interval == 40

    def test_too_large_takes_no_place(self) -> None:  # M36
        server = kept_server(V5, maximum_packet_size=30, receive_maximum=1)
        assert server.deliver_as(1, OutgoingMessage("a", bytes(50)), 1) is DeliveryOutcome.DROPPED_TOO_LARGE
        assert server.can_deliver_as(1)

    def test_nothing_goes_out_on_a_closed_connection(self) -> None:
        server = connected_server(V311)
        server.deliver_as(7, MESSAGE, 2)
        receive(server, PubRec(7))
        server.receive_eof(2.0)
        sent(server)
        server.release_delivery(7)
        assert sent(server) == b""
        assert not server.can_deliver_as(8)


class TestMessagesFromThePeer:
    def test_pubcomp_waits_until_the_pubrel_is_noted(self) -> None:
        server = kept_server()
        publish = Publish("a", b"2", 2, packet_id=5)
        assert receive(server, publish) == [PublishReceived(publish)]
        server.confirm_publish(5)
        assert receive(server, PubRel(5), PubRel(5)) == [ReleaseReceived(5)]
        assert sent(server) == bytes.fromhex("50 02 0005")
        server.confirm_release(5)
        assert sent(server) == bytes.fromhex("70 02 0005")
        assert server.unfinished == 0
        with pytest.raises(LocalProtocolError):
            server.confirm_release(5)

    def test_a_resumed_identifier_is_one_message(self) -> None:
        session = Session(10, 1000)
        session.inbound.put(5, Inbound.QOS_2_CONFIRMED)
        server = kept_server(session=session)
        assert receive(server, Publish("a", b"2", 2, dup=True, packet_id=5)) == []
        assert sent(server) == bytes.fromhex("50 02 0005")
        assert receive(server, PubRel(5)) == [ReleaseReceived(5)]

    def test_an_unknown_pubrel_is_answered_at_once(self) -> None:  # M31
        assert receive(server := kept_server(), PubRel(0x1234)) == []
        assert sent(server) == bytes.fromhex("70 02 1234")

    def test_a_release_noted_too_late_frees_the_identifier(self) -> None:
        server = kept_server()
        receive(server, Publish("a", b"2", 2, packet_id=5))
        server.confirm_publish(5)
        receive(server, PubRel(5))
        server.receive_eof(2.0)
        sent(server)
        server.confirm_release(5)
        assert sent(server) == b""
        assert server.unfinished == 0
