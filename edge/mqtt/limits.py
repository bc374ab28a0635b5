"""What the two halves of a connection allow; plain numbers, each with its reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What a server allows; one object for all its connections."""

    maximum_packet_size: int = 65_536
    """The largest packet in bytes that is read, with its fixed header."""
    receive_maximum: int = 1_000
    """QoS 1 and 2 messages that an MQTT 5.0 client may have under way towards us."""
    topic_alias_maximum: int = 10
    """The highest topic alias that is accepted; 0 switches them off."""
    sent_topic_aliases: int = 10
    """Topics that we replace by aliases on a connection whose client allows so many; 0 for none."""
    check_payload_format: bool = False
    """Whether a will that says it is UTF-8 text, and is not, is refused with its CONNECT."""
    response_information: str | None = None
    """What response topics are to start with, told to clients that ask; the client id stands for `${clientid}`."""
    maximum_in_flight: int = 1_000
    """Deliveries under way towards the client, whatever larger number it allows."""
    maximum_queued: int = 1_000
    """Messages that wait behind those."""
    maximum_queued_bytes: int = 1_048_576
    """Bytes of topics and payloads that wait behind those."""
    maximum_held_bytes: int = 65_536
    """Bytes that a client may send between its CONNECT and our answer."""
    keep_alive_cap: int = 600
    """The longest keep alive in seconds for MQTT 5.0, announced when it changes the client's; 0 switches it off."""
    connect_timeout: float = 10.0
    """Seconds from the connection's start to a complete CONNECT."""
    strict_3_1_client_id: bool = True
    """Whether MQTT 3.1 clients are held to ids of 1 to 23 characters."""


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What a client allows itself; what it allows the server stands in its CONNECT."""

    maximum_in_flight: int = 65_535
    """Deliveries under way towards the server, whatever larger number it allows."""
    maximum_queued: int = 1_000_000
    """Messages that wait behind those."""
    maximum_queued_bytes: int = 268_435_456
    """Bytes of topics and payloads that wait behind those."""
    confirms_at_once: bool = False
    """Whether messages are acknowledged as they come, without ``confirm_publish``."""
