"""What can go wrong in the MQTT core.

The tree::

    ProtocolError
    ├── LocalProtocolError    our own bug: raises out of the core, to the caller of the command
    └── RemoteProtocolError   the peer's fault: never leaves the core; it becomes a CONNACK or DISCONNECT
                              with its reason code (or a bare close) and a ``ConnectionEnded`` event

This module must never import anything that reads or writes packets.
"""

from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode


class ProtocolError(Exception):
    """The rules of MQTT were broken, by one side or the other."""


class LocalProtocolError(ProtocolError):
    """Our side asked for something that MQTT does not allow (a bug in the caller)."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that MQTT does not allow.

    Args:
        reason_code: The MQTT 5.0 reason code that names the fault.
        message: One sentence for the peer's developer; sent as the Reason String where there is room.
    """

    def __init__(self, reason_code: ReasonCode, message: str) -> None:
        super().__init__(message)
        self.reason_code = reason_code
        self.message = message
        self.version: ProtocolVersion | None = None
        """The version to answer in, set only when reading a CONNECT fails (before it nothing is agreed)."""


def malformed(message: str) -> RemoteProtocolError:
    """An error for a packet that cannot be parsed (0x81)."""
    return RemoteProtocolError(ReasonCode.MALFORMED_PACKET, message)


def violation(message: str) -> RemoteProtocolError:
    """An error for a packet that parses but breaks a rule (0x82)."""
    return RemoteProtocolError(ReasonCode.PROTOCOL_ERROR, message)
