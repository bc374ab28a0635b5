"""Random walks through the state table with both halves and a network that loses connections.

What must hold on every walk: QoS 1 at least once, QoS 2 exactly once and in order, windows and queues never above their
bounds, only packets that the state table allows (a fault would end a connection, and the test), and at the end of each
walk nothing is left under way.
"""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.connection import Connection
from edge.mqtt.events import ConnectionEnded, DeliveryCompleted, DeliveryOutcome, PublishReceived
from edge.mqtt.inflight import Inbound
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Connect
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.states import State

WINDOW = 3
QUEUE = 4
SERVER_LIMITS = ServerLimits(
    receive_maximum=WINDOW, maximum_in_flight=WINDOW, maximum_queued=QUEUE, maximum_held_bytes=10_000
)
CLIENT_LIMITS = ClientLimits(maximum_in_flight=WINDOW, maximum_queued=QUEUE)

sides = st.sampled_from(["client", "server"])


class Walk(RuleBasedStateMachine):
    """One walk."""

    @initialize(version=st.sampled_from(ProtocolVersion))
    def start(self, version: ProtocolVersion) -> None:
        properties = Properties(receive_maximum=WINDOW) if version is ProtocolVersion.V5 else Properties()
        self.connect = Connect("walk", version, clean_start=False, properties=properties)
        self.number = 0
        self.accepted: dict[str, list[tuple[int, bytes]]] = {"client": [], "server": []}
        self.received: dict[str, list[tuple[int, bytes]]] = {"client": [], "server": []}
        self.completed: Counter[bytes] = Counter()
        self.waiting: dict[str, list[int]] = {"client": [], "server": []}
        self.to = {"client": b"", "server": b""}
        self.sides: dict[str, Connection] = {}
        self._open(None)

    def _open(self, former: dict[str, Connection] | None) -> None:
        sessions = {name: side.session for name, side in former.items()} if former else {}
        client = ClientConnection(self.connect, CLIENT_LIMITS, session=sessions.get("client"))
        server = ServerConnection(SERVER_LIMITS, 0.0)
        self.to = {"client": b"", "server": b""}
        self.sides = {"client": client, "server": server}
        server.receive_data(b"".join(client.data_to_send()), 0.0)
        server.events_received()
        server.accept(former is not None, session=sessions.get("server"))
        self._drain()

    def _drain(self) -> None:
        for name, side in self.sides.items():
            other = "server" if name == "client" else "client"
            self.to[other] += b"".join(side.data_to_send())
            for event in side.events_received():
                self._take(name, event)

    def _take(self, name: str, event: Any) -> None:
        assert not isinstance(event, ConnectionEnded), event
        if isinstance(event, PublishReceived):
            self.received[name].append((event.packet.qos, event.packet.payload))
            if event.packet.qos:
                self.waiting[name].append(event.packet.packet_id)
        elif isinstance(event, DeliveryCompleted):
            self.completed[event.message.payload] += 1

    @rule(name=sides, qos=st.integers(0, 2))
    def publish(self, name: str, qos: int) -> None:
        if self.sides[name].state is not State.CONNECTED:
            return
        self.number += 1
        payload = f"{self.number}".encode()
        outcome = self.sides[name].deliver(OutgoingMessage("t", payload), qos)
        if outcome in (DeliveryOutcome.SENT, DeliveryOutcome.QUEUED):
            self.accepted[name].append((qos, payload))
        else:
            assert outcome is DeliveryOutcome.DROPPED_QUEUE_FULL
            assert self.sides[name].queued == QUEUE
        self._drain()

    @rule(name=sides, count=st.integers(1, 60))
    def carry(self, name: str, count: int) -> None:
        data, self.to[name] = self.to[name][:count], self.to[name][count:]
        if data:
            self.sides[name].receive_data(data, 1.0)
            self._drain()

    @rule(name=sides, which=st.integers(0, 5))
    def confirm(self, name: str, which: int) -> None:
        if self.waiting[name]:
            packet_id = self.waiting[name].pop(which % len(self.waiting[name]))
            self.sides[name].confirm_publish(packet_id)
            self._drain()

    @precondition(lambda self: self.sides["client"].state is State.CONNECTED)
    @rule()
    def lose_the_connection(self) -> None:
        former = self.sides
        for side in former.values():
            side.receive_eof(2.0)
        # Confirmations that still come reach the session through the old connection, or through the new one.
        self._open(former)

    @invariant()
    def bounds_hold(self) -> None:
        for side in self.sides.values():
            assert side.in_flight <= WINDOW
            assert side.queued <= QUEUE
        inherited = WINDOW
        assert all(side.unfinished <= WINDOW + inherited for side in self.sides.values())

    def teardown(self) -> None:
        if not self.sides:
            return
        for _ in range(200):
            for name, side in self.sides.items():
                data, self.to[name] = self.to[name], b""
                if data:
                    side.receive_data(data, 3.0)
                while self.waiting[name]:
                    side.confirm_publish(self.waiting[name].pop(0))
            self._drain()
            if not any(self.to.values()) and not any(self.waiting.values()):
                break
        for sender, receiver in (("client", "server"), ("server", "client")):
            for qos in (1, 2):
                self._check(sender, receiver, qos)
            assert (
                self.sides[sender].in_flight
                == self.sides[sender].queued
                == self.sides[sender].unfinished
                == 0
            )

    def _check(self, sender: str, receiver: str, qos: int) -> None:
        wanted = [payload for sent_qos, payload in self.accepted[sender] if sent_qos == qos]
        got = [payload for got_qos, payload in self.received[receiver] if got_qos == qos]
        if qos == 2:
            assert got == wanted
        assert list(dict.fromkeys(got)) == wanted  # first copies are complete and in order
        assert all(self.completed[payload] == 1 for payload in wanted)


TestWalk = Walk.TestCase
TestWalk.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_the_walk_knows_all_inbound_states() -> None:
    assert set(Inbound) - {Inbound.QOS_2_RELEASED} == {
        1,
        2,
        3,
    }  # That one is for kept sessions, which have their own tests.
