"""Reason codes and their counterparts in MQTT 3.x."""

import pytest

from edge.mqtt.protocol import PacketType
from edge.mqtt.reason_codes import (
    ALLOWED_CODES,
    ReasonCode,
    connack_code,
    reason_of_return_code,
    return_code,
    suback_code,
)


def test_return_codes_go_both_ways() -> None:
    for code in range(6):
        reason = reason_of_return_code(code)
        assert reason is not None
        assert return_code(reason) == code
    assert reason_of_return_code(6) is None
    assert return_code(ReasonCode.MALFORMED_PACKET) is None


def test_every_allowed_code_is_a_code() -> None:
    known = {int(code) for code in ReasonCode}
    for codes in ALLOWED_CODES.values():
        assert codes <= known


def test_every_code_has_a_packet() -> None:
    assert {int(code) for code in ReasonCode} == set().union(*ALLOWED_CODES.values())


@pytest.mark.mqtt(v5="3.2.2-8")
def test_connack_says_the_nearest() -> None:
    assert connack_code(ReasonCode.BANNED) == ReasonCode.BANNED
    assert connack_code(ReasonCode.SERVER_SHUTTING_DOWN) == ReasonCode.SERVER_UNAVAILABLE
    assert connack_code(ReasonCode.TOPIC_ALIAS_INVALID) == ReasonCode.UNSPECIFIED_ERROR
    assert all(connack_code(code) in ALLOWED_CODES[PacketType.CONNACK] for code in ReasonCode)


def test_suback_codes() -> None:
    assert [suback_code(code, is_v5=False) for code in (0, 2, 0x87)] == [0, 2, 0x80]
    assert suback_code(0x87, is_v5=True) == 0x87
