"""Fixtures that all live tests share: one Kafka broker for the whole session, and names that nobody else has."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, settings

from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.kafka import running_kafka
from tests.sharing import ByWhatIsShared, turn

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# A test's JVMs end before the second compiler has given back what it takes: half of what a router needs to start.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class LiveKafka:
    """A real broker that takes clients."""

    bootstrap: str
    """HOST:PORT"""
    pid: int


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveKafka]:
    """One broker for the whole session, on random ports. Tests share it: take a prefix of your own for topics."""
    with running_kafka(tmp_path_factory.mktemp("kafka")) as (broker, supervisor):
        yield LiveKafka(broker.bootstrap, supervisor.pid("kafka"))


@pytest.fixture(scope="session")
def mock_kafka() -> Iterator[str]:
    """A Kafka of librdkafka's own, in this process; its address. No JVM, and topics are there when they are asked for.

    Tests share it: take a prefix of your own for topics. Nobody can create one by hand.
    """
    keeper = Producer({"bootstrap.servers": "ignored", "test.mock.num.brokers": 1, "log_level": 2})
    [broker] = keeper.list_topics(timeout=60).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del keeper


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole broker with gateways `gw1` and `gw2`. A test that kills a part waits until it is back."""
    options = StackOptions(
        tmp_path_factory.mktemp("stack"),
        gateways=2,
        administration=True,
        gateway_settings={
            "SLUICEMQ_APPLICATION_CLIENTS": "app.*",
            "SLUICEMQ_SHARE_STRATEGIES": "by-topic=hash_topic;by-client=hash_clientid;stuck=sticky;near=local",
            "SLUICEMQ_SYS_INTERVAL_SEC": "5",
            "SLUICEMQ_HISTORICAL_INTERVAL_SEC": "2",
            "SLUICEMQ_EXCLUSIVE_SUBSCRIPTIONS": "true",
        },
    )
    with embedded_stack(options) as stack:
        yield stack


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByWhatIsShared:
    """Have it used."""
    return ByWhatIsShared(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests: with one process those on a whole stack come last, for an idle stack would slow all others down.

    With several they come first, for they take longest; and what needs Kafka comes before what needs nothing.
    """
    processes = int(getattr(config, "workerinput", {}).get("workercount", 0))

    def order(item: pytest.Item) -> tuple[int, bool, bool]:
        on_stack = "stack" in getattr(item, "fixturenames", ())
        own_turn = (
            turn(item.nodeid, item.get_closest_marker("live") is not None, processes) if processes else 0
        )
        return own_turn, on_stack, on_stack and "failures" not in item.path.parts

    items.sort(key=order)


_numbers = itertools.count(1)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Make names that no other test and no other run has used, for Kafka topics, prefixes, nodes and client ids."""
    return lambda name: f"{name}-{os.getpid()}-{next(_numbers)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show why a test failed that was right when it was tried again (`--reruns`, in CI)."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
