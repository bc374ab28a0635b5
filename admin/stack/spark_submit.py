"""`spark-submit` of one of our jobs from this machine: what the router and the sink have in common."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from admin.errors import AdminError
from admin.stack.class_archives import use_archive
from admin.stack.jars import connector_jars
from admin.stack.java import find_java
from admin.stack.spark_home import spark_home

ARCHIVE = "router"
"""The class archive of every job: one file, whose pages all JVMs of a stack share."""


def submit_command(
    package: str,
    scratch: Path,
    settings: Mapping[str, str],
    job: str = "job.py",
    further_jars: Sequence[Path] = (),
) -> list[str]:
    """Return the command that runs a job, up to the job's own options.

    Args:
        package: `routing` or `sinks`.
        scratch: Spark's scratch space.
        settings: What differs from spark-defaults.conf, `spark.master` among it.
        job: The job's file in the package.
        further_jars: What this JVM needs besides the connector.

    Raises:
        AdminError: PySpark, the job, or its settings are not installed.
    """
    embedded = {
        # The jars are on this machine already: nothing to resolve, which saves seconds of each start.
        "spark.jars.packages": "",
        # On the class path, not in spark.jars: they lie here, so this JVM needs no copy of them.
        "spark.driver.extraClassPath": ":".join(map(str, [*connector_jars(), *further_jars])),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        **settings,
    }
    spark = spark_home(_package("pyspark"))
    command = [str(spark / "bin" / "spark-submit"), "--properties-file", str(spark_defaults())]
    for name, value in embedded.items():
        command += ["--conf", f"{name}={value}"]
    return [*command, str(_package(package) / job)]


def submit_environment() -> dict[str, str]:
    """Return the variables that the command needs."""
    options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), *use_archive(ARCHIVE, class_path()))
    return {**spark_environment(), "SPARK_SUBMIT_OPTS": " ".join(filter(None, options))}


def spark_class(name: str) -> list[str]:
    """Return the command that runs one of Spark's own programs, by its class."""
    return [str(spark_home(_package("pyspark")) / "bin" / "spark-class"), name]


def spark_environment() -> dict[str, str]:
    """Return the variables that every program of Spark needs here."""
    return {
        "SPARK_HOME": str(spark_home(_package("pyspark"))),
        "JAVA_HOME": str(Path(find_java()).resolve().parent.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # A machine whose name does not resolve, or resolves to a network that is down, is no reason not to start.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def class_path() -> list[Path]:
    """The jars that a job's JVM loads its classes from."""
    return [*connector_jars(), *sorted((spark_home(_package("pyspark")) / "jars").glob("*.jar"))]


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
        raise AdminError(
            f"The package {name} is not installed in this Python: run `make venv`, or install sluicemq[embedded]."
        )
    return Path(spec.origin).parent
