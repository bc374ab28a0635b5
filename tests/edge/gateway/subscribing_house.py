"""Subscribing with all around it played: the client, what is retained, and the log, which a test may hold back."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import Message

from contracts import subscription_record
from contracts.session_event import SessionEvent
from edge.gateway.application_shares.turns import Turns
from edge.gateway.connection import Connection
from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.source_marks import SourceMarks
from edge.gateway.subscribing import Subscribing
from edge.mqtt import packets
from edge.mqtt.events import SubscribeReceived
from edge.mqtt.states import State
from identity.answers import Rules
from identity.rules import Permissions

Told = Callable[[None, Message], None]


class PlayedClient:
    """A client with a session, lasting or not, as far as subscribing sees it."""

    def __init__(self, *patterns: str, is_persistent: bool = True) -> None:
        self.client_id = "c"
        self.seat = SimpleNamespace(
            id="seat", client_id="c", client_type="DEVICE", is_persistent=is_persistent
        )
        self.answers: list[list[int]] = []
        self.core = SimpleNamespace(
            state=State.CONNECTED, confirm_subscribe=lambda _, reasons: self.answers.append(reasons)
        )
        self.allow(*patterns)

    def allow(self, *patterns: str) -> None:
        """From now on it may subscribe to what matches these, and nothing else."""
        self.permissions = Permissions(Rules(subscribe=patterns), "c", None)

    def changed(self) -> None:
        """There may be something to send."""


class PlayedRetention:
    """Nothing is retained."""

    def begin(self, _connection: Connection) -> None:
        """A SUBSCRIBE came."""

    def wish(self, *_: object, is_new: bool) -> None:
        """One of its filters."""

    def asked(self, _turn: object) -> None:
        """All of them."""

    def durable(self, _turn: object, _reasons: list[int], acknowledge: Callable[[], None]) -> None:
        """Their records are there."""
        acknowledge()

    def ended(self, _connection: Connection, _filter: str) -> None:
        """A subscription is over."""

    def left(self, _connection: Connection) -> None:
        """A connection is."""


class PlayedLog:
    """The subscription log; records are durable at once, or when a test says so."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bool]] = []
        self.is_held = False
        self._held: list[Told] = []

    def append(
        self, _topic: str, value: bytes | None, key: bytes, _headers: object, durable: Told, _partition: int
    ) -> None:  # fmt: skip
        """As an `Appender`."""
        _, filter = subscription_record.decode_key(key)
        self.records.append((filter, value is not None))
        if self.is_held:
            self._held.append(durable)
        else:
            durable(None, cast(Message, None))

    def let_go(self, count: int) -> None:
        """The oldest so many of those that were held are durable."""
        ready, self._held = self._held[:count], self._held[count:]
        for durable in ready:
            durable(None, cast(Message, None))


class House:
    """The subscribing of a gateway, gw1, and what it has written and told."""

    def __init__(self) -> None:
        self.log = PlayedLog()
        self.told: list[SessionEvent] = []
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()

        async def found(_groups: object) -> dict[str, int]:
            return {}

        parts: dict[str, Any] = {
            "appender": self.log,
            "shares": SimpleNamespace(turns=Turns(found)),
            "retention": PlayedRetention(),
        }
        self.subscribing = Subscribing(
            "subscriptions", 3, "gw1", marks=SourceMarks(), local=self.local, tell=self._tell,
            denied=DeniedFilters("nobody"), claims=ExclusiveClaims(), **parts,
        )  # fmt: skip

    def ask(self, client: PlayedClient, *filters: str) -> None:
        """A client sends SUBSCRIBE, at QoS 1."""
        wanted = tuple(packets.Subscription(filter, 1) for filter in filters)
        self.subscribing.subscribe(cast(Connection, client), SubscribeReceived(packets.Subscribe(7, wanted)))

    def subscribe(self, client: PlayedClient, *filters: str) -> list[int]:
        """The same; returns what SUBACK says."""
        self.ask(client, *filters)
        return client.answers.pop()

    def _tell(self, _client_id: str, event: SessionEvent, durable: Callable[..., None]) -> None:
        self.told.append(event)
        durable(None, None)
