"""Several sinks in one Spark application: what `sluicemq up` runs, and whoever has no machine for each.

Run it with spark-submit, or as `python -m sinks.several`; spark-defaults.conf has settings that it needs too. It prints
`SINK STARTED` when the queries of all run; SIGTERM ends them in order. A sink that gives up is tried again after a
minute, and the others go on. What else a sink can be told, its own job can.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from contracts.archive import ArchiveFormat
from sinks import job as persisted
from sinks.archive import job as archive
from sinks.command_line import AVAILABLE_NOW, named_topics, sink_parser
from sinks.historical import job as historical
from sinks.messages import job as messages
from sinks.running import RETRY_SECONDS, Sink, run_sinks
from telemetry.settings import TelemetrySettings, parsed_telemetry

_URLS = {
    "store": (persisted.URL_VARIABLE, "of the store of persistent sessions"),
    "message_store": (messages.URL_VARIABLE, "of the message store's database"),
    "statistics_store": (historical.URL_VARIABLE, "of the statistics' database"),
}


def parse_arguments(
    arguments: Sequence[str] | None = None,
) -> tuple[list[Sink], TelemetrySettings, float | None]:
    """Read the command line: what to run, how it tells of itself, and after how long what gives up is tried again."""
    parser = sink_parser("sinks.several", "Run several sinks in one Spark application.")
    for name, (variable, what) in _URLS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar="URL", default=os.environ.get(variable),
            help=f"{what}; or {variable} in the environment, which no list of processes shows",
        )  # fmt: skip
    parser.add_argument(
        "--archive", metavar="DIR", help="the archive's folder: a path, or a URI that Spark knows"
    )
    parser.add_argument(
        "--archive-format", choices=list(ArchiveFormat), default=ArchiveFormat.PARQUET,
        help="files of Parquet, or a table of Delta Lake, where Spark has that",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    named_topics(parser, given)
    telemetry = parsed_telemetry(parser, given)
    shared = ["--kafka", given.kafka, "--trigger", given.trigger, "--topic-prefix", given.topic_prefix]
    sinks = []
    if given.store:
        sinks.append(persisted.persisted_sink(persisted.parse_arguments([*shared, "--store", given.store])))
    if given.archive:
        place = ["--archive", given.archive, "--format", given.archive_format]
        sinks.append(archive.archive_sink(archive.parse_arguments([*shared, *place])))
    if given.message_store:
        sinks.append(messages.parse_arguments([*shared, "--database", given.message_store]).sink())
    if given.statistics_store:
        sinks.append(historical.parse_arguments([*shared, "--database", given.statistics_store]).sink())
    if not sinks:
        parser.error("name what to run: --store, --archive, --message-store, --statistics-store")
    return sinks, telemetry, None if given.trigger == AVAILABLE_NOW else RETRY_SECONDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sinks; returns the exit status."""
    return run_sinks("sluicemq-sinks", *parse_arguments(arguments))


if __name__ == "__main__":
    sys.exit(main())
