"""Messages as the API shows and takes them: payloads as text, as JSON, or in Base64."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from admin.clients.errors import RejectedError
from admin.clients.retained import RetainedMessage
from contracts.errors import TopicError
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.topics import validate_topic
from contracts.wall_clock import epoch_ms

_MOST = 2 << 20  # characters: more than the largest packet has in Base64


def _decoded(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ValueError("this is not Base64") from None


Base64 = Annotated[bytes, BeforeValidator(_decoded, json_schema_input_type=str)]
Text = Annotated[str, StringConstraints(max_length=65_535, pattern=r"^[^\x00]*$")]


class GivenProperties(BaseModel):
    """MQTT 5 properties of a message; what is left out is not there."""

    model_config = ConfigDict(extra="forbid")

    message_expiry: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] | None = None
    """Seconds after which it is not delivered any more."""
    payload_format: Annotated[int, Field(ge=0, le=1)] | None = None
    """1: the payload is UTF-8 text."""
    content_type: Text | None = None
    response_topic: Text | None = None
    correlation_data: Base64 | None = None
    """In Base64."""
    user_properties: list[tuple[Text, Text]] = []

    def properties(self) -> MessageProperties:
        """As a record has them.

        Raises:
            RejectedError: There is no such response topic.
        """
        if self.response_topic is not None:
            try:
                validate_topic(self.response_topic)
            except TopicError as error:
                raise RejectedError(f"response_topic: {error}") from None
        return MessageProperties(
            message_expiry=self.message_expiry,
            published_at_ms=None if self.message_expiry is None else epoch_ms(),
            payload_format=self.payload_format, content_type=self.content_type,
            response_topic=self.response_topic, correlation_data=self.correlation_data,
            user_properties=tuple(self.user_properties),
        )  # fmt: skip


class GivenMessage(BaseModel):
    """A message to be published."""

    model_config = ConfigDict(extra="forbid")

    topic: str
    """Also `$delayed/<seconds>/<topic>`."""
    payload: Annotated[str, Field(max_length=_MOST)] | None = None
    """As text; or else:"""
    payload_base64: Annotated[Base64, Field(max_length=_MOST)] | None = None
    qos: Annotated[int, Field(ge=0, le=2)] = 0
    retain: bool = False
    properties: GivenProperties = GivenProperties()

    def record(self) -> PublishRecord:
        """As a record.

        Raises:
            RejectedError: Its parts contradict one another.
        """
        if self.payload is not None and self.payload_base64 is not None:
            raise RejectedError("give either payload or payload_base64")
        payload = self.payload_base64 or (self.payload or "").encode()
        if self.properties.payload_format == 1 and _text(payload) is None:
            raise RejectedError("payload_format 1 says that the payload is UTF-8 text, and it is not")
        return PublishRecord(
            self.topic, payload, qos=self.qos, retain=self.retain, properties=self.properties.properties()
        )


class PublishedModel(BaseModel):
    """What became of a message."""

    topic: str
    """Where it is published."""
    is_published: bool
    """Whether it is; else it waits until it is due."""
    due_at_ms: int


class RetainedModel(BaseModel):
    """A retained message, without its payload."""

    topic: str
    qos: int
    size: int
    """Bytes of its payload."""
    client_id: str
    """The publisher; empty where it was no client."""
    node: str
    published_at_ms: int
    expires_at_ms: int | None

    @classmethod
    def of(cls, message: RetainedMessage) -> RetainedModel:
        """Of one of the view."""
        return cls.model_validate(_fields(message))


class PayloadModel(BaseModel):
    """A payload in all ways in which it can be shown."""

    base64: str
    text: str | None
    """Null where it is not UTF-8."""
    is_json: bool
    json_value: Annotated[Any, Field(alias="json")]
    """Null, too, where it is no JSON."""

    @classmethod
    def of(cls, payload: bytes) -> PayloadModel:
        """Of a message."""
        text = _text(payload)
        is_json, value = _json(text)
        shown = {"base64": b64encode(payload).decode(), "text": text, "is_json": is_json, "json": value}
        return cls.model_validate(shown)


class PropertiesModel(BaseModel):
    """MQTT 5 properties of a message."""

    message_expiry: int | None
    payload_format: int | None
    content_type: str | None
    response_topic: str | None
    correlation_data: str | None
    """In Base64."""
    user_properties: list[tuple[str, str]]

    @classmethod
    def of(cls, said: MessageProperties) -> PropertiesModel:
        """Of a message."""
        data = said.correlation_data
        return cls(
            message_expiry=said.message_expiry, payload_format=said.payload_format,
            content_type=said.content_type, response_topic=said.response_topic,
            correlation_data=None if data is None else b64encode(data).decode(),
            user_properties=list(said.user_properties),
        )  # fmt: skip


class RetainedDetailsModel(RetainedModel):
    """A retained message, whole."""

    payload: PayloadModel
    properties: PropertiesModel

    @classmethod
    def whole(cls, message: RetainedMessage, record: PublishRecord) -> RetainedDetailsModel:
        """Put together what the view knows and what stands in Kafka."""
        return cls.model_validate(
            {
                **_fields(message),
                "payload": PayloadModel.of(record.payload),
                "properties": PropertiesModel.of(record.properties),
            }
        )


def _fields(message: RetainedMessage) -> dict[str, object]:
    return {
        "topic": message.topic,
        "qos": message.qos,
        "size": message.place.size,
        "client_id": message.client_id,
        "node": message.node,
        "published_at_ms": message.place.at_ms,
        "expires_at_ms": message.expires_at_ms,
    }


def _text(payload: bytes) -> str | None:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return None


def _json(text: str | None) -> tuple[bool, object]:
    """Whether a text is JSON that can be shown as such, and what it says."""
    try:
        value = json.loads(text or "", parse_constant=_no_number)
    except (ValueError, RecursionError):
        return False, None
    return True, value


def _no_number(_: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON, whatever Python says
