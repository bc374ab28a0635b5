"""The flows of messages, from the server's side, byte by byte: QoS, windows, aliases, sizes, sessions."""

from typing import Any

import pytest

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import (
    ConnectionEnded,
    DeliveryCompleted,
    DeliveryDropped,
    DeliveryOutcome,
    Event,
    PublishReceived,
)
from edge.mqtt.inflight import Session
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Connect, Disconnect, PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode as R
from edge.mqtt.server import ServerConnection, ServerLimits
from tests.edge.mqtt.connection_pair import LIMITS, connected_server, packet_bytes, sent
from tests.edge.mqtt.test_reading import read_all

V31, V311, V5 = ProtocolVersion
MESSAGE = OutgoingMessage("a", b"x")


def receive(server: ServerConnection, *packets: Publish | PubAck) -> list[Event]:
    data = b"".join(packet_bytes(packet, server.version) for packet in packets)
    server.receive_data(data, 1.0)
    return server.events_received()


def v5_server(**properties: Any) -> ServerConnection:
    return connected_server(V5, connect=Connect("c", V5, properties=Properties(**properties)))


def resumed(session: Session, version: ProtocolVersion = V5, **properties: Any) -> ServerConnection:
    server = ServerConnection(LIMITS, 0.0)
    connect = Connect("c", version, clean_start=False, properties=Properties(**properties))
    server.receive_data(packet_bytes(connect, version), 0.0)
    server.events_received()
    server.accept(True, session=session)
    return server


def after_connack(server: ServerConnection) -> bytes:
    return b"".join(server.data_to_send()[1:])


