"""Live tests: the session's shared stack, and clients that are gone when their test is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import psutil
import pytest
from playwright.sync_api import Browser

from admin.stack.administration import Administration
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.browser import running_browser
from tests.live.consoles import administered
from tests.live.peers import Peer

Connecting = Callable[..., Awaitable[Peer]]
"""As `Peer.connect`."""


@pytest.fixture(scope="module")
def administration(stack: Stack) -> Administration:
    """Where the stack's console is; it answers."""
    return administered(stack)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of a module."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def gw1(stack: Stack) -> MqttAddress:
    """The first gateway of the shared stack."""
    return stack.mqtt[0]


@pytest.fixture
def gw2(stack: Stack) -> MqttAddress:
    """The second."""
    return stack.mqtt[1]


@pytest.fixture
async def connect() -> AsyncIterator[Connecting]:
    """Connect clients, which are dropped at the test's end."""
    peers: list[Peer] = []

    async def connect_one(*args: object, **fields: object) -> Peer:
        peers.append(await Peer.connect(*args, **fields))  # type: ignore[arg-type]
        return peers[-1]

    yield connect_one
    for peer in peers:
        peer.client.drop()


@pytest.fixture
def topic(unique: Callable[[str], str]) -> str:
    """A topic of two levels that no other test has."""
    return f"{unique('t')}/x"


@pytest.fixture
def client_id(unique: Callable[[str], str]) -> str:
    """An id that nobody else has."""
    return unique("device")


@pytest.fixture
def stack_rss(stack: Stack) -> Callable[[str], int]:
    """Tell the resident memory of a part, in bytes."""
    return lambda part: int(psutil.Process(stack.pid(part)).memory_info().rss)
