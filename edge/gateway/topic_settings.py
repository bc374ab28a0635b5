"""Settings of what is done under topics that begin with `$`, of subscriptions that nobody asks for, and of history."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from edge.gateway.auto_subscribe import AutoSubscription, parse_rules
from edge.gateway.environment import env


class TopicSettings(BaseSettings):
    """The part of the gateway's settings that is about special topics."""

    sys_interval: Annotated[
        float, Field(ge=0, validation_alias=env("SLUICEMQ_SYS_INTERVAL_SEC", "sys_interval"))
    ] = 60.0
    """Seconds between two publications of this gateway's values under `$SYS`; 0 for none."""
    historical_interval: Annotated[
        float,
        Field(ge=0, validation_alias=env("SLUICEMQ_HISTORICAL_INTERVAL_SEC", "historical_interval")),
    ] = 60.0
    """Seconds between two records of this gateway's counters in `tbmq.sys.historical.data`; 0 for none."""
    state_interval: Annotated[
        float, Field(ge=0, le=3600, validation_alias=env("SLUICEMQ_STATE_INTERVAL_SEC", "state_interval"))
    ] = 5.0
    """Seconds between two records of what this gateway says of itself in `tbmq.sys.state`; 0 for none."""
    sys_client_events: Annotated[
        bool, Field(validation_alias=env("SLUICEMQ_SYS_CLIENT_EVENTS", "sys_client_events"))
    ] = True
    """Whether clients that come and go are told of under `$SYS`."""
    auto_subscribe: Annotated[
        tuple[AutoSubscription, ...],
        NoDecode,  # else what is no JSON would end in an error of another kind than all other settings'
        Field(validation_alias=env("SLUICEMQ_AUTO_SUBSCRIBE", "auto_subscribe")),
    ] = ()
    """Subscriptions that every client has without asking, a JSON list."""

    exclusive_subscriptions: Annotated[
        bool,
        Field(validation_alias=env("SLUICEMQ_EXCLUSIVE_SUBSCRIPTIONS", "exclusive_subscriptions")),
    ] = False
    """Whether clients may subscribe to `$exclusive/<filter>`, which one client in the cluster holds at a time."""

    delayed_max: Annotated[int, Field(ge=0, validation_alias=env("SLUICEMQ_DELAYED_MAX", "delayed_max"))] = 0
    """Delayed messages that may wait in the cluster; those above it are refused. 0 for any number."""

    @field_validator("auto_subscribe", mode="before")
    @classmethod
    def _auto_subscribe_is_json(cls, rules: Any) -> Any:
        return tuple(parse_rules(rules)) if isinstance(rules, str) else rules
