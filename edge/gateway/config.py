"""The gateway's settings: command line first, then the environment by TBMQ's names, then the defaults."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from contracts.kafka_topics import (
    DEFAULT_PREFIX,
    MAX_PACKET_BYTES,
    KafkaTopics,
    parse_topic_properties,
    validate_node,
)
from edge.gateway.access.settings import AccessSettings
from edge.gateway.applications.client_types import ClientTypes
from edge.gateway.environment import env
from edge.gateway.limits.settings import LimitSettings
from edge.gateway.listeners.settings import ListenerSettings
from edge.gateway.mqtt_settings import MqttSettings
from edge.gateway.shares.strategies import Strategies, parse_strategies, parse_strategy
from edge.gateway.topic_settings import TopicSettings
from edge.mqtt.limits import ServerLimits
from telemetry.addresses import parse_listen


class GatewayConfig(AccessSettings, ListenerSettings, MqttSettings, TopicSettings, LimitSettings):
    """Everything that one gateway process needs to know."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    node: Annotated[str, Field(validation_alias=env("TB_SERVICE_ID", "node"))]
    """This gateway's id in the cluster: stable over restarts, unlike any other's."""
    kafka: Annotated[str, Field(validation_alias=env("TB_KAFKA_SERVERS", "kafka"))]
    """Kafka bootstrap servers, `host:port,host:port`."""
    host: Annotated[str, Field(validation_alias=env("LISTENER_TCP_BIND_ADDRESS", "host"))] = "127.0.0.1"
    """Address to listen on. Loopback unless told otherwise, since nobody is asked who it is by default."""
    port: Annotated[int, Field(ge=0, le=65535, validation_alias=env("LISTENER_TCP_BIND_PORT", "port"))] = 1883
    """TCP port; 0 takes a free one, which the LISTENING line tells."""
    topic_prefix: Annotated[str, Field(validation_alias=env("TB_KAFKA_TOPIC_PREFIX", "topic_prefix"))] = (
        DEFAULT_PREFIX
    )
    """First part of all Kafka topic names."""
    max_packet_size: Annotated[
        int,
        Field(ge=256, le=MAX_PACKET_BYTES, validation_alias=env("NETTY_MAX_PAYLOAD_SIZE", "max_packet_size")),
    ] = 65_536
    """Largest packet taken, in bytes; announced to MQTT 5 clients. At most 1 MiB (what the Kafka topics take)."""
    max_in_flight: Annotated[
        int, Field(ge=1, le=65_535, validation_alias=env("MQTT_MAX_IN_FLIGHT_MSGS", "max_in_flight"))
    ] = 1_000
    """Unacknowledged QoS 1 and 2 messages per client and direction; announced as Receive Maximum."""
    max_queued: Annotated[int, Field(ge=0, validation_alias=env("MQTT_MAX_QUEUED_MSGS", "max_queued"))] = (
        10_000
    )
    """QoS 1 and 2 messages that wait for a client's window; a client that lets more gather is disconnected."""
    max_queued_bytes: Annotated[
        int, Field(ge=0, validation_alias=env("MQTT_MAX_QUEUED_BYTES", "max_queued_bytes"))
    ] = 16 << 20
    """The same in bytes of payload."""
    max_unsent_bytes: Annotated[
        int, Field(ge=65_536, validation_alias=env("MQTT_MAX_UNSENT_BYTES", "max_unsent_bytes"))
    ] = 1 << 20
    """Bytes that wait for a client's socket before QoS 0 messages to it are dropped."""
    max_held_bytes: Annotated[
        int, Field(ge=65_536, validation_alias=env("MQTT_MAX_HELD_BYTES", "max_held_bytes"))
    ] = 64 << 20
    """Bytes of publishes, over all clients, that wait for Kafka before reading from publishers pauses."""
    keep_alive_max: Annotated[
        int, Field(ge=1, le=65_535, validation_alias=env("MQTT_KEEP_ALIVE_MAX_SEC", "keep_alive_max"))
    ] = 600
    """Longest keep alive of an MQTT 5 client, in seconds; announced as Server Keep Alive."""
    topic_alias_max: Annotated[
        int, Field(ge=0, le=65_535, validation_alias=env("MQTT_TOPIC_ALIAS_MAX", "topic_alias_max"))
    ] = 10
    """Topic aliases that an MQTT 5 publisher may use."""
    connect_timeout: Annotated[
        float, Field(gt=0, validation_alias=env("MQTT_CONNECT_TIMEOUT_SEC", "connect_timeout"))
    ] = 10.0
    """Seconds that a new connection has to send its CONNECT."""
    probe_interval: Annotated[
        float, Field(gt=0, validation_alias=env("SLUICEMQ_PROBE_INTERVAL_SEC", "probe_interval"))
    ] = 1.0
    """Seconds between probes while fresh routes are carried; ten times that otherwise."""

    metrics_listen: Annotated[
        tuple[str, int] | None,
        NoDecode,
        Field(validation_alias=env("SLUICEMQ_METRICS_LISTEN", "metrics_listen")),
    ] = None
    """Where metrics and health are served, HOST:PORT; None: nowhere."""

    session_timeout: Annotated[
        float,
        Field(ge=1.0, le=300.0, validation_alias=env("SLUICEMQ_SESSION_TIMEOUT_SEC", "session_timeout")),
    ] = 6.0
    """Seconds without a sign of life after which a gateway's sessions are free for others; Kafka's least is 6."""
    persistence_store: Annotated[
        str | None, Field(validation_alias=env("SLUICEMQ_PERSISTENCE_STORE", "persistence_store"))
    ] = None
    """URL of the store for messages to clients that are away; without one, sessions end with their connection."""

    application_clients: Annotated[
        str | None, Field(validation_alias=env("SLUICEMQ_APPLICATION_CLIENTS", "application_clients"))
    ] = None
    """A regular expression: clients whose whole id it matches are APPLICATIONs, all others DEVICEs."""
    application_id_validation: Annotated[
        bool,
        Field(validation_alias=env("TB_APP_PERSISTED_MSG_CLIENT_ID_VALIDATION", "application_id_validation")),
    ] = True
    """Whether an APPLICATION whose id has other characters than letters and digits gets a Kafka topic that is named by
    a hash of it. Off: it gets none, and its session ends with its connection."""
    application_topic_properties: Annotated[
        str,
        Field(
            validation_alias=env(
                "TB_KAFKA_APP_PERSISTED_MSG_TOPIC_PROPERTIES", "application_topic_properties"
            )
        ),
    ] = ""
    """Settings of the Kafka topics of APPLICATIONs, `name:value;name:value`."""
    application_replay_rate: Annotated[
        float,
        Field(ge=0, validation_alias=env("SLUICEMQ_APPLICATION_REPLAY_RATE", "application_replay_rate")),
    ] = 0.0
    """Messages a second at which an APPLICATION that comes back is given what has gathered for it; 0 for any number."""
    app_removal_delay: Annotated[
        float, Field(ge=0, validation_alias=env("SLUICEMQ_APP_REMOVAL_DELAY_SEC", "app_removal_delay"))
    ] = 600.0
    """Seconds for which the Kafka topic of an APPLICATION outlives its session."""

    share_strategy: Annotated[
        str, Field(validation_alias=env("SLUICEMQ_SHARE_STRATEGY", "share_strategy"))
    ] = "round_robin"
    """How a share group's next member is chosen, where the group is not named below."""
    share_strategies: Annotated[
        str, Field(validation_alias=env("SLUICEMQ_SHARE_STRATEGIES", "share_strategies"))
    ] = ""
    """The same for groups by name, `group=strategy;group=strategy`."""

    @field_validator("node")
    @classmethod
    def _node_is_valid(cls, node: str) -> str:
        validate_node(node)
        return node

    @field_validator("metrics_listen", mode="before")
    @classmethod
    def _metrics_listen_is_an_address(cls, given: object) -> object:
        return (parse_listen(given) if given else None) if isinstance(given, str) else given

    @field_validator("application_clients")
    @classmethod
    def _application_clients_is_an_expression(cls, expression: str | None) -> str | None:
        try:
            re.compile(expression or "")
        except re.error as error:
            raise ValueError(
                f"{expression!r} is no regular expression ({error}): write one, such as app-.*"
            ) from None
        return expression or None

    @field_validator("application_topic_properties")
    @classmethod
    def _topic_properties_are_valid(cls, text: str) -> str:
        parse_topic_properties(text)
        return text

    @field_validator("share_strategy")
    @classmethod
    def _share_strategy_is_one(cls, name: str) -> str:
        return parse_strategy(name).value

    @field_validator("share_strategies")
    @classmethod
    def _share_strategies_are_some(cls, text: str) -> str:
        parse_strategies(text)
        return text

    @property
    def strategies(self) -> Strategies:
        """How members of share groups are chosen."""
        return Strategies(parse_strategy(self.share_strategy), parse_strategies(self.share_strategies))

    @property
    def client_types(self) -> ClientTypes:
        """Which clients are APPLICATIONs."""
        expression = self.application_clients
        return ClientTypes(
            None if expression is None else re.compile(expression), self.application_id_validation
        )

    @property
    def topics(self) -> KafkaTopics:
        """The Kafka topics under the prefix."""
        return KafkaTopics(self.topic_prefix)

    @property
    def mqtt_limits(self) -> ServerLimits:
        """What each connection is allowed."""
        return ServerLimits(
            maximum_packet_size=self.max_packet_size,
            receive_maximum=self.max_in_flight,
            topic_alias_maximum=self.topic_alias_max,
            sent_topic_aliases=self.topic_alias_out_max,
            check_payload_format=self.check_payload_format,
            response_information=self.response_information,
            maximum_in_flight=self.max_in_flight,
            maximum_queued=self.max_queued,
            maximum_queued_bytes=self.max_queued_bytes,
            keep_alive_cap=self.keep_alive_max,
            connect_timeout=self.connect_timeout,
        )
