"""The store as the sink reaches it: how to open it, in the driver and in workers, and how to wait for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from contracts.kafka_topics import DEFAULT_PREFIX
from sinks.errors import PositionLostError, SinkStoppedError
from stores import DEFAULT_LIMITS, Limits, Store, StoreUnavailableError, open_store

PAUSE_SECONDS = 0.5
"""Between two attempts at a store that does not answer."""
TELL_SECONDS = 10.0
"""How often a log line says that the store is still away."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


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


def patiently(attempt: Callable[[], T], stopping: threading.Event) -> T:
    """Do something with the store, as often as it takes until the store answers.

    Raises:
        SinkStoppedError: The sink is to stop.
    """
    told_at: float | None = None
    while not stopping.is_set():
        try:
            return attempt()
        except StoreUnavailableError as error:
            if told_at is None or time.monotonic() - told_at > TELL_SECONDS:
                told_at = time.monotonic()
                _log.warning("waiting for the store: %s", error)
        stopping.wait(PAUSE_SECONDS)
    raise SinkStoppedError("the sink is to stop, and the store does not answer")


def read_positions(store: Store, partitions: Iterable[int]) -> dict[int, int | None]:
    """Where each partition stands in the store.

    Raises:
        StoreUnavailableError: It does not answer.
    """
    positions = {partition: store.partition_position(partition) for partition in partitions}
    return {partition: found.next_offset if found else None for partition, found in positions.items()}


def check_positions(known: Mapping[int, int | None], store: Store) -> None:
    """Check that the store still has what it had.

    Raises:
        PositionLostError: It has fallen back.
        StoreUnavailableError: It does not answer.
    """
    # A copy from before the reading: a batch that ends meanwhile only moves the store forward.
    before = dict(known)
    for partition, stands in read_positions(store, before).items():
        had = before[partition]
        if had is not None and (stands is None or stands < had):
            raise PositionLostError(
                f"the store has fallen back in partition {partition}, from {had} to {stands}"
            )
