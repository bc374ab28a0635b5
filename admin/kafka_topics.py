"""Create and check Kafka topics on a running cluster, as contracts.kafka_topics says that they must be."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from admin.errors import AdminError, KafkaUnavailableError
from contracts.kafka_topics import KafkaTopic

SECONDS_TO_ANSWER = 15
"""How long to try to reach Kafka before saying that it does not answer."""
SECONDS_TO_LEAD = 60
"""How long a cluster, which may be busy, may take until all partitions of new topics can be used."""
BROKER_DEFAULT = -1
"""As a replication factor: what the cluster is configured to use."""


@dataclass(frozen=True)
class Difference:
    """What is not as it must be about one Kafka topic."""

    topic: str
    setting: str
    """`topic` (it is missing), `partitions`, or the name of a topic setting."""
    wanted: str
    found: str


class TopicAdministration:
    """One connection to a cluster's administration."""

    def __init__(self, client: KafkaAdminClient) -> None:
        self._client = client

    def existing(self, names: Iterable[str] | None = None, prefix: str = "") -> list[KafkaTopic]:
        """Return the topics that exist, with the settings that differ from the cluster's defaults, by name.

        Args:
            names: Only these; a name that does not exist is left out.
            prefix: Only topics whose names begin so.
        """
        wanted = None if names is None else set(names)
        partitions = {
            topic["name"]: len(topic["partitions"])
            for topic in self._client.describe_topics()
            if topic["name"].startswith(prefix) and (wanted is None or topic["name"] in wanted)
        }
        if not partitions:
            return []
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in sorted(partitions)]
        settings = self._client.describe_configs(resources).get("topic", {})
        return [
            KafkaTopic(
                name,
                partitions[name],
                {key: str(entry["value"]) for key, entry in sorted(settings.get(name, {}).items())},
            )
            for name in sorted(partitions)
        ]

    def create(self, topics: Sequence[KafkaTopic], replication_factor: int = BROKER_DEFAULT) -> list[str]:
        """Create those that are missing; leave the others as they are. Return the names of the new ones.

        All of them can be used then: whoever starts next need not wait until somebody leads their partitions.

        Raises:
            AdminError: Kafka refused one.
        """
        present = {topic.name for topic in self.existing(topic.name for topic in topics)}
        missing = [topic for topic in topics if topic.name not in present]
        if not missing:
            return []
        answers = self._client.create_topics(
            {
                topic.name: {
                    "num_partitions": topic.partitions,
                    "replication_factor": replication_factor,
                    "configs": topic.config,
                }
                for topic in missing
            },
            raise_errors=False,
        )
        created = []
        for answer in answers["topics"]:
            error = for_code(answer["error_code"])
            if answer["error_code"] == 0:
                created.append(answer["name"])
            elif error is not TopicAlreadyExistsError:  # Somebody else was quicker: as good.
                why = answer.get("error_message") or error.__name__
                raise AdminError(f"Kafka did not create the topic {answer['name']}: {why}")
        self._await_leaders(missing)
        return created

    def _await_leaders(self, topics: Sequence[KafkaTopic]) -> None:
        """Wait until all partitions answer: that they have a leader is known before it knows it itself.

        Raises:
            KafkaError: They still do not.
        """
        until = time.monotonic() + SECONDS_TO_LEAD
        names = [topic.name for topic in topics]
        self._client.wait_for_topics(names, timeout_ms=1_000 * SECONDS_TO_LEAD)
        places = {
            TopicPartition(topic["name"], partition["partition_index"]): OffsetSpec.LATEST
            for topic in self._client.describe_topics(names)
            for partition in topic["partitions"]  # who was quicker may have made another number of them
        }
        while True:
            try:
                self._client.list_partition_offsets(places)
                return
            except KafkaError as error:
                if not error.retriable or time.monotonic() > until:
                    raise
            time.sleep(0.1)

    def remove(self, name: str) -> bool:
        """Remove one; False if there is none.

        Raises:
            AdminError: Kafka refused.
        """
        [answer] = self._client.delete_topics([name], raise_errors=False)["topics"]
        error = for_code(answer["error_code"])
        if error is UnknownTopicOrPartitionError:
            return False
        if answer["error_code"] != 0:
            raise AdminError(f"Kafka did not remove the topic {name}: {error.__name__}")
        return True

    def differences(self, topics: Sequence[KafkaTopic]) -> list[Difference]:
        """Compare what exists with what must exist; an empty list says that all is well."""
        existing = {topic.name: topic for topic in self.existing(topic.name for topic in topics)}
        return [difference for topic in topics for difference in compare(topic, existing.get(topic.name))]


def compare(wanted: KafkaTopic, found: KafkaTopic | None) -> Iterator[Difference]:
    """What is not as it must be about a topic; None: it is missing."""
    if found is None:
        yield Difference(wanted.name, "topic", "exists", "missing")
        return
    if found.partitions != wanted.partitions:
        yield Difference(wanted.name, "partitions", str(wanted.partitions), str(found.partitions))
    for setting, value in wanted.config.items():
        if found.config.get(setting) != value:
            # A topic that was made by other means may have the right value from the cluster's defaults, but a default
            # can change under it; what routing relies on must stand at the topic.
            yield Difference(wanted.name, setting, value, found.config.get(setting, "the cluster's default"))


def connect(bootstrap: str, seconds: float | None = None) -> KafkaAdminClient:
    """A connection to a cluster's administration; close it at the end.

    Args:
        bootstrap: `host:port,host:port`.
        seconds: How long Kafka may take to answer.

    Raises:
        KafkaUnavailableError: Kafka does not answer there.
    """
    patience_ms = round(1000 * (SECONDS_TO_ANSWER if seconds is None else seconds))
    try:
        return KafkaAdminClient(
            bootstrap_servers=bootstrap.split(","),
            client_id="sluicemq-admin",
            bootstrap_timeout_ms=patience_ms,
            request_timeout_ms=patience_ms,
        )
    except (KafkaError, OSError, ValueError) as error:
        raise KafkaUnavailableError(
            f"No Kafka answers at {bootstrap}: check the address and that it runs."
        ) from error


@contextmanager
def topic_administration(bootstrap: str) -> Iterator[TopicAdministration]:
    """Connect to a cluster's administration for the length of the block.

    Args:
        bootstrap: `host:port,host:port`.

    Raises:
        KafkaUnavailableError: Kafka does not answer there, or stopped answering.
    """
    client = connect(bootstrap)
    try:
        yield TopicAdministration(client)
    except KafkaError as error:
        raise KafkaUnavailableError(f"Kafka at {bootstrap} could not do that: {error}") from error
    finally:
        client.close()
