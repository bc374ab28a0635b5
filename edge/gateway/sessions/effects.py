"""What the owner of a partition has to write, as data.

`Store`, `StoreRemoval`, `Answer`, `Reply`, `Disconnect`, `Release` and `PublishWill` belong into the one transaction
that also moves the group's offset. The others go elsewhere, and must be done before that transaction commits: a crash
between repeats them, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.command_answer import CommandAnswer
from contracts.session_event import DisconnectWanted, SessionAnswer, Subscription
from contracts.session_record import Kept, KeptWill, SessionRecord
from contracts.subscription_record import DEVICE_KIND


@dataclass(frozen=True, slots=True)
class Store:
    """A record of `tbmq.client.session`; None deletes."""

    key: bytes
    record: SessionRecord | Kept | None


@dataclass(frozen=True, slots=True)
class StoreRemoval:
    """A record of `tbmq.sys.app.removed`; None deletes."""

    client_id: str
    due_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """To a gateway that asked."""

    node: str
    client_id: str
    answer: SessionAnswer


@dataclass(frozen=True, slots=True)
class Reply:
    """To the administration."""

    answer: CommandAnswer


@dataclass(frozen=True, slots=True)
class Disconnect:
    """To a gateway whose connection has to go."""

    node: str
    wanted: DisconnectWanted


@dataclass(frozen=True, slots=True)
class Release:
    """As `Clear`, of a member of share groups: what others may get goes back to them, in the same transaction."""

    client_id: str
    subscriptions: tuple[Subscription, ...]
    """The shared ones."""
    sent: tuple[int, ...] | None
    """Offsets that its connection had sent and seen no acknowledgement of; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class PublishWill:
    """In `tbmq.msg.all`: a will whose gateway does not publish it any more. If it had begun to, it may be there."""

    client_id: str
    kept: KeptWill


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A tombstone in `tbmq.client.subscriptions`."""

    client_id: str
    filter: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A record in `tbmq.client.subscriptions` of a session without a connection.

    Either an administrator made it, or a member of a share group is offline, its gateway lost.
    """

    client_id: str
    node: str
    subscription: Subscription
    kind: str = DEVICE_KIND
    """As contracts.subscription_record has it."""


@dataclass(frozen=True, slots=True)
class Clear:
    """A `cleared` in `tbmq.msg.persisted`: what is stored for the client is void."""

    client_id: str


@dataclass(frozen=True, slots=True)
class RemoveTopic:
    """Nobody needs an APPLICATION's Kafka topic any more."""

    client_id: str


Effect = (
    Store
    | StoreRemoval
    | Answer
    | Reply
    | Disconnect
    | Release
    | PublishWill
    | Unsubscribe
    | Subscribe
    | Clear
    | RemoveTopic
)


def without_superseded(effects: Sequence[Effect]) -> list[Effect]:
    """The effects without those records that a later one in the same transaction replaces."""
    last = {effect.key: effect for effect in effects if isinstance(effect, Store)}
    return [effect for effect in effects if not isinstance(effect, Store) or last[effect.key] is effect]
