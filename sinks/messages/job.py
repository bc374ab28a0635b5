"""The message store's job: confirmed messages of `tbmq.msg.all` into SQL, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.messages.job`; spark-defaults.conf has settings that it needs too. It
prints `SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in Kafka is in the database alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sinks.messages.rows import MessageFormat, message_columns
from sinks.row_destination import RowSink, parse_row_sink
from sinks.running import run_sink

URL_VARIABLE = "SLUICEMQ_MESSAGE_STORE"
DEFAULT_INTERVAL_MS = 5_000
"""How long a batch gathers: a batch costs Spark half a second of CPU, whatever is in it."""
DEFAULT_KEEP_DAYS = 30


def parse_arguments(arguments: Sequence[str] | None = None) -> RowSink:
    """Read the command line."""
    given = parse_row_sink(
        "sinks.messages.job", "Store confirmed messages of QoS 1 and 2 in SQL.",
        URL_VARIABLE, DEFAULT_INTERVAL_MS, DEFAULT_KEEP_DAYS, arguments,
    )  # fmt: skip
    return RowSink(
        "sluicemq-messages", given.kafka, given.topics.publishes, MessageFormat(given.database),
        message_columns, given.keep_days, given.trigger, given.interval_ms, given.telemetry,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink; returns its exit status."""
    sink = parse_arguments(arguments)
    return run_sink(sink.sink(), sink.telemetry)


if __name__ == "__main__":
    sys.exit(main())
