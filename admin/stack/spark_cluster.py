"""A Spark standalone cluster on this machine: a master, workers, and what a job's submission to them needs.

It is as on many machines: executors are processes of their own, which get the connector's jars and our wheel with the
application. They have what each machine of a cluster must have: Java, Spark, and a Python with our dependencies.

The master keeps what it knows in a folder, so a new one goes on with the workers and applications of the one before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from admin.stack.jars import connector_jars
from admin.stack.ports import LOOPBACK
from admin.stack.spark_submit import spark_class, spark_environment
from admin.stack.supervisor import Part

MASTER_STARTED = "I have been elected leader!"
"""The mark of a master that takes workers and applications, or takes up those of the one before it."""
WORKER_STARTED = "Successfully registered with master"
"""The mark of a worker that the master knows."""
SECONDS_TO_START = 120.0
"""Either takes 3 s here."""

_LOG_STAMP = r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d INFO \w+: "
"""What Spark puts before each line of its log."""
_DAEMON = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms32m -XX:MaxMetaspaceSize=128m"
"""Master and worker do next to nothing."""
_EXECUTOR_HEAP = "480m"
"""The least with which Spark starts."""


@dataclass(frozen=True)
class SparkCluster:
    """Where a cluster is, and how to start it."""

    data: Path
    """Its own folder: what the master knows, and the executors' work."""
    port: int
    """The master's."""
    wheel: Path
    """What executors have of ours."""
    workers: int = 2
    cores: int = 16
    """Task slots of each worker; no core belongs to one."""

    @property
    def url(self) -> str:
        """The master's address, as `spark.master`."""
        return f"spark://{LOOPBACK}:{self.port}"

    def master(self) -> Part:
        """The master as a part to be supervised, after what an earlier run has left is cleared."""
        # Nothing in it outlives a stack: its applications and executors are gone.
        shutil.rmtree(self.data, ignore_errors=True)
        known = self.data / "master"
        known.mkdir(parents=True)
        options = {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": str(known),
            "spark.master.rest.enabled": "false",
        }
        properties = " ".join(f"-D{name}={value}" for name, value in options.items())
        command = [*spark_class("org.apache.spark.deploy.master.Master"), "--host", LOOPBACK]
        command += ["--port", str(self.port), "--webui-port", "0"]
        environment = {**_daemon_environment(), "SPARK_MASTER_OPTS": properties}
        return Part("spark-master", command, (MASTER_STARTED,), environment, stamp=_LOG_STAMP)

    def worker(self, number: int) -> Part:
        """A worker as a part to be supervised; its executors end with it."""
        place = self.data / f"worker{number}"
        place.mkdir(parents=True, exist_ok=True)
        command = [*spark_class("org.apache.spark.deploy.worker.Worker"), "--host", LOOPBACK]
        command += ["--webui-port", "0", "--cores", str(self.cores), "--memory", "8g"]
        command += ["--work-dir", str(place / "work"), self.url]
        environment = {**_daemon_environment(), "SPARK_LOCAL_DIRS": str(place / "scratch")}
        return Part(f"spark-worker{number}", command, (WORKER_STARTED,), environment, stamp=_LOG_STAMP)

    def settings(self, slots: int) -> dict[str, str]:
        """What a job's submission sets, besides spark-defaults.conf, to run here with so many task slots."""
        return {
            "spark.master": self.url,
            "spark.cores.max": str(slots),
            "spark.jars": ",".join(map(str, connector_jars())),
            "spark.submit.pyFiles": str(self.wheel),
            # Spark forks Python from a module of ours before it puts an application's files on Python's path. They lie
            # in the executor's working directory.
            "spark.executorEnv.PYTHONPATH": self.wheel.name,
            "spark.executor.memory": _EXECUTOR_HEAP,
        }

    def environment(self) -> dict[str, str]:
        """Variables of a job's submission: its driver has no more of ours than executors have."""
        return {"PYTHONPATH": str(self.wheel)}


def _daemon_environment() -> Mapping[str, str]:
    options = (os.environ.get("SPARK_DAEMON_JAVA_OPTS", ""), _DAEMON)
    return {
        **spark_environment(),
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(filter(None, options)),
        # Executors inherit it: they must find what they are sent, and not this clone.
        "PYTHONPATH": "",
    }
