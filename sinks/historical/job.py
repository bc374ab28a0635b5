"""The statistics' job: gateways' counters from `tbmq.sys.historical.data` into SQL, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.historical.job`; spark-defaults.conf has settings that it needs too. It
prints `SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in Kafka is in the database alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sinks.historical.rows import HistoricalFormat, historical_columns
from sinks.row_destination import SPARK_SETTINGS, RowSink, add_database_options, parse_row_sink
from sinks.running import named_topics, run_sink, sink_parser

URL_VARIABLE = "SLUICEMQ_STATISTICS_STORE"
DEFAULT_INTERVAL_MS = 30_000
"""How long a batch gathers: gateways tell once a minute."""
DEFAULT_KEEP_DAYS = 90


def parse_arguments(arguments: Sequence[str] | None = None) -> RowSink:
    """Read the command line."""
    parser = sink_parser(
        "sinks.historical.job", "Store what gateways have counted in SQL.", DEFAULT_INTERVAL_MS
    )
    add_database_options(parser, URL_VARIABLE, DEFAULT_KEEP_DAYS)
    given = parse_row_sink(parser, URL_VARIABLE, arguments)
    return RowSink(
        "sluicemq-statistics", given.kafka, named_topics(parser, given).historical, HistoricalFormat(given.database),
        historical_columns, given.keep_days, given.trigger, given.interval_ms,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink until it is told to stop, or all that was there is stored (available-now); 0, or 1 on failure."""
    sink = parse_arguments(arguments)
    return run_sink(sink.name, SPARK_SETTINGS, sink.supervised)


if __name__ == "__main__":
    sys.exit(main())
