"""A client of a feed: the real MQTT core on both ends, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from contracts import routed_record
from contracts.headers import FILTER, ID, Headers
from contracts.persisted_record import Message
from contracts.publish_record import MessageProperties, PublishRecord, encode_headers
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.mqtt.events import DeliveryCompleted, DeliveryReceived
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect, Packet
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection
from tests.edge.mqtt.connection_pair import packet_bytes
from tests.edge.mqtt.test_reading import read_all

LIMITS = ServerLimits(maximum_in_flight=10)


class PlayedConnection:
    """What a feed knows of a connection, with the client's end in the test's hand."""

    tracer = None

    def __init__(
        self, client_id: str = "c", receive_maximum: int = 10, version: ProtocolVersion = ProtocolVersion.V5
    ) -> None:
        self.client_id = client_id
        self.has_changed = asyncio.Event()
        self.core = ServerConnection(LIMITS, 0.0)
        connect = Connect(
            client_id, version, clean_start=False, properties=Properties(receive_maximum=receive_maximum)
        )
        self._receive(connect)
        self.core.accept(True, is_kept=True)
        self.core.data_to_send()
        self.subscriptions: dict[str, Subscription] = {"a": Subscription(2)}

    def changed(self) -> None:
        """There may be something to send."""
        self.has_changed.set()

    def find(self, topic: str | None, filter: str) -> Mapping[str, Subscription]:
        """What counts for a message."""
        local: LocalSubscriptions[str] = LocalSubscriptions()
        for held, subscription in self.subscriptions.items():
            local.add(self.client_id, held, subscription)
        return local.counting(self.client_id, topic, filter)

    def packets(self) -> list[Packet]:
        """What the client gets."""
        return read_all(self.core.data_to_send(), self.core.version)

    def answer(self, *packets: Packet) -> Iterator[DeliveryCompleted | DeliveryReceived]:
        """The client sends; the events that are a feed's."""
        self._receive(*packets)
        for event in self.core.events_received():
            if isinstance(event, DeliveryCompleted | DeliveryReceived):
                yield event

    def _receive(self, *packets: Packet) -> None:
        self.core.receive_data(
            b"".join(packet_bytes(packet, packet_version(packet, self.core)) for packet in packets), 1.0
        )
        if any(isinstance(packet, Connect) for packet in packets):
            self.core.events_received()


def packet_version(packet: Packet, core: ServerConnection) -> ProtocolVersion:
    return packet.version if isinstance(packet, Connect) else core.version


def message_headers(
    source: tuple[int, int],
    qos: int = 1,
    topic: str = "a",
    filter: str = "a",
    properties: MessageProperties | None = None,
    publisher: str = "p",
) -> Headers:
    """The headers of a record in the persisted log, as the router writes them."""
    record = PublishRecord(topic, b"", publisher, "gw", qos, properties=properties or MessageProperties())
    return [
        *encode_headers(record),
        (routed_record.TOPIC, topic.encode()),
        (ID, routed_record.encode_id(*source)),
        (FILTER, filter.encode()),
    ]


def message(offset: int, value: bytes = b"", qos: int = 1, client_id: str = "c", **more: object) -> Message:
    """A message in the log; its source offset is its own."""
    headers = message_headers((0, offset), qos, **more)  # type: ignore[arg-type]
    return Message(
        offset, client_id, 0, offset, "a", str(more.get("filter", "a")), value or b"%d" % offset, headers
    )
