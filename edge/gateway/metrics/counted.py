"""The gateway's counters as Prometheus' counters: which is which, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily

from edge.gateway.counters import Counters

PREFIX = "sluicemq_gateway_"


@dataclass(frozen=True)
class Counted:
    """One metric, made of one counter, or of several that a label tells apart."""

    name: str
    """Without prefix and `_total`."""
    help: str
    counters: str | Mapping[str, str]
    """A field of `Counters`; or label value → field."""
    label: str = ""


COUNTED = (
    Counted(
        "connections_accepted", "Network connections accepted, past TLS and proxies' headers.", "connections"
    ),
    Counted(
        "connections_refused",
        "Network connections ended before MQTT.",
        {
            "limit": "connections_over_limit",
            "rate": "connections_over_rate",
            "handshake": "failed_handshakes",
        },
        "reason",
    ),
    Counted("clients_accepted", "MQTT connections accepted.", "connects"),
    Counted("clients_refused", "CONNECTs refused, for whatever reason.", "refused"),
    Counted(
        "clients_unauthorized",
        "Of these, clients that are blocked or have not proven in time who they are.",
        "unauthorized",
    ),
    Counted("clients_taken_over", "Connections ended by a newer one of the same client.", "takeovers"),
    Counted(
        "clients_disconnected_slow",
        "Clients disconnected since more waited for them than the limit.",
        "disconnected_slow",
    ),
    Counted("protocol_errors", "Connections ended for a breach of the protocol.", "protocol_errors"),
    Counted("publishes", "PUBLISH packets taken from clients.", "publishes"),
    Counted("publishes_durable", "Publishes at QoS 1 and 2 that Kafka has acknowledged.", "durable"),
    Counted(
        "publishes_refused",
        "Publishes refused, or dropped where MQTT has no word for it.",
        {
            "invalid": "refused_publishes",
            "topic": "forbidden_publishes",
            "unauthorized": "unauthorized_publishes",
            "rate": "publishes_over_rate",
            "delay": "delayed_refused",
        },
        "reason",
    ),
    Counted("publishes_dropped", "Publishes at QoS 0 dropped while Kafka stalled.", "dropped_publishes"),
    Counted(
        "delayed_messages",
        "Messages to be published later: taken from clients, and published when they were due.",
        {"accepted": "delayed_accepted", "published": "delayed_published"},
        "event",
    ),
    Counted("routed_records", "Records read from this gateway's downlink.", "routed_records"),
    Counted(
        "routed_records_dropped",
        "Records of a downlink or log that brought nobody anything.",
        {"repeated": "repeated_records", "unwanted": "unwanted_records", "poison": "poison_records"},
        "reason",
    ),
    Counted(
        "shared_messages",
        "Messages for share groups, by what this gateway did with them.",
        {
            "delivered": "shared_deliveries",
            "parked": "shared_parked",
            "dropped": "shared_dropped",
            "returned": "shared_returned",
            "application": "application_shared_deliveries",
        },
        "outcome",
    ),
    Counted("deliveries", "Messages sent to clients, or queued for them.", "deliveries"),
    Counted(
        "deliveries_dropped",
        "Messages that a client did not get.",
        {
            "slow": "dropped_slow",
            "rate": "dropped_over_rate",
            "too_large": "dropped_large",
            "expired": "dropped_expired",
        },
        "reason",
    ),
    Counted(
        "retained_copies",
        "Retained messages sent to new subscriptions, or kept for sessions.",
        "retained_copies",
    ),
    Counted(
        "retained_put_right",
        "Retained messages appended once more, since an older one came to stand behind them.",
        "retained_put_right",
    ),
)
"""All of them; each field of `Counters` stands in one."""


def families(counters: Counters) -> Iterator[CounterMetricFamily]:
    """The counters as they are now."""
    numbers = counters.as_dict()
    for counted in COUNTED:
        name = PREFIX + counted.name
        if isinstance(counted.counters, str):
            yield CounterMetricFamily(name, counted.help, value=numbers[counted.counters])
            continue
        family = CounterMetricFamily(name, counted.help, labels=[counted.label])
        for value, field in counted.counters.items():
            family.add_metric([value], numbers[field])
        yield family
