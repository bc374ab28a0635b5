"""The small files of an hour that is over into large ones.

A compaction is a commit as any: it names the large files instead of the small ones, which stay for a while for those
who are reading them. So a reader sees one or the other, and a compaction that is killed has changed nothing.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from sinks.archive.commits import Commits, DataFile, Snapshot
from sinks.archive.folder import Folder, TakenError
from sinks.archive.records import RAW_COLUMNS
from sinks.archive.staging import move_staged, write_staged

_HOUR_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """When and how far files are put together."""

    target_bytes: int = 128 << 20
    """About as large as a file is to be. One of half the size or more is left as it is."""
    settle_seconds: float = 600.0
    """How long after its end an hour still gathers. What comes later is put together later."""
    grace_seconds: float = 3_600.0
    """How long files that were put together stay, for those who are reading them."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""


def compact_hours(
    spark: SparkSession, folder: Folder, commits: Commits, settings: CompactionSettings,
    deleted: Collection[str] = (),
) -> int:  # fmt: skip
    """Compact every hour that is over and has several small files, one after the other.

    Args:
        spark: The session.
        folder: The archive's.
        commits: Its commits.
        settings: When and how far.
        deleted: Files left out that are deleted by now; they are forgotten.

    Returns:
        How many files were put together.
    """
    compacted = 0
    for small in _wanting(commits.latest(), settings):
        count = math.ceil(sum(file.size for file in small) / settings.target_bytes)
        day, hour = (part.partition("=")[2] for part in small[0].hour.split("/"))
        records = (
            spark.read.parquet(*(folder.absolute(file.path) for file in small))
            .select(*RAW_COLUMNS, F.lit(day).alias("date"), F.lit(hour).alias("hour"))
            .coalesce(count)
            # So that the statistics of each part of a file tell which offsets are in it.
            .sortWithinPartitions("partition", "offset")
        )
        staged = write_staged(records, folder)
        note = commits.announce([file for _, file in staged])
        move_staged(staged, folder)
        left_out = {file.path for file in small}
        while True:
            base = commits.latest()
            if not left_out <= {file.path for file in base.files}:
                commits.withdraw(note)  # another one has compacted this hour
                break
            try:
                commits.commit(base, note, left_out, forgotten=deleted)
            except TakenError:
                continue
            compacted += len(small)
            break
    return compacted


def _wanting(snapshot: Snapshot, settings: CompactionSettings) -> Iterator[list[DataFile]]:
    """The small files of each hour that has several."""
    before = settings.clock() - settings.settle_seconds
    small = (file for file in snapshot.files if file.size < settings.target_bytes / 2)
    for hour, files in itertools.groupby(
        sorted(small, key=lambda file: file.path), key=lambda file: file.hour
    ):
        found = list(files)
        if len(found) > 1 and _ends_at(hour) <= before:
            yield found


def _ends_at(hour: str) -> float:
    """When an hour is over, in seconds since 1970, by its folder's name."""
    begins = datetime.strptime(hour, "date=%Y-%m-%d/hour=%H").replace(tzinfo=UTC)
    return begins.timestamp() + _HOUR_SECONDS
