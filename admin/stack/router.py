"""The router as a part of the stack: `spark-submit` of routing/job.py, as in production, on this machine alone."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from admin.errors import AdminError
from admin.kafka_topics import topic_administration
from admin.stack.class_archives import use_archive
from admin.stack.data_folder import DataFolder
from admin.stack.jars import connector_jars
from admin.stack.java import find_java
from admin.stack.spark_home import spark_home
from admin.stack.supervisor import Part
from contracts.kafka_topics import KafkaTopics

STARTED = "ROUTER STARTED"
"""The mark that the job shows when its query runs."""
SECONDS_TO_START = 180.0
"""It takes about 10 s here; a machine that is busy with a first start of all parts may need several times that."""


def router_part(data: DataFolder, kafka: str, partitions: int, job_options: tuple[str, ...] = ()) -> Part:
    """Describe the router.

    The process that the supervisor knows is the JVM (spark-submit becomes it); the job's Python is its child.

    Args:
        data: Where the checkpoint and the scratch space go.
        kafka: Bootstrap servers.
        partitions: Of `tbmq.msg.all`; the job needs a task slot for each.
        job_options: More options of routing/job.py.

    Raises:
        AdminError: PySpark, the job, or its settings are not installed.
    """
    data.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    # What a run that was killed has left there, Spark never removes.
    shutil.rmtree(data.scratch, ignore_errors=True)
    # Two generations of the query overlap at a rollover; each also reads the subscription table meanwhile.
    command = _submit(data.scratch, slots=2 * partitions + 4)
    command += ["--kafka", kafka, "--checkpoint", str(data.checkpoint), "--trigger", "realtime"]
    command += ["--snapshot-dir", str(data.snapshots), *job_options]
    return Part("router", command, marks=(STARTED,), environment=_environment(), patience=20.0)


def train(place: Path, kafka: str) -> None:
    """Run the job over all that is there, which is next to nothing, so that its JVM can archive its classes.

    Raises:
        AdminError: The run failed.
    """
    topics = KafkaTopics()
    with topic_administration(kafka) as administration:
        administration.create([*topics.shared(1, 1), *topics.of_node("gw1")], replication_factor=1)
    command = [
        *_submit(place / "scratch", slots=4),
        "--kafka",
        kafka,
        "--checkpoint",
        str(place / "checkpoint"),
    ]
    command += ["--trigger", "available-now", "--snapshot-dir", str(place / "snapshots")]
    done = subprocess.run(command, env={**os.environ, **_environment()}, capture_output=True, text=True)
    if done.returncode != 0:
        raise AdminError(f"A run of the router to learn its classes failed ({done.stderr.strip()[-300:]}).")


def class_path() -> list[Path]:
    """The jars that the router's JVM loads its classes from."""
    return [*connector_jars(), *sorted((spark_home(_package("pyspark")) / "jars").glob("*.jar"))]


def _submit(scratch: Path, slots: int) -> list[str]:
    settings = {
        # The jars are on this machine already: nothing to resolve, which saves seconds of each start.
        "spark.jars.packages": "",
        # On the class path, not in spark.jars: one JVM is all there is, so none needs to be sent a copy of them.
        "spark.driver.extraClassPath": ":".join(map(str, connector_jars())),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.master": f"local[{slots}]",
    }
    spark = spark_home(_package("pyspark"))
    command = [str(spark / "bin" / "spark-submit"), "--properties-file", str(spark_defaults())]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    return [*command, str(_package("routing") / "job.py")]


def _environment() -> dict[str, str]:
    options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), *use_archive("router", class_path()))
    return {
        "SPARK_HOME": str(spark_home(_package("pyspark"))),
        "SPARK_SUBMIT_OPTS": " ".join(filter(None, options)),
        "JAVA_HOME": str(Path(find_java()).resolve().parent.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # A machine whose name does not resolve, or resolves to a network that is down, is no reason not to start.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def spark_defaults() -> Path:
    """Return the path of spark-defaults.conf: beside the packages in a clone, else where the wheel put it.

    Raises:
        AdminError: It is in neither place.
    """
    places = [Path(__file__).parents[2], Path(sys.prefix) / "share" / "sluicemq"]
    for place in places:
        if (place / "spark-defaults.conf").is_file():
            return place / "spark-defaults.conf"
    raise AdminError(
        f"There is no spark-defaults.conf in {places[0]} or {places[1]}: install SluiceMQ again."
    )


def _package(name: str) -> Path:
    # find_spec does not import the package: neither Spark nor the job belongs in this process.
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise AdminError(f"The package {name} is not installed in this Python: run `make venv`.")
    return Path(spec.origin).parent
