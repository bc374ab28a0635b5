"""What the owner of a partition has to write, as data.

The first three belong into the one transaction that also moves the group's offset. The last two go elsewhere, and must
be durable before that transaction commits: a crash between repeats them, which changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.session_event import DisconnectWanted, InboundExchange, SessionAnswer, Subscription
from contracts.session_record import SessionRecord


@dataclass(frozen=True, slots=True)
class Store:
    """A record of `tbmq.client.session`; None deletes."""

    key: bytes
    record: SessionRecord | Subscription | InboundExchange | None


@dataclass(frozen=True, slots=True)
class Answer:
    """To a gateway that asked."""

    node: str
    client_id: str
    answer: SessionAnswer


@dataclass(frozen=True, slots=True)
class Disconnect:
    """To a gateway whose connection has to go."""

    node: str
    wanted: DisconnectWanted


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A tombstone in `tbmq.client.subscriptions`."""

    client_id: str
    filter: str


@dataclass(frozen=True, slots=True)
class Clear:
    """A `cleared` in `tbmq.msg.persisted`: what is stored for the client is void."""

    client_id: str


Effect = Store | Answer | Disconnect | Unsubscribe | Clear
