"""Router and sink on a Spark standalone cluster: what they are sent suffices, and any of its parts may be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest

from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.wheel import SOURCE
from contracts.partitioner import partition_of
from edge.mqtt.properties import Properties
from stores import open_store
from tests.live.conftest import Connecting
from tests.live.peers import Peer, eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

PATIENCE = 150.0
KILLED = ["spark-worker1", "spark-master", "spark-worker2"]
"""In turn, and at the end nothing that routed at the beginning is left."""
FOR_THE_STORE = 20
PERSISTED_PARTITIONS = 4
LASTING = {"clean_start": False, "properties": Properties(session_expiry_interval=3600)}


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A broker whose router and sink run on a master and two workers."""
    options = StackOptions(
        tmp_path_factory.mktemp("clustered"), gateways=1, partitions=2, batch_seconds=10, spark_workers=2
    )
    with embedded_stack(options) as stack:
        yield stack


def forked_from(clustered: Stack) -> dict[str, list[str]]:
    """By module, the paths of the Python processes that executors have started to fork others from."""
    found: dict[str, list[str]] = {}
    for worker in ("spark-worker1", "spark-worker2"):
        for process in psutil.Process(clustered.pid(worker)).children(recursive=True):
            try:
                command, path = process.cmdline(), process.environ().get("PYTHONPATH", "")
            except psutil.NoSuchProcess:
                continue
            if command[1:2] == ["-m"]:
                found[command[2]] = path.split(":")
    return found


async def test_executors_have_what_they_are_sent(clustered: Stack) -> None:
    """The wheel, and nothing of this clone."""
    modules = {"routing.routes.daemon", "sinks.daemon"}
    await eventually(lambda: forked_from(clustered).keys() == modules, "both jobs run Python", PATIENCE)
    for path in forked_from(clustered).values():
        assert [one for one in path if one.endswith(".whl") and "/" not in one]
        assert str(SOURCE) not in path


async def test_its_parts_are_killed_under_traffic(
    clustered: Stack, connect: Connecting, topic: str, client_id: str
) -> None:
    """P11, an executor that is killed in its task: it goes with its worker."""
    [gateway] = clustered.mqtt
    publisher, live = await connect(gateway), await connect(gateway)
    lasting = await connect(gateway, client_id=client_id, **LASTING)
    await live.subscribe(f"{topic}/+")
    await lasting.subscribe(f"{topic}/#")
    count, came = 0, {live: list[str](), lasting: list[str]()}
    for part in KILLED:
        restarts, is_back = clustered.kill(part), asyncio.Event()
        flow = asyncio.create_task(publish_until(publisher, f"{topic}/x", count, is_back))
        await asyncio.to_thread(clustered.wait_restarted, part, restarts, PATIENCE)
        is_back.set()
        count = await flow
        # Routing goes on after each, not only when all are back.
        for subscriber in (live, lasting):
            came[subscriber] += await subscriber.payloads(count - len(came[subscriber]), PATIENCE)
    await publisher.publish(f"{topic}/x", "end", 2)
    for subscriber, payloads in came.items():
        payloads += await subscriber.payloads(1, PATIENCE)
        assert payloads == [*map(str, range(count)), "end"]


async def publish_until(publisher: Peer, topic: str, count: int, until: asyncio.Event) -> int:
    """Number messages, each acknowledged before the next, until something is done; returns how many there are now."""
    while not until.is_set():
        await publisher.publish(topic, str(count), 2)
        count += 1
    return count


async def test_the_sink_works_on_it(
    clustered: Stack, connect: Connecting, topic: str, client_id: str
) -> None:
    [gateway] = clustered.mqtt
    publisher, lasting = await connect(gateway), await connect(gateway, client_id=client_id, **LASTING)
    await lasting.subscribe(topic)
    lasting.client.drop()
    for number in range(FOR_THE_STORE):
        await publisher.publish(topic, str(number), 2)
    assert clustered.store is not None
    with closing(open_store(clustered.store)) as store:
        partition = partition_of(client_id.encode(), PERSISTED_PARTITIONS)
        await eventually(
            lambda: len(store.backlog(partition, client_id).messages) == FOR_THE_STORE, "stored", PATIENCE
        )
    back = await connect(gateway, client_id=client_id, **LASTING)
    assert await back.payloads(FOR_THE_STORE) == [str(number) for number in range(FOR_THE_STORE)]
