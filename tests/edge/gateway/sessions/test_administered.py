"""The administration and two gateways on one Kafka: what an administrator sees of clients, and does to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeVar

import pytest

from admin.clients.administered import AdministeredClients, open_clients
from admin.clients.errors import ConflictError, NotFoundError
from admin.clients.following import UP
from admin.demo.client import Client
from admin.stack.gateway import MqttAddress
from contracts.publish_record import PublishRecord
from contracts.session_event import Subscription
from contracts.session_record import OFFLINE, SessionRecord
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster, Starting

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

T = TypeVar("T")
PATIENCE = 120.0


@pytest.fixture
async def administered(cluster: Cluster) -> AsyncIterator[AdministeredClients]:
    """The cluster as the administration sees it, from before its gateways start."""
    opened = open_clients(cluster.kafka, cluster.topics.prefix, None)
    yield opened
    await asyncio.to_thread(opened.close)


class Visitor:
    """A client, and what it got."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Publish] = asyncio.Queue()
        self.client: Client

    @classmethod
    async def connect(cls, address: MqttAddress, client_id: str, *, clean_start: bool = False) -> Visitor:
        """Connect with a session that outlives the connection."""
        visitor = cls()
        packet = Connect(
            client_id, ProtocolVersion.V5, clean_start=clean_start, keep_alive=77, user_name="ann",
            properties=Properties(session_expiry_interval=3600),
        )  # fmt: skip
        visitor.client = await Client.connect(address.host, address.port, packet, visitor.messages.put_nowait)
        return visitor

    async def end(self) -> int | None:
        """The reason code that ended its connection."""
        return await asyncio.wait_for(asyncio.shield(self.client.ended), PATIENCE)

    async def next(self) -> Publish:
        """What it got next."""
        return await asyncio.wait_for(self.messages.get(), PATIENCE)


class Operator:
    """Works on the cluster from a thread, as the API does."""

    def __init__(self, cluster: AdministeredClients) -> None:
        self.cluster = cluster

    async def do(self, what: Callable[..., T], *args: object) -> T:
        return await asyncio.to_thread(what, *args)

    async def sees(self, client_id: str, is_so: Callable[[SessionRecord], bool]) -> SessionRecord:
        """A session, once something is so of it."""
        view = self.cluster.view

        def is_there() -> bool:
            found = view.sessions.get(client_id)
            return found is not None and is_so(found)

        assert await self.do(view.follows.wait_for, is_there, PATIENCE)
        session = view.sessions.get(client_id)
        assert session is not None
        return session

    def subscriptions(self, client_id: str) -> list[tuple[str, int, str, str]]:
        with self.cluster.view.reading() as view:
            found = view.subscriptions.of_client(client_id)
        return [(one.subscribed_filter, one.qos, one.kind, one.node) for one in found]


async def test_from_first_sight_to_the_end(
    administered: AdministeredClients, start: Starting, unique: Callable[[str], str]
) -> None:
    (_, one), (_, other) = await start("gw1"), await start("gw2")
    operator, cluster, name = Operator(administered), administered, unique("dev/ü")
    assert await operator.do(
        cluster.view.follows.wait_for, lambda: cluster.view.follows.standing().state == UP, PATIENCE
    )

    # it is seen
    visitor = await Visitor.connect(one, name)
    seen = await operator.sees(name, lambda session: session.node == "gw1")
    assert (seen.user_name, seen.address, seen.keep_alive, seen.clean_start) == (
        "ann",
        "127.0.0.1",
        77,
        False,
    )

    # what is published and retained is there for it when it is subscribed
    await operator.do(cluster.publisher.publish, PublishRecord("r/1", b"kept", qos=1, retain=True))
    await operator.do(cluster.subscribe, name, Subscription("r/+", 1, subscription_id=5))
    got = await visitor.next()
    assert (got.topic, got.payload, got.retain) == ("r/1", b"kept", True)
    assert got.properties.subscription_identifiers == (5,)
    assert operator.subscriptions(name) == [("r/+", 1, "device", "gw1")]
    changed = await operator.do(cluster.subscribe, name, Subscription("r/+", 2, True, True, 2))
    assert (changed.qos, changed.no_local, changed.retain_as_published) == (2, True, True)

    # its connection ends, and it may still be subscribed
    await operator.do(cluster.disconnect, name)
    assert await visitor.end() == 0x98
    await operator.sees(name, lambda session: session.state == OFFLINE)
    with pytest.raises(ConflictError):
        await operator.do(cluster.disconnect, name)
    await operator.do(cluster.subscribe, name, Subscription("away/#", 1))
    assert ("away/#", 1, "device", "gw1") in operator.subscriptions(name)

    # it comes back elsewhere, with all of them
    visitor = await Visitor.connect(other, name)
    assert visitor.client.connected.result().session_present
    await operator.sees(name, lambda session: session.node == "gw2")
    await operator.do(cluster.unsubscribe, name, "r/+")
    with pytest.raises(NotFoundError):
        await operator.do(cluster.unsubscribe, name, "r/+")
    assert await operator.do(
        cluster.view.follows.wait_for,
        lambda: operator.subscriptions(name) == [("away/#", 1, "device", "gw2")],
        PATIENCE,
    )

    # nothing is left of it
    await operator.do(cluster.clear, name)
    assert await visitor.end() == 0x98
    assert await operator.do(
        cluster.view.follows.wait_for, lambda: not cluster.view.subscriptions.count(name), PATIENCE
    )
    with pytest.raises(NotFoundError):
        await operator.do(cluster.clear, name)
    visitor = await Visitor.connect(one, name)
    assert not visitor.client.connected.result().session_present

    # nor of what was retained
    held = cluster.view.retained.get("r/1")
    assert held is not None
    assert (await operator.do(cluster.payloads.read, "r/1", held.place)).payload == b"kept"
    assert held.node in ("gw1", "gw2")
    await operator.do(cluster.delete_retained, "r/1")
    assert cluster.view.retained.get("r/1") is None
    with pytest.raises(NotFoundError):
        await operator.do(cluster.delete_retained, "r/1")
    await visitor.client.disconnect()
