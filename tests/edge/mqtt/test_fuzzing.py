"""Junk, and packets that are nearly right: only the documented error comes out, and connections end as they should.

By hypothesis, which finds the smallest failing case, and by plain random numbers from fixed seeds, which try many more.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.errors import RemoteProtocolError
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DeliveryReceived,
    Event,
    PublishReceived,
    ReleaseReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.framing import Framer
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import ConnAck, Connect
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reading import READERS, read_packet
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.states import State
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.connection_pair import connected_server, packet_bytes
from tests.edge.mqtt.packet_cases import MALFORMED_PACKETS, PACKET_CASES, MalformedCase, PacketCase
from tests.edge.mqtt.strategies import BOUNDED, versioned_packets
from tests.edge.mqtt.test_reading import read_all

V5 = ProtocolVersion.V5
MESSAGE = OutgoingMessage("a", b"x")
LIMITS = ServerLimits(maximum_packet_size=600, maximum_held_bytes=600, receive_maximum=5, maximum_in_flight=5)
CASES: tuple[PacketCase | MalformedCase, ...] = (*PACKET_CASES, *MALFORMED_PACKETS)
FRAMES = {version: [case.data for case in CASES if version in case.versions] for version in ProtocolVersion}
"""Packets of each version, right and wrong."""
FLOWING = {
    version: [
        case.data
        for case in PACKET_CASES
        if version in case.versions and case.data[0] >> 4 in (3, 4, 5, 6, 7, 8, 10, 12)
    ]
    for version in ProtocolVersion
}
"""Those that a client may send again and again."""


def spoil(data: bytes, noise: random.Random) -> bytes:
    """Some bytes of it changed, left out, put in, repeated, or cut off."""
    for _ in range(noise.choice((0, 1, 1, 2, 5))):
        at, length = noise.randrange(len(data) + 1), noise.choice((1, 1, 2, 9))
        match noise.randrange(5):
            case 0:
                data = data[:at] + noise.randbytes(length) + data[at + length :]
            case 1:
                data = data[:at] + data[at + length :]
            case 2:
                data = data[:at] + noise.randbytes(length) + data[at:]
            case 3:
                data = data[:at] + data[at : at + length] + data[at:]
            case _:
                data = data[:at]
    return data


def cut(data: bytes, noise: random.Random) -> list[bytes]:
    """The same in pieces."""
    places = sorted(noise.randrange(len(data) + 1) for _ in range(noise.choice((0, 1, 4, 20))))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


class Application:
    """Answers a server's or a client's events, as a gateway would, and checks that they are in order."""

    def __init__(
        self, connection: ServerConnection | ClientConnection, noise: random.Random, is_kept: bool
    ) -> None:
        self.connection = connection
        self.noise = noise
        self.is_kept = is_kept
        self.events: list[Event] = []
        self.sent: list[bytes] = []

    def receive(self, data: bytes) -> None:
        """Bytes come in; what follows from them is dealt with."""
        self.connection.receive_data(data, 1.0)
        while events := self.connection.events_received():
            for event in events:
                assert not any(isinstance(earlier, ConnectionEnded) for earlier in self.events), "it was over"
                self.events.append(event)
                self._answer(event)
        self.sent += self.connection.data_to_send()

    def _answer(self, event: Event) -> None:
        connection = self.connection
        if isinstance(event, PublishReceived) and event.packet.qos:
            # Refusing ends a connection of MQTT 3; what follows in the same portion of events still comes.
            reasons = (ReasonCode.SUCCESS, ReasonCode.SUCCESS, ReasonCode.NOT_AUTHORIZED)
            connection.confirm_publish(event.packet.packet_id, self.noise.choice(reasons))
        elif isinstance(event, ReleaseReceived):
            connection.confirm_release(event.packet_id)
        elif isinstance(event, DeliveryReceived):
            connection.release_delivery(event.packet_id)
        elif isinstance(connection, ServerConnection):
            self._serve(connection, event)

    def _serve(self, server: ServerConnection, event: Event) -> None:
        if isinstance(event, ConnectReceived | AuthReceived):
            if server.state is State.AUTHENTICATING and self.noise.random() < 0.5:
                server.authenticate(ReasonCode.CONTINUE_AUTHENTICATION, b"more")
            elif server.state is not State.CONNECTED:
                server.accept(assigned_client_id="auto", is_kept=self.is_kept)
                for qos in (0, 1, 2):
                    server.deliver(MESSAGE, qos)
        elif isinstance(event, SubscribeReceived):
            server.confirm_subscribe(event.packet.packet_id, [0] * len(event.packet.subscriptions))
        elif isinstance(event, UnsubscribeReceived):
            server.confirm_unsubscribe(event.packet.packet_id, [0] * len(event.packet.filters))

    def check(self) -> None:
        """The state is one that may be, ended is ended once and for all, and all that was said can be read."""
        connection = self.connection
        is_over = connection.state is State.CLOSED
        ends = [event for event in self.events if isinstance(event, ConnectionEnded)]
        assert len(ends) == is_over == connection.close_wanted
        assert connection._framer.buffered <= LIMITS.maximum_packet_size + LIMITS.maximum_held_bytes
        if is_over:
            connection.receive_data(b"\xc0\x00", 2.0)
            connection.receive_eof(3.0)
            assert connection.events_received() == []
            assert connection.data_to_send() == []
            assert connection.deadline() is None
        read_all(self.sent, connection.version)


def packets(version: ProtocolVersion, noise: random.Random) -> bytes:
    """Packets after a CONNECT: most of them good, so that it takes a while until one ends the connection."""
    some = []
    for _ in range(noise.randrange(12)):
        data = noise.choice(FLOWING[version] if noise.random() < 0.9 else FRAMES[version])
        some.append(spoil(data, noise) if noise.random() < 0.2 else data)
    return b"".join(some)


def stream(version: ProtocolVersion, noise: random.Random) -> bytes:
    """A CONNECT, nearly always a good one, and packets after it."""
    wanted = Properties(authentication_method="S") if version is V5 and noise.random() < 0.1 else Properties()
    connect = packet_bytes(Connect("c", version, properties=wanted), version)
    if noise.random() < 0.1:
        connect = spoil(connect, noise)
    return connect + packets(version, noise)


@BOUNDED
@given(st.lists(st.binary(max_size=80), max_size=6), st.booleans())
def test_a_server_takes_any_bytes(chunks: list[bytes], is_let_in: bool) -> None:
    application = Application(ServerConnection(LIMITS, 0.0), random.Random(1), False)
    if is_let_in:
        application.receive(packet_bytes(Connect("c", V5)))
    for chunk in chunks:
        application.receive(chunk)
    application.check()


@pytest.mark.parametrize("seed", range(20))
def test_a_server_takes_streams_that_are_nearly_right(seed: int) -> None:
    noise = random.Random(seed)
    for _ in range(1_000):
        version = noise.choice(list(ProtocolVersion))
        application = Application(ServerConnection(LIMITS, 0.0), noise, noise.random() < 0.3)
        for piece in cut(stream(version, noise), noise):
            application.receive(piece)
        application.check()


@pytest.mark.parametrize("seed", range(10))
def test_how_a_stream_is_cut_makes_no_difference(seed: int) -> None:
    """While the application answers nothing; when it does, it may do so between any two pieces."""
    noise = random.Random(1_000 + seed)
    for _ in range(500):
        version = noise.choice(list(ProtocolVersion))
        data = packets(version, noise)
        outcomes = []
        for pieces in ([data], cut(data, noise), [bytes((byte,)) for byte in data]):
            server = connected_server(version, LIMITS)
            for qos in (0, 1, 2):
                server.deliver(MESSAGE, qos)
            for piece in pieces:
                server.receive_data(piece, 1.0)
            outcomes.append((server.events_received(), b"".join(server.data_to_send()), server.state))
        assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("seed", range(10))
def test_a_client_takes_streams_that_are_nearly_right(seed: int) -> None:
    noise = random.Random(2_000 + seed)
    limits = ClientLimits(maximum_in_flight=5)
    for _ in range(500):
        version = noise.choice(list(ProtocolVersion))
        connect = Connect(
            "c", version, properties=Properties(maximum_packet_size=600) if version is V5 else Properties()
        )
        client = ClientConnection(connect, limits)
        application = Application(client, noise, False)
        application.receive(packet_bytes(ConnAck(), version))
        for qos in (0, 1, 2):
            client.publish("a", b"x", qos)
        for piece in cut(packets(version, noise), noise):
            application.receive(piece)
        application.check()


@BOUNDED
@given(versioned_packets(), st.randoms(use_true_random=False))
def test_readers_say_nothing_but_the_documented_error(versioned: tuple, noise: random.Random) -> None:  # type: ignore[type-arg]
    """Of any valid packet, spoilt: its body by its own reader and by that of each other type, in each version."""
    packet, version = versioned
    frame = spoil(write_packet(packet, version), noise)
    with suppress(RemoteProtocolError):
        read_all(cut(frame, noise), version)
    for kind in READERS:
        for other in ProtocolVersion:
            with suppress(RemoteProtocolError):
                read_packet(kind << 4 | noise.randrange(16), frame[2:], other)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("version", ProtocolVersion)
def test_readers_take_random_bodies(kind: int, version: ProtocolVersion) -> None:
    noise = random.Random(kind)
    bodies = [case.data[2:] for case in PACKET_CASES if case.data[0] >> 4 == kind]
    for number in range(3_000):
        body = noise.randbytes(noise.randrange(40)) if number % 2 else spoil(noise.choice(bodies), noise)
        with suppress(RemoteProtocolError):
            read_packet(kind << 4 | noise.randrange(16), body, version)


@pytest.mark.parametrize("version", ProtocolVersion)
def test_the_framer_takes_any_bytes_and_keeps_its_bounds(version: ProtocolVersion) -> None:
    noise = random.Random(version)
    for _ in range(3_000):
        framer, fed, taken = Framer(200), 0, 0
        framer.use_version(version)
        data = noise.randbytes(noise.randrange(60))
        if noise.random() < 0.7:
            data = b"".join(spoil(noise.choice(FRAMES[version]), noise) for _ in range(4))
        with suppress(RemoteProtocolError):
            for piece in cut(data, noise):
                framer.feed(piece)
                fed += len(piece)
                while (frame := framer.next_frame()) is not None:
                    taken += 2 + len(frame[1])
                    assert 2 + len(frame[1]) <= 200
                # A padded length makes a frame longer than the least that its body needs.
                assert 0 <= fed - taken - framer.buffered <= fed
                assert framer.buffered <= 200
