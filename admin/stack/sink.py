"""The sink as a part of the stack: `spark-submit` of sinks/job.py, in a small JVM of its own."""

from __future__ import annotations

import shutil

from admin.stack.data_folder import DataFolder
from admin.stack.spark_cluster import SparkCluster
from admin.stack.spark_submit import submit_command, submit_environment
from admin.stack.supervisor import Part

STARTED = "SINK STARTED"
"""The mark that the job shows when its query runs."""
SECONDS_TO_START = 180.0
"""It takes about as long as the router, which starts at the same time."""

SLOTS = 1
"""Tasks at a time: one folds all partitions of `tbmq.msg.persisted`. Each slot is a Python process more."""
_HEAP = "480m"
"""The least with which Spark starts. It stays mostly untouched: the young generation is kept small, below."""
_JVM = " ".join(
    (
        # A batch passes through the heap a few MiB at a time; what a young generation is allowed, it uses.
        "-XX:+UseSerialGC -Xms64m -Xmn48m",
        # The sink's work is Python's; the second compiler would take more memory and CPU than it gives back.
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=64m",
        "-Xss2m -XX:MaxMetaspaceSize=192m",
    )
)


def sink_part(
    data: DataFolder,
    kafka: str,
    store: str,
    job_options: tuple[str, ...] = (),
    cluster: SparkCluster | None = None,
) -> Part:
    """Describe the sink.

    Args:
        data: Where its scratch space goes.
        kafka: Bootstrap servers.
        store: The store's URL.
        job_options: More options of sinks/job.py.
        cluster: Where its tasks run; None: in its own JVM.

    Raises:
        AdminError: PySpark, the job, or its settings are not installed.
    """
    data.sink_scratch.parent.mkdir(parents=True, exist_ok=True)
    # What a run that was killed has left there, Spark never removes.
    shutil.rmtree(data.sink_scratch, ignore_errors=True)
    settings = {
        **(cluster.settings(SLOTS) if cluster else {"spark.master": f"local[{SLOTS}]"}),
        "spark.driver.memory": _HEAP,
        "spark.driver.extraJavaOptions": _JVM,
    }
    command = submit_command("sinks", data.sink_scratch, settings)
    command += ["--kafka", kafka, *job_options]
    # The URL may have a password in it; an environment variable is not in everybody's list of processes.
    environment = {**submit_environment(), "SLUICEMQ_STORE": store} | (
        cluster.environment() if cluster else {}
    )
    return Part("sink", command, marks=(STARTED,), environment=environment, patience=20.0)
