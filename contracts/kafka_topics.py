"""The Kafka topics: names, partitions and settings. Nobody else spells a Kafka topic's name.

The names are those of TBMQ, so that an operator who comes from there finds them; the prefix is configurable.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.application_shares import share_target
from contracts.errors import ContractError, TopicError
from contracts.topics import parse_share

DEFAULT_PREFIX = "tbmq"
MAX_PACKET_BYTES = 1 << 20
"""The largest MQTT packet that a gateway may be configured to take, in bytes."""
MAX_PUBLISH_RECORD_BYTES = 2 << 20
"""`max.message.bytes` of `tbmq.msg.all`: a packet, its headers, and the in-band routes (at most 256 KiB of them)."""
MAX_ROUTED_RECORD_BYTES = 3 << 20
"""The same for routed records, which carry a filter (up to 64 KiB) and an id more. Larger by construction, so that no
record that Kafka once took can be too large for where the router sends it (I11)."""
MAX_SESSION_RECORD_BYTES = 3 << 20
"""The same for session events and their answers, which may name all filters of a SUBSCRIBE packet, or of a session."""

# Kafka allows 249 characters: a prefix of up to 100, the names below of up to 31, and a node id of up to 100.
NODE_ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
"""What a node id must match as a whole; plain enough to mean the same to Java's regular expressions."""
_NODE_ID = re.compile(NODE_ID_PATTERN)
_PLAIN_CLIENT_ID = re.compile(r"[A-Za-z0-9]{1,100}")
_HASH_PREFIX = "id-"  # holds a character that no plain client id has
_SETTING = re.compile(r"[a-z][a-z0-9.]*")
_DAY_MS = 86_400_000
_HOUR_MS = _DAY_MS // 24


@dataclass(frozen=True)
class KafkaTopic:
    """A Kafka topic as it must exist."""

    name: str
    partitions: int
    config: dict[str, str] = field(default_factory=dict)
    """Topic-level settings by Kafka's own names."""


