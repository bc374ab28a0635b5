"""Asks Kafka about topics, groups and offsets, over one connection that is kept, and made anew when it broke."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError

from admin.errors import KafkaUnavailableError
from admin.kafka_topics import TopicAdministration, connect

_SECONDS_TO_ANSWER = 5.0
"""Somebody waits for an answer on a screen."""
_AGAIN_SECONDS = 2.0
"""So long after Kafka did not answer nobody waits for it again."""

Place = tuple[str, int]
"""A Kafka topic's name and a partition."""


@dataclass(frozen=True)
class Group:
    """A Kafka consumer group as Kafka describes it."""

    name: str
    state: str
    members: list[str]
    """The clients' names for themselves."""
    offsets: Mapping[Place, tuple[int, str]]
    """What it has committed, with its metadata."""


@dataclass
class KafkaObserver:
    """Blocking; may be called from several threads, which take turns. Each method raises `KafkaUnavailableError`."""

    bootstrap: str
    _client: KafkaAdminClient | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _again_at: float = 0.0

    @contextmanager
    def topics(self) -> Iterator[TopicAdministration]:
        """To create and remove Kafka topics, for the length of the block."""
        with self._asking() as client:
            yield TopicAdministration(client)

    def partitions(self, prefix: str = "") -> dict[str, list[dict[str, Any]]]:
        """Each Kafka topic whose name begins so, with what Kafka says of its partitions."""
        with self._asking() as client:
            found = client.describe_topics()
        return {topic["name"]: topic["partitions"] for topic in found if topic["name"].startswith(prefix)}

    def configs(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        """The settings that differ from the cluster's defaults."""
        if not names:
            return {}
        with self._asking() as client:
            resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
            found = client.describe_configs(resources).get("topic", {})
        return {
            name: {key: str(entry["value"]) for key, entry in sorted(settings.items())}
            for name, settings in found.items()
        }

    def sizes(self, partitions: Mapping[str, Iterable[int]]) -> dict[str, int]:
        """Bytes of one copy of each of these Kafka topics."""
        wanted = {name: list(numbers) for name, numbers in partitions.items()}
        if not wanted:
            return {}
        with self._asking() as client:
            brokers = client.describe_log_dirs(wanted)
        largest: dict[Place, int] = {}
        for folder in (folder for broker in brokers for folder in broker["log_dirs"]):
            for topic in folder["topics"]:
                for one in topic["partitions"]:
                    place = topic["name"], one["partition_index"]
                    largest[place] = max(one["partition_size"], largest.get(place, 0))
        sizes = dict.fromkeys(wanted, 0)
        for (name, _), size in largest.items():
            sizes[name] += size
        return sizes

    def bounds(self, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
        """First offset and end of partitions; those that are not there are left out."""
        wanted = {TopicPartition(*place) for place in places}
        if not wanted:
            return {}
        with self._asking() as client:
            first = client.list_partition_offsets(dict.fromkeys(wanted, OffsetSpec.EARLIEST))
            ends = client.list_partition_offsets(dict.fromkeys(wanted, OffsetSpec.LATEST))
        return {
            (one.topic, one.partition): (first[one].offset, ends[one].offset) for one in wanted & ends.keys()
        }

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Ends of partitions."""
        wanted = [TopicPartition(*place) for place in places]
        if not wanted:
            return {}
        with self._asking() as client:
            found = client.list_partition_offsets(dict.fromkeys(wanted, OffsetSpec.LATEST))
        return {(one.topic, one.partition): place.offset for one, place in found.items()}

    def group_names(self) -> list[str]:
        """All consumer groups, by name."""
        with self._asking() as client:
            return sorted(group["group_id"] for group in client.list_groups())

    def groups(self, names: Collection[str]) -> list[Group]:
        """These consumer groups."""
        if not names:
            return []
        with self._asking() as client:
            described = client.describe_groups(list(names))
            offsets = client.list_group_offsets(list(names))
        return [
            Group(
                name,
                str(described[name]["group_state"]),
                sorted(str(member["client_id"]) for member in described[name]["members"]),
                {
                    # confluent-kafka, by which gateways commit, sends the end of its C strings along.
                    (place.topic, place.partition): (
                        committed.offset,
                        (committed.metadata or "").rstrip("\0"),
                    )
                    for place, committed in offsets.get(name, {}).items()
                    if committed.offset >= 0
                },
            )
            for name in names
            if name in described
        ]

    def close(self) -> None:
        """Let go of the connection."""
        with self._turn:
            self._drop()

    @contextmanager
    def _asking(self) -> Iterator[KafkaAdminClient]:
        if not self._turn.acquire(timeout=2 * _SECONDS_TO_ANSWER):
            raise KafkaUnavailableError(f"Kafka at {self.bootstrap} does not answer in time.")
        try:
            if self._client is None:
                self._client = self._connect()
            yield self._client
        except (KafkaError, OSError) as error:
            self._drop()
            raise KafkaUnavailableError(
                f"Kafka at {self.bootstrap} could not do that: {error or type(error).__name__}"
            ) from error
        finally:
            self._turn.release()

    def _connect(self) -> KafkaAdminClient:
        if time.monotonic() < self._again_at:
            raise KafkaUnavailableError(
                f"No Kafka answers at {self.bootstrap}: check the address and that it runs."
            )
        try:
            return connect(self.bootstrap, _SECONDS_TO_ANSWER)
        except KafkaUnavailableError:
            self._again_at = time.monotonic() + _AGAIN_SECONDS
            raise

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
