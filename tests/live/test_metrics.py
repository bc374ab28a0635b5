"""A scrape of each running part is what docs/metrics.md says, and its numbers are true."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.docs.metrics_page import families, page_label_values, page_metrics, scraped_metrics
from tests.live.conftest import Connecting
from tests.telemetry.scraping import Scrape

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]


def scrape_of(stack: Stack, part: str) -> Scrape:
    """Where a part serves; the sink is ready some time after the stack is."""
    stack.wait_ready(part, 300)
    return Scrape(stack.metrics[part].removesuffix("/metrics"))


def value(scrape: str, name: str, **labels: str) -> float:
    return next(
        sample.value
        for family in families(scrape)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def until(is_so: Callable[[], bool]) -> None:
    """Look again and again, for as long as the test may take."""
    while not is_so():
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("running", "part"),
    [("gw1", "gateway"), ("router", "router"), ("sink", "sink"), ("gw2", "process"), ("sink", "health")],
)
def test_the_page_has_what_a_scrape_gives(stack: Stack, running: str, part: str) -> None:
    scrape = scrape_of(stack, running)
    until(lambda: scrape.ready()[0] == 200)
    found, page = scraped_metrics(scrape.metrics(), part), page_metrics(part)
    if part == "process":  # router and sinks say something else than `node`
        found = {name: (kind, labels | {"sink"}) for name, (kind, labels) in found.items()}
        page = {name: ("gauge", labels) for name, (_, labels) in page.items()}
    optional = {"sluicemq_router_last_batch_duration_seconds", "sluicemq_router_last_batch_rows"}
    assert found.keys() - optional == page.keys() - optional
    for name, (kind, labels) in found.items():
        assert (kind, labels) == page[name], name
    values = page_label_values()
    for family in families(scrape.metrics()):
        for sample in family.samples:
            for label, shown in sample.labels.items():
                assert shown in values.get((sample.name, label), {shown})


async def test_numbers_are_true(stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str) -> None:
    scrape = scrape_of(stack, "gw1")
    names = ("publishes_total", "publishes_durable_total", "deliveries_total", "clients_accepted_total")
    before = {name: value(scrape.metrics(), f"sluicemq_gateway_{name}") for name in names}
    peer = await connect(gw1)
    await peer.subscribe(topic)
    for _ in range(10):
        await peer.publish(topic, "x", 1)
    await peer.take(10)
    text = scrape.metrics()
    for name in names:
        least = 1 if name.startswith("clients") else 10
        assert value(text, f"sluicemq_gateway_{name}") >= before[name] + least
    assert value(text, "sluicemq_gateway_connections") >= 1
    assert value(text, "sluicemq_gateway_subscriptions") >= 1
    assert value(text, "sluicemq_gateway_router_probe_latency_seconds_count") >= 1
    router = scrape_of(stack, "router").metrics()
    assert value(router, "sluicemq_router_generation") >= 1
    assert value(router, "sluicemq_router_queries_total") >= 1
    assert value(scrape_of(stack, "sink").metrics(), "sluicemq_process_info", part="sink") == 1


async def test_a_scrape_names_no_client(
    stack: Stack, connect: Connecting, gw1: MqttAddress, client_id: str, topic: str
) -> None:
    peer = await connect(gw1, client_id=client_id)
    await peer.subscribe(topic)
    for part in stack.metrics:
        text = scrape_of(stack, part).metrics()
        assert client_id not in text
        assert topic not in text
