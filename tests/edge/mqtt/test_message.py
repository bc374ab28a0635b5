"""Outgoing messages: encoded once for each way of sending, and the same bytes that the writer makes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.message import V5_FLAG, OutgoingMessage
from edge.mqtt.packets import Publish
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.packet_cases import FULL_PUBLISH
from tests.edge.mqtt.strategies import BOUNDED, binaries, topics

V31, V311, V5 = ProtocolVersion


@BOUNDED
@given(topics, binaries, st.integers(0, 2), st.booleans(), st.sampled_from([V311, V5]), st.booleans())
def test_it_is_what_the_writer_makes(
    topic: str, payload: bytes, qos: int, retain: bool, version: ProtocolVersion, has_id: bool
) -> None:
    properties = Properties(content_type="t", user_properties=(("a", "b"),))
    ids = (5, 6) if has_id and version is V5 else ()
    received = Properties(content_type="t", user_properties=(("a", "b"),), subscription_identifiers=ids)
    packet = Publish(topic, payload, qos, retain, packet_id=259 if qos else 0, properties=received)
    message = OutgoingMessage(topic, payload, properties)
    flags = (V5_FLAG if version is V5 else 0) | qos << 1 | retain
    frame = b"\x01\x03".join(message.parts(flags, ids)) if qos else message.frame(flags, ids)
    assert frame == write_packet(packet, version)


def test_each_form_is_encoded_once() -> None:
    message = OutgoingMessage("a", b"x")
    assert message.frame(0) is message.frame(0)
    assert message.frame(V5_FLAG, (1,)) is message.frame(V5_FLAG, (1,))
    assert message.parts(2)[1] is message.parts(4)[1] is message.payload
    assert message.frame(0) != message.frame(1) != message.frame(V5_FLAG)


@pytest.mark.mqtt(v5="3.1.2-27 3.3.2-7")
def test_what_belongs_to_the_publishers_connection_is_not_sent() -> None:
    frame = OutgoingMessage("a", b"x", FULL_PUBLISH).frame(V5_FLAG)
    expected = Properties(
        **{**FULL_PUBLISH.__dict__, "topic_alias": None, "subscription_identifiers": ()},
    )
    assert frame == write_packet(Publish("a", b"x", properties=expected), V5)


@pytest.mark.mqtt(v5="3.3.2-6")
def test_seconds_left_are_told_and_rounded_up() -> None:
    message = OutgoingMessage("a", b"", Properties(message_expiry_interval=20), expires_at=120.0)
    assert [message.remaining(now) for now in (100.0, 105.2, 119.9, 120.0, 130.0)] == [20, 15, 1, 0, 0]
    frame = message.frame(V5_FLAG, (), message.remaining(105.2))
    assert frame == write_packet(Publish("a", properties=Properties(message_expiry_interval=15)), V5)
    assert OutgoingMessage("a").remaining(1e9) is None


def test_a_topic_that_is_none_is_our_fault() -> None:
    with pytest.raises(LocalProtocolError):
        OutgoingMessage("a/+").frame(0)
