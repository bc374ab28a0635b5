"""What a sink's supervisor asks of where the sink writes, be it a store, a database or a folder of files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Protocol

from pyspark.sql import DataFrame

from sinks.errors import SinkError
from sinks.progress import Progress


class Writer(Protocol):
    """What `foreachBatch` calls: one object for the life of one query."""

    known: dict[int, int | None]
    """Where each Kafka partition stands in the destination, as far as the driver has heard; None: nothing is there."""
    failure: SinkError | None
    """What the query was ended for; Spark itself passes on exceptions as text only."""

    def __call__(self, batch: DataFrame, batch_id: int, /) -> None:
        """Write a batch; returns when all of it is there."""
        ...


class Destination(Protocol):
    """An open destination. Its positions are the authority: each moves together with what it stands for."""

    remedy: str
    """What to do where Kafka has less of the log than the destination, as the end of a sentence."""

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """The next offset of each partition; None where nothing of it is there.

        Raises:
            StoreUnavailableError: It does not answer.
        """
        ...

    def writer(
        self, positions: Mapping[int, int | None], progress: Progress, stopping: threading.Event
    ) -> Writer:
        """A writer for one query that begins at these positions."""
        ...

    def tidy(self) -> None:
        """Remove what is past its time, or put small things together; called now and then.

        Raises:
            StoreUnavailableError: It does not answer.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
