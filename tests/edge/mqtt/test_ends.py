"""After the end of a connection nothing comes and nothing goes; and what an end of something else leaves alone."""

from __future__ import annotations

import string

import pytest

from edge.mqtt.client import ClientConnection
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import ConnectionEnded, ConnectReceived, DeliveryCompleted, PublishReceived
from edge.mqtt.inflight import Session
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    PingReq,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import FAILURE, ReasonCode
from edge.mqtt.server import ServerConnection
from edge.mqtt.states import State
from tests.edge.mqtt.connection_pair import LIMITS, connected_server, packet_bytes, sent
from tests.edge.mqtt.test_reading import read_all

V311, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
LETTERS_AND_DIGITS = string.ascii_letters + string.digits
METHOD = Properties(authentication_method="S")
each_version = pytest.mark.parametrize("version", [V311, V5])


def asking_server(version: ProtocolVersion, connect: Connect | None = None) -> ServerConnection:
    """A server with a client that waits for its CONNACK."""
    server = ServerConnection(LIMITS, 0.0)
    server.receive_data(packet_bytes(connect or Connect("c", version), version), 0.0)
    assert [type(event) for event in server.events_received()] == [ConnectReceived]
    return server


@pytest.mark.mqtt(v3="3.1.4-5 3.2.2-5", v5="3.1.4-6 3.2.2-7 4.13.2-1")
@each_version
def test_nothing_of_a_refused_client_is_processed(version: ProtocolVersion) -> None:
    server = asking_server(version)
    early, late = packet_bytes(Publish("early"), version), packet_bytes(Publish("late"), version)
    server.receive_data(early, 1.0)
    server.refuse(ReasonCode.NOT_AUTHORIZED)
    server.receive_data(late, 2.0)
    assert server.events_received() == [ConnectionEnded(ReasonCode.NOT_AUTHORIZED, False)]
    assert server.close_wanted
    [connack] = read_all(server.data_to_send(), version)
    assert isinstance(connack, ConnAck)
    assert (connack.reason_code, connack.session_present) == (ReasonCode.NOT_AUTHORIZED, False)


@pytest.mark.mqtt(v3="3.2.0-1", v5="3.2.0-1 3.2.0-2 3.14.0-1")
@each_version
def test_connack_comes_first_and_once(version: ProtocolVersion) -> None:
    server = asking_server(version)
    server.receive_data(packet_bytes(PingReq(), version), 1.0)
    server.deliver(OutgoingMessage("a"), 0)
    assert sent(server) == b""
    server.accept()
    with pytest.raises(LocalProtocolError):
        server.accept()
    assert [packet[0] >> 4 for packet in server.data_to_send()] == [2, 13]
    gone = asking_server(version)
    gone.disconnect(ReasonCode.SERVER_SHUTTING_DOWN)
    assert (sent(gone), gone.close_wanted) == (b"", True)


@pytest.mark.mqtt(v5="3.14.4-1 3.14.4-2 4.13.2-1")
def test_nothing_is_sent_after_disconnect() -> None:
    server = connected_server(V5)
    server.deliver(OutgoingMessage("a", b"before"), 1)
    server.disconnect(ReasonCode.SESSION_TAKEN_OVER)
    server.deliver(OutgoingMessage("a", b"after"), 0)
    server.confirm_subscribe(1, [0])
    server.confirm_unsubscribe(2, [0])
    server.receive_data(packet_bytes(PingReq()), 1.0)
    kinds = [type(packet) for packet in read_all(server.data_to_send(), V5)]
    assert kinds == [Publish, Disconnect]
    assert server.close_wanted


@pytest.mark.mqtt(v3="3.14.4-1 3.14.4-2", v5="3.14.4-1 3.14.4-2")
@each_version
def test_nothing_is_sent_after_a_clients_disconnect(version: ProtocolVersion) -> None:
    client = ClientConnection(Connect("c", version))
    client.receive_data(packet_bytes(ConnAck(), version), 0.0)
    client.data_to_send()
    client.disconnect()
    client.publish("a")
    client.receive_data(packet_bytes(Publish("a", qos=1, packet_id=1), version), 1.0)
    client.disconnect()
    assert sent(client) == bytes.fromhex("E0 00")
    assert client.close_wanted


@pytest.mark.mqtt(v5="3.14.2-2")
def test_the_servers_disconnect_has_no_session_expiry() -> None:
    with pytest.raises(LocalProtocolError):
        connected_server(V5).disconnect(0x8E, Properties(session_expiry_interval=1))


@pytest.mark.mqtt(v3="3.1.3-5", v5="3.1.3-5")
@each_version
def test_plain_client_ids_are_accepted(version: ProtocolVersion) -> None:
    for name in (*LETTERS_AND_DIGITS, *(LETTERS_AND_DIGITS[at : at + 23] for at in range(0, 62, 23))):
        server = asking_server(version, Connect(name, version))
        server.accept()
        assert server.state is State.CONNECTED


@pytest.mark.mqtt(v3="3.10.4-3", v5="3.10.4-3")
@each_version
def test_unsubscribing_leaves_deliveries_under_way_alone(version: ProtocolVersion) -> None:
    server, message = connected_server(version), OutgoingMessage("a", b"x")
    server.deliver(message, 2)
    server.receive_data(packet_bytes(Unsubscribe(9, ("a",)), version), 1.0)
    server.confirm_unsubscribe(9, [0])
    server.data_to_send()
    server.events_received()
    server.receive_data(packet_bytes(PubRec(1), version), 2.0)
    assert sent(server) == bytes.fromhex("62 02 0001")
    server.receive_data(packet_bytes(PubComp(1), version), 3.0)
    assert server.events_received() == [DeliveryCompleted(1, message)]


