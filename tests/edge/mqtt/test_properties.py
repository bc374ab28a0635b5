"""The property table: complete, in agreement with the value that holds properties, and obeyed in both directions."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError
from edge.mqtt.primitives import Cursor
from edge.mqtt.properties import (
    NO_PROPERTIES,
    PROPERTY_TABLE,
    WILL,
    Properties,
    PropertyRow,
    encode_properties,
    read_properties,
)
from edge.mqtt.protocol import PacketType
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.mqtt.strategies import BOUNDED, properties

PLACES = (WILL, *PacketType)


def test_the_table_and_the_value_have_the_same_names() -> None:
    assert {row.name for row in PROPERTY_TABLE} == {field.name for field in fields(Properties)}
    assert len({row.identifier for row in PROPERTY_TABLE}) == len(PROPERTY_TABLE) == 27


@BOUNDED
@given(st.data(), st.sampled_from(PLACES))
def test_read_undoes_write(data: st.DataObject, place: int) -> None:
    value = (
        data.draw(properties(place)) if any(place in row.places for row in PROPERTY_TABLE) else NO_PROPERTIES
    )
    allowed = {row.name for row in PROPERTY_TABLE if place in row.places}
    if value.authentication_method is not None and "authentication_method" not in allowed:
        return
    assert read_properties(Cursor(encode_properties(value, place)), place) == value


@pytest.mark.parametrize("row", PROPERTY_TABLE, ids=lambda row: row.name)
def test_where_a_property_may_stand(row: PropertyRow) -> None:
    sample = {"string": b"\0\1s", "byte": b"\1", "two_byte": b"\0\1", "four_byte": b"\0\0\0\1"}
    sample |= {"binary": b"\0\1b", "variable": b"\1", "string_pair": b"\0\1k\0\1v"}
    field = bytes((row.identifier,)) + sample[row.codec.read.__name__]
    for place in PLACES:
        cursor = Cursor(bytes((len(field),)) + field)
        if place in row.places:
            value = getattr(read_properties(cursor, place), row.name)
            with_it = Properties(**{row.name: value})
            assert encode_properties(with_it, place) == cursor.data
        else:
            with pytest.raises(RemoteProtocolError) as caught:
                read_properties(cursor, place)
            assert caught.value.reason_code is ReasonCode.MALFORMED_PACKET
    twice = Cursor(bytes((2 * len(field),)) + 2 * field)
    place = min(row.places)
    if row.repeatable:
        assert len(getattr(read_properties(twice, place), row.name)) == 2
    else:
        with pytest.raises(RemoteProtocolError) as caught:
            read_properties(twice, place)
        assert caught.value.reason_code is ReasonCode.PROTOCOL_ERROR


def test_a_property_out_of_place_is_our_fault() -> None:
    with pytest.raises(LocalProtocolError, match="topic_alias"):
        encode_properties(Properties(topic_alias=1), PacketType.CONNECT)


def test_absent_properties_share_one_value() -> None:
    assert read_properties(Cursor(b"\0"), PacketType.PUBLISH) is NO_PROPERTIES
    assert Properties() == NO_PROPERTIES
    assert encode_properties(Properties(), PacketType.PUBLISH) == b"\0"


def test_repr_shows_what_is_set() -> None:
    assert repr(Properties(topic_alias=3)) == "Properties(topic_alias=3)"
