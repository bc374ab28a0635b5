"""The statistics' job: gateways' counters from `tbmq.sys.historical.data` into SQL, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.historical.job`; spark-defaults.conf has settings that it needs too. It
prints `SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in Kafka is in the database alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sinks.historical.rows import HistoricalFormat, historical_columns
from sinks.row_destination import RowSink, parse_row_sink
from sinks.running import run_sink

URL_VARIABLE = "SLUICEMQ_STATISTICS_STORE"
DEFAULT_INTERVAL_MS = 30_000
"""How long a batch gathers: gateways tell once a minute."""
DEFAULT_KEEP_DAYS = 90


def parse_arguments(arguments: Sequence[str] | None = None) -> RowSink:
    """Read the command line."""
    given = parse_row_sink(
        "sinks.historical.job", "Store what gateways have counted in SQL.",
        URL_VARIABLE, DEFAULT_INTERVAL_MS, DEFAULT_KEEP_DAYS, arguments,
    )  # fmt: skip
    return RowSink(
        "sluicemq-statistics", given.kafka, given.topics.historical, HistoricalFormat(given.database),
        historical_columns, given.keep_days, given.trigger, given.interval_ms, given.telemetry,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink; returns its exit status."""
    sink = parse_arguments(arguments)
    return run_sink(sink.sink(), sink.telemetry)


if __name__ == "__main__":
    sys.exit(main())
