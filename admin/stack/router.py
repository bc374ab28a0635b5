"""The router as a part of the stack: `spark-submit` of routing/job.py, as in production, on this machine alone."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

from admin.errors import AdminError
from admin.stack.data_folder import DataFolder
from admin.stack.jars import connector_jars
from admin.stack.java import find_java
from admin.stack.supervisor import Part

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
    spark = _package("pyspark")
    data.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    # What a run that was killed has left there, Spark never removes.
    shutil.rmtree(data.scratch, ignore_errors=True)
    settings = {
        # The jars are on this machine already: nothing to resolve, which saves seconds of each start.
        "spark.jars.packages": "",
        # On the class path, not in spark.jars: one JVM is all there is, so none needs to be sent a copy of them.
        "spark.driver.extraClassPath": ":".join(map(str, connector_jars())),
        "spark.local.dir": str(data.scratch),
        "spark.ui.enabled": "false",
        # Two generations of the query overlap at a rollover; each also reads the subscription table meanwhile.
        "spark.master": f"local[{2 * partitions + 4}]",
    }
    command = [str(spark / "bin" / "spark-submit"), "--properties-file", str(spark_defaults())]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += [str(_package("routing") / "job.py"), "--kafka", kafka, "--checkpoint", str(data.checkpoint)]
    command += ["--trigger", "realtime", "--snapshot-dir", str(data.snapshots), *job_options]
    environment = {
        "SPARK_HOME": str(spark),
        "JAVA_HOME": str(Path(find_java()).resolve().parent.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # A machine whose name does not resolve, or resolves to a network that is down, is no reason not to start.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return Part("router", command, marks=(STARTED,), environment=environment, patience=20.0)


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
