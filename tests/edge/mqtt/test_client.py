"""The client's half, against a server's half or against bytes."""

import pytest

from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import (
    AuthReceived,
    ConnAckReceived,
    ConnectionEnded,
    DeliveryCompleted,
    DeliveryOutcome,
    DisconnectReceived,
    PingRespReceived,
    PublishReceived,
    SubAckReceived,
    SubscribeReceived,
    UnsubAckReceived,
)
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PingResp,
    PubAck,
    Publish,
    SubAck,
    Subscription,
    UnsubAck,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode as R
from tests.edge.mqtt.connection_pair import ConnectionPair, packet_bytes, sent

V31, V311, V5 = ProtocolVersion


def connected_client(
    connect: Connect | None = None, connack: ConnAck | None = None, limits: ClientLimits | None = None
) -> ClientConnection:
    client = ClientConnection(connect or Connect("c", V5), limits)
    client.data_to_send()
    client.receive_data(packet_bytes(connack or ConnAck(), client.version), 0.0)
    assert isinstance(client.events_received()[0], ConnAckReceived)
    return client


def receive(client: ClientConnection, *packets: Packet) -> list[object]:
    client.receive_data(b"".join(packet_bytes(packet, client.version) for packet in packets), 1.0)
    return list(client.events_received())


def test_the_keep_alive_begins_with_the_connection_whatever_the_clock_says() -> None:
    client = ClientConnection(Connect("c", V5, keep_alive=10), now=1_000.0)
    client.data_to_send()
    client.receive_data(packet_bytes(ConnAck(), V5), 1_001.0)
    assert client.deadline() == 1_010.0


@pytest.mark.parametrize("version", ProtocolVersion)
def test_everything_with_a_server(version: ProtocolVersion) -> None:
    pair = ConnectionPair(Connect("c", version))
    client, server = pair.client, pair.server
    assert [client.publish("a", bytes((qos,)), qos) for qos in range(3)] == [DeliveryOutcome.SENT] * 3
    subscribe_id = client.subscribe([Subscription("a/#", 1)])
    unsubscribe_id = client.unsubscribe(["b"])
    client.ping(1.0)
    pair.exchange()
    publishes = [event.packet for event in pair.server_events if isinstance(event, PublishReceived)]
    assert [publish.payload for publish in publishes] == [b"\0", b"\1", b"\2"]
    for publish in publishes[1:]:
        server.confirm_publish(publish.packet_id)
    server.confirm_subscribe(subscribe_id, [1])
    server.confirm_unsubscribe(unsubscribe_id, [0x11])
    pair.exchange()
    kinds = [type(event) for event in pair.client_events]
    assert sorted(kind.__name__ for kind in kinds) == [
        "DeliveryCompleted",
        "DeliveryCompleted",
        "PingRespReceived",
        "SubAckReceived",
        "UnsubAckReceived",
    ]
    client.disconnect()
    pair.exchange()
    assert pair.server_events[-2:] == [DisconnectReceived(0), ConnectionEnded(0, False)]
    assert client.events_received() == []
    assert isinstance(pair.client_events[-1], ConnectionEnded)


@pytest.mark.parametrize(
    ("connack", "reason"),
    [
        ("20 02 00 05", R.NOT_AUTHORIZED),
        ("20 02 00 02", R.CLIENT_IDENTIFIER_NOT_VALID),
        ("20 02 00 09", 0x81),
    ],
)
def test_refused_in_3_x(connack: str, reason: int) -> None:
    client = ClientConnection(Connect("c"))
    client.receive_data(bytes.fromhex(connack), 1.0)
    assert client.events_received() == [ConnectionEnded(reason, False)]
    assert client.close_wanted


def test_refused_in_v5() -> None:
    client = ClientConnection(Connect("c", V5))
    client.receive_data(packet_bytes(ConnAck(False, R.BANNED)), 1.0)
    assert client.events_received() == [ConnectionEnded(R.BANNED, False)]


@pytest.mark.mqtt(v5="3.1.2-21 3.2.2-11 3.2.2-15 3.2.2-21")
def test_what_connack_says_is_kept_to() -> None:
    properties = Properties(receive_maximum=1, maximum_packet_size=20, maximum_qos=1, server_keep_alive=10)
    client = connected_client(connack=ConnAck(properties=properties))
    assert client.publish("a", b"1", 1) is DeliveryOutcome.SENT
    assert client.publish("a", b"2", 1) is DeliveryOutcome.QUEUED
    assert client.publish("a", bytes(20)) is DeliveryOutcome.DROPPED_TOO_LARGE
    with pytest.raises(LocalProtocolError, match="QoS 1"):
        client.publish("a", b"", 2)
    assert client.deadline() == 10.0


def test_completion_tells_which_message() -> None:
    client = connected_client()
    message = OutgoingMessage("a", b"x", tag="mine")
    client.deliver(message, 1)
    (event,) = receive(client, PubAck(1))
    assert isinstance(event, DeliveryCompleted)
    assert event.message.tag == "mine"


@pytest.mark.mqtt(v3="3.1.2-23", v5="3.1.2-20")
def test_keep_alive() -> None:
    client = ClientConnection(Connect("c", V5, keep_alive=10), now=0.0)
    assert client.deadline() is None
    client.data_to_send()
    client.receive_data(packet_bytes(ConnAck()), 1.0)
    assert client.deadline() == 10.0
    client.handle_timeout(9.0)
    assert sent(client) == b""
    client.handle_timeout(10.0)
    assert sent(client) == bytes.fromhex("C0 00")
    assert client.deadline() == 20.0
    client.receive_data(bytes.fromhex("D0 00"), 11.0)
    assert client.events_received()[1:] == [PingRespReceived()]
    assert client.deadline() == 20.0
    client.handle_timeout(20.0)
    client.handle_timeout(30.0)
    assert client.events_received() == [ConnectionEnded(R.KEEP_ALIVE_TIMEOUT, False)]


