"""The settings of limits: rates, quotas, and how long sessions may last."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from contracts.session_event import NEVER
from edge.gateway.environment import env
from edge.gateway.limits.connection_rates import ConnectionRates
from edge.gateway.limits.longest import Longest
from edge.gateway.limits.quotas import Quotas
from edge.gateway.limits.rate import Window, parse_windows


class RateSettings(BaseSettings):
    """Rates of messages, and of connections: `count:seconds,count:seconds`."""

    incoming_rate_enabled: Annotated[
        bool, Field(validation_alias=env("MQTT_INCOMING_RATE_LIMITS_ENABLED", "incoming_rate_enabled"))
    ] = False
    """Whether what each client publishes is limited."""
    incoming_rate_config: Annotated[
        str, Field(validation_alias=env("MQTT_INCOMING_RATE_LIMITS_CLIENT_CONFIG", "incoming_rate_config"))
    ] = "10:1,300:60"
    """To what."""
    outgoing_rate_enabled: Annotated[
        bool, Field(validation_alias=env("MQTT_OUTGOING_RATE_LIMITS_ENABLED", "outgoing_rate_enabled"))
    ] = False
    """Whether what each client is sent is limited: QoS 0 is dropped above it, QoS 1 and 2 wait."""
    outgoing_rate_config: Annotated[
        str, Field(validation_alias=env("MQTT_OUTGOING_RATE_LIMITS_CLIENT_CONFIG", "outgoing_rate_config"))
    ] = "10:1,300:60"
    """To what."""
    stored_rate_enabled: Annotated[
        bool,
        Field(validation_alias=env("MQTT_DEVICE_PERSISTED_MSGS_RATE_LIMITS_ENABLED", "stored_rate_enabled")),
    ] = False
    """Whether what each DEVICE is sent by its persistent session is limited; above it, messages wait."""
    stored_rate_config: Annotated[
        str,
        Field(validation_alias=env("MQTT_DEVICE_PERSISTED_MSGS_RATE_LIMITS_CONFIG", "stored_rate_config")),
    ] = "100:1,1000:60"
    """To what."""
    total_rate_enabled: Annotated[
        bool, Field(validation_alias=env("MQTT_TOTAL_RATE_LIMITS_ENABLED", "total_rate_enabled"))
    ] = False
    """Whether what all clients of this gateway publish and are sent, together, is limited."""
    total_rate_config: Annotated[
        str, Field(validation_alias=env("MQTT_TOTAL_RATE_LIMITS_CONFIG", "total_rate_config"))
    ] = "1000:1,50000:60"
    """To what."""
    connection_rate: Annotated[
        str, Field(validation_alias=env("SLUICEMQ_CONNECTION_RATE_LIMITS", "connection_rate"))
    ] = ""
    """New connections that this gateway accepts; those above it wait to be. Empty: any number."""
    address_rate: Annotated[
        str, Field(validation_alias=env("SLUICEMQ_ADDRESS_CONNECTION_RATE_LIMITS", "address_rate"))
    ] = ""
    """The same from one address; those above it are closed."""

    @field_validator(
        "incoming_rate_config", "outgoing_rate_config", "stored_rate_config", "total_rate_config",
        "connection_rate", "address_rate",
    )  # fmt: skip
    @classmethod
    def _rate_is_one(cls, text: str) -> str:
        parse_windows(text)
        return text

    @property
    def incoming_rate(self) -> tuple[Window, ...]:
        """What each client may publish; empty: any number."""
        return parse_windows(self.incoming_rate_config) if self.incoming_rate_enabled else ()

    @property
    def outgoing_rate(self) -> tuple[Window, ...]:
        """What each client is sent."""
        return parse_windows(self.outgoing_rate_config) if self.outgoing_rate_enabled else ()

    @property
    def stored_rate(self) -> tuple[Window, ...]:
        """What each DEVICE is sent by its persistent session."""
        return parse_windows(self.stored_rate_config) if self.stored_rate_enabled else ()

    @property
    def total_rate(self) -> tuple[Window, ...]:
        """What all clients of this gateway may publish and are sent."""
        return parse_windows(self.total_rate_config) if self.total_rate_enabled else ()

    @property
    def connection_rates(self) -> ConnectionRates | None:
        """New connections that are accepted; None: any number."""
        all_together, of_address = parse_windows(self.connection_rate), parse_windows(self.address_rate)
        return ConnectionRates(all_together, of_address) if all_together or of_address else None


class LimitSettings(RateSettings):
    """Rates, quotas, and how long sessions may last."""

    sessions_limit: Annotated[
        int, Field(ge=0, validation_alias=env("MQTT_SESSIONS_LIMIT", "sessions_limit"))
    ] = 0
    """Sessions in the whole cluster, connected or not; who has none is turned away above it. 0: any number."""
    applications_limit: Annotated[
        int, Field(ge=0, validation_alias=env("MQTT_APPLICATION_CLIENTS_LIMIT", "applications_limit"))
    ] = 0
    """The same of persistent sessions of APPLICATIONs."""
    max_session_expiry: Annotated[
        int,
        Field(
            ge=0,
            le=NEVER,
            validation_alias=env("MQTT_CLIENT_SESSION_EXPIRY_MAX_EXPIRY_INTERVAL", "max_session_expiry"),
        ),
    ] = 604_800
    """Seconds for which an MQTT 5 session may outlive its connection, announced when a client asks for more; 0: no
    limit."""
    session_ttl: Annotated[
        int, Field(ge=0, le=NEVER, validation_alias=env("MQTT_CLIENT_SESSION_EXPIRY_TTL", "session_ttl"))
    ] = 604_800
    """The same for sessions of MQTT 3.x, which name no time; 0: they stay until a clean start."""

    @property
    def quotas(self) -> Quotas | None:
        """How many sessions there may be; None: any number."""
        if not self.sessions_limit and not self.applications_limit:
            return None
        return Quotas(self.sessions_limit, self.applications_limit)

    @property
    def longest_sessions(self) -> Longest:
        """How long sessions may outlive their connections."""
        return Longest(self.max_session_expiry or NEVER, self.session_ttl or NEVER)
