"""What is retained in the cluster, as `tbmq.msg.retained` tells: of each message what it is, and where it stands.

Payloads are read again when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from admin.clients.names import SortedNames
from admin.clients.search import matcher
from contracts import retained_record
from contracts.publish_record import MessageProperties
from edge.gateway.retained.view import Retained, RetainedView, Verdict

_PAYLOAD, _NO_PAYLOAD = b"-", b""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a retained message stands in `tbmq.msg.retained`, and what is not in the view of it."""

    partition: int
    offset: int
    size: int
    """Bytes of its payload."""
    at_ms: int
    """When its record was written, by Kafka."""


@dataclass(frozen=True, slots=True)
class RetainedMessage:
    """A retained message without its payload."""

    topic: str
    qos: int
    client_id: str
    node: str
    expires_at_ms: int | None
    place: Place


SORTS: dict[str, Callable[[RetainedMessage], object] | None] = {
    "topic": None,
    "size": lambda message: message.place.size,
    "published_at_ms": lambda message: message.place.at_ms,
}
"""By what a list may be in order; None: as it is kept."""


@dataclass(frozen=True, slots=True)
class RetainedQuery:
    """Which messages are wanted, and in which order."""

    search: str = ""
    """As `search.matcher` has it, for topics."""
    filter: str | None = None
    """Those whose topics match."""
    sort: str = "topic"
    descending: bool = False


class RetainedMessages:
    """Topic → message. Whoever has it takes care that nobody changes it while another reads."""

    def __init__(self) -> None:
        self._view = RetainedView()
        self._names = SortedNames()
        self._places: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def take(
        self, place: tuple[int, int], at_ms: int, key: bytes | None, value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]], now_ms: int,
    ) -> None:  # fmt: skip
        """The next record of the log.

        Args:
            place: Its partition and offset.
            at_ms: When it was written.
            key: Its key.
            value: Its value.
            headers: Its headers.
            now_ms: What time it is.

        Raises:
            RecordError: It is not of the documented form.
        """
        found = retained_record.decode(key, value, headers)
        size = len(found.record.payload)
        expiry = MessageProperties(
            found.record.properties.message_expiry, found.record.properties.published_at_ms
        )
        kept = replace(found.record, payload=_PAYLOAD if size else _NO_PAYLOAD, properties=expiry)
        verdict = self._view.take(replace(found, record=kept, subscriptions_read=()), now_ms)
        if verdict is Verdict.STALE:
            return
        topic = found.topic
        if found.is_deletion:
            self._forget(topic)
        elif self._view.get(topic) is not None:
            if topic not in self._places:
                self._names.add(topic)
            self._places[topic] = Place(*place, size, at_ms)

    def expire(self, now_ms: int) -> None:
        """Let go of what has expired."""
        for gone in self._view.expire(now_ms):
            self._forget(gone.topic)

    def get(self, topic: str) -> RetainedMessage | None:
        """What is retained of a topic."""
        held = self._view.get(topic)
        return None if held is None else self._message(held)

    def find(self, query: RetainedQuery, offset: int, limit: int) -> tuple[int, list[RetainedMessage]]:
        """How many messages there are of those that are wanted, and some of them."""
        if query.filter is None:
            names = self._names.ordered(self._places)
        else:
            names = sorted(held.topic for held in self._view.find(query.filter) if held is not None)
        if query.search:
            names = list(filter(matcher(query.search), names))
        by = SORTS[query.sort]
        if by is None:
            names = names[::-1] if query.descending else names
            page = [self.get(name) for name in names[offset : offset + limit]]
            return len(names), [one for one in page if one is not None]
        messages = [one for name in names if (one := self.get(name)) is not None]
        messages.sort(key=by, reverse=query.descending)  # type: ignore[arg-type] # each sorts by one type
        return len(messages), messages[offset : offset + limit]

    def _message(self, held: Retained) -> RetainedMessage:
        record = held.record
        return RetainedMessage(
            record.topic, record.qos, record.client_id, record.node, held.expires_at_ms,
            self._places[record.topic],
        )  # fmt: skip

    def _forget(self, topic: str) -> None:
        if self._places.pop(topic, None) is not None:
            self._names.remove(topic)
