"""`/health/ready` tells the truth when parts stand still, and when they go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from admin.stack.embedded import Stack
from tests.telemetry.scraping import Scrape

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]


@pytest.fixture
def going_on(stack: Stack) -> Iterator[Stack]:
    """The stack, whose parts go on at the end whatever happens."""
    yield stack
    for part in ("kafka", "router", "valkey"):
        stack.resume(part)
    for part in stack.metrics:
        until(lambda part=part: failing(stack, part) == set())  # type: ignore[misc]


def failing(stack: Stack, part: str) -> set[str]:
    """The checks of a part that fail; where several sinks share a process, whichever of them it is."""
    status, told = Scrape(stack.metrics[part].removesuffix("/metrics")).ready()
    down = {name for name, check in told["checks"].items() if check["status"] == "down"}
    assert (status == 503) == bool(down)
    assert all(told["checks"][name]["reason"] and told["checks"][name]["since"] for name in down)
    return {name.partition("-")[0] for name in down}


def until(is_so: Callable[[], bool]) -> None:
    """Look again and again, for as long as the test may take."""
    while not _is_so_now(is_so):
        time.sleep(0.2)


def _is_so_now(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except httpx.TransportError:
        return False  # it is being started again


def test_kafka_stands_still(going_on: Stack) -> None:
    until(lambda: not failing(going_on, "gw1") and not failing(going_on, "router"))
    going_on.pause("kafka")
    until(lambda: "kafka" in failing(going_on, "gw1"))
    until(lambda: "routing" in failing(going_on, "router"))
    until(lambda: "store" in failing(going_on, "sink"))
    going_on.resume("kafka")
    until(lambda: not failing(going_on, "gw1") and not failing(going_on, "router"))


def test_router_and_store_stand_still(going_on: Stack) -> None:
    until(lambda: not failing(going_on, "gw1") and not failing(going_on, "sink"))
    for part in ("router", "valkey"):
        going_on.pause(part)
    until(lambda: failing(going_on, "gw1") == {"router", "store"} and "store" in failing(going_on, "sink"))
    scrape = Scrape(going_on.metrics["gw1"].removesuffix("/metrics"))
    assert scrape.ready("?exclude=router&exclude=store")[0] == 200, "it takes messages"
    for part in ("router", "valkey"):
        going_on.resume(part)
    until(lambda: not failing(going_on, "gw1") and not failing(going_on, "sink"))
