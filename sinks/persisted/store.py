"""The store of persistent sessions as the sink reaches it: how to open it, in the driver and in workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.kafka_topics import DEFAULT_PREFIX
from stores import DEFAULT_LIMITS, Limits, Store, open_store


@dataclass(frozen=True)
class StoreSettings:
    """What it takes to open the store, anywhere."""

    url: str
    """May have a password in it."""
    prefix: str = DEFAULT_PREFIX
    """The Kafka topics' prefix, so that two brokers may share a Redis."""
    limits: Limits = DEFAULT_LIMITS
    """What it keeps at most."""

    def open(self) -> Store:
        """Open it.

        Raises:
            StoreUrlError: The URL does not name a store that there is.
            StoreUnavailableError: It does not answer.
        """
        return open_store(self.url, prefix=self.prefix, limits=self.limits)


def read_positions(store: Store, partitions: Iterable[int]) -> dict[int, int | None]:
    """Where each partition stands in the store.

    Raises:
        StoreUnavailableError: It does not answer.
    """
    positions = {partition: store.partition_position(partition) for partition in partitions}
    return {partition: found.next_offset if found else None for partition, found in positions.items()}