@pytest.mark.mqtt(v3="4.5.0-2", v5="4.5.0-2")
def test_confirms_at_once_when_asked_to() -> None:
    client = connected_client(limits=ClientLimits(confirms_at_once=True))
    packets = [Publish("a"), Publish("a", qos=1, packet_id=1), Publish("a", qos=2, packet_id=2)]
    again = Publish("a", qos=2, dup=True, packet_id=2)
    assert receive(client, *packets, again) == [PublishReceived(packet) for packet in packets]
    assert sent(client) == bytes.fromhex("40 02 0001 50 02 0002 50 02 0002")


@pytest.mark.mqtt(v3="2.3.1-2", v5="2.2.1-3 2.2.1-6")
def test_packet_identifiers_are_shared_by_all_requests() -> None:
    client = connected_client()
    assert client.subscribe([Subscription("a")]) == 1
    client.publish("a", b"", 1)
    assert client.unsubscribe(["a"]) == 3
    assert receive(client, SubAck(1, (0,)), SubAck(1, (0,))) == [SubAckReceived(SubAck(1, (0,)))]
    assert receive(client, UnsubAck(3, (0,)), UnsubAck(9, (0,))) == [UnsubAckReceived(UnsubAck(3, (0,)))]


def test_limits_for_the_server() -> None:
    wanted = Properties(receive_maximum=1, maximum_packet_size=30, topic_alias_maximum=1)
    connect = Connect("c", V5, properties=wanted)
    two = [Publish("a", qos=1, packet_id=n) for n in (1, 2)]
    for packets, reason in (
        (two, R.RECEIVE_MAXIMUM_EXCEEDED),
        ([Publish("a", bytes(30))], R.PACKET_TOO_LARGE),
        ([Publish("a", properties=Properties(topic_alias=2))], R.TOPIC_ALIAS_INVALID),
    ):
        client = connected_client(connect)
        event = receive(client, *packets)[-1]
        assert isinstance(event, ConnectionEnded)
        assert event.reason_code == reason
        assert sent(client)[0] == 0xE0


@pytest.mark.parametrize(
    "packet",
    [Auth(R.CONTINUE_AUTHENTICATION, Properties(authentication_method="S")), ConnAck()],
    ids=repr,
)
def test_unasked_packets(packet: Packet) -> None:
    event = receive(connected_client(), packet)[-1]
    assert isinstance(event, ConnectionEnded)
    assert event.reason_code == R.PROTOCOL_ERROR


def test_disconnect_by_the_server() -> None:
    client = connected_client()
    assert receive(client, Disconnect(R.SESSION_TAKEN_OVER)) == [
        DisconnectReceived(R.SESSION_TAKEN_OVER),
        ConnectionEnded(R.SESSION_TAKEN_OVER, False),
    ]
    old = connected_client(Connect("c"))
    event = receive(old, Disconnect())[-1]
    assert isinstance(event, ConnectionEnded)
    assert event.reason_code == R.PROTOCOL_ERROR


def test_authentication() -> None:
    question = Auth(
        R.CONTINUE_AUTHENTICATION, Properties(authentication_method="S", authentication_data=b"q")
    )
    client = ClientConnection(Connect("c", V5, properties=Properties(authentication_method="S")))
    client.data_to_send()
    assert receive(client, question) == [AuthReceived(question)]
    client.authenticate(R.CONTINUE_AUTHENTICATION, question.properties)
    assert sent(client) == packet_bytes(question)


@pytest.mark.mqtt(v5="3.2.2-4 3.2.2-5")
def test_sessions() -> None:
    pair = ConnectionPair(Connect("c", V5))
    pair.client.publish("a", b"x", 1)
    pair.client.data_to_send()
    again = ConnectionPair(Connect("c", V5), sessions=pair.sessions)
    assert again.server_events == [PublishReceived(Publish("a", b"x", 1, dup=True, packet_id=1))]
    forgotten = ClientConnection(Connect("c", V5, False), session=again.client.session)
    forgotten.data_to_send()
    receive(forgotten, ConnAck(False))
    assert (sent(forgotten), forgotten.in_flight) == (b"", 0)
    unasked = ClientConnection(Connect("c", V5, True))
    event = receive(unasked, ConnAck(True))[-1]
    assert isinstance(event, ConnectionEnded)
    assert event.reason_code == R.PROTOCOL_ERROR


def test_commands_need_an_open_connection() -> None:
    client = ClientConnection(Connect("c"))
    with pytest.raises(LocalProtocolError):
        client.subscribe([Subscription("a")])
    with pytest.raises(LocalProtocolError):
        client.unsubscribe(["a"])
    with pytest.raises(LocalProtocolError):
        client.ping(0.0)
    assert client.publish("a") is DeliveryOutcome.DROPPED_CLOSED
    client.disconnect()
    client.receive_data(packet_bytes(PingResp(), V311), 1.0)
    assert client.events_received() == [ConnectionEnded(0, False)]


def test_subscribe_reaches_the_server() -> None:
    pair = ConnectionPair(Connect("c", V5))
    pair.client.subscribe([Subscription("a", 2)], Properties(subscription_identifiers=(3,)))
    pair.exchange()
    (event,) = pair.server_events
    assert isinstance(event, SubscribeReceived)
    assert event.packet.properties.subscription_identifiers == (3,)
