"""How long sessions may outlive their connections. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.session_event import NEVER
from edge.mqtt.packets import Connect
from edge.mqtt.protocol import ProtocolVersion


@dataclass(frozen=True)
class Longest:
    """Seconds at most; `NEVER` for any time."""

    named: int = NEVER
    """Where MQTT 5 clients name a time."""
    unnamed: int = NEVER
    """Where MQTT 3.x clients can name none."""

    def of_connect(self, packet: Connect) -> int:
        """How long the session that a CONNECT asks for may outlive its connection."""
        if packet.version is ProtocolVersion.V5:
            return min(packet.properties.session_expiry_interval or 0, self.named)
        return 0 if packet.clean_start else self.unnamed
