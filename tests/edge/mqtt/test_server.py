"""The server's half: CONNECT and its answers, time, the end, and the byte cases that concern one connection."""

import sys

import pytest

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DisconnectReceived,
    PublishReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PingReq,
    Publish,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode as R
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.states import State
from tests.edge.mqtt.connection_pair import LIMITS, connected_server, packet_bytes, sent
from tests.edge.mqtt.packet_cases import MALFORMED_CONNECTS, MALFORMED_PACKETS, MalformedCase
from tests.edge.mqtt.test_reading import read_all

V31, V311, V5 = ProtocolVersion


def opened(data: str | bytes, limits: ServerLimits = LIMITS) -> ServerConnection:
    server = ServerConnection(limits, 0.0)
    server.receive_data(bytes.fromhex(data) if isinstance(data, str) else data, 0.0)
    return server


def sent_packets(server: ServerConnection) -> list[Packet]:
    return read_all(server.data_to_send(), server.version)


class TestConnect:
    @pytest.mark.mqtt(v3="3.1.4-4")
    def test_event_then_accept(self) -> None:
        server = opened("10 0F 0004 4D515454 04 02 003C 0003636964")
        assert server.events_received() == [ConnectReceived(Connect("cid"))]
        assert (sent(server), server.close_wanted, server.state) == (b"", False, State.AWAITING_ACCEPT)
        server.accept()
        assert sent(server) == bytes.fromhex("20 02 00 00")
        assert server.state is State.CONNECTED
        assert server.events_received() == []

    @pytest.mark.mqtt(v5="3.1.4-5 4.12.0-6")
    def test_v5_accept_says_what_follows_from_limits(self) -> None:
        server = opened(packet_bytes(Connect("", V5, keep_alive=0)))
        server.accept(assigned_client_id="auto-1", properties=Properties(session_expiry_interval=7))
        assert sent_packets(server) == [
            ConnAck(
                properties=Properties(
                    session_expiry_interval=7,
                    assigned_client_identifier="auto-1",
                    server_keep_alive=600,
                    receive_maximum=LIMITS.receive_maximum,
                    topic_alias_maximum=LIMITS.topic_alias_maximum,
                    maximum_packet_size=LIMITS.maximum_packet_size,
                )
            )
        ]

    @pytest.mark.mqtt(v5="3.1.2-28")
    @pytest.mark.parametrize(
        ("asks", "client_id", "template", "told"),
        [
            (1, "me", "answers/${clientid}/", "answers/me/"),
            (1, "", "${clientid}/${clientid}", "auto/auto"),
            (1, "me", "all/", "all/"),
            (1, "me", None, None),
            (1, "a/#", "answers/${clientid}/", None),
            (0, "me", "answers/", None),  # [MQTT-3.1.2-28]
            (None, "me", "answers/", None),
        ],
    )
    def test_response_information(
        self, asks: int | None, client_id: str, template: str | None, told: str | None
    ) -> None:
        connect = Connect(client_id, V5, properties=Properties(request_response_information=asks))
        server = opened(packet_bytes(connect), ServerLimits(response_information=template))
        server.accept(assigned_client_id="auto")
        (connack,) = sent_packets(server)
        assert isinstance(connack, ConnAck)
        assert connack.properties.response_information == told

    @pytest.mark.parametrize(
        ("payload", "indicator", "is_checked", "is_refused"),
        [
            (b"\xff", 1, True, True),
            (b"\xff", 1, False, False),
            (b"\xff", 0, True, False),
            (b"ok", 1, True, False),
        ],
    )
    def test_a_will_that_is_not_the_text_that_it_says(
        self, payload: bytes, indicator: int, is_checked: bool, is_refused: bool
    ) -> None:
        will = Will("w", payload, properties=Properties(payload_format_indicator=indicator))
        server = opened(
            packet_bytes(Connect("c", V5, will=will)), ServerLimits(check_payload_format=is_checked)
        )
        assert server.close_wanted == is_refused
        if is_refused:
            (connack,) = sent_packets(server)
            assert isinstance(connack, ConnAck)
            assert connack.reason_code == R.PAYLOAD_FORMAT_INVALID

    @pytest.mark.mqtt(v5="3.1.3-7 3.2.2-16")
    def test_v5_without_an_id_must_get_one(self) -> None:  # M01 (b)
        server = opened("10 0D 0004 4D515454 05 00 003C 00 0000")
        assert server.events_received() == [ConnectReceived(Connect("", V5, False))]
        with pytest.raises(LocalProtocolError):
            server.accept()

    @pytest.mark.mqtt(v3="3.1.0-1 3.1.2-1 3.1.2-2 3.1.3-8 3.1.4-1", v5="3.1.0-1 3.1.2-1")
    @pytest.mark.parametrize(
        ("data", "answer"),
        [
            ("10 0C 0004 4D515454 04 00 003C 0000", "20 02 00 02"),  # M01 (a)
            ("10 26 0006 4D5149736470 03 02 003C 0018" + "41" * 24, "20 02 00 02"),  # M05 (b)
            ("10 0E 0006 4D5149736470 03 02 003C 0000", "20 02 00 02"),
            ("10 0C 0004 4D515454 03 02 003C 0000", "20 02 00 01"),  # M05 (c)
            ("10 0E 0006 4D5149736470 04 02 003C 0000", "20 02 00 01"),
            ("10 0C 0004 4D515478 04 02 003C 0000", ""),  # M05 (d)
            ("10 0D 0004 4D515478 05 02 003C 00 0000", ""),
            ("10 12 0004 4D515454 04 42 003C 000170 0003707764", ""),  # M04 (a)
            ("10 0D 0004 4D515454 04 0A 003C 000171", ""),  # M04 (b)
            ("10 0D 0004 4D515454 04 03 003C 000172", ""),  # M04 (c)
            ("10 15 0004 4D515454 04 1E 003C 000177 0003772F74 000178", ""),  # M04 (d)
            ("C0 00", ""),  # [MQTT-3.1.0-1]
            ("474554202F", ""),
        ],
    )
    def test_refused(self, data: str, answer: str) -> None:
        server = opened(data)
        assert sent(server) == bytes.fromhex(answer)
        assert server.close_wanted
        (event,) = server.events_received()
        assert isinstance(event, ConnectionEnded)
        assert not event.will_wanted

    @pytest.mark.parametrize("level", ["06", "FF"])
    def test_levels_above_5_are_told_in_the_form_of_5(self, level: str) -> None:  # M05 (c)
        server = opened(f"10 0D 0004 4D515454 {level} 02 003C 00 0000")
        (packet,) = sent_packets(server)
        assert isinstance(packet, ConnAck)
        assert (packet.reason_code, server.close_wanted) == (R.UNSUPPORTED_PROTOCOL_VERSION, True)

    @pytest.mark.mqtt(v3="3.1.4-1", v5="3.1.4-1")
    @pytest.mark.parametrize(
        "case", [pytest.param(case, marks=case.marks, id=case.name) for case in MALFORMED_CONNECTS]
    )
    def test_malformed(self, case: MalformedCase) -> None:
        """No CONNACK in 3.x, but for a version that is not ours; version 5 is told the reason, and why."""
        server = opened(case.data + packet_bytes(Publish("late"), V311))
        assert server.close_wanted
        assert server.events_received() == [ConnectionEnded(case.reason, False)]
        if case.versions == (V5,):
            (packet,) = sent_packets(server)
            assert isinstance(packet, ConnAck)
            assert packet.reason_code == case.reason
            assert packet.properties.reason_string
        else:
            is_told = case.reason is R.UNSUPPORTED_PROTOCOL_VERSION
            assert sent(server) == (bytes.fromhex("20 02 00 01") if is_told else b"")

    def test_3_1_ids(self) -> None:  # M05
        data = "10 25 0006 4D5149736470 03 02 003C 0017" + "41" * 23
        assert isinstance(opened(data).events_received()[0], ConnectReceived)
        relaxed = ServerLimits(strict_3_1_client_id=False)
        long = packet_bytes(Connect("A" * 100, V31), V31)
        assert isinstance(opened(long, relaxed).events_received()[0], ConnectReceived)

    @pytest.mark.mqtt(v3="3.1.3-9 3.2.2-4 3.2.2-5 3.2.2-6", v5="3.1.3-8 3.1.4-2 3.2.2-6 3.2.2-7")
    @pytest.mark.parametrize(
        ("version", "reason", "answer"),
        [
            (V311, R.NOT_AUTHORIZED, "20 02 00 05"),
            (V311, R.BANNED, "20 02 00 05"),
            (V311, R.BAD_USER_NAME_OR_PASSWORD, "20 02 00 04"),
            (V311, R.SERVER_SHUTTING_DOWN, "20 02 00 03"),
            (V311, R.CLIENT_IDENTIFIER_NOT_VALID, "20 02 00 02"),
            (V311, R.PROTOCOL_ERROR, ""),
            (V5, R.CLIENT_IDENTIFIER_NOT_VALID, "20 03 00 85 00"),
            (V5, R.BANNED, "20 03 00 8A 00"),
            (V5, R.SERVER_SHUTTING_DOWN, "20 03 00 88 00"),
        ],
    )
    def test_refuse(self, version: ProtocolVersion, reason: R, answer: str) -> None:
        server = opened(packet_bytes(Connect("c", version), version))
        server.events_received()
        server.refuse(reason)
        assert sent(server) == bytes.fromhex(answer)
        assert server.events_received() == [ConnectionEnded(reason, False)]
        assert server.close_wanted

    def test_commands_out_of_turn(self) -> None:
        server = ServerConnection(LIMITS)
        with pytest.raises(LocalProtocolError):
            server.accept()
        with pytest.raises(LocalProtocolError):
            server.refuse(R.BANNED)
        server = connected_server()
        with pytest.raises(LocalProtocolError):
            server.accept()
        server.receive_eof(1.0)
        server.accept()
        server.refuse(R.BANNED)
        assert sent(server) == b""

    def test_connack_without_room_for_words(self) -> None:  # M36
        small = Connect("c", V5, properties=Properties(maximum_packet_size=20))
        server = opened(packet_bytes(small))
        server.refuse(R.BANNED, "a reason much longer than twenty bytes")
        assert sent(server) == bytes.fromhex("20 03 00 8A 00")

    @pytest.mark.mqtt(v5="3.1.2-24")
    def test_connack_without_room_at_all(self) -> None:
        server = opened(packet_bytes(Connect("c", V5, properties=Properties(maximum_packet_size=4))))
        server.events_received()
        server.accept()
        assert sent(server) == b""
        assert server.events_received() == [ConnectionEnded(R.PACKET_TOO_LARGE, False)]

    @pytest.mark.mqtt(v3="3.1.0-2", v5="3.1.0-2")
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_a_second_connect_is_an_error(self, version: ProtocolVersion) -> None:
        server = connected_server(version)
        server.receive_data(packet_bytes(Connect("c", version), version), 1.0)
        assert server.events_received() == [ConnectionEnded(R.PROTOCOL_ERROR, True)]