class TestFromThePeer:
    @pytest.mark.mqtt(v3="2.3.1-6 3.3.4-1 4.3.2-2 4.3.3-2", v5="2.2.1-5 3.3.4-1 4.3.2-4 4.3.3-8 4.3.3-11")
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_each_qos(self, version: ProtocolVersion) -> None:
        server = connected_server(version)
        packets = [Publish("a", b"0"), Publish("a", b"1", 1, packet_id=1), Publish("a", b"2", 2, packet_id=2)]
        assert receive(server, *packets) == [PublishReceived(packet) for packet in packets]
        assert (sent(server), server.unfinished) == (b"", 2)
        server.confirm_publish(2)
        server.confirm_publish(1)
        assert sent(server) == bytes.fromhex("50 02 0002 40 02 0001")
        assert receive(server, PubRel(2)) == []
        assert sent(server) == bytes.fromhex("70 02 0002")
        assert server.unfinished == 0

    @pytest.mark.mqtt(v3="4.3.3-2", v5="4.3.3-10 4.3.3-12")
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_qos_2_again_is_one_message(self, version: ProtocolVersion) -> None:
        server = connected_server(version)
        publish, again = Publish("a", b"2", 2, packet_id=2), Publish("a", b"2", 2, dup=True, packet_id=2)
        assert len(receive(server, publish)) == 1
        assert receive(server, again, publish) == []
        assert sent(server) == b""
        server.confirm_publish(2)
        assert receive(server, again) == []
        assert sent(server) == bytes.fromhex("50 02 0002 50 02 0002")
        receive(server, PubRel(2))
        assert len(receive(server, publish)) == 1

    @pytest.mark.mqtt(v3="4.3.2-2", v5="4.3.2-5")
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_qos_1_again_while_it_waits_is_the_same_message(self, version: ProtocolVersion) -> None:
        server = connected_server(version)
        again = Publish("a", b"1", 1, dup=True, packet_id=1)
        assert len(receive(server, Publish("a", b"1", 1, packet_id=1), again)) == 1
        server.confirm_publish(1)
        assert sent(server) == bytes.fromhex("40 02 0001")
        assert len(receive(server, again)) == 1

    @pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 2), (2, 1)])
    def test_an_identifier_in_use_is_not_free_for_another(self, first: int, second: int) -> None:
        events = receive(
            connected_server(V311),
            Publish("a", b"", first, packet_id=1),
            Publish("b", b"", second, packet_id=1),
        )
        assert events[1:] == [ConnectionEnded(R.PROTOCOL_ERROR, True)]

    @pytest.mark.parametrize(
        ("version", "answer"), [(V5, "70 03 1234 92"), (V311, "70 02 1234"), (V31, "70 02 1234")]
    )
    def test_pubrel_for_an_unknown_identifier(self, version: ProtocolVersion, answer: str) -> None:  # M31
        server = connected_server(version)
        receive(server, PubRel(0x1234))
        assert sent(server) == bytes.fromhex(answer)
        receive(server, Publish("a", qos=2, packet_id=0x1234))
        server.confirm_publish(0x1234)
        receive(server, PubRel(0x1234), PubRel(0x1234))
        assert sent(server) == bytes.fromhex("50 02 1234 70 02 1234" + answer)
        assert not server.close_wanted

    def test_pubrel_before_pubrec(self) -> None:
        server = connected_server(V311)
        assert receive(server, Publish("a", qos=2, packet_id=1), PubRel(1))[1:] == [
            ConnectionEnded(0x82, True)
        ]

    @pytest.mark.mqtt(v3="3.3.5-2 4.8.0-2")
    def test_a_refused_message(self) -> None:
        server = connected_server(V5)
        receive(server, Publish("a", qos=1, packet_id=1), Publish("a", qos=2, packet_id=2))
        server.confirm_publish(1, R.NOT_AUTHORIZED)
        server.confirm_publish(2, R.QUOTA_EXCEEDED, "full")
        assert sent(server) == bytes.fromhex("40 03 0001 87 50 0B 0002 97 07 1F 0004") + b"full"
        assert server.unfinished == 0
        server = connected_server(V311)
        receive(server, Publish("a", qos=1, packet_id=1))
        server.confirm_publish(1, R.NOT_AUTHORIZED)
        assert (sent(server), server.close_wanted) == (b"", True)
        assert server.events_received() == [ConnectionEnded(R.NOT_AUTHORIZED, True)]

    def test_confirming_what_does_not_wait_is_our_fault(self) -> None:
        server = connected_server(V5)
        with pytest.raises(LocalProtocolError):
            server.confirm_publish(1)
        receive(server, Publish("a", qos=2, packet_id=1))
        server.confirm_publish(1)
        with pytest.raises(LocalProtocolError):
            server.confirm_publish(1)

    def test_confirming_after_the_end_is_noted_for_the_next_connection(self) -> None:
        server = connected_server(V5)
        receive(server, Publish("a", qos=1, packet_id=1), Publish("a", qos=2, packet_id=2))
        server.receive_eof(2.0)
        server.confirm_publish(1)
        server.confirm_publish(2)
        assert sent(server) == b""
        again = resumed(server.session)
        again.data_to_send()
        assert receive(again, Publish("a", qos=2, dup=True, packet_id=2)) == []
        assert sent(again) == bytes.fromhex("50 02 0002")

    def test_confirming_what_an_earlier_connection_brought_waits_until_it_comes_again(self) -> None:
        former = connected_server(V5)
        receive(former, Publish("a", qos=1, packet_id=1), Publish("a", qos=1, packet_id=2))
        former.receive_eof(2.0)
        again = resumed(former.session)
        again.data_to_send()
        again.confirm_publish(1)  # before the client has sent it again
        assert sent(again) == b""
        repeated = Publish("a", qos=1, dup=True, packet_id=1)
        assert receive(again, repeated) == [PublishReceived(repeated)]
        again.confirm_publish(1)
        assert sent(again) == bytes.fromhex("40 02 0001")
        assert receive(again, Publish("a", qos=1, dup=True, packet_id=2)) == []
        again.confirm_publish(2)  # after that
        assert sent(again) == bytes.fromhex("40 02 0002")
        assert again.unfinished == 0

    def test_receive_maximum(self) -> None:  # M35 (d)
        server = connected_server(V5, ServerLimits(receive_maximum=2))
        events = receive(server, *[Publish("a", qos=2, packet_id=n) for n in (1, 2, 3)])
        assert events[2:] == [ConnectionEnded(R.RECEIVE_MAXIMUM_EXCEEDED, True)]
        (packet,) = read_all(server.data_to_send(), V5)
        assert isinstance(packet, Disconnect)
        assert packet.reason_code == R.RECEIVE_MAXIMUM_EXCEEDED
        assert server.session.inbound.get(3) is None

    @pytest.mark.mqtt(v5="4.3.3-9")
    def test_receive_maximum_frees_with_each_end_and_repetitions_are_free(self) -> None:
        server = connected_server(V5, ServerLimits(receive_maximum=1))
        for round_ in range(3):
            assert len(receive(server, Publish("a", qos=1, packet_id=1), Publish("b"))) == 2, round_
            server.confirm_publish(1)
            assert len(receive(server, Publish("a", qos=2, packet_id=2))) == 1
            assert receive(server, Publish("a", qos=2, dup=True, packet_id=2)) == []
            server.confirm_publish(2)
            receive(server, PubRel(2))
            assert len(receive(server, Publish("a", qos=2, packet_id=2))) == 1
            server.confirm_publish(2, R.NOT_AUTHORIZED)
        assert not server.close_wanted

    def test_no_receive_maximum_in_3_x(self) -> None:
        server = connected_server(V311, ServerLimits(receive_maximum=1))
        assert len(receive(server, *[Publish("a", qos=1, packet_id=n) for n in range(1, 10)])) == 9


