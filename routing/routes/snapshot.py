"""Snapshots: the state of one partition as a file on this host, so that an unchanged table costs next to nothing.

A snapshot is a cache and nothing more: where it is missing, unreadable, of another Kafka topic or too old, the
partition is read from its beginning. It is read through a memory map: all readers on a host share its pages.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from routing.routes.table import BLOCK_ROWS, STATE_SCHEMA

FORMAT = 4
"""Raised when the file changes; files of another format are passed over."""
STREAM_ROWS = BLOCK_ROWS
"""Rows in a record batch."""
STALE_SECONDS = 12 * 3600
"""A tombstone that came after a snapshot is kept for a day (contracts.kafka_topics), so a snapshot whose tail was not
looked at for long may miss it. Half of that leaves room for clocks."""
_META = b"sluicemq"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Which log a snapshot is of."""

    cluster: str
    """Kafka's cluster id."""
    topic: str
    topic_id: str
    """Kafka's id of the topic, which changes when it is deleted and created again."""
    partition: int

    def path(self, directory: Path) -> Path:
        """Where its snapshot is."""
        return directory / self.cluster / self.topic / f"{self.partition}-{self.topic_id}.arrow"


@dataclass(frozen=True)
class Snapshot:
    """A state, and how far it goes."""

    state: pa.Table
    """Rows of `STATE_SCHEMA`."""
    offset: int
    """All of the log before this offset is in it."""
    shapes: frozenset[str]
    """The distinct shapes of its rows."""
    topics: frozenset[str]
    """The Kafka topics that its rows lead to."""
    news: frozenset[str] = frozenset()
    """Those of them that no reader has found missing yet: whoever does looks again for a while."""
    saved_at: float = 0.0
    """When it was written, or last found to be up to date; seconds since 1970."""


def load(directory: Path, source: Source) -> Snapshot | None:
    """Read a snapshot; None where there is none that can be used."""
    path = source.path(directory)
    try:
        saved_at = path.stat().st_mtime
        if time.time() - saved_at > STALE_SECONDS:
            return None
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        meta = json.loads((table.schema.metadata or {})[_META])
        if meta["format"] != FORMAT or table.schema.remove_metadata() != STATE_SCHEMA:
            return None
        return Snapshot(
            table.replace_schema_metadata(),
            int(meta["offset"]),
            frozenset(meta["shapes"]),
            frozenset(meta["topics"]),
            frozenset(meta["news"]),
            saved_at,
        )
    except (OSError, ValueError, KeyError, TypeError):  # pyarrow's errors are among them
        return None


def save(directory: Path, source: Source, snapshot: Snapshot) -> None:
    """Write a snapshot: whole or not at all. A directory that cannot be written costs time, not correctness."""
    path = source.path(directory)
    meta = {
        "format": FORMAT,
        "offset": snapshot.offset,
        "shapes": sorted(snapshot.shapes),
        "topics": sorted(snapshot.topics),
        "news": sorted(snapshot.news),
    }
    schema = STATE_SCHEMA.with_metadata({_META: json.dumps(meta).encode()})
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        os.close(handle)
        with pa.OSFile(temporary, "wb") as file, pa.ipc.new_file(file, schema) as writer:
            # Merging leaves blocks of all sizes. Put together one by one, so that the table is not there twice.
            for start in range(0, snapshot.state.num_rows, STREAM_ROWS):
                writer.write_table(snapshot.state.slice(start, STREAM_ROWS).combine_chunks())
        Path(temporary).replace(path)
    except OSError as error:
        _log.warning(
            "no snapshot in %s, so the next reading starts from the beginning: %s", path.parent, error
        )
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def touch(directory: Path, source: Source) -> None:
    """Note that a snapshot was found to be up to date."""
    path = source.path(directory)
    if path.exists():
        os.utime(path)
