"""A replay into Kafka topics, which goes on where it was ended, with the same messages and the same table.

What was chosen is written down before anything is routed: offsets, and the table itself, for what Kafka knows of a
moment becomes less. From Kafka it is an available-now query with a checkpoint, in steps of bounded size. From an
archive it is one batch, because files have no order and consumers need one; begun again, it is written again, and
consumers drop the repeats by their id.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from contracts.kafka_topics import KafkaTopics
from routing.errors import ReplayError
from routing.moments import Moment
from routing.pipeline import route
from routing.records import sink_options, stream_publishes, write_records
from routing.replay.destinations import create_missing, destinations
from routing.replay.records import before_offsets, read_archive, read_range
from routing.replay.replay import GENERATION, replayed
from routing.replay.table import choose_table, shapes_of_routes
from routing.routes.assumptions import Assumptions
from routing.routes.kafka import RouteLog

_FILE, _ROUTES, _CHECKPOINT = "replay.json", "routes", "query"
_WATCH_SECONDS = 0.5


@dataclass(frozen=True)
class ReplayRequest:
    """What somebody wants replayed."""

    kafka: str
    source: str
    """The prefix of the Kafka topics to read."""
    into: str
    """The prefix of those to write."""
    start: str
    end: str
    """Moments (routing.moments)."""
    as_of: str
    assumptions: Assumptions = field(default_factory=Assumptions)
    archive: str | None = None
    in_band: bool = True
    is_part_enough: bool = False

    def written(self) -> dict[str, Any]:
        """As it is written down; whoever goes on with it must want the same."""
        return asdict(self) | {"kafka": None, "assumptions": self.assumptions.encode()}


@dataclass(frozen=True)
class ReplayFolder:
    """Where a replay keeps what it has chosen, and its place."""

    path: str
    """A folder on a file system that is mounted here, and on the executors."""

    def choose(self, spark: SparkSession, request: ReplayRequest) -> dict[str, dict[str, int]]:
        """The offsets that are replayed, `starts` and `ends`; chosen and written down once, with the table.

        Raises:
            ReplayError: The folder is another replay's.
            MomentError, RouteTableError: A moment is none, or can't be told.
        """
        file = Path(self.path) / _FILE
        if file.exists():
            found = json.loads(file.read_bytes())
            if found["request"] != request.written():
                raise ReplayError(f"{self.path} is another replay's: name a folder of its own, or remove it")
            return dict(found["offsets"])
        shutil.rmtree(Path(self.path) / _CHECKPOINT, ignore_errors=True)
        source = KafkaTopics(request.source)
        offsets: dict[str, dict[str, int]] = {}
        if request.archive is None:
            log = RouteLog(request.kafka, source.publishes)
            for name, moment in (("starts", request.start), ("ends", request.end)):
                resolved = Moment.parse(moment).resolve(log)
                offsets[name] = {str(partition): offset for partition, offset in resolved.items()}
        table = choose_table(
            spark, request.kafka, source, request.as_of, request.assumptions, request.is_part_enough
        )
        table.routes.write.mode("overwrite").parquet(self.routes)
        table.routes.unpersist()
        # Last and at once: a folder without it is as good as empty.
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps({"request": request.written(), "offsets": offsets}))
        temporary.replace(file)
        return offsets

    @property
    def routes(self) -> str:
        """The table, as Parquet."""
        return str(Path(self.path) / _ROUTES)

    @property
    def checkpoint(self) -> str:
        """The query's."""
        return str(Path(self.path) / _CHECKPOINT)


def run_replay(spark: SparkSession, request: ReplayRequest, folder: str) -> set[str]:
    """Replay, or go on with a replay; returns the Kafka topics that it leads to when all is written.

    Raises:
        ReplayError: It would write to the topics that gateways read; the folder is another replay's; Kafka refuses a
            topic.
        MomentError, RouteTableError: As `ReplayFolder.choose`.
    """
    if request.into == request.source:
        raise ReplayError(f"a replay into {request.into} would be delivered: choose another prefix")
    place = ReplayFolder(folder)
    offsets = place.choose(spark, request)
    source, into = KafkaTopics(request.source), KafkaTopics(request.into)
    routes = spark.read.parquet(place.routes)
    shapes = shapes_of_routes(routes)

    def routed(records: DataFrame) -> DataFrame:
        given = replayed(records, request.assumptions.filters, request.in_band)
        return route(given, routes, shapes, into, GENERATION)

    if request.archive is not None:
        archive = read_archive(spark, request.archive, Moment.parse(request.start), Moment.parse(request.end))
        found = destinations(routed(archive))
        create_missing(request.kafka, found, source, into)
        ordered = archive.repartition("partition").sortWithinPartitions("partition", "offset")
        routed(ordered).write.format("kafka").options(**sink_options(request.kafka)).save()
        return found
    starts, ends = ({int(p): at for p, at in offsets[name].items()} for name in ("starts", "ends"))
    found = destinations(routed(read_range(spark, request.kafka, source, starts, ends)))
    create_missing(request.kafka, found, source, into)
    stream = stream_publishes(spark, request.kafka, source, bounded=True, offsets=starts)
    writer = write_records(routed(stream.where(before_offsets(ends))), request.kafka, place.checkpoint)
    _finish(writer.trigger(availableNow=True).start(), source.publishes, ends)
    return found


def _finish(query: StreamingQuery, topic: str, ends: Mapping[int, int]) -> None:
    """Wait until all is written; what stands behind the range need not be read."""
    try:
        while not query.awaitTermination(_WATCH_SECONDS):  # type: ignore[arg-type]
            progress = query.lastProgress
            reached = _offsets(progress["sources"][0]["endOffset"], topic) if progress else {}
            if all(reached.get(partition, 0) >= end for partition, end in ends.items()):
                return
    finally:
        query.stop()


def _offsets(told: Any, topic: str) -> dict[int, int]:
    found = json.loads(told) if isinstance(told, str) else told or {}
    return {int(partition): offset for partition, offset in found.get(topic, {}).items()}
