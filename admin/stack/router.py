"""The router as a part of the stack: `spark-submit` of routing/job.py, as in production, from this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from admin.errors import AdminError
from admin.kafka_topics import topic_administration
from admin.stack.data_folder import DataFolder
from admin.stack.spark_cluster import SparkCluster
from admin.stack.spark_submit import submit_command, submit_environment
from admin.stack.supervisor import Part
from contracts.kafka_topics import KafkaTopics

STARTED = "ROUTER STARTED"
"""The mark that the job shows when its query runs."""
SECONDS_TO_START = 180.0
"""It takes about 10 s here; a machine that is busy with a first start of all parts may need several times that."""


def router_part(
    data: DataFolder,
    kafka: str,
    partitions: int,
    job_options: tuple[str, ...] = (),
    cluster: SparkCluster | None = None,
) -> Part:
    """Describe the router.

    The process that the supervisor knows is the JVM (spark-submit becomes it); the job's Python is its child.

    Args:
        data: Where the checkpoint and the scratch space go.
        kafka: Bootstrap servers.
        partitions: Of `tbmq.msg.all`; the job needs a task slot for each.
        job_options: More options of routing/job.py.
        cluster: Where its tasks run; None: in its own JVM.

    Raises:
        AdminError: PySpark, the job, or its settings are not installed.
    """
    data.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    # What a run that was killed has left there, Spark never removes.
    shutil.rmtree(data.scratch, ignore_errors=True)
    command = _submit(data.scratch, slots_for(partitions), cluster)
    command += ["--kafka", kafka, "--checkpoint", str(data.checkpoint), "--trigger", "realtime"]
    command += ["--snapshot-dir", str(data.snapshots), *job_options]
    environment = submit_environment() | (cluster.environment() if cluster else {})
    return Part("router", command, marks=(STARTED,), environment=environment, patience=20.0)


def slots_for(partitions: int) -> int:
    """How many task slots the router needs for so many partitions of `tbmq.msg.all`."""
    # Two generations of the query overlap at a rollover; each also reads the subscription table meanwhile.
    return 2 * partitions + 4


def train(place: Path, kafka: str) -> None:
    """Run the job over all that is there, which is next to nothing, so that its JVM can archive its classes.

    Raises:
        AdminError: The run failed.
    """
    topics = KafkaTopics()
    with topic_administration(kafka) as administration:
        administration.create([*topics.shared(1, 1), *topics.of_node("gw1")], replication_factor=1)
    command = [
        *_submit(place / "scratch", 4),
        "--kafka",
        kafka,
        "--checkpoint",
        str(place / "checkpoint"),
    ]
    command += ["--trigger", "available-now", "--snapshot-dir", str(place / "snapshots")]
    done = subprocess.run(command, env={**os.environ, **submit_environment()}, capture_output=True, text=True)
    if done.returncode != 0:
        raise AdminError(f"A run of the router to learn its classes failed ({done.stderr.strip()[-300:]}).")


def _submit(scratch: Path, slots: int, cluster: SparkCluster | None = None) -> list[str]:
    place = cluster.settings(slots) if cluster else {"spark.master": f"local[{slots}]"}
    return submit_command("routing", scratch, place)
