"""What a gateway counts, over its life."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counters:
    """Plain numbers; each is written by one thread, the event loop's but where told otherwise."""

    connections: int = 0
    """TCP connections accepted, and past TLS and proxies' headers where there are any."""
    connections_over_limit: int = 0
    """TCP connections closed at once since their listener had as many as it may."""
    connections_over_rate: int = 0
    """TCP connections closed at once since their address had opened as many as it may in a time."""
    failed_handshakes: int = 0
    """TCP connections that ended before MQTT: no TLS, no certificate, no PROXY header, or not in time."""
    connects: int = 0
    """MQTT connections accepted."""
    refused: int = 0
    """CONNECTs refused."""
    unauthorized: int = 0
    """Of these, since the client is blocked, or has not proven in time who it is."""
    takeovers: int = 0
    """Connections ended by a newer one of the same client."""
    protocol_errors: int = 0
    """Connections ended for a breach of the protocol."""
    publishes: int = 0
    """PUBLISH packets taken from clients."""
    durable: int = 0
    """QoS 1 and 2 publishes acknowledged by Kafka."""
    refused_publishes: int = 0
    """Publishes that Kafka can't take, or that are not the text that they say they are, refused to their publisher."""
    forbidden_publishes: int = 0
    """Publishes on topics that clients may not publish to, refused or dropped."""
    unauthorized_publishes: int = 0
    """Publishes that their clients' rules do not allow, refused or dropped."""
    publishes_over_rate: int = 0
    """Publishes above their client's rate, or that of all clients, refused or dropped."""
    delayed_accepted: int = 0
    """Publishes taken that are to be published later."""
    delayed_refused: int = 0
    """The same refused or dropped: the interval or the topic is invalid, or too many wait."""
    delayed_published: int = 0
    """Delayed messages that this gateway published when they were due; its thread counts these."""
    dropped_publishes: int = 0
    """QoS 0 publishes dropped while Kafka stalled."""
    routed_records: int = 0
    """Records read from this node's downlink."""
    repeated_records: int = 0
    """Of these, dropped as repeats."""
    unwanted_records: int = 0
    """Of these, dropped since no client here holds their filter any more."""
    shared_deliveries: int = 0
    """Messages for share groups that this gateway, as their dispatcher, gave to a member; its thread counts these."""
    shared_parked: int = 0
    """Of its groups', parked until a member is back."""
    shared_dropped: int = 0
    """Of its groups', dropped since there was no member."""
    shared_returned: int = 0
    """Messages for a member of a share group that was gone from here, given back to the group."""
    application_shared_deliveries: int = 0
    """Messages for share groups of persistent APPLICATIONs that this gateway gave to one of those that are here."""
    poison_records: int = 0
    """Records read from Kafka that are not of the documented form, skipped."""
    deliveries: int = 0
    """Messages sent, or queued, to clients."""
    retained_copies: int = 0
    """Retained messages sent to new subscriptions, or kept for sessions that outlive their connections."""
    retained_put_right: int = 0
    """Retained messages appended once more, since an older one came to stand behind them."""
    dropped_slow: int = 0
    """QoS 0 deliveries dropped since the client's socket takes no more."""
    dropped_over_rate: int = 0
    """QoS 0 deliveries dropped since they were above their client's rate, or that of all clients."""
    dropped_large: int = 0
    """Deliveries dropped as larger than the client's Maximum Packet Size."""
    dropped_expired: int = 0
    """Deliveries dropped since their Message Expiry Interval had passed."""
    disconnected_slow: int = 0
    """Clients disconnected since more QoS 1 and 2 messages waited for them than the limit."""

    def as_dict(self) -> dict[str, int]:
        """All numbers by name."""
        return asdict(self)
