"""All tests here run on both event loops, and leave no task and no descriptor behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop

from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.tls_clients import descriptors
from tests.live.peers import eventually


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Asyncio's own, and the one that gateways run on."""
    return {"asyncio": asyncio.SelectorEventLoop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
async def _nothing_left() -> AsyncIterator[None]:
    first = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    first.close()  # from a loop's first stream on, libuv has a descriptor in reserve
    await first.wait_closed()
    before = descriptors()
    yield
    await eventually(lambda: descriptors() <= before, "no descriptor is left")
    await eventually(lambda: len(asyncio.all_tasks()) == 1, "no task is left")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def settings(authority: Authority) -> dict[str, Any]:
    """Of the TLS listener alone."""
    own = authority.issue("server", is_server=True)
    return {
        "tcp_enabled": False,
        "tls_enabled": True,
        "tls_certificate": own.certificate,
        "tls_key": own.key,
    }
