"""Settings of what is done under topics that begin with `$`, and of subscriptions that nobody asks for."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings


class TopicSettings(BaseSettings):
    """The part of the gateway's settings that is about special topics."""

    sys_interval: Annotated[
        float, Field(ge=0, validation_alias=AliasChoices("sys_interval", "SLUICEMQ_SYS_INTERVAL_SEC"))
    ] = 60.0
    """Seconds between two publications of this gateway's values under `$SYS`; 0 for none."""
    sys_client_events: Annotated[
        bool, Field(validation_alias=AliasChoices("sys_client_events", "SLUICEMQ_SYS_CLIENT_EVENTS"))
    ] = True
    """Whether clients that come and go are told of under `$SYS`."""
