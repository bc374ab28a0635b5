"""Topic aliases to the client: whatever is sent, it reads the topics that were meant (section 3.3.2.3.4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt.events import DeliveryOutcome, PublishReceived
from edge.mqtt.limits import ServerLimits
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Connect, PubAck, Publish
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection
from tests.edge.mqtt.connection_pair import ConnectionPair, connected_server, packet_bytes, sent
from tests.edge.mqtt.strategies import BOUNDED, topics
from tests.edge.mqtt.test_reading import read_all

V31, V311, V5 = ProtocolVersion
CONTENT = Properties(content_type="t", user_properties=(("a", "b"),))


def allowing(maximum: int | None, **more: Any) -> Connect:
    """A CONNECT that allows so many aliases."""
    return Connect("c", V5, properties=Properties(topic_alias_maximum=maximum, **more))


def sent_publishes(server: ServerConnection) -> list[Publish]:
    """What the server has to send, as it stands on the wire."""
    packets = read_all(server.data_to_send(), V5)
    assert all(isinstance(packet, Publish) for packet in packets)
    return [packet for packet in packets if isinstance(packet, Publish)]


def named(publishes: list[Publish]) -> list[tuple[str, int | None]]:
    """How each names its topic."""
    return [(publish.topic, publish.properties.topic_alias) for publish in publishes]


@BOUNDED
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a/b/c/d", "ab", "é/é", "long/" * 20]) | topics, st.integers(0, 2), st.booleans()
        ),
        max_size=40,
    ),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from([30, 45, 60, 10_000]),
    st.integers(1, 4),
)
def test_the_client_reads_what_was_meant(
    messages: list[tuple[str, int, bool]],
    client_maximum: int,
    our_maximum: int,
    packet_size: int,
    window: int,
) -> None:
    """Any topics, maxima, sizes and windows: order, payload, properties are those of the same run without aliases."""

    def received(aliases: int) -> list[tuple[str, bytes, int, Properties]]:
        connect = allowing(client_maximum, maximum_packet_size=packet_size, receive_maximum=window)
        pair = ConnectionPair(connect, ServerLimits(sent_topic_aliases=aliases))
        came: list[tuple[str, bytes, int, Properties]] = []
        for number, (topic, qos, has_id) in enumerate(messages):
            message = OutgoingMessage(topic, b"%d" % number, CONTENT if number % 3 else Properties())
            pair.server.deliver(message, qos, False, (number + 1,) if has_id else ())
            if number % 4 == 3:
                pair.exchange()
            came += confirm(pair)
        while new := confirm(pair):
            came += new
        return came

    def confirm(pair: ConnectionPair) -> list[tuple[str, bytes, int, Properties]]:
        pair.exchange()
        events = [event.packet for event in pair.client_events if isinstance(event, PublishReceived)]
        pair.client_events.clear()
        for packet in events:
            if packet.qos:
                pair.client.confirm_publish(packet.packet_id)
        pair.exchange()
        return [(each.topic, each.payload, each.qos, without_alias(each.properties)) for each in events]

    assert received(our_maximum) == received(0)


def without_alias(properties: Properties) -> Properties:
    """All that an application sees."""
    return Properties(**{**properties.__dict__, "topic_alias": None})


@pytest.mark.mqtt(v5="3.1.2-26 3.3.2-8 3.3.2-11")
def test_the_first_topics_get_them() -> None:
    """No more than the client allows [MQTT-3.1.2-26], [MQTT-3.3.2-11], and never 0 [MQTT-3.3.2-8]."""
    server = connected_server(connect=allowing(2))
    for topic in ("first", "second", "third", "first", "third", "second"):
        server.deliver(OutgoingMessage(topic), 0)
    expected = [("first", 1), ("second", 2), ("third", None), ("", 1), ("third", None), ("", 2)]
    assert named(sent_publishes(server)) == expected


@pytest.mark.mqtt(v5="3.1.2-27")
@pytest.mark.parametrize(
    ("connect", "limits"),
    [
        (Connect("c", V5), ServerLimits()),  # [MQTT-3.1.2-27]
        (allowing(0), ServerLimits()),
        (allowing(10), ServerLimits(sent_topic_aliases=0)),
        (Connect("c", V311), ServerLimits()),
    ],
)
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_who_allowed_none_shares_the_frame_with_all(connect: Connect, limits: ServerLimits, qos: int) -> None:
    message = OutgoingMessage("topic/name")
    server = connected_server(connect.version, limits, connect)
    server.deliver(message, qos)
    server.deliver(message, qos)
    first, second = server.data_to_send()
    assert (first is second) if qos == 0 else (len(first) == len(second))
    assert b"topic/name" in second


def test_a_topic_no_longer_than_its_alias_keeps_its_name() -> None:
    server = connected_server(connect=allowing(10))
    for topic in ("abc", "abc", "abcd", "abcd", "éa", "éé"):
        server.deliver(OutgoingMessage(topic), 0)
    expected = [("abc", None), ("abc", None), ("abcd", 1), ("", 1), ("éa", None), ("éé", 2)]
    assert named(sent_publishes(server)) == expected


def test_what_is_not_sent_gives_no_alias() -> None:
    """Too large with the alias, too large without it, and behind the window: the next packet names its topic."""
    server = connected_server(connect=allowing(10, maximum_packet_size=20, receive_maximum=1))
    size_without = OutgoingMessage("topic", bytes(10))  # 2 + 2 + 5 + 1 + 10 = 20
    assert server.deliver(size_without, 0) is DeliveryOutcome.SENT
    assert server.deliver(OutgoingMessage("topic", bytes(11)), 0) is DeliveryOutcome.DROPPED_TOO_LARGE
    assert server.deliver(OutgoingMessage("other"), 1) is DeliveryOutcome.SENT
    assert server.deliver(OutgoingMessage("topic"), 1) is DeliveryOutcome.QUEUED
    server.deliver(OutgoingMessage("topic"), 0)
    expected = [("topic", None), ("other", 1), ("topic", 2)]
    assert named(sent_publishes(server)) == expected
    server.receive_data(packet_bytes(PubAck(1)), 1.0)
    assert named(sent_publishes(server)) == [("", 2)]


def test_the_next_connection_begins_anew() -> None:
    """What is sent again on another connection says its topic, at least the first time [MQTT-3.3.2-7]."""
    server = connected_server(connect=allowing(1))
    for _ in range(2):
        server.deliver(OutgoingMessage("topic"), 1)
    assert named(sent_publishes(server)) == [("topic", 1), ("", 1)]
    for maximum, expected in ((1, [("topic", 1), ("", 1)]), (0, [("topic", None)] * 2)):
        again = ServerConnection(ServerLimits(), 0.0)
        again.receive_data(packet_bytes(allowing(maximum)), 0.0)
        again.accept(True, session=server.session)
        _connack, *publishes = read_all(again.data_to_send(), V5)
        assert named([each for each in publishes if isinstance(each, Publish)]) == expected
        assert all(isinstance(each, Publish) and each.dup for each in publishes)


def test_kept_deliveries_have_them_too() -> None:
    server = connected_server(connect=allowing(1))
    server.deliver_as(7, OutgoingMessage("topic"), 1)
    server.deliver_as(8, OutgoingMessage("topic"), 2, dup=True)
    [first, second] = sent_publishes(server)
    assert named([first, second]) == [("topic", 1), ("", 1)]
    assert (first.dup, second.dup, second.packet_id) == (False, True, 8)


def test_the_publishers_alias_is_never_passed_on() -> None:
    server = connected_server(connect=allowing(5))
    server.deliver(OutgoingMessage("topic", b"", Properties(topic_alias=9)), 0)
    assert named(sent_publishes(server)) == [("topic", 1)]
    plain = connected_server(connect=Connect("c", V5))
    plain.deliver(OutgoingMessage("topic", b"", Properties(topic_alias=9)), 0)
    assert sent(plain)[-1:] == b"\0"


def test_large_payloads_are_still_shared() -> None:
    server = connected_server(connect=allowing(1))
    payload = bytes(5_000)
    message = OutgoingMessage("topic", payload)
    server.deliver(message, 1)
    server.deliver(message, 1)
    [first, second] = sent_publishes(server)
    assert first.payload == second.payload == payload
