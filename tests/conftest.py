"""Fixtures that all live tests share: one Kafka broker for the whole session, and names that nobody else has."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.kafka import running_kafka


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on a whole stack come last, those that break theirs first: idle stacks would slow all others down."""

    def order(item: pytest.Item) -> tuple[bool, bool]:
        is_live = "stack" in getattr(item, "fixturenames", ())
        return is_live, is_live and "failures" not in item.path.parts

    items.sort(key=order)


_numbers = itertools.count(1)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Make names that no other test and no other run has used, for Kafka topics, prefixes, nodes and client ids."""
    return lambda name: f"{name}-{os.getpid()}-{next(_numbers)}"
