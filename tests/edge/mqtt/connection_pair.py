"""A server and a client that talk to one another without a network, and what tests ask of them."""

from dataclasses import replace

from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.events import ConnectReceived, Event
from edge.mqtt.inflight import Session
from edge.mqtt.packets import Connect, Packet
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.writing import write_packet

LIMITS = ServerLimits()


class ConnectionPair:
    """Both halves, connected, with all that either says carried over by ``exchange``."""

    def __init__(
        self,
        connect: Connect | None = None,
        server_limits: ServerLimits = LIMITS,
        client_limits: ClientLimits | None = None,
        *,
        sessions: tuple[Session, Session] | None = None,
    ) -> None:
        connect = connect or Connect("pair")
        present = sessions is not None
        if present:
            connect = replace(connect, clean_start=False)
        self.client = ClientConnection(connect, client_limits, session=sessions[0] if sessions else None)
        self.server = ServerConnection(server_limits, 0.0)
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self.exchange()
        assert isinstance(self.server_events.pop(), ConnectReceived)
        self.server.accept(present, session=sessions[1] if sessions else None)
        self.exchange()
        self.client_events.clear()

    def exchange(self, now: float = 1.0) -> None:
        """Carry bytes over until neither side has more to say; events pile up in the lists."""
        while True:
            to_server = b"".join(self.client.data_to_send())
            to_client = b"".join(self.server.data_to_send())
            if to_server:
                self.server.receive_data(to_server, now)
            if to_client:
                self.client.receive_data(to_client, now)
            self.client_events += self.client.events_received()
            self.server_events += self.server.events_received()
            if not to_server and not to_client:
                return

    @property
    def sessions(self) -> tuple[Session, Session]:
        """The client's and the server's, for the next pair."""
        return self.client.session, self.server.session


def connected_server(
    version: ProtocolVersion = ProtocolVersion.V5,
    limits: ServerLimits = LIMITS,
    connect: Connect | None = None,
    now: float = 0.0,
) -> ServerConnection:
    """A server whose client is in, with nothing left to drain."""
    server = ServerConnection(limits, now)
    server.receive_data(packet_bytes(connect or Connect("c", version), version), now)
    assert [type(event) for event in server.events_received()] == [ConnectReceived]
    server.accept()
    server.data_to_send()
    return server


def packet_bytes(packet: Packet, version: ProtocolVersion = ProtocolVersion.V5) -> bytes:
    """What the packet is on the wire."""
    return write_packet(packet, version)


def sent(connection: ServerConnection | ClientConnection) -> bytes:
    """All that the connection has to say."""
    return b"".join(connection.data_to_send())