class TestTopicAlias:
    @staticmethod
    def publish(topic: str, alias: int | None, **more: Any) -> Publish:
        return Publish(topic, **more, properties=Properties(topic_alias=alias, content_type="t"))

    @pytest.mark.mqtt(v5="3.3.2-12")
    def test_remapped(self) -> None:  # M37 (d); all up to our maximum
        server = connected_server(V5)
        events = receive(
            server, self.publish("a", 1), self.publish("b", 1), self.publish("", 1), self.publish("c", 10)
        )
        assert [e.packet.topic for e in events if isinstance(e, PublishReceived)] == ["a", "b", "b", "c"]

    @pytest.mark.parametrize(
        ("topic", "alias", "reason"),
        [
            ("a", 11, R.TOPIC_ALIAS_INVALID),  # M37 (b)
            ("", 1, R.PROTOCOL_ERROR),  # M37 (c)
        ],
    )
    def test_bad(self, topic: str, alias: int, reason: R) -> None:
        assert receive(connected_server(V5), self.publish(topic, alias)) == [ConnectionEnded(reason, True)]

    def test_switched_off(self) -> None:
        server = connected_server(V5, ServerLimits(topic_alias_maximum=0))
        assert receive(server, self.publish("a", 1)) == [ConnectionEnded(R.TOPIC_ALIAS_INVALID, True)]

    @pytest.mark.mqtt(v5="3.3.2-7")
    def test_lives_as_long_as_the_connection(self) -> None:  # M37 (e)
        server = connected_server(V5)
        receive(server, self.publish("a", 1))
        again = resumed(server.session)
        assert receive(again, self.publish("", 1)) == [ConnectionEnded(R.PROTOCOL_ERROR, True)]

    @pytest.mark.mqtt(v5="3.3.4-6")
    def test_subscription_identifiers_are_the_servers(self) -> None:  # [MQTT-3.3.4-6]
        packet = Publish("a", properties=Properties(subscription_identifiers=(1,)))
        assert receive(connected_server(V5), packet) == [ConnectionEnded(R.PROTOCOL_ERROR, True)]


