"""The embedded Kafka: one broker in KRaft mode, in one small JVM, on the loopback address.

Its data stays in its folder: a start on existing data goes on with it, also after `kill -9`, and on other ports too.
"""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from admin.errors import PartError
from admin.stack.class_archives import use_archive
from admin.stack.jars import broker_jars
from admin.stack.java import find_java
from admin.stack.ports import LOOPBACK, free_ports
from admin.stack.supervisor import Part, Supervisor

STARTED = "KAFKA STARTED"
"""The mark of a broker that takes clients; log4j2.properties makes it of the broker's own last log line of a start."""
SECONDS_TO_START = 90.0
"""It takes 3 s here; a broker that was killed with gigabytes of data first reads them through."""

HEAP_MIB = 384
"""Small enough for the whole stack to stay under 2 GiB; Kafka keeps its data in the page cache, not on the heap. But
what it knows of each topic is there: with some thousands, as many applications have, it needs more."""
_JAVA = (
    "-Xms64m",
    "-XX:+UseSerialGC",
    "-Xss512k",
    "-XX:MaxMetaspaceSize=128m",
    "-XX:ReservedCodeCacheSize=64m",
)

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={log_dir}
# Topics are created on purpose, with the settings that they must have, or not at all.
auto.create.topics.enable=false
# One broker: nothing to replicate, nobody to wait for.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# A broker that was killed may register again only when its old session has ended: 9 s by default, and nobody else would
# take its place meanwhile.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
# Fifty partitions of the offsets topic are for many brokers; each costs files and start-up time.
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=2
share.coordinator.state.topic.num.partitions=2
# The cleaner's default buffer, 128 MiB, would be a third of this heap.
log.cleaner.dedupe.buffer.size=16777216
# An MQTT broker's commands are small; what waits in the broker's queues is bounded well under the heap.
queued.max.requests=200
num.network.threads=2
num.io.threads=4
"""


@dataclass(frozen=True)
class KafkaBroker:
    """Where a broker is, and how to start it."""

    data: Path
    """Its own folder: `kafka.properties` and `log/`."""
    port: int
    controller_port: int
    heap_mib: int = HEAP_MIB

    @property
    def bootstrap(self) -> str:
        """The address for clients, HOST:PORT."""
        return f"{LOOPBACK}:{self.port}"

    def prepare(self, patience: float = 15.0) -> Part:
        """Write the settings, format the folder when it is new, and return the part to be supervised.

        Args:
            patience: Seconds that the broker has for its end before it is killed.

        Raises:
            PartError: The folder could not be formatted.
            AdminError: There is no Java, or the jars could not be fetched.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        log_dir = self.data / "log"
        settings = _PROPERTIES.format(
            host=LOOPBACK, port=self.port, controller_port=self.controller_port, log_dir=log_dir.absolute()
        )
        self._properties.write_text(settings)
        # Written when all of the formatting is done: a start that was killed in the middle of it formats again.
        formatted = self.data / "formatted"
        if not formatted.exists():
            self._format()
            formatted.touch()
        options = (f"-Xmx{self.heap_mib}m", *_JAVA, *use_archive("kafka", self.class_path()))
        command = [*self._java(*options), "kafka.Kafka", str(self._properties)]
        return Part("kafka", command, marks=(STARTED,), patience=patience)

    @staticmethod
    def class_path() -> list[Path]:
        """The broker's jars."""
        return broker_jars()

    @property
    def _properties(self) -> Path:
        return self.data / "kafka.properties"

    def _java(self, *options: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
        return [find_java(), *options, logging, "-cp", ":".join(map(str, self.class_path()))]

    def _format(self) -> None:
        command = [*self._java("-Xmx128m", "-XX:TieredStopAtLevel=1"), "kafka.tools.StorageTool", "format"]
        command += ["--ignore-formatted", "--cluster-id", _cluster_id(), "--config", str(self._properties)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()[-1:]
            raise PartError(f"Kafka's storage in {self.data} could not be formatted ({' '.join(said)}).")


def _cluster_id() -> str:
    """A new id in the form that Kafka wants: 16 random bytes in URL-safe base64, without padding."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return _cluster_id() if cluster.startswith("-") else cluster  # It would read as an option.


@contextmanager
def running_kafka(data: Path, patience: float = 15.0) -> Iterator[tuple[KafkaBroker, Supervisor]]:
    """Run one supervised broker on free ports; it is up when the block begins and gone when it has ended."""
    broker = KafkaBroker(data, *free_ports(2))
    part = broker.prepare(patience)
    with Supervisor(data / "logs") as supervisor:
        supervisor.start(part)
        supervisor.wait_for("kafka", STARTED, SECONDS_TO_START)
        yield broker, supervisor