class TestBeforeConnack:
    def test_what_comes_early_is_held_in_order(self) -> None:
        server = opened(packet_bytes(Connect("c"), V311) + packet_bytes(Publish("a", b"1"), V311))
        server.receive_data(packet_bytes(Publish("a", b"2"), V311) + b"\xc0", 0.5)
        assert [type(event) for event in server.events_received()] == [ConnectReceived]
        server.receive_data(b"\x00", 0.6)
        server.accept()
        assert sent(server) == bytes.fromhex("20 02 00 00 D0 00")
        events = server.events_received()
        assert [e.packet.payload for e in events if isinstance(e, PublishReceived)] == [b"1", b"2"]

    def test_held_bytes_are_bounded(self) -> None:
        server = opened(packet_bytes(Connect("c", V5)), ServerLimits(maximum_held_bytes=100))
        server.receive_data(bytes(101), 0.1)
        (packet,) = sent_packets(server)
        assert isinstance(packet, ConnAck)
        assert packet.reason_code == R.QUOTA_EXCEEDED
        assert server.close_wanted

    def test_end_of_file_wants_no_will(self) -> None:
        server = opened(packet_bytes(Connect("c"), V311))
        server.events_received()
        server.receive_eof(1.0)
        server.receive_eof(1.0)
        assert server.events_received() == [ConnectionEnded(None, False)]


