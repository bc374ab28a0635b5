"""The tail and the barrier on a real Kafka: what entered is released only after the log's end as it was then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from contracts import subscription_record
from contracts.kafka_topics import subscription_partition
from contracts.publish_record import RouteHit
from contracts.route_table import DEVICE, NODE
from contracts.subscription_record import DEVICE_KIND, NODE_KIND, SubscriptionRecord
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.log_barrier import LogBarrier
from edge.gateway.subscription_log import SubscriptionTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.edge.gateway.conftest import Cluster

pytestmark = pytest.mark.live


class Setting:
    """A tail and a barrier, and a way to append to the log and wait until it is durable."""

    def __init__(self, cluster: Cluster, node: str = "gw1") -> None:
        self.topic = cluster.topics.subscriptions
        self.fresh, self.counters = FreshRoutes(), Counters()
        self.appender = Appender(cluster.kafka)
        self.ended: list[tuple[str, str]] = []
        self.tail = SubscriptionTail(
            cluster.kafka, self.topic, 2, node, self.fresh, self.counters,
            ended=lambda *subscription: self.ended.append(subscription),
        )  # fmt: skip
        self.released: asyncio.Queue[str] = asyncio.Queue()
        self.barrier: LogBarrier[str] = LogBarrier(
            cluster.kafka,
            self.topic,
            2,
            self.tail,
            self.release,
        )

    def release(self, items: list[str]) -> None:
        for item in items:
            self.released.put_nowait(item)

    async def append(self, key: bytes, value: bytes | None, filter: str) -> None:
        durable = asyncio.get_running_loop().create_future()
        partition = subscription_partition(filter, 2)
        self.appender.append(self.topic, value, key, [], lambda *_: durable.set_result(None), partition)
        await durable

    async def subscribe(
        self, client_id: str, filter: str, node: str = "gw2", qos: int = 0, kind: str = NODE_KIND
    ) -> None:
        record = SubscriptionRecord(client_id, filter, node, qos, kind=kind)
        key = subscription_record.encode_key(client_id, filter)
        await self.append(key, subscription_record.encode_value(record), filter)

    async def unsubscribe(self, client_id: str, filter: str) -> None:
        await self.append(subscription_record.encode_key(client_id, filter), None, filter)

    async def caught_up(self) -> None:
        self.barrier.enter("caught up")
        assert await self.released.get() == "caught up"

    def stop(self) -> None:
        self.barrier.stop()
        self.tail.stop()
        self.appender.flush(120)


async def test_an_item_waits_for_all_that_was_durable_before_it(cluster: Cluster) -> None:
    setting = Setting(cluster)
    setting.tail.start()
    for number in range(50):  # each round: durable, enter, released; never released before the tail has it
        await setting.subscribe(f"c{number}", f"t/{number}")
        setting.barrier.enter(str(number))
        assert await setting.released.get() == str(number)
        assert setting.fresh.match(f"t/{number}", 0) == [RouteHit(f"t/{number}", "gw2")]
    setting.stop()


async def test_items_are_released_in_order(cluster: Cluster) -> None:
    setting = Setting(cluster)
    setting.tail.start()
    for number in range(1_000):
        setting.barrier.enter(str(number))
        if number % 100 == 0:
            await asyncio.sleep(0)
    assert [await setting.released.get() for _ in range(1_000)] == [str(number) for number in range(1_000)]
    setting.stop()


async def test_nothing_is_released_before_the_tail_reads(cluster: Cluster) -> None:
    setting = Setting(cluster)
    await setting.subscribe("c", "t")
    known = asyncio.Event()
    when_reached = setting.tail.when_reached

    def noted(ends: dict[int, int], reached: Callable[[], None]) -> None:
        when_reached(ends, reached)
        known.set()

    setting.tail.when_reached = noted  # type: ignore[method-assign]
    setting.barrier.enter("early")
    await known.wait()  # the end is known: one record, which the tail has not read
    assert setting.released.empty()
    setting.tail.start()
    assert await setting.released.get() == "early"
    setting.stop()


async def test_leftovers_are_this_nodes_live_subscriptions(cluster: Cluster) -> None:
    setting = Setting(cluster)
    await setting.subscribe("mine", "kept", node="gw1")
    await setting.subscribe("mine", "ended", node="gw1")
    await setting.unsubscribe("mine", "ended")
    await setting.subscribe("moved", "t", node="gw1")
    await setting.subscribe("moved", "t", node="gw2")
    setting.tail.start()
    await setting.caught_up()
    assert setting.tail.leftovers() == {b"mine\0kept"}
    assert not setting.tail.leftovers()
    setting.stop()


async def test_what_ends_or_is_said_to_be_elsewhere_is_told(cluster: Cluster) -> None:
    """For who has the client: a gateway that stood still may have said so long after it had lost it."""
    setting = Setting(cluster)
    setting.tail.start()
    await setting.subscribe("here", "t", node="gw1", kind=DEVICE_KIND)
    await setting.caught_up()
    assert setting.ended == []
    await setting.subscribe("here", "t", node="gw2", kind=DEVICE_KIND)
    await setting.unsubscribe("gone", "t")
    await setting.caught_up()
    assert setting.ended == [("here", "t"), ("gone", "t")]
    setting.stop()


async def test_what_ends_or_becomes_another_kind_is_no_longer_routed_to_the_client_itself(
    cluster: Cluster,
) -> None:
    setting = Setting(cluster)
    setting.tail.start()
    for client_id in ("stays", "leaves", "becomes clean"):
        await setting.subscribe(client_id, "t", qos=1, kind=DEVICE_KIND)
    await setting.unsubscribe("leaves", "t")
    await setting.caught_up()
    assert set(setting.fresh.match("t", 1)) == {
        RouteHit("t", "stays", DEVICE),
        RouteHit("t", "becomes clean", DEVICE),
    }
    await setting.subscribe("becomes clean", "t")
    await setting.caught_up()
    assert set(setting.fresh.match("t", 1)) == {RouteHit("t", "stays", DEVICE), RouteHit("t", "gw2", NODE)}
    setting.stop()


async def test_poison_is_counted_and_passed_over(cluster: Cluster) -> None:
    setting = Setting(cluster)
    for key, value in (
        (b"no separator", b"{}"),
        (b"c\0f", b"not json"),
        (b"\xff\0f", b"{}"),
        (b"c\0f", b'{"filter":1}'),
    ):
        await setting.append(key, value, "f")
    await setting.subscribe("c", "good")
    setting.tail.start()
    await setting.caught_up()
    assert setting.fresh.match("good", 0) == [RouteHit("good", "gw2")]
    assert setting.counters.poison_records == 4
    setting.stop()
