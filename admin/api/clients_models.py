"""Sessions and subscriptions as the API shows and takes them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from admin.api.explanations import explain
from admin.clients.waiting import ApplicationMessages, DeviceMessages
from contracts.headers import RETAIN, first
from contracts.session_event import NEVER, Subscription
from contracts.session_record import CONNECTED, KeptWill, SessionRecord
from contracts.subscription_record import SubscriptionRecord
from contracts.wall_clock import epoch_ms

_VERSIONS = {3: "3.1", 4: "3.1.1", 5: "5.0"}


class SubscriptionModel(BaseModel):
    """A client's subscription."""

    client_id: str
    filter: str
    """As subscribed."""
    share_group: str | None
    topic_filter: str
    """The filter without its share prefix."""
    qos: int
    no_local: bool
    retain_as_published: bool
    retain_handling: int
    subscription_id: int | None
    node: str
    """The gateway where the client is, or was when it subscribed."""
    kind: str
    """How it is served: by its `node` while it is connected, or as a `device` or an `app` that messages wait for."""
    is_online: bool
    """Of a shared one: whether the group's messages may go to this client now."""

    @classmethod
    def of(cls, record: SubscriptionRecord) -> SubscriptionModel:
        """Of one of the view."""
        return cls(
            client_id=record.client_id, filter=record.subscribed_filter, share_group=record.share_group,
            topic_filter=record.filter, qos=record.qos, no_local=record.no_local,
            retain_as_published=record.retain_as_published, retain_handling=record.retain_handling,
            subscription_id=record.subscription_id, node=record.node, kind=record.kind, is_online=record.online,
        )  # fmt: skip


class GivenSubscription(BaseModel):
    """A subscription that is to be there."""

    model_config = ConfigDict(extra="forbid")

    filter: str
    qos: Annotated[int, Field(ge=0, le=2)] = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: Annotated[int, Field(ge=0, le=2)] = 0
    """Retained messages: 0 send, 1 send if the subscription is new, 2 do not send."""
    subscription_id: Annotated[int, Field(ge=1, le=268_435_455)] | None = None

    def subscription(self) -> Subscription:
        """As a command has it."""
        return Subscription(
            self.filter, self.qos, self.no_local, self.retain_as_published, self.retain_handling,
            self.subscription_id,
        )  # fmt: skip


class _Session(BaseModel):
    client_id: str
    user_name: str | None
    state: str
    """`connected`; `lingering`: the connection is over, and its will waits; `offline`."""
    is_connected: bool
    node: str
    """The gateway where it is, or was last."""
    address: str | None
    """Where it comes from."""
    client_type: str
    protocol: int
    protocol_name: str
    keep_alive: int
    """Seconds, as it asked for."""
    clean_start: bool
    expiry_seconds: int | None
    """How long its session outlives its connection; null: until somebody ends it."""
    is_persistent: bool
    """Whether messages are kept for it."""
    connected_at_ms: int
    disconnected_at_ms: int | None
    expires_at_ms: int | None
    """When its session ends by itself; null: not, or not while it is connected."""
    warning: str


class ClientModel(_Session):
    """A client's session, in a list."""

    subscriptions: int
    """How many."""

    @classmethod
    def of(cls, client_id: str, session: SessionRecord, subscriptions: int) -> ClientModel:
        """Of one of the view."""
        return cls.model_validate({**_fields(client_id, session), "subscriptions": subscriptions})


class DeviceMessagesModel(BaseModel):
    """What is kept for a DEVICE; null where `detail` says why it is not to be had."""

    kind: Literal["device"] = "device"
    stored: int | None
    released: int | None
    """Of QoS 2, received by the client, that wait only for their release."""
    behind: int | None
    """Records of the log that the store has not taken yet."""
    detail: str


class ApplicationMessagesModel(BaseModel):
    """What is kept for an APPLICATION."""

    kind: Literal["application"] = "application"
    kafka_topic: str
    lag: int | None
    """Records that it is not done with; some are not messages."""
    detail: str


class WillModel(BaseModel):
    """What is published when the client is lost."""

    topic: str
    qos: int
    retain: bool
    payload_size: int
    delay_seconds: int
    due_at_ms: int | None
    """When it is published, unless the client is back by then; null while it is connected."""


Messages = Annotated[DeviceMessagesModel | ApplicationMessagesModel, Field(discriminator="kind")]


class ClientDetailsModel(_Session):
    """A client's session, with all that is known of it."""

    subscriptions: list[SubscriptionModel]
    messages: Messages | None
    """Null: nothing is kept for it."""
    will: WillModel | None
    explanation: str
    """Its state in words."""

    @classmethod
    def whole(
        cls, client_id: str, session: SessionRecord, subscriptions: list[SubscriptionRecord],
        messages: DeviceMessages | ApplicationMessages | None, will: KeptWill | None,
    ) -> ClientDetailsModel:  # fmt: skip
        """Put together what the view and the stores know."""
        waiting: Messages | None = None
        if isinstance(messages, DeviceMessages):
            waiting = DeviceMessagesModel(**asdict(messages))
        elif messages is not None:
            waiting = ApplicationMessagesModel(**asdict(messages))
        return cls.model_validate(
            {
                **_fields(client_id, session),
                "subscriptions": [SubscriptionModel.of(one) for one in subscriptions],
                "messages": waiting,
                "will": None if will is None else _will(will),
                "explanation": explain(session, len(subscriptions), messages, will, epoch_ms()),
            }
        )


def _will(kept: KeptWill) -> WillModel:
    return WillModel(
        topic=kept.will.topic, qos=kept.will.qos, retain=first(kept.will.headers, RETAIN) == b"1",
        payload_size=int(kept.will.payload), delay_seconds=kept.will.delay, due_at_ms=kept.due_at_ms,
    )  # fmt: skip


def _fields(client_id: str, session: SessionRecord) -> dict[str, object]:
    return {
        "client_id": client_id,
        "user_name": session.user_name,
        "state": session.state,
        "is_connected": session.state == CONNECTED,
        "node": session.node,
        "address": session.address or None,
        "client_type": session.client_type,
        "protocol": session.protocol,
        "protocol_name": _VERSIONS.get(session.protocol, str(session.protocol)),
        "keep_alive": session.keep_alive,
        "clean_start": session.clean_start,
        "expiry_seconds": None if session.expiry == NEVER else session.expiry,
        "is_persistent": session.is_persistent,
        "connected_at_ms": session.connected_at_ms,
        "disconnected_at_ms": session.ended_at_ms or None,
        "expires_at_ms": session.expires_at_ms,
        "warning": session.warning,
    }