@dataclass(frozen=True)
class KafkaTopics:
    """All names under one prefix, and the settings of each topic."""

    prefix: str = DEFAULT_PREFIX

    def __post_init__(self) -> None:
        if not _NODE_ID.fullmatch(self.prefix):
            raise ContractError(f"Kafka topic prefix {self.prefix!r}: use letters, digits, _ and - only")

    @property
    def publishes(self) -> str:
        """Every message that was ever published: the router's input."""
        return f"{self.prefix}.msg.all"

    @property
    def subscriptions(self) -> str:
        """Who wants what: compacted, the router's static side."""
        return f"{self.prefix}.client.subscriptions"

    def downlink(self, node: str) -> str:
        """Routed records for one gateway."""
        validate_node(node)
        return f"{self.prefix}.msg.downlink.basic.{node}"

    @property
    def downlink_prefix(self) -> str:
        """What `downlink` puts before the node's id; a plan appends the id with it."""
        return f"{self.prefix}.msg.downlink.basic."

    @property
    def persisted(self) -> str:
        """Messages for persistent clients, and what became of them: one log, from which each gateway delivers."""
        return f"{self.prefix}.msg.persisted"

    @property
    def retained(self) -> str:
        """The last retained message of each topic: compacted, read whole by every gateway."""
        return f"{self.prefix}.msg.retained"

    @property
    def shares(self) -> str:
        """Messages for share groups, one for each (message, group, filter); each partition has one dispatcher."""
        return f"{self.prefix}.msg.shared"

    @property
    def share_states(self) -> str:
        """How far each partition of `shares` is dispatched, and what is parked: compacted."""
        return f"{self.prefix}.msg.shared.state"

    @property
    def delayed(self) -> str:
        """Messages that are to be published later: compacted; each partition has one timekeeper, who publishes them."""
        return f"{self.prefix}.msg.delayed"

    def share_downlink(self, node: str) -> str:
        """Messages for members of share groups at one gateway.

        Apart from `downlink`, because dispatchers write it in transactions: when one dies, what stands behind its open
        transaction is held back for a while, and that must be nobody else's.
        """
        validate_node(node)
        return f"{self.prefix}.msg.downlink.shared.{node}"

    @property
    def sessions(self) -> str:
        """The state of persistent sessions: compacted, each partition written by its owner only."""
        return f"{self.prefix}.client.session"

    @property
    def session_requests(self) -> str:
        """What happens to sessions, in order; the owner of a partition decides."""
        return f"{self.prefix}.client.session.event.request"

    def session_responses(self, node: str) -> str:
        """Owners' answers to one gateway's events."""
        validate_node(node)
        return f"{self.prefix}.client.session.event.response.{node}"

    def disconnects(self, node: str) -> str:
        """Connections that one gateway is to end, because their session has moved."""
        validate_node(node)
        return f"{self.prefix}.client.disconnect.{node}"

    def application(self, client_id: str) -> str:
        """What comes for one persistent APPLICATION at QoS 1 and 2."""
        return self.application_prefix + application_suffix(client_id)

    @property
    def application_prefix(self) -> str:
        """What `application` puts before a client's suffix; a plan appends the suffix with it."""
        return f"{self.prefix}.msg.app."

    def application_share(self, filter: str) -> str:
        """The entity of a filter (without share prefix): what comes for the share groups of APPLICATIONs on it."""
        return self.application_share_prefix + share_target(filter)

    @property
    def application_share_prefix(self) -> str:
        """What `application_share` puts before the target; no `application` begins so, as none has another `.`."""
        return f"{self.prefix}.msg.app.shared."

    @property
    def removed_applications(self) -> str:
        """Applications whose Kafka topic is to be removed: compacted, each partition written by its owner only."""
        return f"{self.prefix}.sys.app.removed"

    @property
    def command_answers(self) -> str:
        """What became of administrators' commands: read from its end by every process of the administration."""
        return f"{self.prefix}.sys.admin.response"

    @property
    def historical(self) -> str:
        """What each gateway has counted, at a steady interval."""
        return f"{self.prefix}.sys.historical.data"

    @property
    def traces(self) -> str:
        """Which clients and topics are to be traced, for how long: read by every gateway."""
        return f"{self.prefix}.sys.trace"

    @property
    def trace_steps(self) -> str:
        """What gateways have seen of messages that are traced."""
        return f"{self.prefix}.sys.trace.steps"

    @property
    def states(self) -> str:
        """What each gateway and the router say of themselves, every few seconds: compacted."""
        return f"{self.prefix}.sys.state"

    def shared(
        self,
        publish_partitions: int = 4,
        subscription_partitions: int = 2,
        session_partitions: int = 4,
        persisted_partitions: int = 4,
        share_partitions: int = 4,
        retained_partitions: int = 4,
    ) -> list[KafkaTopic]:
        """The topics that a cluster has once.

        Args:
            publish_partitions: Of `publishes`, of which the router needs a task slot for each, and of `delayed`.
            subscription_partitions: Of `subscriptions`.
            session_partitions: Of `sessions`, `session_requests` and `removed_applications`: what is known of a client
                stands in the partition that has the number of its events' partition, so all have as many.
            persisted_partitions: Of `persisted`. To change it later would move clients to other partitions.
            share_partitions: Of `shares` and `share_states`. To change it later would move groups to others.
            retained_partitions: Of `retained`. To change it later would give a topic two partitions.
        """
        # A tombstone is kept for a day: a gateway or reader that was away for less reads it before it goes.
        compacted = {"cleanup.policy": "compact", "delete.retention.ms": str(_DAY_MS)}
        session_bytes = {"max.message.bytes": str(MAX_SESSION_RECORD_BYTES)}
        return [
            KafkaTopic(
                self.publishes,
                publish_partitions,
                {"max.message.bytes": str(MAX_PUBLISH_RECORD_BYTES), "retention.ms": str(7 * _DAY_MS)},
            ),
            KafkaTopic(self.subscriptions, subscription_partitions, compacted),
            # A persistent client that stays away for longer than this loses what came for it before.
            KafkaTopic(
                self.persisted,
                persisted_partitions,
                {"max.message.bytes": str(MAX_ROUTED_RECORD_BYTES), "retention.ms": str(7 * _DAY_MS)},
            ),
            KafkaTopic(
                self.shares,
                share_partitions,
                {"max.message.bytes": str(MAX_ROUTED_RECORD_BYTES), "retention.ms": str(7 * _DAY_MS)},
            ),
            KafkaTopic(
                self.delayed,
                publish_partitions,
                compacted | {"max.message.bytes": str(MAX_PUBLISH_RECORD_BYTES)},
            ),
            KafkaTopic(self.share_states, share_partitions, compacted | session_bytes),
            # Compaction keeps the newest record of a topic, which need not be the one that counts: the lag gives the
            # gateways time to append that one again. What is not compacted, a gateway that starts reads for nothing: so
            # segments, of which the last never is, are small.
            KafkaTopic(
                self.retained,
                retained_partitions,
                compacted
                | {
                    "max.message.bytes": str(MAX_ROUTED_RECORD_BYTES),
                    "min.compaction.lag.ms": str(_HOUR_MS),
                    "segment.bytes": str(64 << 20),
                },
            ),
            KafkaTopic(self.sessions, session_partitions, compacted | session_bytes),
            KafkaTopic(
                self.session_requests, session_partitions, session_bytes | {"retention.ms": str(_DAY_MS)}
            ),
            KafkaTopic(self.removed_applications, session_partitions, compacted),
            self.of_commands(),
            # A record a minute and gateway: one partition is ample.
            KafkaTopic(self.historical, 1, {"retention.ms": str(7 * _DAY_MS)}),
            # A trace is looked at while it runs, and runs for an hour at most.
            KafkaTopic(self.traces, 1, {"retention.ms": str(_HOUR_MS)}),
            KafkaTopic(self.trace_steps, 1, {"retention.ms": str(_HOUR_MS)}),
            # Whoever looks reads all of it: so segments, of which the last is never compacted, are small.
            KafkaTopic(
                self.states,
                1,
                compacted | {"segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.1"},
            ),
        ]

    def of_node(self, node: str) -> list[KafkaTopic]:
        """The topics of one gateway; it creates them itself when it starts, before it takes a client."""
        # One partition keeps a message's records together; an hour is ample for what is read at once or never.
        routed = {"max.message.bytes": str(MAX_ROUTED_RECORD_BYTES), "retention.ms": str(_HOUR_MS)}
        answers = {"max.message.bytes": str(MAX_SESSION_RECORD_BYTES), "retention.ms": str(_HOUR_MS)}
        return [
            KafkaTopic(self.downlink(node), 1, routed),
            KafkaTopic(self.share_downlink(node), 1, routed),
            KafkaTopic(self.session_responses(node), 1, answers),
            KafkaTopic(self.disconnects(node), 1, {"retention.ms": str(_HOUR_MS)}),
        ]

    def of_commands(self) -> KafkaTopic:
        """The topic of `command_answers`; whoever needs it in a cluster that has not got it yet creates it."""
        return KafkaTopic(self.command_answers, 1, {"retention.ms": str(_HOUR_MS)})

    def of_application(self, client_id: str, properties: Mapping[str, str] | None = None) -> KafkaTopic:
        """The topic of one APPLICATION; the gateway where its session begins creates it.

        Args:
            client_id: Whose.
            properties: Topic-level settings beside or instead of the default, which is to keep messages for 7 days.
                What Kafka takes must not be less than what the router writes (I11).
        """
        return KafkaTopic(self.application(client_id), 1, _application_config(properties))

    def of_application_share(
        self, filter: str, partitions: int = 4, properties: Mapping[str, str] | None = None
    ) -> KafkaTopic:
        """The entity of a filter; whoever operates the cluster creates it, before anybody can subscribe.

        Args:
            filter: Without share prefix.
            partitions: How many gateways can dispatch it at once. It must not change later: a source partition stays
                in one of them.
            properties: As for `of_application`.
        """
        return KafkaTopic(self.application_share(filter), partitions, _application_config(properties))


