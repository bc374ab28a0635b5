"""Files on their way into the archive: written where nobody looks, then moved to their places."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from pyspark.sql import DataFrame

from sinks.archive.commits import STAGING, DataFile
from sinks.archive.folder import Folder
from sinks.archive.records import PARTITION_COLUMNS


def write_staged(records: DataFrame, folder: Folder) -> list[tuple[str, DataFile]]:
    """Write records where nobody looks; gives each file's path there, and what it is to be."""
    stage = f"{STAGING}/{uuid.uuid4().hex}"
    (
        records.write.partitionBy(*PARTITION_COLUMNS)
        # What marks success is the commit.
        .option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        # Each task moves its own files; nobody looks here, so nobody sees those of half a job.
        .option("mapreduce.fileoutputcommitter.algorithm.version", "2")
        .parquet(folder.absolute(stage))
    )
    return [
        (found.path, DataFile(found.path[len(stage) + 1 :], found.size, found.modified_ms))
        for found in folder.list(stage)
        if found.path.endswith(".parquet")
    ]


def move_staged(staged: Iterable[tuple[str, DataFile]], folder: Folder) -> None:
    """Move files to their places. Their names have an id of Spark's, so nobody else has them."""
    stage = ""
    for path, file in staged:
        folder.move(path, file.path)
        stage = "/".join(path.split("/")[:2])
    if stage:
        folder.delete(stage)
