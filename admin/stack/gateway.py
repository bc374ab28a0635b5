"""A gateway as a part of the stack: `sluicemq gateway` in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from admin.errors import UsageError
from admin.stack.ports import free_ports, require_free
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


def gateway_addresses(count: int, host: str, port: int, websocket_port: int) -> list[MqttAddress]:
    """Return where so many gateways are to accept clients, after a look whether they could.

    Args:
        count: How many gateways.
        host: The address of all.
        port: Of the first gateway, the others follow it; 0 takes free ones.
        websocket_port: The same for MQTT over WebSocket.

    Raises:
        UsageError: A port is in use, or those for TCP and for WebSocket overlap.
    """
    wanted = [first + index for first in (port, websocket_port) if first for index in range(count)]
    if len(set(wanted)) < len(wanted):
        raise UsageError(
            f"The ports for TCP from {port} on and those for WebSocket from {websocket_port} on"
            f" overlap: with {count} gateways keep them {count} apart."
        )
    for one in wanted:
        require_free(host, one)
    free = iter([one for one in free_ports(2 * count) if one not in wanted])
    ports = [
        [first + index if first else next(free) for index in range(count)] for first in (port, websocket_port)
    ]
    return [
        MqttAddress(f"gw{number}", host, *pair) for number, pair in enumerate(zip(*ports, strict=True), 1)
    ]
