"""All that can be known of a cluster, opened once: for the API, and for `sluicemq status`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from admin.cluster.kafka import KafkaObserver
from admin.cluster.nodes import TablePartition, table_version
from admin.cluster.overview import Overview, overview
from admin.cluster.readers import Readers
from admin.cluster.sinks import Sinks, SinkUrls
from admin.cluster.states import GONE, LIVING, StateReader, States
from admin.cluster.topic_list import TopicList
from admin.errors import AdminError, KafkaUnavailableError
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.session_census import Census

_CENSUS_SECONDS = 5.0
"""How old the number of sessions may be: whoever looks asks every other second, and Kafka is not to notice."""


@dataclass(frozen=True)
class ClusterSettings:
    """Where a cluster is."""

    kafka: str
    """Bootstrap servers."""
    topic_prefix: str = DEFAULT_PREFIX
    sinks: SinkUrls = field(default_factory=SinkUrls)


class ObservedCluster:
    """One cluster; close it at the end. Its methods block, and may be called from several threads."""

    def __init__(
        self, settings: ClusterSettings, reader: States | None = None, kafka: KafkaObserver | None = None
    ) -> None:
        """Begin to read; nothing is waited for.

        Args:
            settings: Where it is.
            reader: A test's own.
            kafka: The same.

        Raises:
            AdminError: The prefix cannot be.
        """
        try:
            self.names = KafkaTopics(settings.topic_prefix)
        except ContractError as error:
            raise AdminError(f"{error}.") from error
        self._bootstrap = settings.kafka
        self._reader = reader or StateReader(settings.kafka, self.names.states)
        self.kafka = kafka or KafkaObserver(settings.kafka)
        self.sinks = Sinks(settings.sinks, self.names)
        self.topics = TopicList(self.kafka, self.names)
        self.readers = Readers(self.kafka, self.names, self._reader.view, self.sinks)
        self._counted: tuple[Census | None, str | None] = None, None
        self._counted_until = 0.0
        self._counting = threading.Lock()

    @property
    def states(self) -> States:
        """What the parts have said of themselves, all that there was when this was opened.

        Raises:
            KafkaUnavailableError: That has not been read yet; nothing is known.
        """
        if not self._reader.wait():
            why = self._reader.trouble or "it takes long to read what gateways say of themselves: try again"
            raise KafkaUnavailableError(f"Kafka at {self._bootstrap}: {why}.")
        return self._reader

    def overview(self) -> Overview:
        """The cluster in a few numbers; while Kafka is away, as it was last.

        Raises:
            KafkaUnavailableError: Nothing is known yet.
        """
        states = self.states
        census, why = self._sessions()
        # Whether Kafka can be reached, whoever asks it for the number of sessions has just found out.
        trouble = states.trouble if states.trouble != GONE else None
        return overview(states.view, census, trouble or why)

    @property
    def nodes(self) -> list[str]:
        """The gateways that there are, living or not."""
        return [state.node for state, _ in self.states.view.gateways()]

    def table(self) -> list[TablePartition]:
        """How far the router's table is in each partition of the subscription log.

        Raises:
            KafkaUnavailableError: Kafka does not answer.
        """
        versions, topic = table_version(self.states.view), self.names.subscriptions
        ends = self.kafka.ends((topic, number) for number in range(len(versions)))
        return [
            TablePartition(number, version, ends.get((topic, number)))
            for number, version in enumerate(versions)
        ]

    @property
    def share_strategies(self) -> dict[str, str]:
        """Strategies of share groups by name, that of all others under the empty name, as living gateways have them."""
        gateways = self.states.view.gateways()
        found: dict[str, str] = {}
        for state, seen in gateways:
            if seen.life == LIVING:
                found |= state.share_strategies
        return found

    def forget(self, key: bytes) -> None:
        """Take a part off the list of those that say how they are."""
        self._reader.forget(key)

    def close(self) -> None:
        """Let go of everything."""
        self._reader.close()
        self.kafka.close()
        self.sinks.close()

    def _sessions(self) -> tuple[Census | None, str | None]:
        """How many there are; or None, and why that is not known."""
        with self._counting:
            if time.monotonic() >= self._counted_until:
                try:
                    self._counted = self.readers.census(), None
                except KafkaUnavailableError as error:
                    self._counted = None, str(error).rstrip(".")
                self._counted_until = time.monotonic() + _CENSUS_SECONDS
            return self._counted


@contextmanager
def open_cluster(settings: ClusterSettings) -> Iterator[ObservedCluster]:
    """A cluster for the length of the block."""
    cluster = ObservedCluster(settings)
    try:
        yield cluster
    finally:
        cluster.close()