class TestTime:
    def test_connect_timeout(self) -> None:
        server = ServerConnection(ServerLimits(connect_timeout=5.0), 100.0)
        assert server.deadline() == 105.0
        server.receive_data(b"\x10", 104.0)
        server.handle_timeout(104.9)
        assert server.state is State.AWAITING_CONNECT
        server.handle_timeout(105.0)
        assert server.close_wanted
        assert server.deadline() is None
        server = ServerConnection(LIMITS)
        assert server.deadline() is None
        server.receive_data(b"\x10", 3.0)
        assert server.deadline() == 3.0 + LIMITS.connect_timeout

    def test_no_deadline_while_we_make_up_our_mind(self) -> None:
        assert opened(packet_bytes(Connect("c"), V311)).deadline() is None

    @pytest.mark.mqtt(v3="3.1.2-24")
    def test_any_complete_packet_counts(self) -> None:  # M48 (a)
        server = connected_server(V311, connect=Connect("c", keep_alive=2))
        assert server.deadline() == 3.0
        for second in range(1, 16):
            server.handle_timeout(float(second))
            server.receive_data(packet_bytes(Publish("a"), V311), float(second))
        assert not server.close_wanted
        assert server.deadline() == 18.0

    @pytest.mark.mqtt(v3="3.1.2-24")
    def test_what_we_send_and_half_packets_do_not_count(self) -> None:  # M48 (b), (c)
        server = connected_server(V311, connect=Connect("c", keep_alive=2))
        for tenth in range(0, 29, 2):
            server.deliver(_message(), 0)
            server.handle_timeout(tenth / 10)
        server.receive_data(b"\x30\x05\x00", 2.5)
        server.data_to_send()
        assert server.deadline() == 3.0
        server.handle_timeout(3.0)
        assert sent(server) == b""
        assert server.events_received() == [ConnectionEnded(R.KEEP_ALIVE_TIMEOUT, True)]

    @pytest.mark.mqtt(v5="3.1.2-22")
    def test_v5_says_why(self) -> None:
        server = connected_server(V5, connect=Connect("c", V5, keep_alive=2))
        server.handle_timeout(3.0)
        (packet,) = sent_packets(server)
        assert isinstance(packet, Disconnect)
        assert packet.reason_code == R.KEEP_ALIVE_TIMEOUT

    def test_zero_never_times_out_in_3_x(self) -> None:  # M48 (d)
        assert connected_server(V311, connect=Connect("c", keep_alive=0)).deadline() is None
        assert connected_server(V311, connect=Connect("c", keep_alive=65_535)).deadline() == 98_302.5

    @pytest.mark.mqtt(v5="3.2.2-22")
    @pytest.mark.parametrize(
        ("asked", "cap", "start"),
        [(0, 600, 900.0), (601, 600, 900.0), (600, 600, 900.0), (10, 600, 15.0), (0, 0, None)],
    )
    def test_cap_in_v5(self, asked: int, cap: int, start: float | None) -> None:
        limits = ServerLimits(keep_alive_cap=cap)
        assert connected_server(V5, limits, Connect("c", V5, keep_alive=asked)).deadline() == start

    def test_keep_alive_counts_from_accept(self) -> None:
        server = opened(packet_bytes(Connect("c", keep_alive=2), V311))
        server.accept(now=50.0)
        assert server.deadline() == 53.0


