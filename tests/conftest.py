"""Fixtures that all live tests share: one Kafka broker for the whole session, and names that nobody else has."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.kafka import running_kafka

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")


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
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole broker with gateways `gw1` and `gw2`. A test that kills a part waits until it is back."""
    options = StackOptions(
        tmp_path_factory.mktemp("stack"),
        gateways=2,
        gateway_settings={"SLUICEMQ_APPLICATION_CLIENTS": "app.*"},
    )
    with embedded_stack(options) as stack:
        yield stack


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, and keep together what shares something that takes long to start.

    In one process, tests on a whole stack come last, for an idle stack would slow all others down. With several (`-n`)
    they come first, and have one process to themselves, as do those on Spark: they take longest.
    """
    is_parallel = hasattr(config, "workerinput")

    def order(item: pytest.Item) -> tuple[int, bool]:
        group = _group(item)
        item.add_marker(pytest.mark.xdist_group(group))
        place = {"stack": 0, "spark": 1}.get(group, 2) if is_parallel else int(group == "stack")
        return place, group == "stack" and "failures" not in item.path.parts

    items.sort(key=order)


def _group(item: pytest.Item) -> str:
    fixtures = getattr(item, "fixturenames", ())
    return next((name for name in ("stack", "spark") if name in fixtures), str(item.path))


_numbers = itertools.count(1)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Make names that no other test and no other run has used, for Kafka topics, prefixes, nodes and client ids."""
    return lambda name: f"{name}-{os.getpid()}-{next(_numbers)}"
