"""The settings of what MQTT leaves to the server."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.environment import env


class MqttSettings(BaseSettings):
    """What MQTT 5 clients are offered, and what is refused, where the standard says that a server may."""

    topic_alias_out_max: Annotated[
        int,
        Field(
            ge=0,
            le=65_535,
            validation_alias=env("SLUICEMQ_TOPIC_ALIAS_OUT_MAX", "topic_alias_out_max"),
        ),
    ] = 10
    """Topics that are replaced by aliases on the way to a client, if it allows so many; 0 for none."""
    check_payload_format: Annotated[
        bool, Field(validation_alias=env("SLUICEMQ_CHECK_PAYLOAD_FORMAT", "check_payload_format"))
    ] = False
    """Whether messages that say that they are UTF-8 text, and are not, are refused (0x99)."""
    response_information: Annotated[
        str | None,
        Field(validation_alias=env("SLUICEMQ_RESPONSE_INFORMATION", "response_information")),
    ] = None
    """What response topics are to start with, told to clients that ask; the client id stands for `${clientid}`."""
    denied_filters: Annotated[
        str, Field(validation_alias=env("SLUICEMQ_DENIED_FILTERS", "denied_filters"))
    ] = ""
    """Filters that nobody may subscribe to, with commas between them."""
    denied_reason: Annotated[
        Literal[0x80, 0x83, 0x87],
        Field(validation_alias=env("SLUICEMQ_DENIED_REASON_CODE", "denied_reason")),
    ] = 0x87
    """The reason code for them: not authorized, or the unspecified or implementation specific error."""

    @field_validator("denied_reason", mode="before")
    @classmethod
    def _denied_reason_is_a_number(cls, reason: object) -> object:
        return int(reason, 0) if isinstance(reason, str) else reason

    @field_validator("response_information")
    @classmethod
    def _response_information_is_a_topics_start(cls, text: str | None) -> str | None:
        if text and any(character in text for character in "+#\0"):
            raise ValueError(f"{text!r} can start no topic: leave out +, # and U+0000")
        return text or None

    @field_validator("denied_filters")
    @classmethod
    def _denied_filters_are_filters(cls, text: str) -> str:
        DeniedFilters(text)
        return text