class TestRequests:
    @pytest.mark.mqtt(v3="3.12.4-1", v5="3.12.4-1")
    @pytest.mark.parametrize("version", ProtocolVersion)
    def test_ping(self, version: ProtocolVersion) -> None:
        server = connected_server(version)
        server.receive_data(packet_bytes(PingReq(), version) * 2, 1.0)
        assert sent(server) == bytes.fromhex("D0 00 D0 00")

    @pytest.mark.mqtt(v5="2.2.1-6 3.8.4-1 3.8.4-2 3.8.4-6 3.9.3-1 3.10.4-4 3.10.4-5 3.11.3-1")
    def test_subscribe_and_unsubscribe(self) -> None:
        server = connected_server(V5)
        subscribe, unsubscribe = Subscribe(2, (Subscription("a/#", 1),)), Unsubscribe(3, ("have", "nope"))
        server.receive_data(packet_bytes(subscribe) + packet_bytes(unsubscribe), 1.0)
        assert server.events_received() == [SubscribeReceived(subscribe), UnsubscribeReceived(unsubscribe)]
        server.confirm_subscribe(2, [R.GRANTED_QOS_1])
        server.confirm_unsubscribe(3, [R.SUCCESS, R.NO_SUBSCRIPTION_EXISTED])
        assert sent(server) == bytes.fromhex("90 04 0002 00 01 B0 05 0003 00 00 11")
        server.receive_eof(1.0)
        server.confirm_subscribe(2, [0])
        server.confirm_unsubscribe(2, [0])
        assert sent(server) == b""

    @pytest.mark.mqtt(v3="2.3.1-7 3.8.4-1 3.8.4-2 3.9.3-1 3.9.3-2 3.10.4-4 3.10.4-5")
    def test_3_x_has_no_reasons(self) -> None:
        server = connected_server(V311)
        server.confirm_subscribe(2, [1, R.NOT_AUTHORIZED])
        server.confirm_unsubscribe(3, [R.SUCCESS, R.NO_SUBSCRIPTION_EXISTED])  # M49
        assert sent(server) == bytes.fromhex("90 04 0002 01 80 B0 02 0003")

    @pytest.mark.mqtt(v5="3.1.2-29")
    def test_no_problem_information(self) -> None:  # M40
        server = opened("10 11 0004 4D515454 05 02 003C 02 1700 00027069")
        server.accept(properties=Properties(reason_string="welcome"))
        (connack,) = sent_packets(server)
        assert isinstance(connack, ConnAck)
        assert connack.properties.reason_string == "welcome"
        words = Properties(reason_string="no", user_properties=(("k", "v"),))
        server.confirm_subscribe(1, [R.NOT_AUTHORIZED], words)
        server.confirm_unsubscribe(2, [R.NO_SUBSCRIPTION_EXISTED], words)
        server.receive_data(packet_bytes(Publish("a", qos=1, packet_id=3)) + bytes.fromhex("62 02 1234"), 1.0)
        server.confirm_publish(3, R.NOT_AUTHORIZED, "no")
        assert sent(server) == bytes.fromhex("90 04 0001 00 87 B0 04 0002 00 11 70 03 1234 92 40 03 0003 87")
        server.receive_data(bytes.fromhex("C0 01 00"), 1.0)
        (disconnect,) = sent_packets(server)
        assert isinstance(disconnect, Disconnect)
        assert disconnect.properties.reason_string

    def test_words_are_dropped_where_there_is_no_room(self) -> None:  # M36
        connect = Connect("c", V5, properties=Properties(maximum_packet_size=20))
        server = connected_server(V5, connect=connect)
        server.confirm_subscribe(1, [R.NOT_AUTHORIZED], Properties(reason_string="a reason of many bytes"))
        server.confirm_subscribe(2, [0] * 16)
        assert sent(server) == bytes.fromhex("90 04 0001 00 87")


