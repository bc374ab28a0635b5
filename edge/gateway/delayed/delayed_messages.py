"""This gateway's part in delayed messages, put together: what the gateway calls."""

from __future__ import annotations

from collections.abc import Callable

from edge.gateway.delayed.delaying import Delaying
from edge.gateway.delayed.quota import Quota, quota_reader
from edge.gateway.delayed.timekeeper import Timekeeper, TimekeeperSetting
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.kafka_clients import partition_count


class DelayedMessages:
    """Takes them in, counts them if their number is limited, and publishes its share of them."""

    def __init__(
        self, setting: TimekeeperSetting, most: int, headers: Callable[[Callable[[], bool]], FreshHeaders]
    ) -> None:
        """Prepare to begin.

        Args:
            setting: Where they are.
            most: How many may wait in the cluster; 0 for any number.
            headers: Makes what finds in-band routes, given what asks whether to stop.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or lacks their topic.
        """
        kafka, topic = setting.kafka, setting.topics.delayed
        partitions = partition_count(kafka, topic)
        self.quota = Quota(most) if most else None
        """What waits in the cluster, where that is limited."""
        self._reader = None if self.quota is None else quota_reader(kafka, topic, partitions, self.quota)
        self.delaying = Delaying(topic, partitions, setting.counters, self.quota)
        """Where publishes go that are to wait."""
        self._timekeeper = Timekeeper(setting, headers)

    def start(self) -> None:
        """Begin to count and to publish."""
        if self._reader:
            self._reader.start()
        self._timekeeper.start()

    def stop(self) -> None:
        """Publish no more: others take over at once. It blocks."""
        self._timekeeper.stop()
        if self._reader:
            self._reader.stop()