class TestToThePeer:
    @pytest.mark.mqtt(
        v3="2.3.1-4 3.3.1-2 4.3.1-1 4.3.2-1 4.3.3-1",
        v5="2.2.1-4 3.3.1-2 4.3.1-1 4.3.2-1 4.3.2-2 4.3.2-3 4.3.3-1 4.3.3-2 4.3.3-4",
    )
    @pytest.mark.parametrize(
        ("version", "frames"),
        [
            (V311, "30 04 000161 78  33 06 000161 0001 78  34 06 000161 0002 78"),
            (V5, "30 07 000161 02 0B09 78  33 07 000161 0001 00 78  34 07 000161 0002 00 78"),
        ],
    )
    def test_each_qos(self, version: ProtocolVersion, frames: str) -> None:
        server = connected_server(version)
        assert server.deliver(MESSAGE, 0, False, (9,)) is DeliveryOutcome.SENT
        assert server.deliver(MESSAGE, 1, True) is DeliveryOutcome.SENT
        assert server.deliver(MESSAGE, 2) is DeliveryOutcome.SENT
        assert sent(server) == bytes.fromhex(frames)
        assert server.in_flight == 2
        assert receive(server, PubAck(1)) == [DeliveryCompleted(1, MESSAGE)]
        assert receive(server, PubRec(2), PubRec(2)) == []
        assert sent(server) == bytes.fromhex("62 02 0002") * 2
        assert receive(server, PubComp(2)) == [DeliveryCompleted(2, MESSAGE)]
        assert server.in_flight == 0

    def test_all_receivers_share_the_frame(self) -> None:
        first, second = connected_server(V31), connected_server(V311)
        first.deliver(MESSAGE, 0)
        second.deliver(MESSAGE, 0)
        assert first.data_to_send()[0] is second.data_to_send()[0]

    def test_a_large_payload_is_not_copied(self) -> None:
        server, message = connected_server(V311), OutgoingMessage("a", bytes(50_000))
        server.deliver(message, 1)
        head, tail = server.data_to_send()
        assert tail is message.payload
        assert read_all([head, tail], V311) == [Publish("a", bytes(50_000), 1, packet_id=1)]

    @pytest.mark.mqtt(v5="3.3.4-9 4.9.0-2")
    def test_window(self) -> None:  # M35 (a)
        server = v5_server(receive_maximum=2)
        had_room = server.has_room
        outcomes = [server.deliver(MESSAGE, 1 + n % 2) for n in range(6)]
        assert (had_room, server.has_room) == (True, False)
        assert outcomes == [DeliveryOutcome.SENT] * 2 + [DeliveryOutcome.QUEUED] * 4
        assert server.deliver(MESSAGE, 0) is DeliveryOutcome.SENT
        assert (server.in_flight, server.queued) == (2, 4)
        assert len(read_all(server.data_to_send(), V5)) == 3
        receive(server, PubAck(1))  # PUBACK frees one
        assert len(read_all(server.data_to_send(), V5)) == 1
        events = receive(server, PubRec(2, R.QUOTA_EXCEEDED))  # a negative PUBREC frees one, without PUBREL
        assert events == [DeliveryCompleted(2, MESSAGE, R.QUOTA_EXCEEDED)]
        assert len(read_all(server.data_to_send(), V5)) == 1
        receive(server, PubRec(4))  # PUBREC does not
        assert len(read_all(server.data_to_send(), V5)) == 1  # the PUBREL
        receive(server, PubComp(4))  # PUBCOMP does
        assert len(read_all(server.data_to_send(), V5)) == 1
        assert (server.in_flight, server.queued) == (2, 1)

    def test_our_own_cap_holds_in_all_versions(self) -> None:
        limits = ServerLimits(maximum_in_flight=1, maximum_queued=1)
        for version in ProtocolVersion:
            server = connected_server(version, limits)
            assert [server.deliver(MESSAGE, 1) for _ in range(3)] == [
                DeliveryOutcome.SENT,
                DeliveryOutcome.QUEUED,
                DeliveryOutcome.DROPPED_QUEUE_FULL,
            ]

    @pytest.mark.mqtt(v5="3.1.2-24 3.1.2-25")
    @pytest.mark.parametrize("qos", [0, 1, 2])
    def test_maximum_packet_size(self, qos: int) -> None:  # M36
        server = v5_server(maximum_packet_size=99)
        largest = 99 - 2 - 3 - 1 - (2 if qos else 0)
        assert server.deliver(OutgoingMessage("a", bytes(largest)), qos) is DeliveryOutcome.SENT
        assert len(sent(server)) == 99
        too_large = OutgoingMessage("a", bytes(largest + 1))
        assert server.deliver(too_large, qos) is DeliveryOutcome.DROPPED_TOO_LARGE
        assert server.deliver(OutgoingMessage("a", b"1"), qos) is DeliveryOutcome.SENT
        assert server.in_flight == (2 if qos else 0)
        with_words = OutgoingMessage("a", bytes(largest), Properties(content_type="text"))
        assert server.deliver(with_words, qos) is DeliveryOutcome.DROPPED_TOO_LARGE

    def test_closed(self) -> None:
        server = connected_server(V5)
        server.receive_eof(1.0)
        assert server.deliver(MESSAGE, 1) is DeliveryOutcome.DROPPED_CLOSED
        assert ServerConnection(LIMITS).deliver(MESSAGE, 0) is DeliveryOutcome.DROPPED_CLOSED

    @pytest.mark.mqtt(v5="3.3.2-5 3.3.2-6")
    def test_expiry(self) -> None:
        message = OutgoingMessage("a", b"x", Properties(message_expiry_interval=9), expires_at=10.0)
        server = v5_server(receive_maximum=1)
        assert server.deliver(message, 0, now=8.5) is DeliveryOutcome.SENT
        assert sent(server) == packet_bytes(
            Publish("a", b"x", properties=Properties(message_expiry_interval=2))
        )
        assert server.deliver(message, 1, now=10.0) is DeliveryOutcome.DROPPED_EXPIRED
        assert server.deliver(message, 1, now=9.0) is DeliveryOutcome.SENT
        assert server.deliver(message, 1, now=9.0) is DeliveryOutcome.QUEUED
        assert server.deliver(MESSAGE, 1, now=9.0) is DeliveryOutcome.QUEUED
        server.data_to_send()
        server.receive_data(packet_bytes(PubAck(1)), 10.5)  # M21: what is under way ends as always
        assert server.events_received() == [
            DeliveryCompleted(1, message),
            DeliveryDropped(message, DeliveryOutcome.DROPPED_EXPIRED),
        ]
        assert sent(server) == packet_bytes(Publish("a", b"x", 1, packet_id=2))


