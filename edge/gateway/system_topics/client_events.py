"""That a client has come or gone, as a topic and JSON; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts import json_text
from edge.gateway.system_topics.values import BROKERS
from edge.mqtt.reason_codes import ReasonCode

_ENCODED = str.maketrans({"%": "%25", "/": "%2F", "+": "%2B", "#": "%23"})
_REASONS = {
    ReasonCode.NORMAL_DISCONNECTION: "normal",
    ReasonCode.SESSION_TAKEN_OVER: "takenover",
    ReasonCode.ADMINISTRATIVE_ACTION: "kicked",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One connection of a client."""

    client_id: str
    user_name: str | None
    address: str
    """The host that it comes from."""
    protocol: int
    """MQTT level: 3, 4 or 5."""
    keep_alive: int
    """Seconds, as the client asked for."""
    clean_start: bool
    expiry: int
    """Seconds that its session outlives the connection."""
    connected_at_ms: int

    def topic(self, node: str, event: str) -> str:
        """The topic that an event is told under; a client id's characters that a level can't have are %-encoded."""
        return f"{BROKERS}/{node}/clients/{self.client_id.translate(_ENCODED)}/{event}"

    def connected(self) -> bytes:
        """The payload when it has come."""
        more = {
            "keepalive": self.keep_alive,
            "clean_start": self.clean_start,
            "expiry_interval": self.expiry,
            "connack": 0,
        }
        return self._payload(self.connected_at_ms, more)

    def disconnected(self, reason: int | None, at_ms: int) -> bytes:
        """The payload when it has gone.

        Args:
            reason: The MQTT 5 reason code; None when the network connection just ended.
            at_ms: When, ms since 1970.
        """
        return self._payload(at_ms, {"disconnected_at": at_ms, "reason": word(reason)})

    def _payload(self, at_ms: int, more: dict[str, Any]) -> bytes:
        found = {
            "clientid": self.client_id,
            "username": self.user_name,
            "ipaddress": self.address,
            "proto_name": "MQIsdp" if self.protocol == 3 else "MQTT",
            "proto_ver": self.protocol,
            "connected_at": self.connected_at_ms,
            "ts": at_ms,
        }
        return json_text.dump(found | more).encode()


def word(reason: int | None) -> str:
    """Why a connection ended, in a word."""
    if reason is None:
        return "tcp_closed"
    try:
        known = ReasonCode(reason)
    except ValueError:
        return f"0x{reason:02x}"
    return _REASONS.get(known, known.name.lower())