class TestEnd:
    @pytest.mark.mqtt(v3="3.1.2-10 3.14.4-3", v5="3.1.2-10 3.14.4-3")
    @pytest.mark.parametrize(
        ("version", "data", "will_wanted"),
        [
            (V5, "E0 02 04 00", True),  # M24
            (V5, "E0 02 FF 00", True),
            (V5, "E0 00", False),
            (V5, "E0 01 82", True),
            (V311, "E0 00", False),
            (V311, "E1 00", True),
            (V31, "E0 00", False),
        ],
    )
    def test_disconnect_and_the_will(self, version: ProtocolVersion, data: str, will_wanted: bool) -> None:
        server = connected_server(version)
        server.receive_data(bytes.fromhex(data) + packet_bytes(Publish("late"), version), 1.0)
        events = server.events_received()
        assert isinstance(events[-1], ConnectionEnded)
        assert events[-1].will_wanted is will_wanted
        assert not any(isinstance(event, PublishReceived) for event in events)
        assert server.close_wanted
        server.receive_eof(2.0)
        server.receive_data(b"\xc0\x00", 2.0)
        assert server.events_received() == []

    def test_end_of_file_wants_the_will(self) -> None:  # M24
        server = connected_server()
        server.receive_eof(1.0)
        assert server.events_received() == [ConnectionEnded(None, True)]
        assert server.close_wanted

    def test_session_expiry_in_disconnect(self) -> None:
        prolonged = packet_bytes(Disconnect(0, Properties(session_expiry_interval=5)))
        server = connected_server()
        server.receive_data(prolonged, 1.0)
        assert server.events_received() == [ConnectionEnded(R.PROTOCOL_ERROR, True)]
        server = connected_server(connect=Connect("c", V5, properties=Properties(session_expiry_interval=9)))
        server.receive_data(prolonged, 1.0)
        assert server.events_received() == [
            DisconnectReceived(0, Properties(session_expiry_interval=5)),
            ConnectionEnded(0, False),
        ]

    def test_disconnect_by_us(self) -> None:
        server = connected_server()
        server.disconnect(R.SESSION_TAKEN_OVER)
        server.disconnect(R.SESSION_TAKEN_OVER)
        assert sent(server) == bytes.fromhex("E0 01 8E")
        assert server.events_received() == [ConnectionEnded(R.SESSION_TAKEN_OVER, True)]
        server = connected_server(V311)
        server.disconnect(R.SESSION_TAKEN_OVER)
        assert (sent(server), server.close_wanted) == (b"", True)
        server = opened(packet_bytes(Connect("c"), V311))
        server.events_received()
        server.disconnect(R.SERVER_SHUTTING_DOWN)
        assert server.events_received() == [ConnectionEnded(R.SERVER_SHUTTING_DOWN, False)]

    @pytest.mark.mqtt(v3="4.8.0-1", v5="4.13.1-1")
    @pytest.mark.parametrize(
        "case", [pytest.param(case, marks=case.marks, id=case.name) for case in MALFORMED_PACKETS]
    )
    def test_malformed_packets_end_it_with_their_reason(self, case: MalformedCase) -> None:
        for version in case.versions:
            server = connected_server(version)
            server.receive_data(case.data + b"\xc0\x00", 1.0)
            # What only a server may send is an error on its own, whatever is in it.
            kind = case.data[0] >> 4
            reason = R.PROTOCOL_ERROR if kind in (2, 9, 11, 13) else case.reason
            assert server.events_received() == [ConnectionEnded(reason, True)]
            packets = sent_packets(server)
            assert [getattr(packet, "reason_code", None) for packet in packets] == (
                [reason] if version is V5 else []
            )

    def test_pings_before_a_fault_are_answered(self) -> None:  # M06 (a)
        server = connected_server(V311)
        server.receive_data(bytes.fromhex("C0 00 C0 02 C0 00"), 1.0)
        assert sent(server) == bytes.fromhex("D0 00")
        assert server.close_wanted

    def test_a_packet_above_the_limit(self) -> None:  # M06 (c)
        server = connected_server()
        server.receive_data(bytes.fromhex("30 FF FF FF 7F"), 1.0)
        assert server.events_received() == [ConnectionEnded(R.PACKET_TOO_LARGE, True)]