@pytest.mark.mqtt(v5="4.3.3-13")
def test_an_expired_message_is_acknowledged_to_the_end() -> None:
    server = connected_server(V5)
    short_lived = Publish("a", b"x", 2, packet_id=1, properties=Properties(message_expiry_interval=1))
    server.receive_data(packet_bytes(short_lived), 1.0)
    server.confirm_publish(1)
    server.receive_data(packet_bytes(PubRel(1)), 100.0)
    assert sent(server) == bytes.fromhex("50 02 0001 70 02 0001")


@pytest.mark.mqtt(v5="4.4.0-2")
def test_what_was_refused_is_not_sent_again() -> None:
    server = connected_server(V5)
    server.deliver(OutgoingMessage("a"), 1)
    server.deliver(OutgoingMessage("b"), 2)
    refused = ReasonCode.QUOTA_EXCEEDED
    assert refused >= FAILURE
    from_client = bytes.fromhex(f"40 03 0001 {refused:02x} 50 03 0002 {refused:02x}")
    server.receive_data(from_client, 1.0)
    session: Session = server.session
    again = asking_server(V5, Connect("c", V5, clean_start=False))
    again.accept(True, session=session)
    assert [packet[0] for packet in again.data_to_send()] == [0x20]


@pytest.mark.mqtt(v5="4.9.0-1 4.9.0-2 4.9.0-3 3.3.4-9 3.3.4-10")
@pytest.mark.parametrize("quota", [1, 3, 65_535])
def test_a_quota_holds_back_publishes_alone(quota: int) -> None:
    connect = Connect("c", V5, properties=Properties(receive_maximum=quota))
    server = connected_server(V5, connect=connect)
    most = min(quota, LIMITS.maximum_in_flight)
    for _ in range(most + 1):
        server.deliver(OutgoingMessage("a"), 1)
    server.deliver(OutgoingMessage("a", b"QoS 0"), 0)
    publish, subscribe = Publish("a", qos=1, packet_id=7), Subscribe(8, (Subscription("a"),))
    server.receive_data(packet_bytes(PingReq()) + packet_bytes(publish) + packet_bytes(subscribe), 1.0)
    assert [type(event).__name__ for event in server.events_received()] == [
        "PublishReceived",
        "SubscribeReceived",
    ]
    server.confirm_publish(7)
    server.confirm_subscribe(8, [0])
    kinds = [packet[0] >> 4 for packet in server.data_to_send()]
    assert kinds == [3] * most + [3, 13, 4, 9]


@pytest.mark.mqtt(v5="4.12.0-4 4.13.2-1")
def test_a_rejection_during_authentication_ends_it() -> None:
    server = asking_server(V5, Connect("c", V5, properties=METHOD))
    server.authenticate(ReasonCode.CONTINUE_AUTHENTICATION, b"who are you?")
    server.data_to_send()
    server.refuse(ReasonCode.NOT_AUTHORIZED)
    [connack] = read_all(server.data_to_send(), V5)
    assert isinstance(connack, ConnAck)
    assert (connack.reason_code, server.close_wanted) == (ReasonCode.NOT_AUTHORIZED, True)


@pytest.mark.mqtt(v5="4.12.1-2 4.13.2-1")
def test_authenticating_again_in_vain_ends_it() -> None:
    server = asking_server(V5, Connect("c", V5, properties=METHOD))
    server.accept()
    server.data_to_send()
    server.receive_data(packet_bytes(Auth(ReasonCode.RE_AUTHENTICATE, METHOD)), 1.0)
    server.disconnect(ReasonCode.NOT_AUTHORIZED)
    assert sent(server) == bytes.fromhex("E0 01 87")
    assert server.close_wanted


@pytest.mark.mqtt(v5="4.12.0-2 3.15.2-1")
def test_a_servers_auth_asks_for_more_or_is_the_end_of_a_second_exchange() -> None:
    server = asking_server(V5, Connect("c", V5, properties=METHOD))
    for reason in (ReasonCode.SUCCESS, ReasonCode.RE_AUTHENTICATE):
        with pytest.raises(LocalProtocolError):
            server.authenticate(reason)
    server.authenticate(ReasonCode.CONTINUE_AUTHENTICATION)
    server.accept()
    with pytest.raises(LocalProtocolError):
        server.authenticate(ReasonCode.RE_AUTHENTICATE)
    server.authenticate(ReasonCode.SUCCESS)
    reasons = [getattr(packet, "reason_code", None) for packet in read_all(server.data_to_send(), V5)]
    assert reasons == [0x18, 0, 0]


@pytest.mark.mqtt(v5="3.3.2-12")
def test_all_aliases_up_to_the_maximum_are_accepted() -> None:
    server = connected_server(V5)
    for alias in range(1, LIMITS.topic_alias_maximum + 1):
        properties = Properties(topic_alias=alias)
        server.receive_data(packet_bytes(Publish(f"t{alias}", properties=properties)), 1.0)
        server.receive_data(packet_bytes(Publish("", properties=properties)), 1.0)
        events = server.events_received()
        assert [event.packet.topic for event in events if isinstance(event, PublishReceived)] == [
            f"t{alias}"
        ] * 2
