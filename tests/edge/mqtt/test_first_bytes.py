"""A packet's first byte: its type, and flags that are fixed for all types but PUBLISH (table 2-2)."""

from __future__ import annotations

import pytest

from edge.mqtt.events import ConnectionEnded
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.mqtt.connection_pair import connected_server
from tests.edge.mqtt.test_reading import read_all

V311, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
FLAGS = {PacketType.PUBREL: 2, PacketType.SUBSCRIBE: 2, PacketType.UNSUBSCRIBE: 2}
"""All others have 0."""


def is_right(first: int, version: ProtocolVersion) -> bool:
    """Whether a packet may begin so."""
    kind, flags = first >> 4, first & 15
    if kind == PacketType.PUBLISH:
        qos = flags >> 1 & 3
        return qos != 3 and (qos > 0 or flags < 8)
    if kind == 0 or (kind == PacketType.AUTH and version is V311):
        return False
    return flags == FLAGS.get(PacketType(kind), 0)


@pytest.mark.mqtt(
    v3="2.2.2-2 3.3.1-2 3.3.1-4 3.6.1-1 3.8.1-1 3.10.1-1 3.14.1-1 4.8.0-1",
    v5="2.1.3-1 3.3.1-2 3.3.1-4 3.6.1-1 3.8.1-1 3.10.1-1 3.14.1-1 3.15.1-1 4.13.1-1",
)
@pytest.mark.parametrize("version", [V311, V5])
def test_wrong_flags_end_the_connection(version: ProtocolVersion) -> None:
    for first in range(256):
        server = connected_server(version)
        server.receive_data(bytes((first,)), 1.0)
        if is_right(first, version):
            assert not server.close_wanted, hex(first)
        else:
            ended = [ConnectionEnded(ReasonCode.MALFORMED_PACKET, True)]
            assert server.events_received() == ended, hex(first)
            told = [
                getattr(packet, "reason_code", None) for packet in read_all(server.data_to_send(), version)
            ]
            assert told == ([ReasonCode.MALFORMED_PACKET] if version is V5 else []), hex(first)
