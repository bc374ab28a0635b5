"""Records of shared subscriptions, byte for byte."""

from __future__ import annotations

import pytest

from contracts.errors import RecordError
from contracts.persisted_log import Repeats
from contracts.routed_record import Route, decode_route
from contracts.shared_record import (
    SOURCES,
    DispatchState,
    decode_member,
    decode_state,
    decode_state_key,
    encode_headers,
    encode_state,
    encode_state_key,
    is_group,
    is_of_dispatcher,
    without_member,
)

PUBLISHED: list[tuple[str, bytes | None]] = [("client-id", b"c"), ("qos", b"1")]
ROUTED: list[tuple[str, bytes | None]] = [("topic", b"a"), ("id", b"3:12"), ("filter", b"$share/g/a")]


def test_what_a_dispatcher_writes_is_golden() -> None:
    written = encode_headers([*PUBLISHED, *ROUTED], 2, 41)
    assert written == [*PUBLISHED, ("topic", b"a"), ("id", b"1000002:41"), ("filter", b"$share/g/a")]
    route = decode_route(written)
    assert route == Route(SOURCES + 2, 41, "a", "$share/g/a")
    assert is_of_dispatcher(route.partition)
    assert is_group(route.filter)
    assert not is_of_dispatcher(3)
    assert not is_group("$shared/g/a")


def test_a_member_is_named_before_the_routed_headers() -> None:
    written = encode_headers([*PUBLISHED, *ROUTED], 2, 41, "é")
    assert written[2] == ("member", "é".encode())
    assert decode_member(written) == "é"
    assert without_member(written) == encode_headers([*PUBLISHED, *ROUTED], 2, 41)
    # It comes back to its group and goes to another member.
    assert encode_headers(written, 2, 42, "b") == encode_headers([*PUBLISHED, *ROUTED], 2, 42, "b")


def test_a_publisher_cannot_name_a_member() -> None:
    forged = [*PUBLISHED, ("member", b"x")]
    with pytest.raises(RecordError, match="member"):
        decode_member([*forged, *ROUTED])
    assert without_member([*forged, *ROUTED]) == [*forged, *ROUTED]
    assert encode_headers([*forged, *ROUTED], 0, 0, "b")[:4] == [*forged, ("member", b"b")]


def test_state_golden() -> None:
    repeats = Repeats()
    repeats.is_repeat(1, 7, "", "$share/g/a")
    state = encode_state(DispatchState(9, 4, repeats))
    assert state == (b'{"next":9,"sequence":4,"repeats":{"marks":{"1":7},"seen":{"":{"1":["$share/g/a"]}}}}')
    again = decode_state(state)
    assert (again.next_offset, again.sequence, again.repeats.to_json()) == (9, 4, repeats.to_json())


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b'{"next":1,"sequence":"x","repeats":{}}', b"7"])
def test_what_is_no_state(value: bytes) -> None:
    with pytest.raises(RecordError):
        decode_state(value)


def test_state_keys() -> None:
    assert encode_state_key(3) == b"3"
    assert encode_state_key(3, "$share/g/a") == b"3\0$share/g/a"
    assert decode_state_key(b"3") is None
    assert decode_state_key(b"3\0$share/g/a") == "$share/g/a"
    for key in (None, b"", b"x", b"3\0", b"3\0a", b"\xff"):
        with pytest.raises(RecordError):
            decode_state_key(key)
