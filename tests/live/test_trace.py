"""`sluicemq trace` shows a message's way through gateway, Kafka, router and another gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.properties import NO_PROPERTIES, Properties
from tests.live.conftest import Connecting
from tests.live.peers import within

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

STEPS = {"appended", "routed", "sent", "acknowledged"}
Steps = Callable[[], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def tracing(stack: Stack, *wanted: str) -> AsyncIterator[Steps]:
    """Run the command; what the block gets waits for the next step."""
    command = [
        sys.executable,
        "-m",
        "admin",
        "trace",
        "--kafka",
        stack.kafka,
        "--for",
        "10m",
        "--json",
        *wanted,
    ]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = process.stdout, process.stderr
    try:
        assert b"Ctrl-C ends it" in await within(errors.readline())

        async def step() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(await within(output.readline()))
            return found

        yield step
    finally:
        process.terminate()
        await process.communicate()


@pytest.mark.parametrize("is_kept", [False, True])
async def test_a_messages_way(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, is_kept: bool
) -> None:
    publisher = await connect(gw1)
    properties = Properties(session_expiry_interval=600) if is_kept else NO_PROPERTIES
    subscriber = await connect(gw2, properties=properties)
    await subscriber.subscribe(f"{topic}/#")
    async with tracing(stack, "--client", subscriber.client_id, "--topic", topic) as step:
        ways: dict[str, dict[str, dict[str, Any]]] = {}
        received: dict[str, dict[str, Any]] = {}
        whole = None
        while whole is None:  # the gateways hear of the trace in their own time
            await publisher.publish(topic, "not to be seen")
            await subscriber.take()
            with contextlib.suppress(TimeoutError):
                while whole is None:
                    found = await asyncio.wait_for(step(), 2)
                    if found["step"] == "received":
                        received[found["publish"]] = found
                        continue
                    if found["step"] == "routed" and found["filter"] != f"{topic}/#":
                        continue  # another test's subscription to everything has not ended yet
                    ways.setdefault(found["message"], {})[found["step"]] = found
                    whole = next((way for way in ways.values() if way.keys() >= STEPS), None)
    assert received[whole["appended"]["publish"]]["node"] == gw1.node
    assert whole["sent"]["node"] == gw2.node
    assert whole["sent"]["client"] == whole["acknowledged"]["client"] == subscriber.client_id
    wrote_to = "tbmq.msg.persisted" if is_kept else f"tbmq.msg.downlink.basic.{gw2.node}"
    assert whole["routed"]["kafka"]["topic"] == wrote_to
    assert "not to be seen" not in str(ways)
