"""What a route needs that `sluicemq admin` may not have been told of."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from admin.api.caller import Parts
from admin.cluster.cluster import ObservedCluster
from admin.errors import NotConfiguredError
from stores.historical import StatisticsStore


def cluster(parts: Parts) -> ObservedCluster:
    """The cluster.

    Raises:
        NotConfiguredError: Nobody said where its Kafka is.
    """
    if parts.cluster is None:
        raise NotConfiguredError(
            "this process knows no cluster: start `sluicemq admin` with --kafka, or set TB_KAFKA_SERVERS"
        )
    return parts.cluster


NeedsCluster = Annotated[ObservedCluster, Depends(cluster)]


def statistics(found: NeedsCluster) -> StatisticsStore:
    """The statistics.

    Raises:
        NotConfiguredError: Nobody said where they are.
        StoreError: Their database does not answer.
    """
    if not found.sinks.has_statistics:
        raise NotConfiguredError(
            "this needs statistics: start `sluicemq admin` with --statistics-store, or set SLUICEMQ_STATISTICS_STORE"
        )
    return found.sinks.statistics()


NeedsStatistics = Annotated[StatisticsStore, Depends(statistics)]
