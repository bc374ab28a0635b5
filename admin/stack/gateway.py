"""A gateway as a part of the stack: `sluicemq gateway` in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from admin.stack.supervisor import Part

LISTENING = "LISTENING"
"""The mark of a gateway that accepts clients, followed by JSON."""
ROUTED = "ROUTED"
"""The mark of a gateway whose probes came back through the router from every partition, followed by JSON."""
SECONDS_TO_START = 180.0
"""A gateway is up in a second; its first probes wait for the router."""


@dataclass(frozen=True)
class MqttAddress:
    """Where a gateway accepts MQTT clients."""

    node: str
    host: str
    port: int
    """Of MQTT over TCP."""
    websocket_port: int | None = None
    """Of MQTT over WebSocket, where it is accepted."""


def gateway_part(
    address: MqttAddress, kafka: str, store: str | None = None, settings: Mapping[str, str] | None = None
) -> Part:
    """Describe a gateway.

    Args:
        address: Where it accepts clients.
        kafka: Bootstrap servers.
        store: The store's URL; with one it has sessions that outlive their connections.
        settings: Further settings, by the names of environment variables that docs/configuration.md lists.
    """
    command = [sys.executable, "-m", "admin", "gateway", "--node", address.node, "--kafka", kafka]
    command += ["--listen", f"{address.host}:{address.port}"]
    if address.websocket_port is not None:
        command += ["--listen-ws", f"{address.host}:{address.websocket_port}"]
    environment = {"PYTHONUNBUFFERED": "1", **(settings or {})}
    if store is not None:  # not on the command line, which everybody on the machine can read
        environment["SLUICEMQ_PERSISTENCE_STORE"] = store
    return Part(address.node, command, marks=(LISTENING, ROUTED), environment=environment)
