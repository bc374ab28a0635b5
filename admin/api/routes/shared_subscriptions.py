"""What APPLICATIONs share: entities, in Kafka and in the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from admin.api.caller import Operator, Parts, Viewer
from admin.api.needs import NeedsCluster
from admin.api.paging import Limit, Offset, Page, Search, page
from admin.api.problems import ProblemError
from admin.api.services import Services
from admin.cluster.cluster import ObservedCluster
from admin.share_entities import Mended, ShareEntities, ShareEntity
from identity.errors import NotThereError

router = APIRouter(prefix="/shared-subscriptions", tags=["shared subscriptions"])

_MOST_PARTITIONS = 1_000
"""Kafka would take more, and be none the faster for it."""


class GivenEntity(BaseModel):
    """An entity to be made."""

    filter: str
    """Without `$share/<group>/`: all groups share what is made."""
    partitions: Annotated[int | None, Field(ge=1, le=_MOST_PARTITIONS)] = None
    """How many gateways can share the work, 4 by default; must not change later."""


class EntityModel(BaseModel):
    """An entity."""

    filter: str | None
    """Null where the Kafka topic's name is a hash that the database does not know."""
    partitions: int
    kafka_topic: str
    difference: str
    """What keeps Kafka and the database from agreeing; empty where they do."""

    @classmethod
    def of(cls, entity: ShareEntity) -> EntityModel:
        """Of one that there is."""
        return cls(
            filter=entity.filter,
            partitions=entity.partitions,
            kafka_topic=entity.topic,
            difference=entity.difference,
        )

    def holds(self, text: str) -> bool:
        """Whether its names hold a text, whatever its case."""
        return text.casefold() in f"{self.filter}\n{self.kafka_topic}".casefold()


@router.get("")
def list_entities(
    _: Viewer,
    parts: Parts,
    cluster: NeedsCluster,
    search: Search = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[EntityModel]:
    """List what there is, in Kafka or in the database."""
    with _entities(parts, cluster) as entities:
        found = [EntityModel.of(one) for one in entities.list()]
    return page([one for one in found if one.holds(search)], offset, limit)


@router.post("", status_code=HTTPStatus.CREATED)
def create(given: GivenEntity, _: Operator, parts: Parts, cluster: NeedsCluster) -> EntityModel:
    """Make what applications need to share subscriptions to a filter."""
    with _entities(parts, cluster) as entities:
        made = entities.create(given.filter, given.partitions)
    if given.partitions is not None and made.partitions != given.partitions:
        raise ProblemError(
            HTTPStatus.CONFLICT, f"it is there already, with {made.partitions} partitions, and keeps them"
        )
    return EntityModel(filter=given.filter, partitions=made.partitions, kafka_topic=made.name, difference="")


@router.delete("", status_code=HTTPStatus.NO_CONTENT)
def remove(
    _: Operator, parts: Parts, cluster: NeedsCluster, filter: Annotated[str, Query(description="Whose.")]
) -> None:
    """Remove it, and all messages that no group has taken yet; who has subscribed gets no more."""
    with _entities(parts, cluster) as entities:
        if entities.remove(filter) is None:
            raise NotThereError(f"there is nothing for {filter!r}")


@router.post("/mend")
def mend(_: Operator, parts: Parts, cluster: NeedsCluster) -> Mended:
    """Bring Kafka and the database into agreement; nothing is removed."""
    with _entities(parts, cluster) as entities:
        return entities.mend()


@contextmanager
def _entities(parts: Services, cluster: ObservedCluster) -> Iterator[ShareEntities]:
    with cluster.kafka.topics() as administration:
        yield ShareEntities(administration, cluster.names, parts.shared)
