"""Integers, strings and binary data at their edges."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt import primitives as p
from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError
from tests.edge.mqtt.strategies import BOUNDED, texts


@pytest.mark.mqtt(v5="1.5.5-1")
@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (127, "7F"),
        (128, "8001"),
        (16_383, "FF7F"),
        (16_384, "808001"),
        (2_097_151, "FFFF7F"),
        (2_097_152, "80808001"),
        (268_435_455, "FFFFFF7F"),
    ],
)
def test_variable_byte_integer(value: int, data: str) -> None:  # table 1-1
    assert p.encode_variable(value) == bytes.fromhex(data)
    assert p.Cursor(bytes.fromhex(data)).variable() == value


@pytest.mark.mqtt(v5="1.5.5-1")
@pytest.mark.parametrize("data", ["", "80", "8000", "FFFFFFFF", "FFFFFFFF01", "FF8000", "80808000"])
def test_bad_variable_byte_integer(data: str) -> None:
    with pytest.raises(RemoteProtocolError):
        p.Cursor(bytes.fromhex(data)).variable()


@pytest.mark.parametrize("value", [-1, 268_435_456])
def test_variable_byte_integer_out_of_range(value: int) -> None:
    with pytest.raises(LocalProtocolError):
        p.encode_variable(value)


@pytest.mark.parametrize("data", ["0001", "000100", "0002C080", "0003EDA080", "0003EDBFBF", "0001FF", "00"])
def test_bad_string(data: str) -> None:
    with pytest.raises(RemoteProtocolError):
        p.Cursor(bytes.fromhex(data)).string()


@BOUNDED
@given(texts, texts, st.binary(max_size=20), st.integers(0, 2**32 - 1))
def test_read_undoes_write(name: str, value: str, data: bytes, number: int) -> None:
    stream = p.encode_string_pair((name, value)) + p.encode_binary(data) + p.encode_four_byte(number)
    cursor = p.Cursor(stream)
    assert (cursor.string_pair(), cursor.binary(), cursor.four_byte()) == ((name, value), data, number)
    cursor.finish()


@pytest.mark.mqtt(v3="1.5.3-3", v5="1.5.4-3")
def test_a_bom_is_kept() -> None:
    assert p.Cursor(bytes.fromhex("0003EFBBBF")).string() == "\ufeff"  # [MQTT-1.5.4-3]


def test_left_over_bytes_are_malformed() -> None:
    cursor = p.Cursor(b"\x01\x02")
    cursor.byte()
    with pytest.raises(RemoteProtocolError, match="1 bytes"):
        cursor.finish()


@pytest.mark.parametrize(
    ("encode", "value"),
    [
        (p.encode_byte, 256),
        (p.encode_two_byte, -1),
        (p.encode_four_byte, 2**32),
        (p.encode_binary, bytes(65_536)),
        (p.encode_string, "\0"),
        (p.encode_string, "\ud800"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_does_not_fit_is_our_fault(encode: Callable[[Any], bytes], value: Any) -> None:
    with pytest.raises(LocalProtocolError):
        encode(value)
