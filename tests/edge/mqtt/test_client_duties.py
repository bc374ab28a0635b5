"""What the standards want of clients, shown on ours."""

from __future__ import annotations

import pytest

from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import ConnectionEnded, PublishReceived
from edge.mqtt.packets import Auth, ConnAck, Connect, Publish, PubRec, Subscription
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.mqtt.connection_pair import packet_bytes, sent
from tests.edge.mqtt.test_client import connected_client
from tests.edge.mqtt.test_reading import read_all

V311, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
METHOD = Properties(authentication_method="S")
each_version = pytest.mark.parametrize("version", [V311, V5])


@pytest.mark.mqtt(v3="3.1.0-1", v5="3.1.0-1 3.1.2-30")
@each_version
def test_connect_comes_first_and_nothing_before_its_answer(version: ProtocolVersion) -> None:
    """Also when AUTH may come in between."""
    client = ClientConnection(Connect("c", version, properties=METHOD if version is V5 else NO_PROPERTIES))
    assert [packet[0] for packet in client.data_to_send()] == [0x10]
    client.publish("a")
    for forbidden in (lambda: client.subscribe([Subscription("a")]), lambda: client.ping(0.0)):
        with pytest.raises(LocalProtocolError):
            forbidden()
    assert sent(client) == b""


@pytest.mark.mqtt(v3="4.5.0-2 4.6.0-2 4.6.0-3", v5="4.5.0-2 4.6.0-2 4.6.0-3")
@each_version
def test_all_that_comes_is_acknowledged_in_its_order(version: ProtocolVersion) -> None:
    client = connected_client(Connect("c", version), limits=ClientLimits(confirms_at_once=True))
    order = [(5, 1), (3, 2), (9, 1), (4, 2), (1, 1), (2, 2)]
    for packet_id, qos in order:
        client.receive_data(packet_bytes(Publish("a", qos=qos, packet_id=packet_id), version), 1.0)
    answers = [(packet[0] >> 4, packet[3]) for packet in client.data_to_send()]
    assert answers == [(4 if qos == 1 else 5, packet_id) for packet_id, qos in order]


@pytest.mark.mqtt(v3="4.6.0-4", v5="4.6.0-4")
@each_version
def test_pubrels_follow_the_order_of_pubrecs(version: ProtocolVersion) -> None:
    client = connected_client(Connect("c", version))
    for _ in range(4):
        client.publish("a", b"x", 2)
    client.data_to_send()
    for packet_id in (3, 1, 4, 2):
        client.receive_data(packet_bytes(PubRec(packet_id), version), 1.0)
    assert [packet[3] for packet in client.data_to_send()] == [3, 1, 4, 2]


@pytest.mark.mqtt(v3="2.3.1-3 3.3.1-1 4.4.0-1 4.6.0-1", v5="3.3.1-1 4.4.0-1 4.6.0-1")
@each_version
def test_what_is_sent_again_keeps_its_order(version: ProtocolVersion) -> None:
    first = connected_client(Connect("c", version, clean_start=False))
    for number in range(6):
        first.publish("a", b"%d" % number, 1 + number % 2)
    again = ClientConnection(Connect("c", version, clean_start=False), session=first.session)
    again.data_to_send()
    again.receive_data(packet_bytes(ConnAck(True), version), 2.0)
    came = read_all(again.data_to_send(), version)
    assert [(p.payload, p.packet_id, p.dup) for p in came if isinstance(p, Publish)] == [
        (b"%d" % number, number + 1, True) for number in range(6)
    ]


@pytest.mark.mqtt(v5="3.2.2-14")
def test_it_retains_nothing_where_nothing_is_retained() -> None:
    client = connected_client(connack=ConnAck(properties=Properties(retain_available=0)))
    with pytest.raises(LocalProtocolError):
        client.publish("a", retain=True)
    client.publish("a")
    assert len(client.data_to_send()) == 1


@pytest.mark.mqtt(v5="3.2.2-17 3.2.2-18 3.3.2-9")
@pytest.mark.parametrize("maximum", [None, 5])
def test_it_sends_no_aliases(maximum: int | None) -> None:
    """Whatever the server accepts; what a message brings along belongs to the connection that it came by."""
    client = connected_client(connack=ConnAck(properties=Properties(topic_alias_maximum=maximum)))
    client.publish("a", properties=Properties(topic_alias=6))
    [packet] = read_all(client.data_to_send(), V5)
    assert isinstance(packet, Publish)
    assert packet.properties.topic_alias is None


@pytest.mark.mqtt(v5="3.3.2-10")
def test_it_accepts_all_aliases_that_it_allows_and_no_more() -> None:
    client = connected_client(Connect("c", V5, properties=Properties(topic_alias_maximum=3)))
    for alias in (1, 2, 3, 4):
        client.receive_data(packet_bytes(Publish(f"t{alias}", properties=Properties(topic_alias=alias))), 1.0)
    *came, ended = client.events_received()
    assert [type(event) for event in came] == [PublishReceived] * 3
    assert isinstance(ended, ConnectionEnded)
    assert ended.reason_code is ReasonCode.TOPIC_ALIAS_INVALID


@pytest.mark.mqtt(v5="3.3.4-7 3.3.4-8")
def test_the_servers_receive_maximum_holds_back_publishes_alone() -> None:
    client = connected_client(connack=ConnAck(properties=Properties(receive_maximum=2)))
    for _ in range(3):
        client.publish("a", b"", 1)
    client.publish("a", b"QoS 0")
    client.subscribe([Subscription("a")])
    client.ping(1.0)
    assert [packet[0] >> 4 for packet in client.data_to_send()] == [3, 3, 3, 8, 12]


@pytest.mark.mqtt(v5="4.12.0-3 4.12.0-7 4.12.1-1 3.15.2-1")
def test_it_authenticates_with_the_method_of_its_connect() -> None:
    more, again = ReasonCode.CONTINUE_AUTHENTICATION, ReasonCode.RE_AUTHENTICATE
    with pytest.raises(LocalProtocolError):
        connected_client().authenticate(more, METHOD)
    client = ClientConnection(Connect("c", V5, properties=METHOD))
    for reason, properties in ((more, Properties(authentication_method="T")), (again, METHOD), (0, METHOD)):
        with pytest.raises(LocalProtocolError):
            client.authenticate(reason, properties)
    client.data_to_send()
    client.authenticate(more, METHOD)
    client.receive_data(packet_bytes(ConnAck(properties=METHOD)), 1.0)
    client.authenticate(again, METHOD)
    assert read_all(client.data_to_send(), V5) == [Auth(more, METHOD), Auth(again, METHOD)]
