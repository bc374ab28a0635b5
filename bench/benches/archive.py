"""The archive on a backlog, in either format, beside a plain copy into Parquet by the same Spark."""

from __future__ import annotations

from admin.kafka_topics import topic_administration
from admin.stack.jars import delta_jars
from admin.stack.kafka import running_kafka
from bench import archive_job
from bench.benches.router import run_spark, write_backlog
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_least
from bench.stacks import PARTITIONS
from bench.statistics import median
from contracts.kafka_topics import KafkaTopics

_TOPICS = KafkaTopics("bench-archive")
_MQTT_TOPICS = 1_000


def measure_archive(environment: Environment) -> Result:
    """A million messages of 256 B by date and hour, available-now, against Spark's own file sink."""
    messages = environment.million
    result = Result("archive", f"The archive on a backlog of {messages:,} messages, 256 B")
    environment.stop_stack()
    folder = environment.folder / "archive"
    with running_kafka(folder / "kafka") as (broker, _):
        environment.tell(f"writing {messages:,} messages")
        with topic_administration(broker.bootstrap) as administration:
            administration.create(_TOPICS.shared(publish_partitions=PARTITIONS))
        write_backlog(broker.bootstrap, _TOPICS.publishes, messages, _MQTT_TOPICS)
        environment.tell("copying and archiving, in turn")
        rounds = str(min(environment.rounds, 2))
        measured = {
            form: run_spark(
                folder, broker.bootstrap, archive_job.__file__, [rounds, _TOPICS.prefix, form], jars=jars
            )
            for form, jars in (("parquet", []), ("delta", delta_jars()))
        }
    archived, copied = (messages / median(measured["parquet"][name]) for name in ("archive", "copy"))
    in_delta, beside_delta = (messages / median(measured["delta"][name]) for name in ("archive", "copy"))
    result.figures = [
        Figure("share of a plain copy's rate", 100 * archived / copied, "%", at_least(85.0)),
        Figure("archived", archived, "msg/s", None, {"plain copy": copied}),
        Figure("in Delta Lake: share of a plain copy's rate", 100 * in_delta / beside_delta, "%", None),
        Figure("archived in Delta Lake", in_delta, "msg/s", None, {"plain copy": beside_delta}),
    ]
    rates = {"plain copy": copied, "archive": archived, "archive in Delta Lake": in_delta}
    result.plots = [Bars(result.title, "messages per second", rates, 0.85 * copied)]
    result.details = measured
    return result
