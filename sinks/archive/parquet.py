"""The archive as Parquet files: a batch into files, to their places, and into a commit.

killed while the files are written         → they lie in `_staging`, which nobody reads, until they are cleaned away
killed while they are moved, or after that → no commit names them; cleaned away by the note that announced them
killed after the commit                    → the positions are its own, so the next query begins behind it
the checkpoint is lost                     → it always is: the positions alone say where to begin
another one writes to the same archive     → of two commits with one number, one fails, and begins anew from the other's
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from sinks.archive.commits import Commits
from sinks.archive.compaction import CompactionSettings, compact_hours
from sinks.archive.destination import check_begins
from sinks.archive.folder import Folder, TakenError
from sinks.archive.staging import move_staged, write_staged
from sinks.errors import PositionLostError


class ParquetArchive:
    """See the protocol, `sinks.archive.destination.Archive`."""

    def __init__(self, spark: SparkSession, place: str, compaction: CompactionSettings) -> None:
        """Open the archive in `place`, a path or URI; made when it is missing."""
        self._spark = spark
        self._folder = Folder(spark, place)
        self._commits = Commits(self._folder)
        self._compaction = compaction
        self._deleted: set[str] = set()

    def positions(self) -> dict[int, int]:
        """See the protocol."""
        return dict(self._commits.latest().positions)

    def append(self, records: DataFrame, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """See the protocol."""
        base = self._commits.latest()
        check_begins(base.positions, begins)
        staged = write_staged(records, self._folder)
        note = self._commits.announce([file for _, file in staged])
        move_staged(staged, self._folder)
        while True:
            try:
                self._commits.commit(base, note, positions=ends)
                return
            except TakenError:
                base = self._commits.latest()
                try:
                    # Where only a compaction came in between, it stands where it stood.
                    check_begins(base.positions, begins)
                except PositionLostError:
                    self._commits.withdraw(note)
                    raise

    def compact(self) -> int:
        """Compact the hours that are over, and delete what is not needed any more."""
        compacted = compact_hours(self._spark, self._folder, self._commits, self._compaction, self._deleted)
        self._deleted = self._commits.clean(self._compaction.grace_seconds)
        return compacted
