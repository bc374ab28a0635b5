"""The administration's API on the running stack: what an operator does reaches clients as what they do themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from admin.api.app import PREFIX, create_app
from admin.api.services import Services
from admin.clients.administered import open_clients
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import DEFAULT_PREFIX
from edge.mqtt.properties import Properties
from identity.database import open_database
from identity.roles import Role
from stores import open_store
from tests.live.conftest import Connecting
from tests.live.peers import PATIENCE, Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

KEPT = Properties(session_expiry_interval=3600)


class Operator:
    """A program with an operator's token."""

    def __init__(self, http: TestClient) -> None:
        self._http = http

    async def ask(self, method: str, path: str, **fields: Any) -> Any:
        """The response, whatever it is."""
        return await asyncio.to_thread(self._http.request, method, path, **fields)

    async def do(self, method: str, path: str, **fields: Any) -> Any:
        """What is answered, which must be that it is done."""
        answer = await self.ask(method, path, **fields)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def until(self, holds: Callable[[Any], bool], path: str, **params: str) -> dict[str, Any]:
        """What is to be seen, once something holds of the response."""
        async with asyncio.timeout(2 * PATIENCE):
            while True:
                answer = await self.ask("GET", path, params=params)
                if holds(answer):
                    found: dict[str, Any] = answer.json()
                    return found
                await asyncio.sleep(0.05)

    async def client(self, client_id: str) -> dict[str, Any]:
        """A client, once it is to be seen."""
        return await self.until(lambda answer: answer.status_code == 200, "/client", client_id=client_id)


@pytest.fixture
def operator(stack: Stack, tmp_path: Path) -> Iterator[Operator]:
    """At an API of the test's own."""
    database = open_database(f"sqlite:///{tmp_path}/identity.db")
    store = stack.store
    assert store is not None
    cluster = open_clients(stack.kafka, DEFAULT_PREFIX, lambda: open_store(store))
    services = Services(database, clients=cluster)
    services.users.add("ann", "a-long-password", Role.ADMINISTRATOR)
    services.users.add("op", "a-long-password", Role.OPERATOR)
    token = services.logins.open("op", 3_600, "test")
    with TestClient(
        create_app(services), base_url=f"http://test{PREFIX}", headers={"Authorization": f"Bearer {token}"}
    ) as http:
        yield Operator(http)
    cluster.close()
    database.close()


async def test_what_an_operator_does_reaches_clients(
    operator: Operator, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str,
    unique: Callable[[str], str],
) -> None:  # fmt: skip
    name = unique("dev/ü")
    await operator.until(lambda answer: answer.json()["state"] == "up", "/view")
    where = {"client_id": name}

    # it comes, and is seen
    peer = await connect(gw1, client_id=name, user_name="ann", keep_alive=50, properties=KEPT)
    seen = await operator.client(name)
    assert (seen["node"], seen["user_name"], seen["keep_alive"], seen["address"]) == (
        "gw1", "ann", 50, "127.0.0.1",
    )  # fmt: skip
    listed = await operator.do("GET", "/clients", params={"search": name, "connected": True})
    assert [one["client_id"] for one in listed["items"]] == [name]

    # what it is subscribed to arrives from the answer on, whoever publishes (I2)
    publisher = await connect(gw2)
    for number in range(5):
        filter = f"{topic}/{number}"
        await operator.do("PUT", "/client/subscriptions", params=where, json={"filter": filter, "qos": 1})
        if number % 2:
            await publisher.publish(filter, f"client {number}")
        else:
            given = {"topic": filter, "payload": f"operator {number}", "qos": 1}
            assert (await operator.do("POST", "/messages", json=given))["is_published"]
    expected = ["operator 0", "client 1", "operator 2", "client 3", "operator 4"]
    assert await peer.payloads(5) == expected

    # what is retained comes to whoever subscribes, until it is deleted
    await operator.do("POST", "/messages", json={"topic": f"{topic}/r", "payload": "kept", "retain": True})
    shown = await operator.do("GET", "/retained/message", params={"topic": f"{topic}/r"})
    assert shown["payload"]["text"] == "kept"
    await peer.subscribe(f"{topic}/r")
    assert await peer.payloads() == ["kept"]
    await operator.do("DELETE", "/retained/message", params={"topic": f"{topic}/r"})
    late = await connect(gw2)
    await late.subscribe(f"{topic}/r")
    await publisher.publish(f"{topic}/r", "live")
    assert await late.payloads() == ["live"]
    assert [message.payload for message in await peer.take(2)] == [b"", b"live"]

    await sent_away_and_cleared(operator, connect, peer, (gw1, gw2), topic)


async def sent_away_and_cleared(
    operator: Operator, connect: Connecting, peer: Peer, gateways: tuple[MqttAddress, MqttAddress], topic: str
) -> None:
    """The client is sent away, is owed messages, comes back for them, and is cleared."""
    gw1, gw2 = gateways
    where, publisher = {"client_id": peer.client_id}, await connect(gw2)
    await operator.do("POST", "/client/disconnect", params=where)
    assert await peer.client.ended == 0x98
    assert (await operator.client(peer.client_id))["state"] == "offline"
    again = await operator.ask("POST", "/client/disconnect", params=where)
    assert again.status_code == 409

    given = {"filter": f"{topic}/away/#", "qos": 1}
    await operator.do("PUT", "/client/subscriptions", params=where, json=given)
    await publisher.publish(f"{topic}/away/1", "waits")
    # The sink takes it with its next batch.
    await operator.until(lambda answer: answer.json()["messages"]["stored"] == 1, "/client", **where)

    back = await connect(gw1, client_id=peer.client_id, clean_start=False, properties=KEPT)
    assert back.client.connected.result().session_present
    assert await back.payloads() == ["waits"]
    gone = {**where, "filter": f"{topic}/away/#"}
    await operator.do("DELETE", "/client/subscriptions", params=gone)
    assert (await operator.ask("DELETE", "/client/subscriptions", params=gone)).status_code == 404

    await operator.do("DELETE", "/client", params=where)
    assert await back.client.ended == 0x98
    assert (await operator.ask("GET", "/client", params=where)).status_code == 404
    anew = await connect(gw2, client_id=peer.client_id, clean_start=False)
    assert not anew.client.connected.result().session_present
