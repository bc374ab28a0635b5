"""A gate before the window: what it holds back keeps its order, and goes when it opens."""

from __future__ import annotations

import pytest

from edge.mqtt.events import DeliveryOutcome
from edge.mqtt.inflight import Session
from edge.mqtt.limits import ServerLimits
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Connect, PubAck, Publish, PubRec, PubRel
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection
from tests.edge.mqtt.connection_pair import connected_server, packet_bytes
from tests.edge.mqtt.test_reading import read_all

V3_1_1, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5


class Counted:
    """Lets so many through."""

    def __init__(self, room: int) -> None:
        self.room = room

    @property
    def is_open(self) -> bool:
        return self.room > 0

    def passed(self) -> None:
        assert self.room > 0
        self.room -= 1


def publishes(server: ServerConnection) -> list[int]:
    """The payloads that the client gets."""
    packets = read_all(server.data_to_send(), server.version)
    return [int(packet.payload) for packet in packets if isinstance(packet, Publish)]


def answer(server: ServerConnection, *packets: PubAck) -> None:
    server.receive_data(b"".join(packet_bytes(packet, server.version) for packet in packets), 1.0)


@pytest.mark.parametrize("version", [V3_1_1, V5])
def test_what_it_holds_back_goes_in_order(version: ProtocolVersion) -> None:
    server, gate = connected_server(version), Counted(2)
    server.pace(gate)
    outcomes = [server.deliver(OutgoingMessage("t", b"%d" % n), 1) for n in range(5)]
    assert outcomes == [DeliveryOutcome.SENT] * 2 + [DeliveryOutcome.QUEUED] * 3
    assert publishes(server) == [0, 1]
    answer(server, PubAck(1), PubAck(2))  # there is room in the window, and none in time
    assert publishes(server) == []
    assert not server.has_room
    gate.room = 2
    server.continue_deliveries()
    assert publishes(server) == [2, 3]
    assert server.deliver(OutgoingMessage("t", b"9"), 0) is DeliveryOutcome.SENT  # QoS 0 is not asked about
    gate.room = 9
    server.continue_deliveries()
    assert publishes(server) == [9, 4]
    assert (gate.room, server.has_room) == (8, True)


def test_the_window_holds_as_well() -> None:
    server, gate = connected_server(limits=ServerLimits(maximum_in_flight=1)), Counted(9)
    server.pace(gate)
    for number in range(3):
        server.deliver(OutgoingMessage("t", b"%d" % number), 1)
    assert (publishes(server), gate.room) == ([0], 8)
    answer(server, PubAck(1))
    assert (publishes(server), gate.room) == ([1], 7)


def test_what_has_a_packet_id_already_asks_too() -> None:
    server, gate = connected_server(), Counted(1)
    server.pace(gate)
    assert server.can_deliver_as(7)
    server.deliver_as(7, OutgoingMessage("t", b"7"), 1)
    assert not server.can_deliver_as(8)
    gate.room = 1
    assert server.can_deliver_as(8)


def test_acknowledgements_and_releases_do_not() -> None:
    server = connected_server()
    server.deliver(OutgoingMessage("t", b"0"), 2)
    server.data_to_send()
    server.pace(Counted(0))
    answer(server, PubRec(1))
    assert read_all(server.data_to_send(), V5) == [PubRel(1)]


def test_nor_does_what_is_sent_again() -> None:
    first = connected_server()
    first.deliver(OutgoingMessage("t", b"0"), 1)
    session: Session = first.session
    second = ServerConnection(ServerLimits(), 0.0)
    second.receive_data(packet_bytes(Connect("c", V5, clean_start=False), V5), 1.0)
    session.outbound.pace(Counted(0))
    second.accept(True, session=session)
    assert publishes(second) == [0]


def test_it_opens_too_late_for_who_has_gone() -> None:
    server, gate = connected_server(), Counted(0)
    server.pace(gate)
    server.deliver(OutgoingMessage("t", b"0"), 1)
    server.receive_eof(1.0)
    gate.room = 1
    server.continue_deliveries()
    assert publishes(server) == []
    assert len(list(server.session.outbound.unfinished())) == 1