class TestAcknowledgements:
    @pytest.mark.mqtt(v5="4.3.3-3 4.13.1-1")
    @pytest.mark.parametrize(
        ("qos", "answer"), [(2, PubAck(1)), (1, PubRec(1)), (2, PubComp(1)), (1, PubComp(1))]
    )
    def test_of_the_wrong_type(self, qos: int, answer: PubAck) -> None:  # M33
        server = connected_server(V5)
        server.deliver(MESSAGE, qos)
        assert receive(server, answer) == [ConnectionEnded(R.PROTOCOL_ERROR, True)]
        again = resumed(server.session)
        assert after_connack(again) == packet_bytes(Publish("a", b"x", qos, dup=True, packet_id=1))

    @pytest.mark.parametrize(("version", "answer"), [(V5, "62 03 0007 92"), (V311, "62 02 0007")])
    def test_of_unknown_identifiers(self, version: ProtocolVersion, answer: str) -> None:
        server = connected_server(version)
        assert receive(server, PubAck(7), PubComp(7), PubRec(7)) == []
        assert sent(server) == bytes.fromhex(answer)

    def test_negative_pubrec_for_an_unknown_identifier(self) -> None:
        server = connected_server(V5)
        assert receive(server, PubRec(7, R.QUOTA_EXCEEDED)) == []
        assert sent(server) == b""


class TestResumption:
    @pytest.mark.mqtt(
        v3="2.3.1-4 3.3.1-1 4.3.2-1 4.3.3-1 4.4.0-1 4.6.0-1",
        v5="3.3.1-1 4.3.2-3 4.3.3-3 4.3.3-5 4.3.3-6 4.4.0-1",
    )
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_each_stage(self, version: ProtocolVersion) -> None:  # M32
        server = connected_server(version)
        for qos in (1, 2, 2, 1):
            server.deliver(MESSAGE, qos)
        receive(server, PubRec(3))
        server.receive_eof(2.0)
        again = resumed(server.session, version)
        assert read_all([after_connack(again)], version) == [
            Publish("a", b"x", 1, dup=True, packet_id=1),
            Publish("a", b"x", 2, dup=True, packet_id=2),
            PubRel(3),
            Publish("a", b"x", 1, dup=True, packet_id=4),
        ]
        receive(again, PubAck(1), PubRec(2), PubComp(3), PubComp(2), PubAck(4))
        assert again.in_flight == 0

    def test_smaller_window(self) -> None:  # M35 (b)
        server = v5_server(receive_maximum=2)
        for _ in range(3):
            server.deliver(MESSAGE, 1)
        again = resumed(server.session, receive_maximum=1)
        assert read_all([after_connack(again)], V5) == [Publish("a", b"x", 1, dup=True, packet_id=1)]
        assert again.deliver(MESSAGE, 1) is DeliveryOutcome.QUEUED
        receive(again, PubAck(1))
        assert read_all(again.data_to_send(), V5) == [Publish("a", b"x", 1, dup=True, packet_id=2)]
        receive(again, PubAck(2))
        assert read_all(again.data_to_send(), V5) == [Publish("a", b"x", 1, packet_id=3)]

    @pytest.mark.mqtt(v5="3.1.2-25")
    def test_smaller_packets(self) -> None:  # M21, third run
        server = v5_server(receive_maximum=1)
        large, small = OutgoingMessage("a", bytes(1024)), OutgoingMessage("a", bytes(10))
        for message in (large, large, small):
            server.deliver(message, 1)
        again = resumed(server.session, maximum_packet_size=200, receive_maximum=1)
        assert read_all([after_connack(again)], V5) == [Publish("a", bytes(10), 1, packet_id=2)]
        assert again.events_received() == [DeliveryDropped(large, DeliveryOutcome.DROPPED_TOO_LARGE)] * 2
        assert (again.in_flight, again.queued) == (1, 0)

    @pytest.mark.mqtt(v5="4.3.3-7")
    def test_expired_under_way_is_sent_again(self) -> None:  # M21, second run
        server = connected_server(V5)
        message = OutgoingMessage("a", b"x", expires_at=2.0)
        server.deliver(message, 2, now=1.0)
        again = resumed(server.session)
        again.receive_eof(5.0)
        third = ServerConnection(LIMITS, 9.0)
        third.receive_data(packet_bytes(Connect("c", V5, clean_start=False)), 9.0)
        third.accept(True, session=server.session)
        (packet,) = read_all([after_connack(third)], V5)
        assert isinstance(packet, Publish)
        assert (packet.dup, packet.packet_id) == (True, 1)
