"""A batch of a log in the driver: written by Spark's workers, again and again until the store has all of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from sinks.errors import BatchFailedError, PositionLostError, SinkError, SinkStoppedError
from sinks.outcomes import OUTCOME_SCHEMA, Outcome, Trouble, decode_outcome
from sinks.progress import Progress
from sinks.waiting import patiently

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a worker does with the rows of the Kafka partitions that came to it; gives an outcome of each, as Arrow rows."""

_log = logging.getLogger(__name__)


@dataclass
class BatchWriter:
    """What `foreachBatch` calls: one object for the life of one query."""

    reach: Callable[[], object]
    """Asks the store something; raises StoreUnavailableError while it does not answer."""
    work: Callable[[dict[int, int | None]], Work]
    """Makes the workers' function, which Spark sends to them, of what is known."""
    known: dict[int, int | None]
    """Where each partition stands in the store, as far as the driver has heard."""
    progress: Progress
    stopping: threading.Event
    failure: SinkError | None = None
    """What the query was ended for; Spark itself passes on exceptions as text only."""

    def __call__(self, batch: DataFrame, _batch_id: int) -> None:
        """Write a batch; returns when all of it is in the store.

        Raises:
            PositionLostError: The store has fallen back behind the batch.
            BatchFailedError: Spark could not run it.
            SinkStoppedError: The sink is to stop.
        """
        if self.stopping.is_set():
            raise SinkStoppedError("the sink is to stop")
        try:
            self.progress.batches += 1
            while not self._write(batch):
                patiently(self.reach, self.stopping)
        except SinkError as error:
            self.failure = error
            raise
        except Exception as error:
            # In few words: Spark takes an exception's text apart by a regular expression, which overflows the stack
            # of the query's thread when the text is a long Java stack trace.
            self.failure = BatchFailedError(last_cause(str(error)))
            raise self.failure from None

    def _write(self, batch: DataFrame) -> bool:
        # Made anew for each call, so that Spark sends it with what is known by now.
        work = self.work(dict(self.known))

        # Partitions stay whole and in order: there is no exchange. More tasks than slots would only queue, and a task's
        # start in Python costs more than a quiet batch. Nothing but outcomes comes to the driver.
        batch = batch.coalesce(batch.sparkSession.sparkContext.defaultParallelism)
        outcomes = [decode_outcome(row.asDict()) for row in batch.mapInArrow(work, OUTCOME_SCHEMA).collect()]
        for outcome in outcomes:
            self.progress.add(outcome.counters)
            self._learn(outcome)
        return not any(outcome.trouble for outcome in outcomes)

    def _learn(self, outcome: Outcome) -> None:
        if outcome.trouble is Trouble.POSITION_LOST:
            raise PositionLostError(outcome.reason)
        self.known[outcome.partition] = outcome.next_offset
        if outcome.trouble:
            _log.warning("%s; the batch is written again", outcome.reason)


def last_cause(text: str) -> str:
    """The innermost cause of what the JVM says, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # py4j says first which call it was, and what Java threw after a colon.
    causes = [line for line in lines if line.startswith(("Caused by:", ": "))]
    return (causes[-1].removeprefix(": ") if causes else lines[0] if lines else "no reason given")[:300]
