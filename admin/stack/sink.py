"""The sinks as a part of the stack: `spark-submit` of sinks/several.py, all in one small JVM."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from admin.errors import UsageError
from admin.stack.data_folder import DataFolder
from admin.stack.jars import connector_jars, delta_jars
from admin.stack.spark_cluster import SparkCluster
from admin.stack.spark_submit import submit_command, submit_environment
from admin.stack.supervisor import Part
from contracts.archive import ArchiveFormat

STARTED = "SINK STARTED"
"""The mark that the job shows when its queries run."""
SECONDS_TO_START = 180.0
"""It takes about as long as the router, which starts at the same time."""

_HEAP = "480m"
"""The least with which Spark starts. It stays mostly untouched: the young generation is kept small, below."""
_HEAP_OF_ARCHIVE = "1g"
"""Each file that is being written holds a row group in memory, and a backlog has those of many hours."""
_JVM = "-XX:+UseSerialGC -Xms64m -Xmn48m -Xss2m"
"""A batch passes through the heap a few MiB at a time; what a young generation is allowed, it uses."""
_FOR_PYTHON = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=64m -XX:MaxMetaspaceSize=192m"
"""Where the work is Python's, the second compiler would take more memory and CPU than it gives back."""
_FOR_ARCHIVE = "-XX:ReservedCodeCacheSize=128m -XX:MaxMetaspaceSize=320m"


@dataclass(frozen=True)
class Sinks:
    """Which sinks there are to be, and where each writes; None: there is none."""

    store: str | None = None
    """Of persistent sessions: its URL."""
    archive: str | None = None
    """A path or URI."""
    archive_format: ArchiveFormat = ArchiveFormat.PARQUET
    message_store: str | None = None
    """A database's URL."""
    statistics: str | None = None
    """A database's URL."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return any((self.store, self.archive, self.message_store, self.statistics))

    @property
    def urls(self) -> dict[str, str | None]:
        """URLs by the names of the settings that name them."""
        return {
            "SLUICEMQ_STORE": self.store,
            "SLUICEMQ_MESSAGE_STORE": self.message_store,
            "SLUICEMQ_STATISTICS_STORE": self.statistics,
        }

    @property
    def slots(self) -> int:
        """Tasks at a time: one does for what is small, and each is a Python process more.

        With a second one, a store does not wait for a backlog's archive.
        """
        return 2 if self.archive or self.message_store else 1


def check_stores(store: str | None, message_store: str | None, statistics_store: str | None) -> None:
    """Check that those that are given can be used, by their URLs.

    Raises:
        UsageError: There is no such store, or it does not answer.
    """
    if not (store or message_store or statistics_store):
        return
    # Here, not at the top: their libraries take half a second to load, for stores of others' own.
    from stores import StoreError, open_store
    from stores.historical import StatisticsStore
    from stores.messages import MessageStore

    try:
        if store:
            open_store(store).close()
        if message_store:
            MessageStore(message_store).close()
        if statistics_store:
            StatisticsStore(statistics_store).close()
    except StoreError as error:
        raise UsageError(f"The sink could not use that store: {error}.") from error


def sink_part(
    data: DataFolder,
    kafka: str,
    sinks: Sinks,
    job_options: tuple[str, ...] = (),
    cluster: SparkCluster | None = None,
) -> Part:
    """Describe the sinks.

    Args:
        data: Where their scratch space goes.
        kafka: Bootstrap servers.
        sinks: Which, and where each writes.
        job_options: More options of sinks/several.py.
        cluster: Where their tasks run; None: in their own JVM.

    Raises:
        AdminError: PySpark, the job, or its settings are not installed.
    """
    data.sink_scratch.parent.mkdir(parents=True, exist_ok=True)
    # What a run that was killed has left there, Spark never removes.
    shutil.rmtree(data.sink_scratch, ignore_errors=True)
    settings = {
        **(cluster.settings(sinks.slots) if cluster else {"spark.master": f"local[{sinks.slots}]"}),
        "spark.driver.memory": _HEAP_OF_ARCHIVE if sinks.archive else _HEAP,
        "spark.driver.extraJavaOptions": f"{_JVM} {_FOR_ARCHIVE if sinks.archive else _FOR_PYTHON}",
    }
    jars = delta_jars() if sinks.archive and sinks.archive_format == ArchiveFormat.DELTA else []
    if cluster and jars:
        settings["spark.jars"] = ",".join(map(str, [*connector_jars(), *jars]))
    command = submit_command("sinks", data.sink_scratch, settings, "several.py", jars)
    command += ["--kafka", kafka, *job_options]
    if sinks.archive:
        command += ["--archive", sinks.archive, "--archive-format", sinks.archive_format]
    # A URL may have a password in it; an environment variable is not in everybody's list of processes.
    # Empty where there is none, as this process may have inherited one.
    environment = {**submit_environment(), **{name: url or "" for name, url in sinks.urls.items()}}
    environment |= cluster.environment() if cluster else {}
    return Part("sink", command, marks=(STARTED,), environment=environment, patience=20.0)
