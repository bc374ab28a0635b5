"""The administration's API beside a whole stack: what it shows is what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from admin.api.app import PREFIX, create_app
from admin.api.services import Services
from admin.cluster.cluster import ClusterSettings, ObservedCluster
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from identity.database import open_database
from identity.roles import Role
from tests.live.conftest import Connecting
from tests.live.peers import eventually

pytestmark = pytest.mark.live

PASSWORD = "a-long-password"


@pytest.fixture
def program(stack: Stack, tmp_path: Path) -> Iterator[TestClient]:
    """A program with an operator's token."""
    database = open_database(f"sqlite:///{tmp_path}/identity.db")
    cluster = ObservedCluster(ClusterSettings(stack.kafka))
    services = Services(database, cluster=cluster)
    services.users.add("admin", PASSWORD)
    services.users.add("ann", PASSWORD, Role.OPERATOR)
    token = services.logins.open("ann", 3_600)
    app = create_app(services)
    yield TestClient(app, base_url=f"http://x{PREFIX}", headers={"Authorization": f"Bearer {token}"})
    cluster.close()
    database.close()


@pytest.mark.timeout(240)
async def test_the_cluster(
    program: TestClient, connect: Connecting, gw1: MqttAddress, topic: str, client_id: str
) -> None:
    client = await connect(gw1, client_id=client_id)
    await client.subscribe(topic)
    await client.publish(topic, "x", qos=1)

    def overview() -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = program.get("/overview").json()
        return found

    def is_whole(found: dict[str, dict[str, object]]) -> bool:
        router = found["router"]
        return (
            found["nodes"]["living"] == 2
            and router["state"] in ("running", "rolling_over")
            and router["latency_p99_ms"] is not None
            and router["backlog"] is not None
            and found["sessions"]["connected"] != 0
            and bool(found["sessions"]["total"])
        )

    await eventually(lambda: is_whole(overview()), "gateways, router and sessions are seen", 150)
    nodes = {one["node"]: one for one in program.get("/nodes").json()}
    assert nodes["gw1"]["listeners"]["tcp"] == f"{gw1.host}:{gw1.port}"
    assert nodes["gw1"]["counters"]["publishes"] >= 1
    assert nodes["gw1"]["authentication"] == {"providers": [], "source": "none", "error": None}
    router = program.get("/router").json()
    assert router["generation"] >= 1
    assert all(one["version"] is not None and one["end"] is not None for one in router["table"])
    topics = program.get("/kafka/topics", params={"limit": 1000}).json()["items"]
    assert {one["name"] for one in topics} >= {
        "tbmq.msg.all",
        "tbmq.sys.state",
        "tbmq.msg.downlink.basic.gw2",
    }
    assert [one["name"] for one in topics if one["differences"]] == []
    readers = {one["name"]: one for one in program.get("/kafka/groups").json()["items"]}
    assert readers["sluicemq-sessions"]["members"] == ["gw1", "gw2"]
    assert readers["router"]["partitions"][0]["offset"] is not None
    assert program.delete("/nodes/gw1").status_code == 409
