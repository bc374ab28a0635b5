"""The message store's job: confirmed messages of `tbmq.msg.all` into SQL, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.messages.job`; spark-defaults.conf has settings that it needs too. It
prints `SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in Kafka is in the database alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sinks.messages.rows import MessageFormat, message_columns
from sinks.row_destination import SPARK_SETTINGS, RowSink, add_database_options, parse_row_sink
from sinks.running import named_topics, run_sink, sink_parser

URL_VARIABLE = "SLUICEMQ_MESSAGE_STORE"
DEFAULT_INTERVAL_MS = 5_000
"""How long a batch gathers: a batch costs Spark half a second of CPU, whatever is in it."""
DEFAULT_KEEP_DAYS = 30


def parse_arguments(arguments: Sequence[str] | None = None) -> RowSink:
    """Read the command line."""
    parser = sink_parser(
        "sinks.messages.job", "Store confirmed messages of QoS 1 and 2 in SQL.", DEFAULT_INTERVAL_MS
    )
    add_database_options(parser, URL_VARIABLE, DEFAULT_KEEP_DAYS)
    given = parse_row_sink(parser, URL_VARIABLE, arguments)
    return RowSink(
        "sluicemq-messages", given.kafka, named_topics(parser, given).publishes, MessageFormat(given.database),
        message_columns, given.keep_days, given.trigger, given.interval_ms,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink until it is told to stop, or all that was there is stored (available-now); 0, or 1 on failure."""
    sink = parse_arguments(arguments)
    return run_sink(sink.name, SPARK_SETTINGS, sink.supervised)


if __name__ == "__main__":
    sys.exit(main())
