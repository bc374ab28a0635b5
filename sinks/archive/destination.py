"""The archive as the supervisor sees it; what it is made of, files or a table, is another's matter."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from sinks.archive.offsets import batch_ends
from sinks.archive.records import archived_records
from sinks.batches import last_cause
from sinks.errors import BatchFailedError, PositionLostError, SinkError, SinkStoppedError
from sinks.outcomes import Counters
from sinks.progress import Progress

_log = logging.getLogger(__name__)


class Archive(Protocol):
    """What records are added to, with how far it has the log, in one commit."""

    def positions(self) -> dict[int, int]:
        """The next offset of each Kafka partition that there is anything of."""
        ...

    def append(self, records: DataFrame, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Add records as they are archived: all that stands in the log from `begins` to `ends`, or nothing.

        Raises:
            PositionLostError: The archive does not stand at `begins`.
        """
        ...

    def compact(self) -> int:
        """Put small files together, and delete what nobody needs any more; how many were put together."""
        ...


class ArchiveDestination:
    """See the protocol, `sinks.destination.Destination`."""

    remedy = "give the archive of each Kafka a folder of its own"

    def __init__(self, archive: Archive, topic: str) -> None:
        """`topic`: the Kafka topic that is archived."""
        self._archive = archive
        self._topic = topic

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """See the protocol."""
        found = self._archive.positions()
        return {partition: found.get(partition) for partition in {*partitions, *found}}

    def writer(
        self, positions: Mapping[int, int | None], progress: Progress, stopping: threading.Event
    ) -> ArchiveWriter:
        """See the protocol."""
        return ArchiveWriter(self._archive, self._topic, dict(positions), progress, stopping)

    def tidy(self) -> None:
        """Compact what is over."""
        try:
            compacted = self._archive.compact()
        except Exception as error:  # whatever Spark or a file system says: archiving goes on
            _log.warning("the archive could not be compacted: %s", last_cause(str(error)))
        else:
            if compacted:
                _log.info("put %d files together", compacted)

    def close(self) -> None:
        """See the protocol."""


@dataclass
class ArchiveWriter:
    """See the protocol, `sinks.destination.Writer`."""

    archive: Archive
    topic: str
    known: dict[int, int | None]
    progress: Progress
    stopping: threading.Event
    checkpoint: str = ""
    """The query's; to be set before it starts."""
    failure: SinkError | None = None

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Write a batch; returns when it is committed.

        Raises:
            PositionLostError: The archive does not stand where the batch begins.
            BatchFailedError: Spark could not write it.
            SinkStoppedError: The sink is to stop.
        """
        try:
            if self.stopping.is_set():
                raise SinkStoppedError("the sink is to stop")
            self.progress.batches += 1
            begins = {partition: begin for partition, begin in self.known.items() if begin is not None}
            ends = batch_ends(self.checkpoint, batch_id, self.topic)
            self.archive.append(archived_records(batch), begins, {**begins, **ends})
        except SinkError as error:
            self.failure = error
            raise
        except Exception as error:
            self.failure = BatchFailedError(last_cause(str(error)))
            raise self.failure from None
        records = sum(end - begins.get(partition, 0) for partition, end in ends.items())
        self.progress.add(Counters(records=records))
        self.known.update(ends)


def check_begins(stands: Mapping[int, int], begins: Mapping[int, int]) -> None:
    """Check that an archive stands where a batch begins.

    Raises:
        PositionLostError: It does not.
    """
    if dict(stands) != dict(begins):
        raise PositionLostError(f"the archive stands at {dict(stands)}, not at {dict(begins)}")
