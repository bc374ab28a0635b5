"""What a client that comes back is owed: the store, then what the log has after it, then this gateway's tail.

Nothing is waited for but Kafka and the store themselves: how far the sink is does not matter (docs/adr/0008).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from confluent_kafka import KafkaException

from contracts import persisted_record
from contracts.errors import RecordError
from contracts.persisted_record import Message
from edge.gateway.persistence.feed import Feed
from edge.gateway.persistence.rounds import Rounds
from edge.gateway.persistence.stretch import StretchReader
from edge.gateway.persistence.tail import PersistedTail
from stores.errors import StoreUnavailableError
from stores.port import ClientBacklog, Store

log = logging.getLogger(__name__)

_ROUND = 256  # feeds in one round: the first of many that come at once need not wait for the last


Wanted = tuple[Feed, Collection[int] | None]
"""A feed to load, and what it had sent before, as `Feed.loaded` wants it."""


class Loading:
    """Loads feeds in rounds: all that have gathered while the last round was under way share one look at the log."""

    def __init__(self, store: Store, tail: PersistedTail, stretches: StretchReader) -> None:
        self._store = store
        self._tail = tail
        self._stretches = stretches
        self._loop = asyncio.get_running_loop()
        self._rounds: Rounds[Wanted] = Rounds(
            self._load, lambda one: not one[0].is_over, (StoreUnavailableError, KafkaException),
            "what %d clients are owed", _ROUND,
        )  # fmt: skip

    def load(self, feed: Feed, sent: Collection[int] | None = ()) -> None:
        """Load a feed, however long that takes; it begins to deliver then.

        Args:
            feed: Whose.
            sent: As `Feed.loaded` wants it.
        """
        self._rounds.add((feed, sent))

    def stop(self) -> None:
        """Give up what is being loaded."""
        self._rounds.stop()

    async def _load(self, wanted: list[Wanted]) -> None:
        # All that earlier connections wrote stands before these ends; the tail brings what comes behind them.
        ends = await self._loop.run_in_executor(self._stretches.thread, self._stretches.ends)
        for partition in {feed.partition for feed, _ in wanted}:
            await self._reached(partition, ends[partition])
        tail_begins = {
            feed.partition: self._tail.subscribe(feed.client_id, feed.partition, feed)
            for feed, _ in wanted
            if not feed.is_over
        }
        for partition, tail_begin in tail_begins.items():
            await self._load_partition(
                partition, tail_begin, [o for o in wanted if o[0].partition == partition]
            )

    async def _load_partition(self, partition: int, tail_begins: int, wanted: list[Wanted]) -> None:
        backlogs = await asyncio.gather(
            *(asyncio.to_thread(self._store.backlog, partition, feed.client_id) for feed, _ in wanted)
        )
        positions = {
            feed.client_id: backlog.position for (feed, _), backlog in zip(wanted, backlogs, strict=True)
        }
        later = await self._loop.run_in_executor(
            self._stretches.thread, self._stretches.read, partition, positions, tail_begins
        )
        for (feed, sent), backlog in zip(wanted, backlogs, strict=True):
            if not feed.is_over:
                feed.loaded(stored_messages(backlog), backlog.received, later[feed.client_id], sent)

    async def _reached(self, partition: int, end: int) -> None:
        reached = asyncio.Event()
        self._tail.when_reached(partition, end, reached.set)
        await reached.wait()


def stored_messages(backlog: ClientBacklog) -> list[Message]:
    """The messages that the store has; what nobody can read is passed over."""
    messages = []
    for stored in backlog.messages:
        try:
            record = persisted_record.decode(stored.offset, b"-", stored.value, stored.headers)
        except (
            RecordError
        ) as error:  # The sink takes none that it cannot read; this is of another version, or damage.
            log.warning("stored message %s is skipped: %s", stored.offset, error)
            continue
        if isinstance(record, Message):
            messages.append(record)
    return messages