def _application_config(properties: Mapping[str, str] | None) -> dict[str, str]:
    config = {"retention.ms": str(7 * _DAY_MS)} | dict(properties or {})
    largest = config.get("max.message.bytes", "")
    if not largest.isdecimal() or int(largest) < MAX_ROUTED_RECORD_BYTES:
        config["max.message.bytes"] = str(MAX_ROUTED_RECORD_BYTES)
    return config


def validate_node(node: str) -> None:
    """Check a gateway's node id, which becomes part of Kafka topic names.

    Raises:
        ContractError: It has other characters than letters, digits, `_`, `-`, or more than 100.
    """
    if not _NODE_ID.fullmatch(node):
        raise ContractError(
            f"node id {node!r}: use 1 to 100 letters, digits, _ and -, beginning with a letter or digit"
        )


def is_plain_client_id(client_id: str) -> bool:
    """Whether a client id may be part of a Kafka topic's name as it is: 1 to 100 letters and digits."""
    return _PLAIN_CLIENT_ID.fullmatch(client_id) is not None


def application_suffix(client_id: str) -> str:
    """What stands for a client in the name of its Kafka topic: the id, or `id-` and a hash of it.

    No two clients have one suffix: a plain id holds no `-`, and SHA-256 has no known collision, also not in the 128
    bits that are taken. A suffix is of the form of a node id, so whoever checks one checks both.
    """
    if is_plain_client_id(client_id):
        return client_id
    return _HASH_PREFIX + hashlib.sha256(client_id.encode()).hexdigest()[:32]


def parse_topic_properties(text: str) -> dict[str, str]:
    """Topic-level settings from `name:value;name:value`, as TBMQ writes them.

    Raises:
        ContractError: It is not of that form.
    """
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, colon, value = part.partition(":")
        if not colon or not _SETTING.fullmatch(name.strip()) or not value.strip():
            raise ContractError(
                f"topic property {part!r}: write name:value;name:value, names as Kafka has them"
            )
        found[name.strip()] = value.strip()
    return found


def subscription_partition(filter: str, partitions: int) -> int:
    """The partition of `tbmq.client.subscriptions` where a filter's records stand, whoever subscribes.

    By the filter without its share prefix, not by the client: all rows of one filter meet in one reader, which makes
    (filter, node) distinct without a shuffle, and finds all members of a share group (docs/adr).
    """
    try:
        share = parse_share(filter)
    except TopicError:
        share = None
    return zlib.crc32((share.filter if share else filter).encode()) % partitions