class TestAuthentication:
    CONNECT = Connect("c", V5, properties=Properties(authentication_method="S", authentication_data=b"1"))
    STEP = Properties(authentication_method="S", authentication_data=b"2")

    @pytest.mark.mqtt(v5="4.12.0-2 4.12.0-5")
    def test_exchange_then_accept(self) -> None:
        server = opened(packet_bytes(self.CONNECT))
        assert server.state is State.AUTHENTICATING
        assert server.deadline() == LIMITS.connect_timeout
        server.authenticate(R.CONTINUE_AUTHENTICATION, b"q")
        question = Properties(authentication_method="S", authentication_data=b"q")
        assert sent_packets(server) == [Auth(R.CONTINUE_AUTHENTICATION, question)]
        server.events_received()
        server.receive_data(packet_bytes(Auth(R.CONTINUE_AUTHENTICATION, self.STEP)), 1.0)
        assert server.events_received() == [AuthReceived(Auth(R.CONTINUE_AUTHENTICATION, self.STEP))]
        server.accept(properties=Properties(authentication_data=b"done"))
        (connack,) = sent_packets(server)
        assert isinstance(connack, ConnAck)
        assert connack.properties.authentication_method == "S"
        server.receive_data(packet_bytes(Auth(R.RE_AUTHENTICATE, self.STEP)), 2.0)
        assert server.events_received() == [AuthReceived(Auth(R.RE_AUTHENTICATE, self.STEP))]
        server.authenticate(R.SUCCESS)
        assert sent_packets(server) == [Auth(R.SUCCESS, Properties(authentication_method="S"))]

    @pytest.mark.mqtt(v5="3.1.2-30 4.12.0-5")
    @pytest.mark.parametrize(
        "packet",
        [
            Publish("a"),  # [MQTT-3.1.2-30]
            Auth(R.RE_AUTHENTICATE, STEP),
            Auth(R.SUCCESS, STEP),
            Auth(R.CONTINUE_AUTHENTICATION, Properties(authentication_method="T")),
        ],
        ids=repr,
    )
    def test_other_packets_meanwhile(self, packet: Packet) -> None:
        server = opened(packet_bytes(self.CONNECT))
        server.receive_data(packet_bytes(packet), 1.0)
        (connack,) = sent_packets(server)
        assert isinstance(connack, ConnAck)
        assert connack.reason_code == R.PROTOCOL_ERROR
        assert server.close_wanted

    @pytest.mark.mqtt(v5="4.12.0-6")
    def test_without_a_method(self) -> None:
        server = connected_server()
        with pytest.raises(LocalProtocolError):
            server.authenticate(R.CONTINUE_AUTHENTICATION)
        server.receive_data(packet_bytes(Auth(R.RE_AUTHENTICATE, self.STEP)), 1.0)
        assert server.events_received() == [ConnectionEnded(R.PROTOCOL_ERROR, True)]
        server.authenticate(R.SUCCESS)

    def test_timeout_and_disconnect(self) -> None:
        server = opened(packet_bytes(self.CONNECT))
        server.events_received()
        server.handle_timeout(LIMITS.connect_timeout)
        assert server.events_received() == [ConnectionEnded(R.MAXIMUM_CONNECT_TIME, False)]
        server = opened(packet_bytes(self.CONNECT) + packet_bytes(Disconnect(4)))
        assert server.events_received()[1:] == [DisconnectReceived(4), ConnectionEnded(4, False)]


def test_an_idle_connection_is_small() -> None:
    server = connected_server(V311)
    parts = [server, server._framer, server.session, server.session.inbound, server.session.outbound]
    assert sum(map(sys.getsizeof, parts)) <= 1_000


def _message() -> OutgoingMessage:
    return OutgoingMessage("a", b"x")
