"""Hypothesis strategies for packets that are valid in a given version."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from edge.mqtt import packets as p
from edge.mqtt.properties import NO_PROPERTIES, PROPERTY_TABLE, WILL, Properties
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reason_codes import ALLOWED_CODES

V5 = ProtocolVersion.V5

BOUNDED = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Enough examples to find a fault over a few runs; no deadline, as a busy machine is no fault of ours."""

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
topics = st.text(st.characters(exclude_characters="\0+#", exclude_categories=["Cs"]), min_size=1, max_size=12)
filters = (
    st.lists(st.sampled_from(["a", "b", "+", "", "$SYS"]), min_size=1, max_size=4).map("/".join).filter(bool)
)
packet_ids = st.integers(1, 65_535)
binaries = st.binary(max_size=20)
qualities = st.integers(0, 2)

_SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "response_topic": topics,
    "correlation_data": binaries,
    "authentication_data": binaries,
    "message_expiry_interval": st.integers(0, 2**32 - 1),
    "session_expiry_interval": st.integers(0, 2**32 - 1),
    "will_delay_interval": st.integers(0, 2**32 - 1),
    "maximum_packet_size": st.integers(1, 2**32 - 1),
    "receive_maximum": st.integers(1, 65_535),
    "topic_alias_maximum": st.integers(0, 65_535),
    "topic_alias": st.integers(1, 65_535),
    "server_keep_alive": st.integers(0, 65_535),
    "user_properties": st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
}
_FLAGS = {
    "payload_format_indicator",
    "request_problem_information",
    "request_response_information",
    "maximum_qos",
    "retain_available",
    "wildcard_subscription_available",
    "subscription_identifier_available",
    "shared_subscription_available",
}


@st.composite
def properties(draw: st.DrawFn, place: int) -> Properties:
    """Properties that may stand in ``place``."""
    rows = [row for row in PROPERTY_TABLE if place in row.places]
    chosen = draw(st.lists(st.sampled_from(rows), max_size=4, unique_by=lambda row: row.name))
    values: dict[str, Any] = {}
    for row in chosen:
        if row.name == "subscription_identifiers":
            most = 1 if place == PacketType.SUBSCRIBE else 3
            values[row.name] = tuple(draw(st.lists(st.integers(1, 268_435_455), max_size=most)))
        else:
            values[row.name] = draw(
                _SPECIAL.get(row.name, st.integers(0, 1) if row.name in _FLAGS else texts)
            )
    if values.get("authentication_data") is not None:
        values.setdefault("authentication_method", "SCRAM")
    return Properties(**values)


def _properties(place: int, version: ProtocolVersion) -> st.SearchStrategy[Properties]:
    return properties(place) if version is V5 else st.just(NO_PROPERTIES)


def wills(version: ProtocolVersion) -> st.SearchStrategy[p.Will]:
    """Wills."""
    return st.builds(p.Will, topics, binaries, qualities, st.booleans(), _properties(WILL, version))


@st.composite
def connects(draw: st.DrawFn, version: ProtocolVersion) -> p.Connect:
    """CONNECTs."""
    user_name = draw(st.none() | texts)
    has_password = user_name is not None or version is V5
    return p.Connect(
        draw(texts),
        version,
        draw(st.booleans()),
        draw(st.integers(0, 65_535)),
        user_name,
        draw(st.none() | binaries) if has_password else None,
        draw(st.none() | wills(version)),
        draw(_properties(PacketType.CONNECT, version)),
    )


@st.composite
def publishes(draw: st.DrawFn, version: ProtocolVersion) -> p.Publish:
    """PUBLISHes."""
    qos = draw(qualities)
    return p.Publish(
        draw(topics),
        draw(binaries),
        qos,
        draw(st.booleans()),
        bool(qos) and draw(st.booleans()),
        draw(packet_ids) if qos else 0,
        draw(_properties(PacketType.PUBLISH, version)),
    )


def _codes(kind: PacketType, version: ProtocolVersion) -> st.SearchStrategy[int]:
    return st.sampled_from(sorted(ALLOWED_CODES[kind])) if version is V5 else st.just(0)


def _acknowledgements(
    packet_class: type[p.PubAck], kind: PacketType, version: ProtocolVersion
) -> st.SearchStrategy[p.PubAck]:
    return st.builds(packet_class, packet_ids, _codes(kind, version), _properties(kind, version))


def _subscriptions(version: ProtocolVersion) -> st.SearchStrategy[p.Subscription]:
    if version is V5:
        return st.builds(p.Subscription, filters, qualities, st.booleans(), st.booleans(), qualities)
    return st.builds(p.Subscription, filters, qualities)


def packets(version: ProtocolVersion) -> st.SearchStrategy[p.Packet]:
    """Packets of all types that the version has."""
    t = PacketType
    suback_codes = _codes(t.SUBACK, version) if version is V5 else st.sampled_from([0, 1, 2, 0x80])
    unsuback_codes = st.lists(_codes(t.UNSUBACK, version), min_size=1, max_size=3).map(tuple)
    return st.one_of(
        connects(version),
        publishes(version),
        _acknowledgements(p.PubAck, t.PUBACK, version),
        _acknowledgements(p.PubRec, t.PUBREC, version),
        _acknowledgements(p.PubRel, t.PUBREL, version),
        _acknowledgements(p.PubComp, t.PUBCOMP, version),
        st.builds(p.ConnAck, st.booleans(), st.just(0), _properties(t.CONNACK, version)),
        st.builds(
            p.Subscribe,
            packet_ids,
            st.lists(_subscriptions(version), min_size=1, max_size=3).map(tuple),
            _properties(t.SUBSCRIBE, version),
        ),
        st.builds(
            p.SubAck,
            packet_ids,
            st.lists(suback_codes, min_size=1, max_size=3).map(tuple),
            _properties(t.SUBACK, version),
        ),
        st.builds(
            p.Unsubscribe,
            packet_ids,
            st.lists(filters, min_size=1, max_size=3).map(tuple),
            _properties(t.UNSUBSCRIBE, version),
        ),
        st.builds(
            p.UnsubAck,
            packet_ids,
            unsuback_codes if version is V5 else st.just(()),
            _properties(t.UNSUBACK, version),
        ),
        st.builds(p.PingReq),
        st.builds(p.PingResp),
        st.builds(p.Disconnect, _codes(t.DISCONNECT, version), _properties(t.DISCONNECT, version)),
        *([st.builds(p.Auth, _codes(t.AUTH, version), properties(t.AUTH))] if version is V5 else []),
    )


@st.composite
def versioned_packets(draw: st.DrawFn) -> tuple[p.Packet, ProtocolVersion]:
    """A version and a packet of it."""
    version = draw(st.sampled_from(ProtocolVersion))
    return draw(packets(version)), version
