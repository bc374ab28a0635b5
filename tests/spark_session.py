"""The one Spark session that all tests of a run share, with the settings of spark-defaults.conf."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from pyspark.sql import SparkSession

from admin.stack import spark_submit
from admin.stack.jars import connector_jars
from admin.stack.spark_submit import spark_defaults

_ROOT = Path(__file__).parents[1]


@contextmanager
def spark_session(local_dir: Path) -> Iterator[SparkSession]:
    """A session as in production, but for where its jars come from; the process has one, whoever asks."""
    builder = SparkSession.builder.appName("tests").master("local[6]")
    for line in spark_defaults().read_text().splitlines():
        if line.startswith("spark.") and not line.startswith("spark.jars"):
            name, value = line.split(maxsplit=1)
            builder = builder.config(name, value)
    builder = (
        builder.config("spark.master", "local[6]")
        .config("spark.driver.extraClassPath", _connector())
        .config("spark.local.dir", str(local_dir))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    # With the class archive, and with Python workers that find our packages.
    with patch.dict(os.environ, spark_submit.submit_environment()):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def submit_environment(
    place: Path,
    master: str = "local[6]",
    further_jars: Sequence[Path] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The environment in which `python -m` starts a Spark job as a process of its own, with the same settings."""
    submit = [
        "--properties-file", str(spark_defaults()), "--master", master, "--driver-class-path", _connector(),
        "--conf", "spark.jars.packages=", "--conf", f"spark.local.dir={place / 'scratch'}",
    ]  # fmt: skip
    if further_jars:
        submit += ["--jars", ",".join(map(str, further_jars))]
    for name, value in settings.items():
        submit += ["--conf", f"{name}={value}"]
    submit.append("pyspark-shell")
    return {
        **os.environ,
        **spark_submit.submit_environment(),
        "PYSPARK_SUBMIT_ARGS": " ".join(submit),
        "PYTHONPATH": str(_ROOT),
    }


def _connector() -> str:
    """The connector's jars where the class archive knows them: on the class path, before Spark's own."""
    return ":".join(map(str, connector_jars()))
